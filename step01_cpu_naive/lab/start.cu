// Lab 1. One thread computes all of C (M x N) = A (M x K) * B (K x N), all row-major.
// Read lab/README.md of the step, then work through the places marked TODO.

#ifndef ELEMENT
#define ELEMENT float
#endif

extern "C" __global__ void matmul(const ELEMENT* A, const ELEMENT* B, ELEMENT* C, int M, int N, int K)
{
    for (int row = 0; row < M; ++row) {
        for (int col = 0; col < N; ++col) {
            // TODO task 1: sum up A(row, k) * B(k, col) over all k.
            // TODO task 2: keep the sum in a variable; C is written once for each element, and never read.
            C[row * N + col] = 0;
        }
    }
    // TODO task 3: make the loops use an element of A (or of B) more than once when it has been read.
}
