// Lab 2. From three loops to a grid of threads. This is step 1's kernel, but the host now launches
// it with blocks of 32 x 16 threads that cover C: every one of them computes all of C.

extern "C" __global__ void matmul(
    const ELEMENT* A, const ELEMENT* B, ELEMENT* C, int M, int N, int K)
{
    // TODO task 1: compute row and col from blockIdx, blockDim and threadIdx; no outer loops.
    // TODO task 1: the last blocks reach past the end of C; their threads there must do nothing.
    for (int row = 0; row < M; ++row) {
        for (int col = 0; col < N; ++col) {
            ELEMENT sum = 0;
            for (int k = 0; k < K; ++k)
                sum += A[(size_t)row * K + k] * B[(size_t)k * N + col];
            C[(size_t)row * N + col] = sum;
        }
    }
}
