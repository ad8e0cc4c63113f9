// launch 1,1 64,1 0 1 40 64
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    if (threadIdx.x >= N) return;
    C[threadIdx.x] = A[threadIdx.x];
}
