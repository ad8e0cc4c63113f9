// Each thread works out once which elements it copies, and where they end. In the loop its pointers
// only move on to the next tile.

// TILE_M, TILE_N, TILE_K  rows and columns of C that a block computes, and the depth of its tiles
// THREAD_M, THREAD_N      rows and columns of C that a thread computes
constexpr int ROWS = TILE_M / THREAD_M;  // threads in a column; a thread's rows are ROWS apart
constexpr int COLS = TILE_N / THREAD_N;  // threads in a row; a thread's columns are COLS apart
constexpr int THREADS = ROWS * COLS;
constexpr int A_ROWS = THREADS / TILE_K;  // rows of A that the block copies at a time
constexpr int B_ROWS = THREADS / TILE_N;  // rows of B that the block copies at a time

extern "C" __global__ void __launch_bounds__(THREADS) matmul(
    const ELEMENT* A, const ELEMENT* B, ELEMENT* C, int M, int N, int K)
{
    const int thread = threadIdx.x;
    const int x = thread % COLS;
    const int y = thread / COLS;
    const int row0 = blockIdx.y * TILE_M;
    const int col0 = blockIdx.x * TILE_N;

    __shared__ ELEMENT As[TILE_M][TILE_K];
    __shared__ ELEMENT Bs[TILE_K][TILE_N];

    // Where this thread's copies of A and of B start, and from which k on there are only zeros.
    const int a_row = thread / TILE_K;
    const int a_k = thread % TILE_K;
    const ELEMENT* a_from[TILE_M / A_ROWS];
    int a_end[TILE_M / A_ROWS];
    for (int i = 0; i < TILE_M / A_ROWS; ++i) {
        a_from[i] = A + (size_t)(row0 + a_row + i * A_ROWS) * K + a_k;
        a_end[i] = row0 + a_row + i * A_ROWS < M ? K - a_k : 0;
    }
    const int b_k = thread / TILE_N;
    const int b_col = thread % TILE_N;
    const ELEMENT* b_from = B + (size_t)b_k * N + col0 + b_col;
    const int b_end = col0 + b_col < N ? K - b_k : 0;

    ELEMENT sum[THREAD_M][THREAD_N] = {};
    for (int k0 = 0; k0 < K; k0 += TILE_K) {
        // Cooperative load, as in step 3: a tile has more elements than the block has threads.
        for (int i = 0; i < TILE_M / A_ROWS; ++i) {
            As[a_row + i * A_ROWS][a_k] = k0 < a_end[i] ? *a_from[i] : 0;
            a_from[i] += TILE_K;
        }
        for (int k = 0; k < TILE_K; k += B_ROWS) {
            Bs[b_k + k][b_col] = k0 + k < b_end ? *b_from : 0;
            b_from += (size_t)B_ROWS * N;
        }
        // No thread may read the tiles before every thread has stored its elements ...
        __syncthreads();

        for (int k = 0; k < TILE_K; ++k) {
            ELEMENT a[THREAD_M];
            ELEMENT b[THREAD_N];
            for (int m = 0; m < THREAD_M; ++m)
                a[m] = As[y + m * ROWS][k];
            for (int n = 0; n < THREAD_N; ++n)
                b[n] = Bs[k][x + n * COLS];
            for (int m = 0; m < THREAD_M; ++m)
                for (int n = 0; n < THREAD_N; ++n)
                    sum[m][n] += a[m] * b[n];
        }
        // ... and no thread may store the next tiles before every thread has read these.
        __syncthreads();
    }

    for (int m = 0; m < THREAD_M; ++m) {
        const int row = row0 + y + m * ROWS;
        if (row < M)
            for (int n = 0; n < THREAD_N; ++n) {
                const int col = col0 + x + n * COLS;
                if (col < N) C[(size_t)row * N + col] = sum[m][n];
            }
    }
}
