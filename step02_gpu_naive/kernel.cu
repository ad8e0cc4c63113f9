// One thread computes one element of C: the two outer loops have become the grid.

extern "C" __global__ void matmul(
    const ELEMENT* A, const ELEMENT* B, ELEMENT* C, int M, int N, int K)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    const int col = blockIdx.x * blockDim.x + threadIdx.x;

    // If M or N is not a multiple of the block's edge, the last blocks reach past the end of C.
    if (row < M && col < N) {
        ELEMENT sum = 0;
        for (int k = 0; k < K; ++k)
            sum += A[(size_t)row * K + k] * B[(size_t)k * N + col];
        C[(size_t)row * N + col] = sum;
    }
}
