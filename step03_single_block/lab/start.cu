// Lab 3. Through shared memory, in one block. This is step 2's kernel; the host launches one block of N x M threads and
// gives it room for M * K + K * N elements of shared memory.

#ifndef ELEMENT
#define ELEMENT float
#endif

extern "C" __global__ void matmul(const ELEMENT* A, const ELEMENT* B, ELEMENT* C, int M, int N, int K)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    const int col = blockIdx.x * blockDim.x + threadIdx.x;

    // TODO task 1: extern __shared__ ELEMENT shared[]; A goes to its beginning, B behind it.
    // TODO task 1: all threads together copy A and B there, and a barrier follows.
    // TODO task 2: neighbouring threads copy neighbouring elements, and each element is copied once.
    if (row < M && col < N) {
        ELEMENT sum = 0;
        for (int k = 0; k < K; ++k) {
            // TODO task 1: read both factors from shared memory.
            sum += A[(size_t)row * K + k] * B[(size_t)k * N + col];
        }
        C[(size_t)row * N + col] = sum;
    }
}
