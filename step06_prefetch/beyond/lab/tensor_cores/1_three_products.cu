// Lab tensor_cores. FP32 products on tensor cores. Task 1: three products of FP16 numbers. M and N
// are multiples of 128, and K is one of 64.
//
// launch: block 128,1 tile 128,64

#include "halves.cuh"

constexpr int TILE_M = 64;
constexpr int TILE_N = 128;
constexpr int THREADS = 128;

// Where the big part of an element lies in a tile: its line is a row of A or a column of B. Chunks
// of 8 elements are exchanged within each line. The small part lies SMALL behind it.
constexpr int SMALL = 8 * TILE_K;
__device__ int swizzled(int line, int k)
{
    return line / 8 * 8 * BOTH + line % 8 * TILE_K + (k / 8 ^ line % 8) * 8 + k % 8;
}

// Stores both parts of a number: x = big + small / 2048.
__device__ void store(Half* tile, int at, float x)
{
    tile[at] = half(x);
    tile[at + SMALL] = half((x - value(tile[at])) * 2048);
}

extern "C" __global__ void __launch_bounds__(THREADS) matmul(
    const float* A, const float* B, float* C, int M, int N, int K)
{
    const int thread = threadIdx.x;
    const int row0 = blockIdx.y * TILE_M;
    const int col0 = blockIdx.x * TILE_N;
    __shared__ alignas(1024) Half As[TILE_M * BOTH];
    __shared__ alignas(1024) Half Bs[TILE_N * BOTH];

    float sum[64] = {}, cross[64] = {};  // cross counts 1 / 2048
    for (int k0 = 0; k0 < K; k0 += TILE_K) {
        for (int i = thread; i < TILE_M * TILE_K; i += THREADS) {
            const int r = i / TILE_K, k = i % TILE_K;
            store(As, swizzled(r, k), A[(size_t)(row0 + r) * K + k0 + k]);
        }
        for (int i = thread; i < TILE_N * TILE_K; i += THREADS) {
            const int k = i / TILE_N, c = i % TILE_N;
            store(Bs, swizzled(c, k), B[(size_t)(k0 + k) * N + col0 + c]);
        }
        // The tensor cores may not read the tiles before every thread has stored its elements ...
        publish();
        __syncthreads();

        // Descriptors count in 16 bytes: 2 for 16 steps of k,
        // and 64 from the big parts to the small ones.
        const auto a = descriptor(As), b = descriptor(Bs);
        begin();
        for (int k = 0; k < TILE_K / 8; k += 2) {
            multiply(sum, a + k, b + k, true);
            multiply(cross, a + k, b + k + 64, true);
            multiply(cross, a + k + 64, b + k, true);
        }
        commit();
        finish<0>(sum);
        finish<0>(cross);
        // ... and no thread may store the next tiles before the tensor cores have read these.
        __syncthreads();
    }

    // Of the 16 rows of its warp, this thread has two, and two columns in each group of 8.
    for (int i = 0; i < 64; ++i) {
        const int row = row0 + thread / 32 * 16 + thread % 32 / 4 + i / 2 % 2 * 8;
        const int col = col0 + thread % 4 * 2 + i / 4 * 8 + i % 2;
        C[(size_t)row * N + col] = sum[i] + cross[i] / 2048;
    }
}
