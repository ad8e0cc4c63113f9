// launch: block 16,16 tile 16,16
// size: 40x50x60
// The sum of a row times a column, by halves.
__device__ __noinline__ float sum_of(const float* a, const float* b, int K, int N) {
    if (K == 1) return *a * *b;
    return sum_of(a, b, K / 2, N) + sum_of(a + K / 2, b + K / 2 * N, K - K / 2, N);
}

extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < M && col < N) C[row * N + col] = sum_of(A + row * K, B + col, K, N);
}
