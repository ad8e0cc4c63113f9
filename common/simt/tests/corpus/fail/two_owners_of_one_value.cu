// launch 1,1 32,1 0 1 16 1
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    // Neighbours store the same value in the same place.
    C[threadIdx.x / 2] = A[0];
}
