// Lab 4. Tiles. This is step 3's kernel, which needs all of A and B in shared memory and one block. It is launched with
// blocks of TILE x TILE threads that cover C, and without dynamic shared memory: it must do with two small tiles.

#ifndef ELEMENT
#define ELEMENT float
#endif

extern "C" __global__ void matmul(const ELEMENT* A, const ELEMENT* B, ELEMENT* C, int M, int N, int K)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    const int col = blockIdx.x * blockDim.x + threadIdx.x;

    // TODO task 1: two tiles of TILE x TILE elements in place of this: __shared__ ELEMENT As[TILE][TILE];
    extern __shared__ ELEMENT shared[];
    ELEMENT* As = shared;
    ELEMENT* Bs = shared + M * K;

    // TODO task 1: walk along K in steps of TILE. At each step every thread loads one element of each tile,
    //              or 0 where that element is outside its matrix.
    const int thread = threadIdx.y * blockDim.x + threadIdx.x;
    const int threads = blockDim.x * blockDim.y;
    for (int i = thread; i < M * K; i += threads) {
        As[i] = A[i];
    }
    for (int i = thread; i < K * N; i += threads) {
        Bs[i] = B[i];
    }
    __syncthreads();

    // TODO task 1: add the products of this pair of tiles to the sum; then a second barrier. Why?
    // TODO task 2: which of x and y must run along k in A's tile, which in B's, for both loads to be coalesced?
    if (row < M && col < N) {
        ELEMENT sum = 0;
        for (int k = 0; k < K; ++k) {
            sum += As[row * K + k] * Bs[k * N + col];
        }
        C[(size_t)row * N + col] = sum;
    }
}
