// launch 1,1 32,1 0 1 32 1
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ float line[32];
    const int t = threadIdx.x;
    if (t < 31) line[t] = A[0];
    __syncthreads();
    C[t] = line[t];
}
