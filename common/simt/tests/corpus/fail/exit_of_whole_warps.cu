// launch 1,1 64,1 0 1 32 1
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ float line[64];
    const int t = threadIdx.x;
    if (t >= 32) return;
    line[t] = A[0] + t;
    __syncthreads();
    C[t] = line[31 - t];
}
