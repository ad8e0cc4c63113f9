// launch 1,1 64,1 512 1 64 64
extern __shared__ float pool[];
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    const int t = threadIdx.x;
    float* first = pool;
    float* second = pool + 64;
    first[t] = A[t];
    second[t] = 2.0f * A[t];
    __syncthreads();
    C[t] = first[63 - t] + second[(t + 1) % 64];
}
