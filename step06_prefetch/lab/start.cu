// Lab 6. Prefetching. This is step 5's kernel, with its constants and its launch written down: they
// are yours to change. Only VECTOR still comes from the host.
//
// launch: block 128,1 tile 128,64

// TILE_M, TILE_N, TILE_K  rows and columns of C that a block computes, and the depth of its tiles
// THREAD_M, THREAD_N      rows and columns of C that a thread computes
// VECTOR                  elements of B in one copy: 4 if its rows start on 16 bytes, else 1
constexpr int TILE_M = 64;
constexpr int TILE_N = 128;
constexpr int TILE_K = 16;
constexpr int THREAD_M = 8;
constexpr int THREAD_N = 8;
constexpr int WARP_M = 4 * THREAD_M;  // a warp is a grid of 4 x 8 threads
constexpr int WARP_N = 8 * THREAD_N;
constexpr int THREADS = TILE_M / THREAD_M * (TILE_N / THREAD_N);
constexpr int A_ROWS = THREADS / 8;                  // rows of A that the block copies at a time
constexpr int B_ROWS = THREADS / (TILE_N / VECTOR);  // rows of B that the block copies at a time

template <int COUNT> struct alignas(4 * COUNT) Pack { ELEMENT at[COUNT]; };  // for one access

extern "C" __global__ void __launch_bounds__(THREADS) matmul(
    const ELEMENT* A, const ELEMENT* B, ELEMENT* C, int M, int N, int K)
{
    const int thread = threadIdx.x;
    const int lane = thread % 32;
    const int warp = thread / 32;
    // Lanes 1 apart share columns and lanes 2 apart share rows, so that a load takes 2 wavefronts.
    const int x = warp % (TILE_N / WARP_N) * WARP_N + lane / 2 % 8 * 4;
    const int y = warp / (TILE_N / WARP_N) * WARP_M + (lane / 16 * 2 + lane % 2) * 4;
    const int row0 = blockIdx.y * TILE_M;
    const int col0 = blockIdx.x * TILE_N;

    // TODO task 1: two pairs of tiles, As[2][TILE_K][...] and Bs[2][TILE_K][...], that take turns.
    // The padding keeps the transposed stores of a warp out of each other's banks.
    __shared__ alignas(16) ELEMENT As[TILE_K][TILE_M + 4];
    __shared__ alignas(16) ELEMENT Bs[TILE_K][TILE_N];

    // Where this thread's copies of A and of B start, and from which k on there are only zeros.
    const int a_row = thread / 8;
    const int a_k = thread % 8;
    const ELEMENT* a_from[TILE_M / A_ROWS];
    int a_end[TILE_M / A_ROWS];
    for (int i = 0; i < TILE_M / A_ROWS; ++i) {
        a_from[i] = A + (size_t)(row0 + a_row + i * A_ROWS) * K + a_k;
        a_end[i] = row0 + a_row + i * A_ROWS < M ? K - a_k : 0;
    }
    const int b_k = thread / (TILE_N / VECTOR);
    const int b_col = thread % (TILE_N / VECTOR) * VECTOR;
    const ELEMENT* b_from = B + (size_t)b_k * N + col0 + b_col;
    const int b_end = col0 + b_col < N ? K - b_k : 0;

    ELEMENT sum[THREAD_M][THREAD_N] = {};
    // TODO task 1: who fetches the first pair of tiles, if the loop fetches the next one?
    for (int k0 = 0; k0 < K; k0 += TILE_K) {
        // TODO task 1: when is the *next* pair fetched into registers, and when is it stored?
        // Cooperative load, as in step 3: a tile has more elements than the block has threads.
        for (int i = 0; i < TILE_M / A_ROWS; ++i) {
            for (int k = 0; k < TILE_K; k += 8)
                As[a_k + k][a_row + i * A_ROWS] = k0 + k < a_end[i] ? a_from[i][k] : 0;
            a_from[i] += TILE_K;
        }
        for (int k = 0; k < TILE_K; k += B_ROWS) {
            Pack<VECTOR>* to = (Pack<VECTOR>*)&Bs[b_k + k][b_col];
            *to = k0 + k < b_end ? *(const Pack<VECTOR>*)b_from : Pack<VECTOR>{};
            b_from += (size_t)B_ROWS * N;
        }
        // No thread may read the tiles before every thread has stored its elements ...
        __syncthreads();

        #pragma unroll
        for (int k = 0; k < TILE_K; ++k) {
            ELEMENT a[THREAD_M];
            ELEMENT b[THREAD_N];
            for (int m = 0; m < THREAD_M; m += 4)
                *(Pack<4>*)&a[m] = *(const Pack<4>*)&As[k][y + m * 4];
            for (int n = 0; n < THREAD_N; n += 4)
                *(Pack<4>*)&b[n] = *(const Pack<4>*)&Bs[k][x + n * 8];
            for (int m = 0; m < THREAD_M; ++m)
                for (int i = 0; i < THREAD_N; ++i) {
                    const int n = m % 2 == 0 ? i : THREAD_N - 1 - i;
                    sum[m][n] += a[m] * b[n];
                }
        }
        // TODO task 1: with two pairs, one barrier for each pair is enough. Which of the two goes?
        // ... and no thread may store the next tiles before every thread has read these.
        __syncthreads();
    }

    for (int m = 0; m < THREAD_M; ++m) {
        const int row = row0 + y + m / 4 * 16 + m % 4;
        if (row < M)
            for (int n = 0; n < THREAD_N; ++n) {
                const int col = col0 + x + n / 4 * 32 + n % 4;
                if (col < N) C[(size_t)row * N + col] = sum[m][n];
            }
    }
}
