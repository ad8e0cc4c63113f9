// launch 1,1 64,1 0 1 64 1
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    // Each warp waits for the other at another barrier.
    if (threadIdx.x < 32) asm volatile("bar.sync 1, 64;");
    else asm volatile("bar.sync 2, 64;");
    C[threadIdx.x] = A[0];
}
