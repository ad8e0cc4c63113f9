// launch 1,1 32,2 0 1 32 1
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    // Rows are ignored, so both rows of threads own the same elements.
    C[threadIdx.x] = A[0];
}
