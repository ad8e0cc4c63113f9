// launch 1,1 64,1 0 1 64 1
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    // 96 threads are awaited, the block has 64.
    asm volatile("bar.sync 1, 96;");
    C[threadIdx.x] = A[0];
}
