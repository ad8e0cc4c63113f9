// launch 1,1 32,1 0 1 32 1
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    const int t = threadIdx.x;
    C[t] = __shfl_sync(0x0000ffff, A[0] + t, 0);
}
