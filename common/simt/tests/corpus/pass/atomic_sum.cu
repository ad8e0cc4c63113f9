// launch 2,1 64,1 0 1 1 128
__device__ unsigned arrived = 0;
__device__ float sum = 0.0f;
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ int total;
    __shared__ unsigned order;
    if (threadIdx.x == 0) total = 0;
    __syncthreads();
    atomicAdd(&total, (int)A[blockIdx.x * 64 + threadIdx.x]);
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd(&sum, (float)total);
        __threadfence();
        order = atomicAdd(&arrived, 1u);
        // The last block to arrive has the whole sum.
        if (order == gridDim.x - 1) C[0] = atomicAdd(&sum, 0.0f);
    }
}
