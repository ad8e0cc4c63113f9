// Lab tensor_cores. FP32 products on tensor cores. Task 3: tiles are copied and split while those
// before are multiplied. M and N are multiples of 128, and K is one of 64.
//
// launch: block 256,1 tile 128,128 shared 196608

#include "halves.cuh"
#include "async.cuh"

constexpr int TILE = 128;
constexpr int THREADS = 256;
constexpr int COPIES = TILE * TILE_K / 4 / THREADS;  // of 4 elements, of a thread, for each matrix

struct Tiles { Half As[TILE * BOTH], Bs[TILE * BOTH]; };
struct Shared {
    Tiles tiles[2];
    float a[COPIES][THREADS][4], b[COPIES][THREADS][4];  // as each thread has copied them
};

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
    extern __shared__ __align__(1024) char memory[];
    Shared& shared = *(Shared*)memory;
    const int thread = threadIdx.x;
    const int row0 = blockIdx.y * TILE;
    const int col0 = blockIdx.x * TILE;
    // A copy has 4 steps of k of a row of A, or 4 columns of B. Neighbours along B's k are
    // neighbours in the tile.
    const int a_row = thread / 16, a_k = thread % 16 * 4;
    const int b_k = thread % 8, b_col = thread / 8 * 4;

    auto fetch = [&](int k0) {
        for (int i = 0; i < COPIES; ++i) {
            copy<4>(shared.a[i][thread], &A[(size_t)(row0 + a_row + i * 16) * K + k0 + a_k], true);
            copy<4>(shared.b[i][thread], &B[(size_t)(k0 + b_k + i * 8) * N + col0 + b_col], true);
        }
    };
    // Splits what this thread has copied itself, so that it need not wait for others.
    auto split = [&](Tiles& tiles) {
        wait();
        for (int i = 0; i < COPIES; ++i)
            for (int j = 0; j < 4; ++j) {
                store(tiles.As, swizzled(a_row + i * 16, a_k + j), shared.a[i][thread][j]);
                store(tiles.Bs, swizzled(b_col + j, b_k + i * 8), shared.b[i][thread][j]);
            }
        publish();
    };

    float sum[64] = {}, cross[64] = {};  // cross counts 1 / 2048
    fetch(0);
    split(shared.tiles[0]);
    if (TILE_K < K) fetch(TILE_K);
    __syncthreads();
    for (int k0 = 0; k0 < K; k0 += TILE_K) {
        const Tiles& now = shared.tiles[k0 / TILE_K % 2];
        // Each warpgroup has 64 rows. Descriptors count in 16 bytes.
        const auto a = descriptor(&now.As[thread / 128 * 64 * BOTH]), b = descriptor(now.Bs);
        float part[64];
        begin();
        for (int k = 0; k < TILE_K / 8; k += 2) {
            multiply(part, a + k, b + k, k > 0);
            multiply(cross, a + k, b + k + 64, true);
            multiply(cross, a + k + 64, b + k, true);
        }
        commit();
        if (k0 + TILE_K < K) split(shared.tiles[(k0 / TILE_K + 1) % 2]);  // while they multiply
        if (k0 + 2 * TILE_K < K) fetch(k0 + 2 * TILE_K);
        finish<0>(part);
        finish<0>(cross);
        for (int i = 0; i < 64; ++i) sum[i] += part[i];
        __syncthreads();
    }

    for (int i = 0; i < 64; ++i) {
        const int row = row0 + thread / 32 * 16 + thread % 32 / 4 + i / 2 % 2 * 8;
        const int col = col0 + thread % 4 * 2 + i / 4 * 8 + i % 2;
        C[(size_t)row * N + col] = sum[i] + cross[i] / 2048;
    }
}
