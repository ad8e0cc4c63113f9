// launch 1,1 64,1 0 1 64 1
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ unsigned char flags[64];
    const int t = threadIdx.x;
    flags[t] = t;
    C[t] = flags[63 - t];
}
