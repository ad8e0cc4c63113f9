// The next tiles are fetched while the current ones are multiplied, and so are the next elements of the tiles: neither
// global nor shared memory is ever waited for, as long as there is enough to multiply. The host sets all constants.

// TILE_M, TILE_N     rows and columns of C that a block computes
// TILE_K             depth of the tiles of A and B in shared memory
// THREAD_M, THREAD_N rows and columns of C that a thread computes
// VECTOR             elements of B in one copy: 4 where every row of B starts on 16 bytes, else 1
// BUFFERS            pairs of tiles in shared memory: one is multiplied, the others are on their way
// FETCH_STEPS        steps of k over which the copies of a pair of tiles are spread
// GROUPS             groups of warps that divide the depth of each tile, so that a small tile of C occupies many warps

// A warp's lanes form a grid of 4 x 8, so a warp computes WARP_M x WARP_N elements of C.
constexpr int WARP_M = 4 * THREAD_M, WARP_N = 8 * THREAD_N;
constexpr int GROUP_THREADS = 32 * (TILE_M / WARP_M) * (TILE_N / WARP_N), THREADS = GROUP_THREADS * GROUPS;
// The block copies A_ROWS rows of A at a time, 8 threads a row (one sector), and B_ROWS rows of B, up to a warp a row.
constexpr int A_ROWS = THREADS / 8, B_THREADS = TILE_N / VECTOR < 32 ? TILE_N / VECTOR : 32, B_ROWS = THREADS / B_THREADS;
constexpr int STEPS = TILE_K / GROUPS;

struct alignas(16) Four { ELEMENT at[4]; };  // moved by one 128-bit instruction

// Starts a copy of one or four elements to shared memory; outside of the matrix they are zeros.
template <int COUNT> __device__ void copy(ELEMENT* to, const ELEMENT* from, bool inside)
{
#if __CUDA_ARCH__ >= 800  // no register is involved; `inside` says how many bytes are read, the rest is filled with zeros
    const unsigned shared = __cvta_generic_to_shared(to);
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;"
                 :: "r"(shared), "l"(from), "n"(4 * COUNT), "r"(inside ? 4 * COUNT : 0) : "memory");
#else  // older devices wait for the elements here, in registers
    for (int i = 0; i < COUNT; ++i) to[i] = inside ? from[i] : ELEMENT(0);
#endif
}

// Ends a batch of copies: those this thread started since the last call.
__device__ void end_batch()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

// Waits until all of this thread's batches have arrived but for the `newest` ones.
template <int newest> __device__ void wait()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" :: "n"(newest) : "memory");
#endif
}

