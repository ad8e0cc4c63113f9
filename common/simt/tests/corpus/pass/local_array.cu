// launch 1,1 64,1 0 1 64 64
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    float buffer[16];
    const int t = threadIdx.x;
    for (int i = 0; i < 16; ++i) buffer[i] = A[(t + i) % 64];
    // Indexed by a value known only when it runs: the array cannot live in registers.
    const int place = (int)buffer[3] & 15;
    C[t] = buffer[place] + buffer[(t * 7) & 15];
}
