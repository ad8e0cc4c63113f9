// The blocks take the tiles of C row by row: those that run at the same time share few columns of B, and all of B passes through the
// L2 cache for each of their rows.

#ifndef ELEMENT
#define ELEMENT float
#endif

extern "C" __global__ void matmul(const ELEMENT* A, const ELEMENT* B, ELEMENT* C, int M, int N, int K)
{
    const int x = threadIdx.x;
    const int y = threadIdx.y;
    const int tile = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;  // in the order in which blocks start
    const int row = tile / (gridDim.x * gridDim.z) * TILE + y;
    const int col = tile % (gridDim.x * gridDim.z) * TILE + x;

    __shared__ ELEMENT As[TILE][TILE];
    __shared__ ELEMENT Bs[TILE][TILE];

    // This thread's element of the first tile of A and of B, and up to which k0 there is one: beyond the edge there is none.
    const ELEMENT* a = A + (size_t)row * K + x;
    const ELEMENT* b = B + (size_t)y * N + col;
    const int end_a = row < M ? K - x : 0;
    const int end_b = col < N ? K - y : 0;

    ELEMENT sum = 0;
    for (int k0 = 0; k0 < K; k0 += TILE) {
        // Coalesced: the lanes of a warp differ in x, the fastest index of both A and B. Beyond the edge, zeros add nothing.
        As[y][x] = k0 < end_a ? *a : 0;
        Bs[y][x] = k0 < end_b ? *b : 0;
        a += TILE;
        b += (size_t)TILE * N;
        // The tiles are complete before anyone reads them ...
        __syncthreads();

        for (int k = 0; k < TILE; ++k) {
            sum += As[y][k] * Bs[k][x];
        }
        // ... and read by everyone before the next tiles overwrite them.
        __syncthreads();
    }

    if (row < M && col < N) {
        C[(size_t)row * N + col] = sum;
    }
}
