// Step 6 for every shape. A C with few tiles leaves most of a GPU idle, so the depth is divided,
// too: groups of warps share out each pair of tiles, and the layers of the grid share out K. A
// product of very few rows or columns is another problem, and has a kernel of its own.

#include "async.cuh"  // copy, wait

// VECTOR: elements of a row of B in one access, 4 or 2 where its rows start on so many, else 1.
template <int COUNT> struct alignas(4 * COUNT) Pack { ELEMENT at[COUNT]; };  // for one access

#ifndef FEW

// TILE_M, TILE_N, TILE_K  rows and columns of C that a block computes, and the depth of its tiles
// THREAD_M, THREAD_N      rows and columns of C that a thread computes
// GROUPS                  groups of warps, each with its own share of the depth of a tile
// ODD                     1: the last tiles may come alone; 0: in pairs, which may end with zeros
constexpr int WARP_M = 4 * THREAD_M;  // a warp is a grid of 4 x 8 threads
constexpr int WARP_N = 8 * THREAD_N;
constexpr int GROUP_THREADS = TILE_M / THREAD_M * (TILE_N / THREAD_N);
constexpr int THREADS = GROUP_THREADS * GROUPS;
constexpr int STEPS = TILE_K / GROUPS;           // steps of k, for each group, in a pair of tiles
constexpr int A_ROWS = THREADS / 8;              // rows of A that the block copies at a time
constexpr int B_THREADS = TILE_N / VECTOR < 32 ? TILE_N / VECTOR : 32;  // that copy a row of B
constexpr int B_ROWS = THREADS / B_THREADS;      // rows of B that the block copies at a time
// Elements of C in one access. Large tiles store one by one: sums in neighbouring registers, as a
// wide store wants them, slow their loops by 4 %.
#ifndef STORED
constexpr int STORED = TILE_M * TILE_N > 4096 ? 1 : VECTOR;
#endif

