// B is loaded transposed: the lanes of a warp read a column of B, one sector each. (The padded tile keeps banks out of it.)

#ifndef ELEMENT
#define ELEMENT float
#endif

extern "C" __global__ void matmul(const ELEMENT* A, const ELEMENT* B, ELEMENT* C, int M, int N, int K)
{
    const int x = threadIdx.x;
    const int y = threadIdx.y;
    const int row = blockIdx.y * TILE + y;
    const int col = (blockIdx.z * gridDim.x + blockIdx.x) * TILE + x;  // z: bands of columns, one after the other
    const int load_col = (blockIdx.z * gridDim.x + blockIdx.x) * TILE + y;

    __shared__ ELEMENT As[TILE][TILE];
    __shared__ ELEMENT Bs[TILE][TILE + 1];

    // This thread's element of the first tile of A and of B, and up to which k0 there is one: beyond the edge there is none.
    const ELEMENT* a = A + (size_t)row * K + x;
    const ELEMENT* b = B + (size_t)x * N + load_col;
    const int end_a = row < M ? K - x : 0;
    const int end_b = load_col < N ? K - x : 0;

    ELEMENT sum = 0;
    for (int k0 = 0; k0 < K; k0 += TILE) {
        // The lanes of a warp differ in x: a row of A, but a column of B. Beyond the edge, zeros add nothing.
        As[y][x] = k0 < end_a ? *a : 0;
        Bs[x][y] = k0 < end_b ? *b : 0;
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
