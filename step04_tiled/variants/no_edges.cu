// No edge handling: at sizes that are no multiple of TILE, blocks read and write beyond the matrices.

#ifndef ELEMENT
#define ELEMENT float
#endif

extern "C" __global__ void matmul(const ELEMENT* A, const ELEMENT* B, ELEMENT* C, int M, int N, int K)
{
    const int x = threadIdx.x;
    const int y = threadIdx.y;
    const int row = blockIdx.y * TILE + y;
    const int col = (blockIdx.z * gridDim.x + blockIdx.x) * TILE + x;  // z: bands of columns, one after the other

    __shared__ ELEMENT As[TILE][TILE];
    __shared__ ELEMENT Bs[TILE][TILE];

    // This thread's element of the first tile of A and of B.
    const ELEMENT* a = A + (size_t)row * K + x;
    const ELEMENT* b = B + (size_t)y * N + col;

    ELEMENT sum = 0;
    for (int k0 = 0; k0 < K; k0 += TILE) {
        // Coalesced: the lanes of a warp differ in x, the fastest index of both A and B.
        As[y][x] = *a;
        Bs[y][x] = *b;
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

    C[(size_t)row * N + col] = sum;
}