extern "C" __global__ void __launch_bounds__(THREADS)
matmul(const ELEMENT* A, const ELEMENT* B, ELEMENT* C, int M, int N, int K)
{
    // A's tiles lie transposed, so that four rows are four neighbours; 4 words of padding keep the copies free of bank conflicts.
    __shared__ alignas(16) ELEMENT As[BUFFERS][TILE_K][TILE_M + 4];
    __shared__ alignas(16) ELEMENT Bs[BUFFERS][TILE_K][TILE_N];

    // A thread computes squares of 4 x 4 elements, 16 rows and 32 columns apart, from row, col of the block's tile on. Lanes 2 apart
    // share rows and lanes 1 apart share columns: such 128-bit loads of shared memory take 2 wavefronts, the fewest there are.
    const int thread = threadIdx.x, lane = thread % 32, warp = thread % GROUP_THREADS / 32, group = thread / GROUP_THREADS;
    const int row = warp / (TILE_N / WARP_N) * WARP_M + (lane / 16 * 2 + lane % 2) * 4;
    const int col = warp % (TILE_N / WARP_N) * WARP_N + lane / 2 % 8 * 4;
    const int first_row = blockIdx.y * TILE_M, first_col = blockIdx.x * TILE_N;

    // Where the grid has several layers, each takes a slice of K and leaves a product of its own.
    const int slice = ((K - 1) / (int)gridDim.z / TILE_K + 1) * TILE_K;
    const int first_k = min((long long)blockIdx.z * slice, (long long)K);
    int left = min(slice, K - first_k);  // not yet fetched

    // This thread's share of the copies. Rows of A past M start over at 0: any will do, as what they give is not stored.
    const int a_row = thread / 8, a_k = thread % 8;
    const ELEMENT* a_from[TILE_M / A_ROWS];
    for (int i = 0; i < TILE_M / A_ROWS; ++i)
        a_from[i] = A + (size_t)((first_row + a_row + i * A_ROWS) % M) * K + first_k + a_k;
    const int b_k = thread / B_THREADS, b_col = thread % B_THREADS * VECTOR, columns = N - first_col - b_col;
    const ELEMENT* b_from = B + (size_t)(first_k + b_k) * N + first_col + b_col;

    auto fetch = [&](int buffer, int part, int parts) {
        int copies = 0;
        for (int k = 0; k < TILE_K; k += 8)
            for (int i = 0; i < TILE_M / A_ROWS; ++i)
                if (copies++ % parts == part)
                    copy<1>(&As[buffer][k + a_k][a_row + i * A_ROWS], a_from[i] + k, k + a_k < left);
        for (int k = 0; k < TILE_K; k += B_ROWS) {
            const int inside = k + b_k < left ? columns : 0;
            for (int n = 0; n < TILE_N; n += B_THREADS * VECTOR)
                if (copies++ % parts == part)
                    copy<VECTOR>(&Bs[buffer][k + b_k][b_col + n], b_from + (size_t)k * N + n, n < inside);
        }
        if (part == parts - 1) {
            end_batch();
            for (int i = 0; i < TILE_M / A_ROWS; ++i) a_from[i] += TILE_K;
            b_from += (size_t)TILE_K * N;
            left -= TILE_K;
        }
    };

    // Two sets of registers take turns: one is multiplied while the other is loaded from shared memory.
    ELEMENT sum[THREAD_M][THREAD_N] = {}, a[2][THREAD_M], b[2][THREAD_N];
    auto load = [&](int buffer, int step) {
        const int k = group * STEPS + step;
        for (int m = 0; m < THREAD_M; m += 4) *(Four*)&a[step % 2][m] = *(Four*)&As[buffer][k][row + 4 * m];
        for (int n = 0; n < THREAD_N; n += 4) *(Four*)&b[step % 2][n] = *(Four*)&Bs[buffer][k][col + 8 * n];
    };

    int tiles = (left + TILE_K - 1) / TILE_K;
    for (int buffer = 0; buffer < BUFFERS - 1; ++buffer) fetch(buffer, 0, 1);
    wait<BUFFERS - 2>();
    __syncthreads();
    load(0, 0);
    #pragma unroll 1
    for (; tiles > 0; tiles -= BUFFERS)
        #pragma unroll  // the buffer's number is a constant; tiles past the last one are zeros
        for (int now = 0; now < BUFFERS; ++now)
            #pragma unroll  // and so is the set's
            for (int step = 0; step < STEPS; ++step) {
                if (step == STEPS - 1) {  // The next tiles have arrived, and no thread needs this buffer any more:
                    wait<BUFFERS - 2>();  // its last elements are in registers, still to be multiplied.
                    __syncthreads();
                }
                load((now + (step + 1) / STEPS) % BUFFERS, (step + 1) % STEPS);
                if (step < FETCH_STEPS) fetch((now + BUFFERS - 1) % BUFFERS, step, FETCH_STEPS);
                for (int m = 0; m < THREAD_M; ++m)
                    for (int i = 0; i < THREAD_N; ++i) {
                        const int n = m % 2 ? THREAD_N - 1 - i : i;  // to and fro: each FMA shares an operand with the one before
                        sum[m][n] += a[step % 2][m] * b[step % 2][n];
                    }
            }

    if (GROUPS > 1) {  // Each group has summed over its own k. The first one adds up, a row of the thread tile at a time.
        static_assert(2 * (GROUPS - 1) * THREAD_N * GROUP_THREADS <= BUFFERS * TILE_K * (TILE_M + 4), "two rows fit As");
        wait<0>();
        __syncthreads();  // the tiles are done with
        for (int m = 0; m < THREAD_M; ++m) {
            ELEMENT* exchange = &As[0][0][0] + m % 2 * (GROUPS - 1) * THREAD_N * GROUP_THREADS + thread % GROUP_THREADS;
            for (int n = 0; n < THREAD_N && group > 0; ++n) exchange[((group - 1) * THREAD_N + n) * GROUP_THREADS] = sum[m][n];
            __syncthreads();  // one barrier a row: the next row goes elsewhere
            for (int i = 0; i < (GROUPS - 1) * THREAD_N && group == 0; ++i) sum[m][i % THREAD_N] += exchange[i * GROUP_THREADS];
        }
        if (group > 0) return;
    }
    C += (size_t)blockIdx.z * M * N;

    // One element at a time: 128-bit stores would tie the sums to aligned registers throughout the loop, and cost FMAs.
    for (int m = 0; m < THREAD_M; ++m) {
        const int r = first_row + row + m / 4 * 16 + m % 4;
        if (r < M)
            for (int n = 0; n < THREAD_N; ++n) {
                const int c = first_col + col + n / 4 * 32 + n % 4;
                if (c < N) C[(size_t)r * N + c] = sum[m][n];
            }
    }
}

// Adds up the products of the slices of K, which lie one behind the other.
extern "C" __global__ void sum_slices(const ELEMENT* slices, ELEMENT* C, int M, int N, int count)
{
    const size_t size = (size_t)M * N, stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < size; i += stride) {
        ELEMENT sum = 0;
        for (int slice = 0; slice < count; ++slice) sum += slices[slice * size + i];
        C[i] = sum;
    }
}
