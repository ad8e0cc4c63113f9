// Step 6: fetch the next tiles while the current ones are multiplied.
//
// A block computes a TILE_M x TILE_N tile of C, walking along K in tiles TILE_K deep; each thread keeps THREAD_M x THREAD_N
// sums in registers. New in this step: BUFFERS pairs of tiles in shared memory, filled by asynchronous copies that run
// while the warps multiply; and K may be divided, among GROUPS of warps and among the slices of the grid (gridDim.z), so that
// a small C still fills the device. The host sets every constant below with -D.

#ifndef ELEMENT
#define ELEMENT float
#endif
#ifndef TILE_M
#define TILE_M 128   // rows of C that a block computes
#define TILE_N 128   // columns of C that a block computes
#define TILE_K 8     // depth of the tiles of A and B in shared memory
#define THREAD_M 16  // rows of C that a thread computes
#define THREAD_N 8   // columns of C that a thread computes
#define BUFFERS 2    // pairs of tiles in shared memory
#define GROUPS 1     // groups of warps that divide the depth of a tile among them
#define VECTOR 1     // elements of B in one copy: 4 where N is a multiple of 4, so that every row starts on 16 bytes
#endif

// A warp's lanes form a grid of 4 x 8; together they compute WARP_M x WARP_N elements of C.
constexpr int WARP_M = 4 * THREAD_M, WARP_N = 8 * THREAD_N;
constexpr int GROUP_WARPS = TILE_M / WARP_M * (TILE_N / WARP_N);
constexpr int THREADS = 32 * GROUP_WARPS * GROUPS;

struct alignas(16) Four { ELEMENT at[4]; };  // moved by one 128-bit instruction

// Starts the copy of one element (or four) from global to shared memory: zero where `inside` is false.
template <int ELEMENTS>
__device__ void copy(ELEMENT* to, const ELEMENT* from, bool inside)
{
#if __CUDA_ARCH__ >= 800  // the copy engine reads nothing and writes zeros when told that the source has 0 bytes
    const unsigned shared = __cvta_generic_to_shared(to);
    if (ELEMENTS == 4)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared), "l"(from), "r"(inside ? 16 : 0) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(shared), "l"(from), "r"(inside ? 4 : 0) : "memory");
#else  // older devices copy through registers
    for (int i = 0; i < ELEMENTS; ++i) to[i] = inside ? from[i] : ELEMENT(0);
#endif
}

// All copies since the last `commit` form a group. `wait` returns when at most `newer` groups of this thread are still on their way.
__device__ void commit()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
template <int NEWER>
__device__ void wait()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(NEWER) : "memory");
#endif
}

