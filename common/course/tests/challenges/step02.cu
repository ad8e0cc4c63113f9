// Lab 2's open challenge: two rows per thread, so that an element of B serves two multiply-adds.
// launch: block 32,8 tile 32,16

extern "C" __global__ void matmul(
    const ELEMENT* A, const ELEMENT* B, ELEMENT* C, int M, int N, int K)
{
    const int upper = blockIdx.y * 2 * blockDim.y + threadIdx.y;
    const int lower = upper + blockDim.y;
    const int col = blockIdx.x * blockDim.x + threadIdx.x;

    if (upper < M && col < N) {
        const int below = lower < M ? lower : upper;
        ELEMENT sum[2] = {};
        for (int k = 0; k < K; ++k) {
            const ELEMENT b = B[(size_t)k * N + col];
            sum[0] += A[(size_t)upper * K + k] * b;
            sum[1] += A[(size_t)below * K + k] * b;
        }
        C[(size_t)upper * N + col] = sum[0];
        if (lower < M) C[(size_t)lower * N + col] = sum[1];
    }
}
