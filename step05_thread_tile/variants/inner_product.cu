// The thread tile as inner products: one element of C after the other walks along k, and every
// multiplication reads both its factors from shared memory.

// TILE_M, TILE_N, TILE_K  rows and columns of C that a block computes, and the depth of its tiles
// THREAD_M, THREAD_N      rows and columns of C that a thread computes
constexpr int ROWS = TILE_M / THREAD_M;  // threads in a column; a thread's rows are ROWS apart
constexpr int COLS = TILE_N / THREAD_N;  // threads in a row; a thread's columns are COLS apart
constexpr int THREADS = ROWS * COLS;

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

    ELEMENT sum[THREAD_M][THREAD_N] = {};
    for (int k0 = 0; k0 < K; k0 += TILE_K) {
        // Cooperative load, as in step 3: a tile has more elements than the block has threads.
        for (int i = thread; i < TILE_M * TILE_K; i += THREADS) {
            const int row = row0 + i / TILE_K;
            const int k = k0 + i % TILE_K;
            As[i / TILE_K][i % TILE_K] = row < M && k < K ? A[(size_t)row * K + k] : 0;
        }
        for (int i = thread; i < TILE_K * TILE_N; i += THREADS) {
            const int k = k0 + i / TILE_N;
            const int col = col0 + i % TILE_N;
            Bs[i / TILE_N][i % TILE_N] = k < K && col < N ? B[(size_t)k * N + col] : 0;
        }
        // No thread may read the tiles before every thread has stored its elements ...
        __syncthreads();

        // The sums stay in registers, and the loads in the inner loop: if that were unrolled too,
        // the compiler would find the outer product by itself.
        #pragma unroll
        for (int m = 0; m < THREAD_M; ++m)
            #pragma unroll
            for (int n = 0; n < THREAD_N; ++n)
                #pragma unroll 4
                for (int k = 0; k < TILE_K; ++k)
                    sum[m][n] += As[y + m * ROWS][k] * Bs[k][x + n * COLS];
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
