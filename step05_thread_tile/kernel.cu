// Step 5: each thread computes a tile of C in registers.
//
// A block computes a TILE_M x TILE_N tile of C, walking along K in tiles TILE_K deep. In step 4 a thread read two elements of
// shared memory for each multiplication. Here it reads THREAD_M of A and THREAD_N of B and makes THREAD_M * THREAD_N
// multiplications of them (an outer product). The host sets every constant below with -D.

#ifndef ELEMENT
#define ELEMENT float
#endif
#ifndef TILE_M
#define TILE_M 64   // rows of C that a block computes
#define TILE_N 128  // columns of C that a block computes
#define TILE_K 16   // depth of the tiles of A and B in shared memory
#define THREAD_M 8  // rows of C that a thread computes
#define THREAD_N 8  // columns of C that a thread computes
#define VECTOR 1    // elements of B in one copy: 4 where N is a multiple of 4, so that every row starts on 16 bytes
#endif

// A warp's lanes form a grid of 4 x 8; together they compute WARP_M x WARP_N elements of C.
constexpr int WARP_M = 4 * THREAD_M, WARP_N = 8 * THREAD_N;
constexpr int THREADS = 32 * (TILE_M / WARP_M) * (TILE_N / WARP_N);

struct alignas(16) Four { ELEMENT at[4]; };  // moved by one 128-bit instruction

// Copies one element (or four) from global to shared memory: zero where `inside` is false.
template <int ELEMENTS>
__device__ void copy(ELEMENT* to, const ELEMENT* from, bool inside)
{
    if (ELEMENTS == 4)
        *(Four*)to = inside ? *(const Four*)from : Four{};
    else
        *to = inside ? *from : ELEMENT(0);
}

extern "C" __global__ void __launch_bounds__(THREADS) matmul(const ELEMENT* A, const ELEMENT* B, ELEMENT* C, int M, int N, int K)
{
    // A's tile is stored transposed, so that a thread's rows lie side by side; 4 more columns keep the copies off each other's banks.
    __shared__ alignas(16) ELEMENT tile_a[TILE_K][TILE_M + 4];
    __shared__ alignas(16) ELEMENT tile_b[TILE_K][TILE_N];

    // Which part of C: the block's tile, in it the warp's, in it the lane's first element. A lane owns 4 x 4 squares, 16 rows and
    // 32 columns apart. Lanes 0 and 1 share columns, lanes 0 and 2 rows: neighbours that share an address halve the cost of a 128-bit load.
    const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
    const int first_row = blockIdx.y * TILE_M, first_col = blockIdx.x * TILE_N;
    const int row = warp / (TILE_N / WARP_N) * WARP_M + (lane / 16 * 2 + lane % 2) * 4;
    const int col = warp % (TILE_N / WARP_N) * WARP_N + lane / 2 % 8 * 4;

    // What this thread copies. Rows past M and columns past N repeat the last one: what they give is never stored.
    constexpr int A_ROWS = THREADS / 8, B_ROWS = THREADS * VECTOR / TILE_N;  // rows that the block copies at a time
    const int a_row = thread / 8, a_k = thread % 8;  // 8 neighbours copy 32 bytes of a row of A: one sector
    const int b_k = thread / (TILE_N / VECTOR), b_col = thread % (TILE_N / VECTOR) * VECTOR;
    const ELEMENT* from_a[TILE_M / A_ROWS];
    for (int i = 0; i < TILE_M / A_ROWS; ++i)
        from_a[i] = A + (size_t)min(first_row + a_row + i * A_ROWS, M - 1) * K + a_k;
    const ELEMENT* from_b = B + (size_t)b_k * N + min(first_col + b_col, N - VECTOR);

    ELEMENT sum[THREAD_M][THREAD_N] = {};
    for (int left = K; left > 0; left -= TILE_K) {
        __syncthreads();  // all threads have done with the tiles before
        for (int k = 0; k < TILE_K; k += 8)
            for (int i = 0; i < TILE_M / A_ROWS; ++i)
                copy<1>(&tile_a[k + a_k][a_row + i * A_ROWS], from_a[i] + k, k + a_k < left);
        for (int k = 0; k < TILE_K; k += B_ROWS)
            copy<VECTOR>(&tile_b[k + b_k][b_col], from_b + (size_t)k * N, k + b_k < left);
        for (int i = 0; i < TILE_M / A_ROWS; ++i) from_a[i] += TILE_K;
        from_b += (size_t)TILE_K * N;
        __syncthreads();  // the tiles are complete

        #pragma unroll  // lets the loads of one step run ahead of the multiplications of another
        for (int k = 0; k < TILE_K; ++k) {
            ELEMENT a[THREAD_M], b[THREAD_N];
            for (int m = 0; m < THREAD_M; m += 4) *(Four*)&a[m] = *(Four*)&tile_a[k][row + 4 * m];
            for (int n = 0; n < THREAD_N; n += 4) *(Four*)&b[n] = *(Four*)&tile_b[k][col + 8 * n];
            for (int m = 0; m < THREAD_M; ++m)
                for (int j = 0; j < THREAD_N; ++j) {
                    const int n = m % 2 ? THREAD_N - 1 - j : j;  // to and fro, so that one operand stays in the FMA unit's reuse cache
                    sum[m][n] += a[m] * b[n];
                }
        }
    }

    // One element at a time: edges need it, and vector stores would force the sums into aligned groups of registers for the whole loop.
    for (int m = 0; m < THREAD_M; ++m)
        for (int n = 0; n < THREAD_N; ++n) {
            const int r = first_row + row + m / 4 * 16 + m % 4, c = first_col + col + n / 4 * 32 + n % 4;
            if (r < M && c < N) C[(size_t)r * N + c] = sum[m][n];
        }
}
