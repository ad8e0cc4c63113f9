// launch 1,1 32,1 0 1 32 1
__device__ float line[32];
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    const int t = threadIdx.x;
    line[t] = A[0] * B[t];
    __syncthreads();
    C[t] = __ldg(&line[31 - t]);
}
