// FP32 products on tensor cores that multiply FP16 numbers, which have 11 bits. A pass before has
// split each number into two of them, x = big + small / 2048, and big · big + (big · small +
// small · big) / 2048 keeps what FP32 keeps. Where it might not, FP32 units multiply once more.
#include "split.cuh"

// ROWS    rows of C of a block, 64 for each warpgroup
// PART_K  steps of k that tensor cores add up, 16 or 32: they cut off where FP32 units round
// VECTOR  for FP32 units: elements of a row of B in one access, as in every_shape.cu
constexpr int TILE_M = ROWS, TILE_N = 128;
constexpr int THREADS = 2 * TILE_M;
constexpr int STAGES = TILE_M == 64 ? 4 : 3;  // tiles in shared memory
struct Stage { Half As[TILE_M * BOTH], Bs[TILE_N * BOTH]; };

extern "C" __global__ void __launch_bounds__(THREADS) matmul(const Half* planes, const Line* lines,
    float* C, int* unsure, int M, int N, int K)
{
    extern __shared__ __align__(1024) char shared[];
    Stage* stages = (Stage*)shared;
    __shared__ Barrier arrived[STAGES];
    __shared__ Line own[TILE_M + TILE_N];  // lines of A, then of B
    const int thread = threadIdx.x;
    // Blocks that are neighbours along x have neighbouring rows: the L2 cache serves them together.
    const int col_tiles = (N + TILE_N - 1) / TILE_N;
    const int row0 = (blockIdx.y / col_tiles * gridDim.x + blockIdx.x) * TILE_M;
    const int col0 = blockIdx.y % col_tiles * TILE_N;
    if (row0 >= M) return;
    // The part of K that this layer of the grid multiplies.
    const int depth = ((K - 1) / (int)gridDim.z / TILE_K + 1) * TILE_K;
    const int first = blockIdx.z * depth, end = min(first + depth, K);

    const size_t step = (size_t)(filled(M) + filled(N)) * BOTH;  // elements of a tile of all lines
    const Half* from = planes + first / TILE_K * step;
    auto fetch = [&](int stage, int k0) {
        if (k0 >= end) return;
        expect(&arrived[stage], sizeof(Stage));
        copy(stages[stage].As, from + (size_t)row0 * BOTH, sizeof(stages->As), &arrived[stage]);
        copy(stages[stage].Bs, from + (size_t)(filled(M) + col0) * BOTH, sizeof(stages->Bs),
            &arrived[stage]);
        arrive(&arrived[stage]);
        from += step;
    };
    if (thread == 0) {
        for (int i = 0; i < STAGES; ++i) make(&arrived[i]);
        publish();
        for (int i = 0; i < STAGES - 1; ++i) fetch(i, first + i * TILE_K);
    }
    for (int i = thread; i < TILE_M + TILE_N; i += THREADS)
        own[i] = lines[i < TILE_M ? row0 + i : filled(M) + col0 + i - TILE_M];
    __syncthreads();

    float part[64];        // big · big of PART_K k
    float cross[64] = {};  // big · small + small · big of all k, which count 1 / 2048
    float sum[64] = {};
    for (int k0 = first; k0 < end; k0 += TILE_K) {
        const int tile = (k0 - first) / TILE_K, now = tile % STAGES;
        wait(&arrived[now], tile / STAGES % 2);
        // Descriptors count in 16 bytes: 2 for 16 k, and 64 from the big parts to the small ones.
        const auto a = descriptor(&stages[now].As[thread / 128 * 64 * BOTH]);
        const auto b = descriptor(stages[now].Bs);
        #pragma unroll
        for (int k = 0; k < TILE_K / 8; k += PART_K / 8) {
            begin();
            for (int i = k; i < k + PART_K / 8; i += 2) multiply(part, a + i, b + i, i > k);
            commit();
            for (int i = k; i < k + PART_K / 8; i += 2) {
                multiply(cross, a + i, b + i + 64, true);
                multiply(cross, a + i + 64, b + i, true);
            }
            commit();
            finish<1>(part);  // while `cross` goes on
            for (int i = 0; i < 64; ++i) sum[i] += part[i];
        }
        __syncthreads();  // the stage before is done with
        if (thread == 0) fetch((now + STAGES - 1) % STAGES, k0 + (STAGES - 1) * TILE_K);
    }
    finish<0>(cross);

    // Of the 16 rows of its warp, this thread has two, and two columns in each group of 8.
    C += (size_t)blockIdx.z * M * N;  // each layer leaves a product of its own
    bool again = false;
    #pragma unroll
    for (int i = 0; i < 64; i += 2) {
        struct alignas(8) Pair { float at[2]; } dots;
        const int row = thread / 32 * 16 + thread % 32 / 4 + i / 2 % 2 * 8;
        const int col = thread % 4 * 2 + i / 4 * 8;
        for (int j = 0; j < 2; ++j) {
            const Line a = own[row], b = own[TILE_M + col + j];
            const float scaled = sum[i + j] + cross[i + j] / 2048;
            const float root = a.root * b.root;  // its square may be no FP32 number
            dots.at[j] = scaled * root * root;
            again |= !(fabsf(scaled) >= a.lost * b.norm + b.lost * a.norm);
            again |= a.integers + b.integers > 0 && fabsf(dots.at[j]) < 0x1p25f;
        }
        float* to = &C[(size_t)(row0 + row) * N + col0 + col];
        if (row0 + row >= M || col0 + col >= N) continue;
        if (N % 2 == 0) *(Pair*)to = dots;
        else for (int j = 0; j < 2 && col0 + col + j < N; ++j) to[j] = dots.at[j];
    }
    // Where more may be lost than FP32 loses, FP32 units multiply the tile again.
    again = __syncthreads_or(again);
    const int tile_row = blockIdx.z * ((M + TILE_M - 1) / TILE_M) + row0 / TILE_M;
    if (thread == 0) unsure[tile_row * col_tiles + col0 / TILE_N] = again;
}

#include "again.cuh"
