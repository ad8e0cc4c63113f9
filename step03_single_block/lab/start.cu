// Lab 3. Through shared memory, in one block. This is step 2's kernel. The host launches one block
// of N x M threads or a wider one, and gives it shared memory for M * K + K * N elements.

extern "C" __global__ void matmul(
    const ELEMENT* A, const ELEMENT* B, ELEMENT* C, int M, int N, int K)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    const int col = blockIdx.x * blockDim.x + threadIdx.x;

    // TODO task 1: extern __shared__ ELEMENT shared[]; A goes to its beginning, B behind it.
    // TODO task 1: all threads copy A and B there together. Who may read the copy, and when?

    if (row < M && col < N) {
        ELEMENT sum = 0;
        // TODO task 1: read both factors from shared memory.
        for (int k = 0; k < K; ++k)
            sum += A[(size_t)row * K + k] * B[(size_t)k * N + col];
        C[(size_t)row * N + col] = sum;
    }
}
