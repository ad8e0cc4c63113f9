// Lab 1's open challenge: two columns at a time, so that an element of A serves two multiply-adds.

extern "C" __global__ void matmul(
    const ELEMENT* A, const ELEMENT* B, ELEMENT* C, int M, int N, int K)
{
    for (int row = 0; row < M; ++row) {
        for (int col = 0; col < N; col += 2) {
            const bool two = col + 1 < N;
            ELEMENT left = 0, right = 0;
            for (int k = 0; k < K; ++k) {
                const ELEMENT a = A[(size_t)row * K + k];
                left += a * B[(size_t)k * N + col];
                if (two) right += a * B[(size_t)k * N + col + 1];
            }
            C[(size_t)row * N + col] = left;
            if (two) C[(size_t)row * N + col + 1] = right;
        }
    }
}
