// launch 1,1 32,1 0 1 32 1
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    if (threadIdx.x == 7) __trap();
    C[threadIdx.x] = 1.0f;
}
