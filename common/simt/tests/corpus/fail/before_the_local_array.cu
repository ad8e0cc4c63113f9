// launch 1,1 32,1 0 1 32 1
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    float line[8];
    for (int i = 0; i < 8; ++i) line[(i * N) % 8] = A[0];
    C[threadIdx.x] = line[(int)(threadIdx.x % 8) - M];
}
