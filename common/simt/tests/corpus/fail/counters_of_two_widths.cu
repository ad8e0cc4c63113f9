// launch 1,1 64,1 0 1 64 1
__device__ unsigned long long counter;
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    if (threadIdx.x < 32) {
        atomicAdd(&counter, 1ull);
    } else {
        atomicAdd((unsigned*)&counter, 1u);
    }
    C[threadIdx.x] = A[0];
}
