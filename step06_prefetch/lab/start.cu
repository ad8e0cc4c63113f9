// Lab 6. Prefetching. This is step 5's kernel without its bands, with a tile that is fixed here (the host's own choice of a tile
// is undone), and the launch that goes with it. VECTOR is still given by the host: 4 where N is a multiple of 4, else 1.
//
// launch: block 128,1 tile 128,64

#ifndef ELEMENT
#define ELEMENT float
#endif

#undef TILE_M
#undef TILE_N
#undef TILE_K
#undef THREAD_M
#undef THREAD_N
constexpr int TILE_M = 64, TILE_N = 128, TILE_K = 16;  // a block's tile of C, and the depth of the tiles of A and B
constexpr int THREAD_M = 8, THREAD_N = 8;              // a thread's tile of C

// A warp's lanes form a grid of 4 x 8, so a warp computes WARP_M x WARP_N elements of C.
constexpr int WARP_M = 4 * THREAD_M, WARP_N = 8 * THREAD_N;
constexpr int THREADS = 32 * (TILE_M / WARP_M) * (TILE_N / WARP_N);
// The block copies A_ROWS rows of A at a time, 8 threads a row (one sector), and B_ROWS rows of B, up to a warp a row.
constexpr int A_ROWS = THREADS / 8, B_THREADS = TILE_N / VECTOR < 32 ? TILE_N / VECTOR : 32, B_ROWS = THREADS / B_THREADS;

struct alignas(16) Four { ELEMENT at[4]; };  // moved by one 128-bit instruction

// TODO task 2: copy asynchronously: cp.async, which goes on by itself.
// Copies one or four elements to shared memory; outside of the matrix they are zeros.
template <int COUNT> __device__ void copy(ELEMENT* to, const ELEMENT* from, bool inside)
{
    if (COUNT == 4)
        *(Four*)to = inside ? *(const Four*)from : Four{};
    else
        *to = inside ? *from : ELEMENT(0);
}

extern "C" __global__ void __launch_bounds__(THREADS)
matmul(const ELEMENT* A, const ELEMENT* B, ELEMENT* C, int M, int N, int K)
{
    // TODO task 1: two pairs of tiles, [2][TILE_K][...], used in turn.
    // A's tile lies transposed, so that four rows are four neighbours; 4 words of padding keep the copies free of bank conflicts.
    __shared__ alignas(16) ELEMENT As[TILE_K][TILE_M + 4];
    __shared__ alignas(16) ELEMENT Bs[TILE_K][TILE_N];

    // A thread computes squares of 4 x 4 elements, 16 rows and 32 columns apart, from row, col of the block's tile on. Lanes 2 apart
    // share rows and lanes 1 apart share columns: such 128-bit loads of shared memory take 2 wavefronts, the fewest there are.
    const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
    const int row = warp / (TILE_N / WARP_N) * WARP_M + (lane / 16 * 2 + lane % 2) * 4;
    const int col = warp % (TILE_N / WARP_N) * WARP_N + lane / 2 % 8 * 4;
    const int first_row = blockIdx.y * TILE_M, first_col = blockIdx.x * TILE_N;

    // This thread's share of the copies. Rows of A past M start over at 0: any will do, as what they give is not stored.
    const int a_row = thread / 8, a_k = thread % 8;
    const ELEMENT* a_from[TILE_M / A_ROWS];
    for (int i = 0; i < TILE_M / A_ROWS; ++i)
        a_from[i] = A + (size_t)((first_row + a_row + i * A_ROWS) % M) * K + a_k;
    const int b_k = thread / B_THREADS, b_col = thread % B_THREADS * VECTOR, columns = N - first_col - b_col;
    const ELEMENT* b_from = B + (size_t)b_k * N + first_col + b_col;

    ELEMENT sum[THREAD_M][THREAD_N] = {}, a[THREAD_M], b[THREAD_N];
    // TODO task 1: start copying the first pair of tiles here, before the loop.
    for (int left = K; left > 0; left -= TILE_K) {
        // TODO task 1: copy the *next* pair, into the other buffer; one barrier for each pair is enough.
        // TODO task 2: close the copies into a group (commit), and wait for the group before its tiles are read.
        for (int k = 0; k < TILE_K; k += 8)
            for (int i = 0; i < TILE_M / A_ROWS; ++i)
                copy<1>(&As[k + a_k][a_row + i * A_ROWS], a_from[i] + k, k + a_k < left);
        for (int k = 0; k < TILE_K; k += B_ROWS) {
            const int inside = k + b_k < left ? columns : 0;
            for (int n = 0; n < TILE_N; n += B_THREADS * VECTOR)
                copy<VECTOR>(&Bs[k + b_k][b_col + n], b_from + (size_t)k * N + n, n < inside);
        }
        for (int i = 0; i < TILE_M / A_ROWS; ++i) a_from[i] += TILE_K;
        b_from += (size_t)TILE_K * N;
        __syncthreads();  // the tiles are complete before anyone reads them ...

        #pragma unroll  // no loop counter; the loads of one k run ahead of the multiplications of another
        for (int k = 0; k < TILE_K; ++k) {
            for (int m = 0; m < THREAD_M; m += 4) *(Four*)&a[m] = *(Four*)&As[k][row + 4 * m];
            for (int n = 0; n < THREAD_N; n += 4) *(Four*)&b[n] = *(Four*)&Bs[k][col + 8 * n];
            for (int m = 0; m < THREAD_M; ++m)
                for (int i = 0; i < THREAD_N; ++i) {
                    const int n = m % 2 ? THREAD_N - 1 - i : i;  // to and fro: each FMA shares an operand with the one before
                    sum[m][n] += a[m] * b[n];
                }
        }
        __syncthreads();  // ... and read by everyone before the next ones overwrite them
    }

    // One element at a time: 128-bit stores would tie the sums to aligned registers throughout the loop, and cost FMAs.
    for (int m = 0; m < THREAD_M; ++m) {
        const int r = first_row + row + m / 4 * 16 + m % 4;
        for (int n = 0; n < THREAD_N && r < M; ++n) {
            const int c = first_col + col + n / 4 * 32 + n % 4;
            if (c < N) C[(size_t)r * N + c] = sum[m][n];
        }
    }
}
