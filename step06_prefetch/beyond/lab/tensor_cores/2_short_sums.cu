// Short sums: the tensor cores add up the products of 32 k, and the FP32 units add up these sums,
// because tensor cores cut off where FP32 units round.
//
// launch: block 128,1 tile 64,64

#include "wgmma.cuh"

constexpr int TILE_M = 64;
constexpr int TILE_N = 64;
constexpr int TILE_K = 32;  // 128 bytes: as long as a row of a swizzled tile may be
constexpr int THREADS = 128;

// Where an element of A lies in its tile: chunks of 16 bytes are exchanged within each row.
__device__ int swizzled(int row, int k) { return row * TILE_K + (k / 4 ^ row % 8) * 4 + k % 4; }

extern "C" __global__ void __launch_bounds__(THREADS) matmul(
    const float* A, const float* B, float* C, int M, int N, int K)
{
    const int thread = threadIdx.x;
    const int lane = thread % 32;
    const int row0 = blockIdx.y * TILE_M;
    const int col0 = blockIdx.x * TILE_N;

    // wgmma wants the rows of its shared operand to run along k. Those of A do, and the columns of
    // B come from registers: so it computes the transposed product, columns of C by rows.
    __shared__ alignas(1024) float big[TILE_M * TILE_K];  // the tile of A, split
    __shared__ alignas(1024) float small[TILE_M * TILE_K];
    __shared__ float Bs[TILE_K][TILE_N + 8];  // + 8: no bank conflicts

    // This thread has columns col and col + 8 of C, and two neighbouring rows in each group of 8.
    const int col = thread / 32 * 16 + lane / 4;
    const int row = lane % 4 * 2;
    float sum[32] = {};
    for (int k0 = 0; k0 < K; k0 += TILE_K) {
        for (int i = thread; i < TILE_M * TILE_K; i += THREADS) {
            const int r = i / TILE_K;
            const int k = i % TILE_K;
            const float x = A[(size_t)(row0 + r) * K + k0 + k];
            big[swizzled(r, k)] = tf32(x);
            small[swizzled(r, k)] = x - tf32(x);  // the tensor cores ignore the last 13 bits
        }
        for (int i = thread; i < TILE_K * TILE_N; i += THREADS) {
            const int k = i / TILE_N;
            const int c = i % TILE_N;
            Bs[k][c] = B[(size_t)(k0 + k) * N + col0 + c];
        }
        // The tensor cores may not read the tile before every thread has stored its elements ...
        publish();
        __syncthreads();

        float b_big[TILE_K / 8][4];
        float b_small[TILE_K / 8][4];
        for (int k = 0; k < TILE_K / 8; ++k)
            for (int i = 0; i < 4; ++i) {
                const float x = Bs[k * 8 + lane % 4 + i / 2 * 4][col + i % 2 * 8];
                b_big[k][i] = tf32(x);
                b_small[k][i] = x - b_big[k][i];
            }

        float part[32];
        begin();
        for (int k = 0; k < TILE_K / 8; ++k) {  // descriptors count in 16 bytes, 4 steps of k
            multiply(part, b_big[k], descriptor(small) + k * 2, k > 0);
            multiply(part, b_small[k], descriptor(big) + k * 2, true);
            multiply(part, b_big[k], descriptor(big) + k * 2, true);
        }
        commit();
        finish(part);
        for (int i = 0; i < 32; ++i) sum[i] += part[i];
        // ... and no thread may store the next tiles before the tensor cores have read these.
        __syncthreads();
    }

    for (int i = 0; i < 32; ++i) {
        const int r = row0 + row + i / 4 * 8 + i % 2;
        const int c = col0 + col + i / 2 % 2 * 8;
        C[(size_t)r * N + c] = sum[i];
    }
}