extern "C" __global__ void __launch_bounds__(THREADS) matmul(
    const ELEMENT* A, const ELEMENT* B, ELEMENT* C, int M, int N, int K)
{
#if THREAD_M > 8
    const unsigned thread = threadIdx.x;  // as in step 6
#else
    const int thread = threadIdx.x;  // the smaller tiles are up to 5 % faster with a signed one
#endif
    const int lane = thread % 32;
    const int warp = thread % GROUP_THREADS / 32;
    const int group = thread / GROUP_THREADS;
    // Lanes 1 apart share columns and lanes 2 apart share rows, so that a load takes 2 wavefronts.
    const int x = warp % (TILE_N / WARP_N) * WARP_N + lane / 2 % 8 * 4;
    const int y = warp / (TILE_N / WARP_N) * WARP_M + (lane / 16 * 2 + lane % 2) * 4;
    const int row0 = blockIdx.y * TILE_M;
    const int col0 = blockIdx.x * TILE_N;
    // The tiles of A, then those of B, in one array: at the end the groups meet in it.
    __shared__ alignas(16) ELEMENT shared[2 * TILE_K * (TILE_M + 4 + TILE_N)];
    auto As = (ELEMENT(*)[TILE_K][TILE_M + 4])shared;  // + 4: no bank conflicts, as in step 6
    auto Bs = (ELEMENT(*)[TILE_K][TILE_N])(shared + 2 * TILE_K * (TILE_M + 4));

    // The slice of K of this layer of the grid.
    const int slice = ((K - 1) / (int)gridDim.z / TILE_K + 1) * TILE_K;
    const int k_first = min((long long)blockIdx.z * slice, (long long)K);
    const int k_end = k_first + min(slice, K - k_first);

    // Where this thread's copies of A and of B start, and from which k on there are only zeros.
    // Past the last row of A it is read again: what it gives there is not stored.
    const int a_row = thread / 8;
    const int a_k = thread % 8;
    const ELEMENT* a_from[TILE_M / A_ROWS];
    for (int i = 0; i < TILE_M / A_ROWS; ++i)
        a_from[i] = A + (size_t)min(row0 + a_row + i * A_ROWS, M - 1) * K + k_first + a_k;
    const int a_end = k_end - a_k;
    const int b_k = thread / B_THREADS;
    const int b_col = thread % B_THREADS * VECTOR;
    const ELEMENT* b_from = B + (size_t)(k_first + b_k) * N + col0 + b_col;
    const int b_end = k_end - b_k;
    const int b_columns = N - col0 - b_col;

    // Starts this thread's copies of a tile of A and one of B. Those past the last are zeros.
    auto fetch = [&](int buffer, int k0) {
        for (int i = 0; i < TILE_M / A_ROWS; ++i) {
            for (int k = 0; k < TILE_K; k += 8)
                copy<1>(&As[buffer][a_k + k][a_row + i * A_ROWS], a_from[i] + k, k0 + k < a_end);
            a_from[i] += TILE_K;
        }
        for (int k = 0; k < TILE_K; k += B_ROWS) {
            const int inside = k0 + k < b_end ? b_columns : 0;
            for (int n = 0; n < TILE_N; n += B_THREADS * VECTOR)
                copy<VECTOR>(&Bs[buffer][b_k + k][b_col + n], b_from + n, n < inside);
            b_from += (size_t)B_ROWS * N;
        }
    };
    // Reads the elements of this group's next k. Two sets of registers take turns.
    ELEMENT a[2][THREAD_M];
    ELEMENT b[2][THREAD_N];
    auto load = [&](int buffer, int step) {
        const int k = group * STEPS + step;
        for (int m = 0; m < THREAD_M; m += 4)
            *(Pack<4>*)&a[step % 2][m] = *(const Pack<4>*)&As[buffer][k][y + m * 4];
        for (int n = 0; n < THREAD_N; n += 4)
            *(Pack<4>*)&b[step % 2][n] = *(const Pack<4>*)&Bs[buffer][k][x + n * 8];
    };

    ELEMENT sum[THREAD_M][THREAD_N] = {};
    fetch(0, k_first);
    wait();
    __syncthreads();
    load(0, 0);
    auto multiply = [&](int now, int k0, bool last) {
        #pragma unroll
        for (int step = 0; step < STEPS; ++step) {
            if (last && k0 + step >= k_end) break;  // only zeros follow, also for the other groups
            if (!last && step == STEPS - 1) {  // the last elements of these tiles are in registers
                wait();
                __syncthreads();
            }
            if (!last && step == 0) fetch(1 - now, k0 + TILE_K);
            if (step + 1 < STEPS) load(now, step + 1);
            else if (!last) load(1 - now, 0);
            for (int m = 0; m < THREAD_M; ++m)
                for (int i = 0; i < THREAD_N; ++i) {
                    const int n = m % 2 == 0 ? i : THREAD_N - 1 - i;
                    sum[m][n] += a[step % 2][m] * b[step % 2][n];
                }
        }
    };
    int k0 = k_first;
    #pragma unroll 1
    for (; k0 + ODD * TILE_K < k_end; k0 += 2 * TILE_K) {  // so that the buffers are constants
        multiply(0, k0, false);
        multiply(1, k0 + TILE_K, false);
    }
    if (ODD && k0 < k_end) multiply(0, k0, true);

    if (GROUPS > 1) {  // The first group adds up what all have, a row of the thread tile at a time.
        __syncthreads();  // the tiles are done with
        for (int m = 0; m < THREAD_M; ++m) {
            // Two rows take turns, so that one barrier is enough for each.
            ELEMENT* row = shared + m % 2 * (GROUPS - 1) * THREAD_N * GROUP_THREADS;
            ELEMENT* mine = row + thread % GROUP_THREADS;
            for (int n = 0; n < THREAD_N && group > 0; ++n)
                mine[((group - 1) * THREAD_N + n) * GROUP_THREADS] = sum[m][n];
            __syncthreads();
            for (int i = 0; i < (GROUPS - 1) * THREAD_N && group == 0; ++i)
                sum[m][i % THREAD_N] += mine[i * GROUP_THREADS];
        }
        if (group > 0) return;
    }
    C += (size_t)blockIdx.z * M * N;  // each layer leaves a product of its own
    for (int m = 0; m < THREAD_M; ++m) {
        const int row = row0 + y + m / 4 * 16 + m % 4;
        if (row < M)
            for (int n = 0; n < THREAD_N; n += STORED) {
                const int col = col0 + x + n / 4 * 32 + n % 4;
                if (col < N) *(Pack<STORED>*)&C[(size_t)row * N + col] = *(Pack<STORED>*)&sum[m][n];
            }
    }
}

