// launch 1,1 32,1 0 1 32 1
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ float As[4][8];
    const int t = threadIdx.x;
    As[t / 8][t % 8] = A[0];
    __syncthreads();
    C[t] = As[t / 8 - 1][t % 8];
}
