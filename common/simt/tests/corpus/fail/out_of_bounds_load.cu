// launch 1,1 32,1 0 1 32 8
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    // A has K elements, one for each of the first K threads only.
    C[threadIdx.x] = A[threadIdx.x];
}
