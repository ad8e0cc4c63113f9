// launch 2,1 32,1 0 1 32 1
__device__ float sum = 0.0f;
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    const int t = threadIdx.x;
    atomicAdd_block(&sum, A[0]);
    if (blockIdx.x == 0) C[t] = t;
}
