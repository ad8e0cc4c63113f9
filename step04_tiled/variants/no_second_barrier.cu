// The second barrier is missing: a warp may overwrite tiles that other warps still read.

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

    ELEMENT sum = 0;
    for (int k0 = 0; k0 < K; k0 += TILE) {
        // Cooperative load. Neighbouring threads differ in x, the fastest index of A and of B, so
        // both loads are coalesced.
        As[y][x] = k0 < a_end ? *a_from : 0;
        Bs[y][x] = k0 < b_end ? *b_from : 0;
        a_from += TILE;
        b_from += (size_t)TILE * N;
        // No thread may read the tiles before every thread has stored its elements.
        __syncthreads();

        for (int k = 0; k < TILE; ++k)
            sum += As[y][k] * Bs[k][x];
    }

    if (row < M && col < N)
        C[(size_t)row * N + col] = sum;
}
