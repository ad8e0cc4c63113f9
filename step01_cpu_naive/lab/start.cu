// Lab 1. One thread computes all of C (M x N) = A (M x K) * B (K x N), all row-major. ELEMENT is
// the type of the elements: float, unless you run with --dtype i32.

extern "C" __global__ void matmul(
    const ELEMENT* A, const ELEMENT* B, ELEMENT* C, int M, int N, int K)
{
    for (int row = 0; row < M; ++row) {
        for (int col = 0; col < N; ++col) {
            // TODO task 1: add up A(row, k) * B(k, col) over all k.
            // TODO task 2: form the sum in a variable, and write it to C once.
            C[(size_t)row * N + col] = 0;
        }
    }
}
