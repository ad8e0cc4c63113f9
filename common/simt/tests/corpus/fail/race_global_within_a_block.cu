// launch 1,1 64,1 0 1 64 1
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    const int t = threadIdx.x;
    C[t] = A[0];
    if (t < 32) C[t] = C[t + 32] + 1.0f;
}
