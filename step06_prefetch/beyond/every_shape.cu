// Step 6 for every shape. A C with few tiles leaves most of a GPU idle, so the depth is divided,
// too: groups of warps share out each pair of tiles, and the layers of the grid share out K. A row
// of C, or a few columns, is another problem, and has a kernel of its own.

#include "async.cuh"  // copy, wait

// VECTOR: elements of a row of B in one access, 4 or 2 where its rows start on so many, else 1.
template <int COUNT> struct alignas(4 * COUNT) Pack { ELEMENT at[COUNT]; };  // for one access

// The part of K that this layer of the grid multiplies, in whole tiles of this depth.
struct Slice { int first, end; };
__device__ Slice slice_of(int K, int depth)
{
    const int size = ((K - 1) / (int)gridDim.z / depth + 1) * depth;
    const int first = min((long long)blockIdx.z * size, (long long)K);
    return { first, first + min(size, K - first) };
}

#ifndef UNSURE  // again.cuh has a parameter more, and blocks without work
#define UNSURE
#define IS_SURE false
#endif

#ifdef TILE_M
// TILE_M, TILE_N, TILE_K  rows and columns of C that a block computes, and the depth of its tiles
// THREAD_M, THREAD_N      rows and columns of C that a thread computes
// GROUPS                  groups of warps, each with its own share of the depth of a tile
// ODD                     1: the last tiles may come alone; 0: in pairs, which may end with zeros
// STORED                  elements of C in one access
// BLOCKS                  blocks for which an SM must have enough registers
// SHARES                  steps of k over which the copies of a pair of tiles are spread
constexpr int WARP_M = 4 * THREAD_M;  // a warp is a grid of 4 x 8 threads
constexpr int WARP_N = 8 * THREAD_N;
constexpr int GROUP_THREADS = TILE_M / THREAD_M * (TILE_N / THREAD_N);
constexpr int THREADS = GROUP_THREADS * GROUPS;
constexpr int STEPS = TILE_K / GROUPS;           // steps of k, for each group, in a pair of tiles
constexpr int A_ROWS = THREADS / 8;              // rows of A that the block copies at a time
constexpr int B_THREADS = TILE_N / VECTOR < 32 ? TILE_N / VECTOR : 32;  // that copy a row of B
constexpr int B_ROWS = THREADS / B_THREADS;      // rows of B that the block copies at a time