#else  // FEW

// With at most 8 rows or columns of C, an element of the larger matrix takes part in so few
// multiply-adds that memory bounds the product: that matrix is read once, whole rows at a time.
constexpr int THREADS = 256;
constexpr int WARPS = THREADS / 32;
constexpr int ROWS_EACH = 4;           // of C, in few_columns: a warp's
constexpr int COLUMNS = 32 * 4;        // of C, in few_rows: a block's, 4 for each lane
constexpr int SHARED = 8192;           // elements of shared memory

// C has at most ROWS rows. Each warp takes some k of all columns of the block.
template <int ROWS> __device__ void few_rows(const ELEMENT* A, const ELEMENT* B, ELEMENT* C,
    int M, int N, int K, int k_first, int k_end, ELEMENT* shared)
{
    constexpr int DEPTH = 4096 / ROWS;
    constexpr int LOADS = 4 / VECTOR;  // of a row of B, by a lane
    const int warp = threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    const int col0 = blockIdx.x * COLUMNS;
    const ELEMENT* from[LOADS];
    for (int i = 0; i < LOADS; ++i)
        from[i] = B + min(col0 + (i * 32 + lane) * VECTOR, N - VECTOR);
    ELEMENT sum[ROWS][4] = {};
    for (int k0 = k_first; k0 < k_end; k0 += DEPTH) {
        const int depth = min(DEPTH, k_end - k0);
        auto As = (ELEMENT(*)[DEPTH])shared;
        __syncthreads();
        for (int m = 0; m < ROWS; ++m)
            for (int k = threadIdx.x; k < (depth + 3) / 4 * 4; k += THREADS)
                As[m][k] = m < M && k < depth ? A[(size_t)m * K + k0 + k] : ELEMENT(0);
        __syncthreads();
        #pragma unroll 2
        for (int k = warp * 4; k < depth; k += WARPS * 4) {
            alignas(16) ELEMENT b[4][4] = {};
            for (int i = 0; i < 4; ++i)
                for (int n = 0; n < LOADS && k + i < depth; ++n)
                    *(Pack<VECTOR>*)&b[i][n * VECTOR] =
                        *(const Pack<VECTOR>*)&from[n][(size_t)(k0 + k + i) * N];
            for (int m = 0; m < ROWS; ++m) {
                const Pack<4> a = *(const Pack<4>*)&As[m][k];
                for (int i = 0; i < 4; ++i)
                    for (int n = 0; n < 4; ++n) sum[m][n] += a.at[i] * b[i][n];
            }
        }
    }
    __syncthreads();
    auto sums = (ELEMENT(*)[ROWS][COLUMNS])shared;
    for (int m = 0; m < ROWS; ++m)
        for (int n = 0; n < 4; ++n)
            sums[warp][m][(n / VECTOR * 32 + lane) * VECTOR + n % VECTOR] = sum[m][n];
    __syncthreads();
    for (int i = threadIdx.x; i < M * COLUMNS; i += THREADS) {
        const int m = i / COLUMNS;
        const int n = i % COLUMNS;
        ELEMENT total = 0;
        for (int w = 0; w < WARPS; ++w) total += sums[w][m][n];
        if (col0 + n < N) C[(size_t)m * N + col0 + n] = total;
    }
}

