// The first barrier is gone: a warp may read tiles that others have not stored yet.

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

        for (int k = 0; k < TILE; ++k) {
            sum += As[y][k] * Bs[k][x];
        }
        // The tiles are read by everyone before the next tiles overwrite them.
        __syncthreads();
    }

    if (row < M && col < N) {
        C[(size_t)row * N + col] = sum;
    }
}
