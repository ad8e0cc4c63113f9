// launch 1,1 64,1 0 1 32 32
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ float line[32];
    const int t = threadIdx.x;
    if (t < 32) {
        line[t] = A[t] * 2.0f;
        asm volatile("bar.arrive 1, 64;" ::: "memory");
    } else {
        asm volatile("bar.sync 1, 64;" ::: "memory");
        C[t - 32] = line[63 - t];
    }
}
