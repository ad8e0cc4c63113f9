// launch 1,1 32,1 0 1 32 64
__device__ __forceinline__ void copy4(float* to, const float* from) {
    const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(to));
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(address), "l"(from) : "memory");
}
#define COMMIT() asm volatile("cp.async.commit_group;" ::: "memory")
#define WAIT(n) asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory")
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ float line[2][32];
    const int t = threadIdx.x;
    copy4(&line[0][t], A + t);
    COMMIT();
    copy4(&line[1][t], A + 32 + t);
    COMMIT();
    // The latest group may still be in flight.
    WAIT(1);
    __syncthreads();
    C[t] = line[0][t] + line[1][t];
}
