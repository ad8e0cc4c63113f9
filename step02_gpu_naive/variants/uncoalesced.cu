// Uncoalesced: the row follows threadIdx.x, so that the lanes of a warp are a whole row apart in A
// and in C.

extern "C" __global__ void matmul(
    const ELEMENT* A, const ELEMENT* B, ELEMENT* C, int M, int N, int K)
{
    const int row = blockIdx.y * blockDim.x + threadIdx.x;
    const int col = blockIdx.x * blockDim.y + threadIdx.y;

    // If M or N is not a multiple of the block's edge, the last blocks reach past the end of C.
    if (row < M && col < N) {
        ELEMENT sum = 0;
        for (int k = 0; k < K; ++k)
            sum += A[(size_t)row * K + k] * B[(size_t)k * N + col];
        C[(size_t)row * N + col] = sum;
    }
}
