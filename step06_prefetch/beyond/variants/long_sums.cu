// The kernel tensor_cores with sums that stay in the tensor cores for the whole of K. Tensor cores
// cut off where FP32 units round, so the errors of a long sum do not cancel.

#include "wgmma.cuh"  // tensor cores, and asynchronous copies in groups

// VECTOR: elements in one copy, 4 where the rows of A and of B start on 16 bytes, else 1
constexpr int TILE_M = 64;            // rows of C of a block
constexpr int TILE_N = 128;           // columns of C of a block, 64 for each warpgroup
constexpr int TILE_K = 32;            // 128 bytes: as long as a row of a swizzled tile may be
constexpr int THREADS = 2 * TILE_N;
constexpr int STAGES = 3;             // tiles in shared memory, of which two are on their way

// wgmma wants the rows of its shared operand to run along k. Those of A do, and the columns of B
// come from registers: so it computes the transposed product, columns of C by rows.
struct Stage {
    float big[TILE_M][TILE_K];        // the tile of A, split
    float small[TILE_M][TILE_K];
    float Bs[TILE_K][TILE_N + 8];     // + 8: no bank conflicts
};

// Where an element of A lies: chunks of 16 bytes are exchanged within each row.
__device__ int swizzled(int row, int k) { return row * TILE_K + (k / 4 ^ row % 8) * 4 + k % 4; }

extern "C" __global__ void __launch_bounds__(THREADS, 2) matmul(
    const ELEMENT* A, const ELEMENT* B, ELEMENT* C, int M, int N, int K)
{
    extern __shared__ __align__(1024) char shared[];
    Stage* stages = (Stage*)shared;
    const int thread = threadIdx.x;
    const int lane = thread % 32;
    const int row0 = blockIdx.y * TILE_M;
    const int col0 = (blockIdx.z * gridDim.x + blockIdx.x) * TILE_N;  // in bands, for the L2 cache

    // Where this thread's copies start. Past the last row of A it is read again.
    constexpr int A_THREADS = TILE_K / VECTOR;       // that copy a row of A
    constexpr int A_ROWS = THREADS / A_THREADS;      // rows of A that the block copies at a time
    constexpr int A_COPIES = TILE_M / A_ROWS;
    constexpr int B_THREADS = TILE_N / VECTOR;
    constexpr int B_ROWS = THREADS / B_THREADS;
    const int a_k = thread % A_THREADS * VECTOR;
    const int b_k = thread / B_THREADS;
    const int b_col = thread % B_THREADS * VECTOR;
    const int a_row = thread / A_THREADS;
    const int a_to = swizzled(a_row, a_k);           // A_ROWS is a multiple of 8
    const float* a_from[A_COPIES];
    for (int i = 0; i < A_COPIES; ++i)
        a_from[i] = A + (size_t)min(row0 + a_row + i * A_ROWS, M - 1) * K + a_k;
    const float* b_from = B + (size_t)b_k * N + col0 + b_col;
    const int b_end = col0 + b_col < N ? K - b_k : 0;

    auto fetch = [&](Stage& stage, int k0) {
        for (int i = 0; i < A_COPIES; ++i) {
            copy<VECTOR>(&stage.big[i * A_ROWS][a_to], a_from[i], k0 + a_k < K);
            a_from[i] += TILE_K;
        }
        for (int k = 0; k < TILE_K; k += B_ROWS)
            copy<VECTOR>(&stage.Bs[b_k + k][b_col], b_from + (size_t)k * N, k0 + k < b_end);
        b_from += (size_t)TILE_K * N;
        commit_copies();
    };
    unsigned least = size(0);  // of the numbers that this thread has split
    // Splits what this thread has copied of A, in place.
    auto split = [&](Stage& stage) {
        wait_for_older();
        for (int i = 0; i < A_COPIES; ++i) {
            struct alignas(4 * VECTOR) Pack { float at[VECTOR]; };
            Pack* big = (Pack*)&stage.big[i * A_ROWS][a_to];
            Pack* small = (Pack*)&stage.small[i * A_ROWS][a_to];
            const Pack x = *big;
            Pack rounded, rest;
            for (int v = 0; v < VECTOR; ++v) {
                rounded.at[v] = tf32(x.at[v]);
                rest.at[v] = x.at[v] - rounded.at[v];
                least = min(least, size(x.at[v]));
            }
            *big = rounded;
            *small = rest;  // the tensor cores ignore what TF32 has no bits for
        }
        publish();
    };

    // Of the 64 x 64 products of its warpgroup this thread has columns col and col + 8 of C, and
    // two neighbouring rows in each group of 8.
    const int col = thread / 32 * 16 + lane / 4;
    const int row = lane % 4 * 2;
    float sum[32] = {};
    fetch(stages[0], 0);
    fetch(stages[1], TILE_K);
    split(stages[0]);
    __syncthreads();
    int now = 0;
    for (int k0 = 0; k0 < K; k0 += TILE_K) {
        Stage& stage = stages[now];
        fetch(stages[now == 0 ? STAGES - 1 : now - 1], k0 + (STAGES - 1) * TILE_K);
        now = now + 1 < STAGES ? now + 1 : 0;

        const auto big = descriptor(stage.big[0]);
        const auto small = descriptor(stage.small[0]);
        float b_big[TILE_K / 8][4];
        float b_small[TILE_K / 8][4];
        for (int k = 0; k < TILE_K / 8; ++k) {
            for (int i = 0; i < 4; ++i) {
                const float x = stage.Bs[k * 8 + lane % 4 + i / 2 * 4][col + i % 2 * 8];
                b_big[k][i] = tf32(x);
                b_small[k][i] = x - b_big[k][i];
                least = min(least, size(x));
            }
            if (k % 2 == 0) continue;  // while two are multiplied, the next two are split
            begin();
            for (int j = k - 1; j <= k; ++j) {  // descriptors count in 16 bytes, 4 steps of k
                multiply(sum, b_big[j], small + j * 2, true);
                multiply(sum, b_small[j], big + j * 2, true);
            }
        }
        for (int k = 0; k < TILE_K / 8; ++k)  // last, so that less is cut off
            multiply(sum, b_big[k], big + k * 2, true);
        commit();
        split(stages[now]);  // past the end of K these are zeros
        finish(sum);
        __syncthreads();
    }

    // The rest of a number below 2^-113 is no TF32 number any more, and the largest ones round to
    // infinity. Where there are such numbers, FP32 units compute the tile again.
    bool again = least < size(0x1p-113f);
    for (int i = 0; i < 32; ++i) again |= !isfinite(sum[i]);
    for (int i = 0; i < 32; ++i) {
        const int r = row0 + row + i / 4 * 8 + i % 2;
        const int c = col0 + col + i / 2 % 2 * 8;
        if (r < M && c < N) C[(size_t)r * N + c] = sum[i];
    }
    if (!__syncthreads_or(again)) return;
    for (int i = thread; i < TILE_M * TILE_N; i += THREADS) {
        const int r = row0 + i / TILE_N;
        const int c = col0 + i % TILE_N;
        if (r >= M || c >= N) continue;
        float dot = 0;
        for (int k = 0; k < K; ++k) dot += A[(size_t)r * K + k] * B[(size_t)k * N + c];
        C[(size_t)r * N + c] = dot;
    }
}
