// launch 1,1 64,1 0 1 64 1
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ float line[64];
    const int t = threadIdx.x;
    line[t] = A[0] + t;
    if (t < 32) {
        asm volatile("bar.sync 1, 96;" ::: "memory");
    } else {
        asm volatile("bar.sync 1, 64;" ::: "memory");
    }
    C[t] = line[t];
}
