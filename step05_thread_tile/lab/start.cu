// Lab 5. More than one element per thread. This is step 4's kernel: 32 x 32 threads compute 32 x 32
// elements of C. You choose the launch: `block` is threads in x and y, `tile` is columns and rows
// of C per block.
//
// launch: block 32,32 tile 32,32
constexpr int TILE = 32;

extern "C" __global__ void matmul(
    const ELEMENT* A, const ELEMENT* B, ELEMENT* C, int M, int N, int K)
{
    const int x = threadIdx.x;
    const int y = threadIdx.y;
    const int row = blockIdx.y * TILE + y;
    const int col = blockIdx.x * TILE + x;

    __shared__ ELEMENT As[TILE][TILE];
    __shared__ ELEMENT Bs[TILE][TILE];

    // This thread's element of the first tile of A and of B.
    const ELEMENT* a_from = A + (size_t)row * K + x;
    const ELEMENT* b_from = B + (size_t)y * N + col;
    // From this k0 on there is no such element: it lies beyond the edge, and counts as zero.
    const int a_end = row < M ? K - x : 0;
    const int b_end = col < N ? K - y : 0;

    // TODO task 1: one sum for each element of this thread: ELEMENT sum[THREAD_M] = {};
    ELEMENT sum = 0;
    for (int k0 = 0; k0 < K; k0 += TILE) {
        // TODO task 1: the block has fewer threads than a tile has elements, so each copies more.
        // Cooperative load. Neighbouring threads differ in x, the fastest index of A and of B, so
        // both loads are coalesced.
        As[y][x] = k0 < a_end ? *a_from : 0;
        Bs[y][x] = k0 < b_end ? *b_from : 0;
        a_from += TILE;
        b_from += (size_t)TILE * N;
        // No thread may read the tiles before every thread has stored its elements ...
        __syncthreads();

        // TODO task 1: for each k, read the element of B once and use it for all sums.
        for (int k = 0; k < TILE; ++k)
            sum += As[y][k] * Bs[k][x];
        // ... and no thread may store the next tiles before every thread has read these.
        __syncthreads();
    }

    if (row < M && col < N)
        C[(size_t)row * N + col] = sum;
}
