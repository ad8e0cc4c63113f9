// Uncoalesced: the row follows threadIdx.x, so the lanes of a warp are a whole row apart in A and in C.

#ifndef ELEMENT
#define ELEMENT float
#endif

extern "C" __global__ void matmul(const ELEMENT* A, const ELEMENT* B, ELEMENT* C, int M, int N, int K)
{
    const int row = blockIdx.y * blockDim.x + threadIdx.x;
    const int col = blockIdx.x * blockDim.y + threadIdx.y;

    // The last blocks stick out where M or N is no multiple of the block's edge.
    if (row < M && col < N) {
        ELEMENT sum = 0;
        for (int k = 0; k < K; ++k) {
            // The compiler loads the second factor first: a trace then shows A before B.
            sum += B[(size_t)k * N + col] * A[(size_t)row * K + k];
        }
        C[(size_t)row * N + col] = sum;
    }
}
