// Lab 4's open challenge: two pairs of tiles, used in turn, and one barrier for each step of K.

#ifndef ELEMENT
#define ELEMENT float
#endif

extern "C" __global__ void matmul(const ELEMENT* A, const ELEMENT* B, ELEMENT* C, int M, int N, int K)
{
    const int x = threadIdx.x, y = threadIdx.y;
    const int row = blockIdx.y * TILE + y, col = blockIdx.x * TILE + x;
    __shared__ ELEMENT As[2][TILE][TILE];
    __shared__ ELEMENT Bs[2][TILE][TILE];

    ELEMENT sum = 0;
    for (int k0 = 0, now = 0; k0 < K; k0 += TILE, now ^= 1) {
        // Whoever is here has passed the last barrier, and so everyone is done with the pair before the last.
        As[now][y][x] = row < M && k0 + x < K ? A[(size_t)row * K + k0 + x] : 0;
        Bs[now][y][x] = k0 + y < K && col < N ? B[(size_t)(k0 + y) * N + col] : 0;
        __syncthreads();
        for (int k = 0; k < TILE; ++k) sum += As[now][y][k] * Bs[now][k][x];
    }
    if (row < M && col < N) C[(size_t)row * N + col] = sum;
}
