// launch 2,2 16,16 0 31 30 40
__device__ __forceinline__ void copy4(float* to, const float* from) {
    const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(to));
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(address), "l"(from) : "memory");
}
#define COMMIT() asm volatile("cp.async.commit_group;" ::: "memory")
#define WAIT(n) asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory")
#define T 16
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ float As[2][T][T], Bs[2][T][T];
    const int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * T + ty, col = blockIdx.x * T + tx;
    float sum = 0.0f;
    auto fetch = [&](int tile, int buffer) {
        const int ka = tile * T + tx, kb = tile * T + ty;
        if (row < M && ka < K) copy4(&As[buffer][ty][tx], A + row * K + ka);
        else As[buffer][ty][tx] = 0.0f;
        if (kb < K && col < N) copy4(&Bs[buffer][ty][tx], B + kb * N + col);
        else Bs[buffer][ty][tx] = 0.0f;
        COMMIT();
    };
    const int tiles = (K + T - 1) / T;
    fetch(0, 0);
    for (int tile = 0; tile < tiles; ++tile) {
        if (tile + 1 < tiles) {
            fetch(tile + 1, (tile + 1) & 1);
            WAIT(1);
        } else {
            WAIT(0);
        }
        __syncthreads();
        for (int k = 0; k < T; ++k) sum += As[tile & 1][ty][k] * Bs[tile & 1][k][tx];
        __syncthreads();
    }
    if (row < M && col < N) C[row * N + col] = sum;
}
