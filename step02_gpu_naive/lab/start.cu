// Lab 2. From three loops to a grid. This is step 1's kernel, launched with blocks of 32 x 16 threads that cover C:
// now *every* thread computes all of C. Give each thread its own element.

#ifndef ELEMENT
#define ELEMENT float
#endif

extern "C" __global__ void matmul(const ELEMENT* A, const ELEMENT* B, ELEMENT* C, int M, int N, int K)
{
    // TODO task 1: compute row and col from blockIdx, blockDim and threadIdx, in place of the two outer loops.
    // TODO task 1: the grid sticks out of C where M or N is no multiple of the block; those threads must not touch memory.
    // TODO task 2: the lanes of a warp differ in threadIdx.x; which of row and col must it be?
    for (int row = 0; row < M; ++row) {
        for (int col = 0; col < N; ++col) {
            ELEMENT sum = 0;
            for (int k = 0; k < K; ++k) {
                sum += A[(size_t)row * K + k] * B[(size_t)k * N + col];
            }
            C[(size_t)row * N + col] = sum;
        }
    }
}