// Lanes should store neighbouring columns of C, but a thread loads four columns at once from Bs. So
// columns change places there, UNIT of them together: a thread's four come to lie 8 * UNIT apart.
enum { UNIT = VECTOR < STORED ? STORED : VECTOR };
__device__ constexpr int place_of(int col)
{
    if (UNIT == 4) return col;
    return col / 32 * 32 + col / UNIT % 8 * 4 + col % 32 / (8 * UNIT) * UNIT + col % UNIT;
}
__device__ constexpr int column_at(int place)
{
    if (UNIT == 4) return place;
    return place / 32 * 32 + place % 4 / UNIT * (8 * UNIT) + place % 32 / 4 * UNIT + place % UNIT;
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) matmul(
    const ELEMENT* A, const ELEMENT* B, ELEMENT* C UNSURE, int M, int N, int K)
{
    if (IS_SURE) return;
    const int thread = threadIdx.x;
    const int lane = thread % 32;
    const int warp = thread % GROUP_THREADS / 32;
    const int group = thread / GROUP_THREADS;
    // Lanes 1 apart share columns and lanes 2 apart share rows, so that a load takes 2 wavefronts.
    const int x = warp % (TILE_N / WARP_N) * WARP_N + lane / 2 % 8 * 4;  // in Bs
    const int y = warp / (TILE_N / WARP_N) * WARP_M + (lane / 16 * 2 + lane % 2) * 4;
    const int row0 = blockIdx.y * TILE_M;
    const int col0 = blockIdx.x * TILE_N;
    // The tiles of A, then those of B, in one array: at the end the groups meet in it.
    __shared__ alignas(16) ELEMENT shared[2 * TILE_K * (TILE_M + 4 + TILE_N)];
    auto As = (ELEMENT(*)[TILE_K][TILE_M + 4])shared;  // + 4: no bank conflicts, as in step 6
    auto Bs = (ELEMENT(*)[TILE_K][TILE_N])(shared + 2 * TILE_K * (TILE_M + 4));

    const Slice slice = slice_of(K, TILE_K);
    // Where this thread's copies of A and of B start. Past the last row of A it is read again: what
    // it gives there is not stored.
    const int a_row = thread / 8;
    const int a_k = thread % 8;
    const ELEMENT* a_from[TILE_M / A_ROWS];
    for (int i = 0; i < TILE_M / A_ROWS; ++i)
        a_from[i] = A + (size_t)min(row0 + a_row + i * A_ROWS, M - 1) * K + slice.first + a_k;
    const int b_k = thread / B_THREADS, b_col = thread % B_THREADS * VECTOR;
    const ELEMENT* b_from = B + (size_t)(slice.first + b_k) * N + col0 + b_col;
    const int b_columns = N - col0 - b_col, b_place = place_of(b_col);

    int unfetched = slice.end - slice.first;  // steps of k; copies past the last are zeros
    // Starts a share of this thread's copies of the next tiles of A and B.
    auto fetch = [&](int into, int share, int shares) {
        int copies = 0;
        for (int k = 0; k < TILE_K; k += B_ROWS) {
            const int inside = b_k + k < unfetched ? b_columns : 0;
            const ELEMENT* from = b_from + (size_t)k * N;
            for (int n = 0; n < TILE_N; n += B_THREADS * VECTOR)
                if (copies++ % shares == share)
                    copy<VECTOR>(&Bs[into][b_k + k][b_place + n], from + n, n < inside);
        }
        for (int i = 0; i < TILE_M / A_ROWS; ++i)
            for (int k = 0; k < TILE_K; k += 8)
                if (copies++ % shares == share)
                    copy<1>(&As[into][a_k + k][a_row + i * A_ROWS], a_from[i] + k,
                            a_k + k < unfetched);
        if (share < shares - 1) return;
        for (int i = 0; i < TILE_M / A_ROWS; ++i) a_from[i] += TILE_K;
        b_from += (size_t)TILE_K * N;
        unfetched -= TILE_K;
    };
    // Reads the elements of this group's next k. Two sets of registers take turns.
    ELEMENT a[2][THREAD_M], b[2][THREAD_N];
    auto load = [&](int buffer, int step) {
        const int k = group * STEPS + step;
        for (int m = 0; m < THREAD_M; m += 4)
            *(Pack<4>*)&a[step % 2][m] = *(const Pack<4>*)&As[buffer][k][y + m * 4];
        for (int n = 0; n < THREAD_N; n += 4)
            *(Pack<4>*)&b[step % 2][n] = *(const Pack<4>*)&Bs[buffer][k][x + n * 8];
    };

    ELEMENT sum[THREAD_M][THREAD_N] = {};
    fetch(0, 0, 1);
    wait();
    __syncthreads();
    load(0, 0);
    auto multiply = [&](int now, bool last) {
        #pragma unroll
        for (int step = 0; step < STEPS; ++step) {
            if (last && step >= unfetched + TILE_K) break;  // only zeros follow, for all groups
            if (!last && step == STEPS - 1) {  // the last elements of these tiles are in registers
                wait();
                __syncthreads();
            }
            if (!last && step < SHARES) fetch(1 - now, step, SHARES);
            if (step + 1 < STEPS) load(now, step + 1);
            else if (!last) load(1 - now, 0);
            for (int m = 0; m < THREAD_M; ++m)
                for (int i = 0; i < THREAD_N; ++i) {
                    const int n = m % 2 == 0 ? i : THREAD_N - 1 - i;
                    sum[m][n] += a[step % 2][m] * b[step % 2][n];
                }
        }
    };
    #pragma unroll 1
    while (unfetched > (ODD - 1) * TILE_K) {  // two at a time, so that the buffers are constants
        multiply(0, false);
        multiply(1, false);
    }
    if (ODD && unfetched > -TILE_K) multiply(0, true);

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
                const int col = col0 + column_at(x) + column_at(n / 4 * 32 + n % 4);
                if (col < N) *(Pack<STORED>*)&C[(size_t)row * N + col] = *(Pack<STORED>*)&sum[m][n];
            }
    }
}

#else
// ROW: 1; or COLUMNS: columns of C at most, and a multiple of VECTOR; THREADS: of a block
//
// A row of C, or a few columns, needs each element of the larger matrix so few times that memory
// bounds it. So all threads of the GPU read that matrix, each some loads ahead, and share out k.
constexpr int AHEAD = 4;  // steps of k whose loads are on their way together

// Adds up what the threads of a block have of its elements of C: lanes that are multiples of
// `apart` apart have the same ones, from the `first` on, and so have the warps of other parts.
template <int COUNT> __device__ ELEMENT add_up(ELEMENT (&sum)[COUNT], int apart, int first,
    int part, int parts, int thread, int elements)
{
    __shared__ ELEMENT shared[THREADS * 4];
    for (int distance = 16; distance >= apart; distance /= 2)
        for (int i = 0; i < COUNT; ++i) sum[i] += __shfl_xor_sync(0xffffffff, sum[i], distance);
    for (int i = 0; i < COUNT && thread % 32 < apart; ++i)
        if (first + i >= 0 && first + i < elements) shared[part * elements + first + i] = sum[i];
    __syncthreads();
    ELEMENT total = 0;
    for (int p = 0; p < parts && thread < elements; ++p) total += shared[p * elements + thread];
    return total;
}

