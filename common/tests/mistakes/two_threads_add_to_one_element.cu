// launch: block 16,32 tile 16,16
// size: 40x50x60
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    // Two rows of threads for each row of C.
    const int row = blockIdx.y * 16 + threadIdx.y / 2;
    const int col = blockIdx.x * 16 + threadIdx.x;
    if (row < M && col < N) {
        C[row * N + col] = 0;
        for (int k = 0; k < K; ++k) C[row * N + col] += A[row * K + k] * B[k * N + col];
    }
}
