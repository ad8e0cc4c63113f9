// launch 1,1 32,1 0 1 32 1
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ float As[16], Bs[32];
    const int t = threadIdx.x;
    Bs[t] = 1.0f;
    __syncthreads();
    As[t] = A[0];
    __syncthreads();
    C[t] = As[t % 16] + Bs[31 - t];
}
