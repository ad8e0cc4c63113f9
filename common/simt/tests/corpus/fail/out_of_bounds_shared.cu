// launch 1,1 64,1 0 1 64 1
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ float line[32];
    line[threadIdx.x] = A[0];
    __syncthreads();
    C[threadIdx.x] = line[0];
}
