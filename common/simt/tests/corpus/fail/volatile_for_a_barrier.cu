// launch 1,1 32,1 0 1 32 1
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ volatile float line[32];
    const int t = threadIdx.x;
    line[t] = A[0] + t;
    C[t] = line[31 - t];
}