extern "C" __global__ void __launch_bounds__(THREADS) matmul(const ELEMENT* A, const ELEMENT* B, ELEMENT* C, int M, int N, int K)
{
    // A's tile is stored transposed, so that a thread's rows lie side by side; 4 more columns keep the copies off each other's banks.
    __shared__ alignas(16) ELEMENT tile_a[BUFFERS][TILE_K][TILE_M + 4];
    __shared__ alignas(16) ELEMENT tile_b[BUFFERS][TILE_K][TILE_N];

    // Which part of C: the block's tile, in it the warp's, in it the lane's first element. A lane owns 4 x 4 squares, 16 rows and
    // 32 columns apart. Lanes 0 and 1 share columns, lanes 0 and 2 rows: neighbours that share an address halve the cost of a 128-bit load.
    const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32 % GROUP_WARPS, group = thread / 32 / GROUP_WARPS;
    const int first_row = blockIdx.y * TILE_M, first_col = blockIdx.x * TILE_N;
    const int row = warp / (TILE_N / WARP_N) * WARP_M + (lane / 16 * 2 + lane % 2) * 4;
    const int col = warp % (TILE_N / WARP_N) * WARP_N + lane / 2 % 8 * 4;

    // Which part of K: this slice of the grid starts at `first_k` and has `left` steps to fetch.
    const int slice = ((K - 1) / (int)gridDim.z / TILE_K + 1) * TILE_K;
    const int first_k = min((long long)blockIdx.z * slice, (long long)K);
    int left = min(slice, K - first_k);
    const int tiles = (left + TILE_K - 1) / TILE_K;

    // What this thread copies. Rows past M and columns past N repeat the last one: what they give is never stored.
    constexpr int A_ROWS = THREADS / 8, B_ROWS = THREADS * VECTOR / TILE_N;  // rows that the block copies at a time
    const int a_row = thread / 8, a_k = thread % 8;  // 8 neighbours copy 32 bytes of a row of A: one sector
    const int b_k = thread / (TILE_N / VECTOR), b_col = thread % (TILE_N / VECTOR) * VECTOR;
    const ELEMENT* from_a[TILE_M / A_ROWS];
    for (int i = 0; i < TILE_M / A_ROWS; ++i)
        from_a[i] = A + (size_t)min(first_row + a_row + i * A_ROWS, M - 1) * K + first_k + a_k;
    const ELEMENT* from_b = B + (size_t)(first_k + b_k) * N + min(first_col + b_col, N - VECTOR);

    auto fetch = [&](int buffer) {  // starts the copies of the next tiles; past the end of K they are zeros
        for (int k = 0; k < TILE_K; k += 8)
            for (int i = 0; i < TILE_M / A_ROWS; ++i)
                copy<1>(&tile_a[buffer][k + a_k][a_row + i * A_ROWS], from_a[i] + k, k + a_k < left);
        for (int k = 0; k < TILE_K; k += B_ROWS)
            copy<VECTOR>(&tile_b[buffer][k + b_k][b_col], from_b + (size_t)k * N, k + b_k < left);
        commit();
        for (int i = 0; i < TILE_M / A_ROWS; ++i) from_a[i] += TILE_K;
        from_b += (size_t)TILE_K * N;
        left -= TILE_K;
    };

    ELEMENT sum[THREAD_M][THREAD_N] = {};
    int now = 0, next = BUFFERS - 1;
    for (int buffer = 0; buffer < BUFFERS - 1; ++buffer) fetch(buffer);
    for (int tile = 0; tile < tiles; ++tile) {
        wait<BUFFERS - 2>();  // this thread's copies into buffer `now` have arrived;
        __syncthreads();      // so have the other threads', and all have done with the buffer that `fetch` overwrites
        fetch(next);
        #pragma unroll  // lets the loads of one step run ahead of the multiplications of another
        for (int step = 0; step < TILE_K / GROUPS; ++step) {
            const int k = group * (TILE_K / GROUPS) + step;
            ELEMENT a[THREAD_M], b[THREAD_N];
            for (int m = 0; m < THREAD_M; m += 4) *(Four*)&a[m] = *(Four*)&tile_a[now][k][row + 4 * m];
            for (int n = 0; n < THREAD_N; n += 4) *(Four*)&b[n] = *(Four*)&tile_b[now][k][col + 8 * n];
            for (int m = 0; m < THREAD_M; ++m)
                for (int j = 0; j < THREAD_N; ++j) {
                    const int n = m % 2 ? THREAD_N - 1 - j : j;  // to and fro, so that one operand stays in the FMA unit's reuse cache
                    sum[m][n] += a[m] * b[n];
                }
        }
        now = now == BUFFERS - 1 ? 0 : now + 1;
        next = next == BUFFERS - 1 ? 0 : next + 1;
    }

    // The groups hold sums over their own parts of K: the first one collects them, a row of the thread tile at a time.
    if (GROUPS > 1) {
        wait<0>();
        ELEMENT* exchange = &tile_a[0][0][thread % (32 * GROUP_WARPS)];
        for (int m = 0; m < THREAD_M; ++m)
            for (int other = 1; other < GROUPS; ++other) {
                __syncthreads();
                for (int n = 0; n < THREAD_N && group == other; ++n) exchange[n * 32 * GROUP_WARPS] = sum[m][n];
                __syncthreads();
                for (int n = 0; n < THREAD_N && group == 0; ++n) sum[m][n] += exchange[n * 32 * GROUP_WARPS];
            }
        if (group > 0) return;
    }

    // One element at a time: edges need it, and vector stores would force the sums into aligned groups of registers for the whole loop.
    C += (size_t)blockIdx.z * M * N;
    for (int m = 0; m < THREAD_M; ++m)
        for (int n = 0; n < THREAD_N; ++n) {
            const int r = first_row + row + m / 4 * 16 + m % 4, c = first_col + col + n / 4 * 32 + n % 4;
            if (r < M && c < N) C[(size_t)r * N + c] = sum[m][n];
        }
}

// Adds up the products that the slices of K left one behind the other in `partial`.
extern "C" __global__ void sum_slices(const ELEMENT* partial, ELEMENT* C, int M, int N, int slices)
{
    const size_t size = (size_t)M * N, stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < size; i += stride) {
        ELEMENT sum = 0;
        for (int slice = 0; slice < slices; ++slice) sum += partial[slice * size + i];
        C[i] = sum;
    }
}
