// Lab 4. Tiles. This is step 3's kernel, but the host now launches it with blocks of TILE x TILE
// threads that cover C, and gives it no dynamic shared memory: it must do with two small tiles.
// TILE is 32, and the host defines it.

extern "C" __global__ void matmul(
    const ELEMENT* A, const ELEMENT* B, ELEMENT* C, int M, int N, int K)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    const int col = blockIdx.x * blockDim.x + threadIdx.x;

    // TODO task 1: two tiles in place of this: __shared__ ELEMENT As[TILE][TILE]; and Bs.
    extern __shared__ ELEMENT shared[];
    ELEMENT* As = shared;
    ELEMENT* Bs = shared + M * K;

    // TODO task 1: K may be many tiles long. What does a block do with each pair of tiles, and
    // when must its threads wait for each other?
    const int thread = threadIdx.y * blockDim.x + threadIdx.x;
    const int threads = blockDim.x * blockDim.y;
    for (int i = thread; i < M * K; i += threads)
        As[i] = A[i];
    for (int i = thread; i < K * N; i += threads)
        Bs[i] = B[i];
    __syncthreads();

    if (row < M && col < N) {
        ELEMENT sum = 0;
        for (int k = 0; k < K; ++k)
            sum += As[row * K + k] * Bs[k * N + col];
        C[(size_t)row * N + col] = sum;
    }
}
