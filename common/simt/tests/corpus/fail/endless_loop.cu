// launch 1,1 32,1 0 1 32 1
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    volatile const float* a = A;
    while (a[0] > -100.0f) {}
    C[threadIdx.x] = 1.0f;
}
