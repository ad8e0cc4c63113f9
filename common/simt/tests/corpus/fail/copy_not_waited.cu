// launch 1,1 32,1 0 1 32 32
__device__ __forceinline__ void copy4(float* to, const float* from) {
    const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(to));
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(address), "l"(from) : "memory");
}
#define COMMIT() asm volatile("cp.async.commit_group;" ::: "memory")
#define WAIT(n) asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory")
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ float line[32];
    const int t = threadIdx.x;
    copy4(&line[t], A + t);
    COMMIT();
    __syncthreads();
    C[t] = line[31 - t];
}
