// Lab 5. More than one element per thread. This is step 4's kernel without its bands: a block of 32 x 32 threads for 32 x
// 32 elements of C. Let a thread compute a column of elements first, then a tile of them, and change the launch accordingly.
//
// launch: block 32,32 tile 32,32

#ifndef ELEMENT
#define ELEMENT float
#endif

constexpr int TILE = 32;

extern "C" __global__ void matmul(const ELEMENT* A, const ELEMENT* B, ELEMENT* C, int M, int N, int K)
{
    const int x = threadIdx.x;
    const int y = threadIdx.y;
    const int row = blockIdx.y * TILE + y;
    const int col = blockIdx.x * TILE + x;

    __shared__ ELEMENT As[TILE][TILE];
    __shared__ ELEMENT Bs[TILE][TILE];

    // TODO task 1: an array of sums, one for each element of this thread: ELEMENT sum[TM] = {};
    // This thread's element of the first tile of A and of B, and up to which k0 there is one: beyond the edge there is none.
    const ELEMENT* a = A + (size_t)row * K + x;
    const ELEMENT* b = B + (size_t)y * N + col;
    const int end_a = row < M ? K - x : 0;
    const int end_b = col < N ? K - y : 0;

    ELEMENT sum = 0;
    for (int k0 = 0; k0 < K; k0 += TILE) {
        // TODO task 1: with fewer threads than elements, each thread loads several elements of the tiles.
        As[y][x] = k0 < end_a ? *a : 0;
        Bs[y][x] = k0 < end_b ? *b : 0;
        a += TILE;
        b += (size_t)TILE * N;
        __syncthreads();

        // TODO task 1: for each k, load the element of B once, into a variable, and use it for all sums.
        // TODO task 2: several columns as well: an outer product.
        for (int k = 0; k < TILE; ++k) {
            sum += As[y][k] * Bs[k][x];
        }
        __syncthreads();
    }

    if (row < M && col < N) {
        C[(size_t)row * N + col] = sum;
    }
}
