// launch 4,4 16,16 0
// Two buffers: one is filled by asynchronous copies that arrive at its barrier, while the other is used.
#include <cuda_awbarrier.h>
#include <cuda_pipeline.h>
using nvcuda::experimental::awbarrier;

extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ float As[2][16][16];
    __shared__ float Bs[2][16][16];
    __shared__ awbarrier full[2], empty[2];
    int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 16 + ty, col = blockIdx.x * 16 + tx;
    if (tx == 0 && ty < 2) {
        init(&full[ty], 256);
        init(&empty[ty], 256);
    }
    __syncthreads();
    auto fetch = [&](int tile) {
        int to = tile % 2;
        __pipeline_memcpy_async(&As[to][ty][tx], &A[row * K + tile * 16 + tx], 4);
        __pipeline_memcpy_async(&Bs[to][ty][tx], &B[(tile * 16 + ty) * N + col], 4);
        __pipeline_arrive_on((__mbarrier_t*)&full[to]);
        return full[to].arrive();
    };
    float sum = 0.0f;
    auto token = fetch(0);
#pragma unroll 1
    for (int tile = 0; tile < K / 16; ++tile) {
        auto now = token;
        if (tile + 1 < K / 16) {
            if (tile > 0) empty[(tile + 1) % 2].arrive_and_wait();
            token = fetch(tile + 1);
        }
        full[tile % 2].wait(now);
        for (int k = 0; k < 16; ++k) sum += As[tile % 2][ty][k] * Bs[tile % 2][k][tx];
    }
    C[row * N + col] = sum;
}