// C has at most WIDTH columns. Each warp takes some rows of A, and its lanes share out k.
template <int WIDTH> __device__ void few_columns(const ELEMENT* A, const ELEMENT* B, ELEMENT* C,
    int M, int N, int K, int k_first, int k_end, ELEMENT* shared)
{
    constexpr int DEPTH = 4096 / WIDTH;
    const int lane = threadIdx.x % 32;
    const int row = (blockIdx.x * WARPS + threadIdx.x / 32) * ROWS_EACH;
    const ELEMENT* from[ROWS_EACH];
    for (int m = 0; m < ROWS_EACH; ++m) from[m] = A + (size_t)min(row + m, M - 1) * K;
    ELEMENT sum[ROWS_EACH][WIDTH] = {};
    for (int k0 = k_first; k0 < k_end; k0 += DEPTH) {
        const int depth = min(DEPTH, k_end - k0);
        auto Bs = (ELEMENT(*)[DEPTH + 1])shared;  // transposed
        __syncthreads();
        for (int i = threadIdx.x; i < depth * WIDTH; i += THREADS) {
            const int k = i / WIDTH;
            const int n = i % WIDTH;
            Bs[n][k] = n < N ? B[(size_t)(k0 + k) * N + n] : ELEMENT(0);
        }
        __syncthreads();
        #pragma unroll 4
        for (int k = lane; k < depth; k += 32) {
            ELEMENT a[ROWS_EACH];
            for (int m = 0; m < ROWS_EACH; ++m) a[m] = from[m][k0 + k];
            for (int n = 0; n < WIDTH; ++n)
                for (int m = 0; m < ROWS_EACH; ++m) sum[m][n] += a[m] * Bs[n][k];
        }
    }
    for (int m = 0; m < ROWS_EACH; ++m)
        for (int n = 0; n < WIDTH; ++n) {
            for (int apart = 16; apart > 0; apart /= 2)
                sum[m][n] += __shfl_xor_sync(0xffffffff, sum[m][n], apart);
            if (lane == 0 && n < N && row + m < M) C[(size_t)(row + m) * N + n] = sum[m][n];
        }
}

template <int COUNT> __device__ void few(const ELEMENT* A, const ELEMENT* B, ELEMENT* C,
    int M, int N, int K, int k_first, int k_end, ELEMENT* shared)
{
    if (M <= N) few_rows<COUNT>(A, B, C, M, N, K, k_first, k_end, shared);
    else few_columns<COUNT>(A, B, C, M, N, K, k_first, k_end, shared);
}

extern "C" __global__ void __launch_bounds__(THREADS) matmul(
    const ELEMENT* A, const ELEMENT* B, ELEMENT* C, int M, int N, int K)
{
    __shared__ alignas(16) ELEMENT shared[SHARED];
    const int slice = (K - 1) / (int)gridDim.z + 1;
    const int k_first = min((long long)blockIdx.z * slice, (long long)K);
    const int k_end = k_first + min(slice, K - k_first);
    C += (size_t)blockIdx.z * M * N;
    const int count = min(M, N);
    if (count == 1) few<1>(A, B, C, M, N, K, k_first, k_end, shared);
    else if (count <= 4) few<4>(A, B, C, M, N, K, k_first, k_end, shared);
    else few<8>(A, B, C, M, N, K, k_first, k_end, shared);
}

#endif

// Adds up the products of the slices of K, which lie one behind the other.
extern "C" __global__ void sum_slices(
    const ELEMENT* slices, ELEMENT* C, int M, int N, int count)
{
    const size_t size = (size_t)M * N;
    const size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < size; i += stride) {
        ELEMENT sum = 0;
        for (int slice = 0; slice < count; ++slice) sum += slices[slice * size + i];
        C[i] = sum;
    }
}
