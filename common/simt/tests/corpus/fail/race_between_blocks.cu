// launch 2,1 32,1 0 1 32 1
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    // Both blocks write the same row of C.
    C[threadIdx.x] = blockIdx.x;
}
