// Each thread computes THREAD_M elements of one column of C: an element of B, read once from shared
// memory into a register, is multiplied with THREAD_M elements of A.

// TILE_M, TILE_N, TILE_K  rows and columns of C that a block computes, and the depth of its tiles
// THREAD_M                rows of C that a thread computes
constexpr int ROWS = TILE_M / THREAD_M;  // threads in a column; a thread's rows are ROWS apart
constexpr int COLS = TILE_N;             // threads in a row
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

    ELEMENT sum[THREAD_M] = {};
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

        for (int k = 0; k < TILE_K; ++k) {
            const ELEMENT b = Bs[k][x];
            for (int m = 0; m < THREAD_M; ++m)
                sum[m] += As[y + m * ROWS][k] * b;
        }
        // ... and no thread may store the next tiles before every thread has read these.
        __syncthreads();
    }

    for (int m = 0; m < THREAD_M; ++m) {
        const int row = row0 + y + m * ROWS;
        const int col = col0 + x;
        if (row < M && col < N)
            C[(size_t)row * N + col] = sum[m];
    }
}