#ifdef ROW
// B may have rows that start anywhere, and is read 16 bytes at a time all the same: steps of k that
// are 4 apart start at the same place in 16 bytes, and are a warp's. Its columns lie that much to
// the left of the block's; so the block reads 4 more than it computes.
extern "C" __global__ void __launch_bounds__(THREADS, 2) matmul(
    const ELEMENT* A, const ELEMENT* B, ELEMENT* C, int M, int N, int K)
{
    const Slice slice = slice_of(K, 1);
    const int x = threadIdx.x, x_count = blockDim.x, y_count = blockDim.y, warp = threadIdx.z;
    const unsigned k_own = slice.first + (warp / 4 * y_count + threadIdx.y) * 4 + warp % 4;
    const unsigned k_step = THREADS / x_count;
    const int columns = x_count * 4 - (N % 4 == 0 ? 0 : 4);
    const int col0 = blockIdx.x * columns;
    const int col = x * 4 - (int)(k_own % 4 * (N % 4) % 4);  // in the block's columns
    const unsigned k_end = col < min(columns, N - col0) ? slice.end : 0;
    const unsigned k_last = k_end == K && col0 + col + 4 > N ? K - 1 : k_end;

    ELEMENT sum[4] = {};
    for (unsigned k0 = k_own; k0 < k_last; k0 += AHEAD * k_step) {
        ELEMENT a[AHEAD] = {};
        Pack<4> b[AHEAD] = {};
        for (int i = 0; i < AHEAD; ++i) {
            const unsigned k = k0 + i * k_step;
            if (k < k_last) a[i] = A[k];
            if (k < k_last) b[i] = *(const Pack<4>*)&B[(size_t)k * N + col0 + col];
        }
        for (int i = 0; i < AHEAD; ++i)
            for (int n = 0; n < 4; ++n) sum[n] += a[i] * b[i].at[n];
    }
    if (k_last < k_end && (k_last - k_own) % k_step == 0)  // the end of B: 16 bytes are too many
        for (int n = 0; n < 3; ++n)
            if (col0 + col + n < N) sum[n] += A[k_last] * B[(size_t)k_last * N + col0 + col + n];
    const int i = (warp * y_count + threadIdx.y) * x_count + x;
    const ELEMENT total = add_up(sum, x_count, col, warp, THREADS / 32, i, columns);
    if (i < columns && col0 + i < N) C[(size_t)blockIdx.z * N + col0 + i] = total;
}

#else
constexpr int ROWS = 4;  // of C, for each thread
constexpr int SUMS = ROWS * COLUMNS;

// Threads along x have steps of k, neighbours in the rows of A; threads along y have rows.
extern "C" __global__ void __launch_bounds__(THREADS) matmul(
    const ELEMENT* A, const ELEMENT* B, ELEMENT* C, int M, int N, int K)
{
    const Slice slice = slice_of(K, 1);
    const int x = threadIdx.x, y = threadIdx.y, x_count = blockDim.x;
    const int row0 = blockIdx.x * blockDim.y * ROWS;
    const ELEMENT* a_from[ROWS];
    for (int m = 0; m < ROWS; ++m) a_from[m] = A + (size_t)min(row0 + y * ROWS + m, M - 1) * K;

    ELEMENT sum[SUMS] = {};
    for (unsigned k0 = slice.first + x; k0 < slice.end; k0 += AHEAD * x_count) {
        ELEMENT a[AHEAD][ROWS] = {};
        alignas(16) ELEMENT b[AHEAD][COLUMNS] = {};
        for (int i = 0; i < AHEAD; ++i) {
            const unsigned k = k0 + i * x_count;
            const ELEMENT* from = B + (size_t)k * N;
            for (int m = 0; m < ROWS && k < slice.end; ++m) a[i][m] = a_from[m][k];
            for (int n = 0; n < COLUMNS && k < slice.end; n += VECTOR)
                *(Pack<VECTOR>*)&b[i][n] = *(const Pack<VECTOR>*)&from[min(n, N - VECTOR)];
        }
        for (int i = 0; i < AHEAD; ++i)
            for (int s = 0; s < SUMS; ++s) sum[s] += a[i][s / COLUMNS] * b[i][s % COLUMNS];
    }
    const int i = y * x_count + x;
    const ELEMENT total = add_up(sum, 1, y * SUMS, x / 32, x_count / 32, i, blockDim.y * SUMS);
    const int row = row0 + i / COLUMNS, col = i % COLUMNS;
    if (i < blockDim.y * SUMS && row < M && col < N)
        C[((size_t)blockIdx.z * M + row) * N + col] = total;
}

#endif
#endif

// Adds up the products of the slices of K, which lie one behind the other.
extern "C" __global__ void sum_slices(const ELEMENT* slices, ELEMENT* C, int M, int N, int count)
{
    const size_t size = (size_t)M * N;
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < size; i += gridDim.x * blockDim.x) {
        ELEMENT sum = 0;
        for (int slice = 0; slice < count; ++slice) sum += slices[slice * size + i];
        C[i] = sum;
    }
}
