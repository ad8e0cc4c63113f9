// No edge handling: if a size is not a multiple of TILE, blocks read and write beyond the matrices.

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

    ELEMENT sum = 0;
    for (int k0 = 0; k0 < K; k0 += TILE) {
        // Cooperative load. Neighbouring threads differ in x, the fastest index of A and of B, so
        // both loads are coalesced.
        As[y][x] = *a_from;
        Bs[y][x] = *b_from;
        a_from += TILE;
        b_from += (size_t)TILE * N;
        // No thread may read the tiles before every thread has stored its elements ...
        __syncthreads();

        for (int k = 0; k < TILE; ++k)
            sum += As[y][k] * Bs[k][x];
        // ... and no thread may store the next tiles before every thread has read these.
        __syncthreads();
    }

    C[(size_t)row * N + col] = sum;
}
