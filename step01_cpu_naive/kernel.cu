// The three loops of the definition, run by a single thread: src/lib.rs in CUDA C.
// C (M x N) = A (M x K) * B (K x N), all row-major: element (row, col) of C is C[row * N + col].

extern "C" __global__ void matmul(
    const ELEMENT* A, const ELEMENT* B, ELEMENT* C, int M, int N, int K)
{
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
