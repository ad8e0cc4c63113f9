// launch 1,1 32,1 0 1 32 1
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    const int t = threadIdx.x;
    float sums[16];
    for (int i = 0; i < 8 * K; ++i) sums[i] = A[0];
    C[t] = sums[t % 16];
}
