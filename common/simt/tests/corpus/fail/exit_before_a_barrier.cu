// launch 1,1 64,1 0 1 40 1
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ float line[64];
    const int t = threadIdx.x;
    if (t >= N) return;
    line[t] = A[0] + t;
    __syncthreads();
    C[t] = line[N - 1 - t];
}
