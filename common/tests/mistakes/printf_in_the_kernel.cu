// launch: block 16,16 tile 16,16
// size: 40x50x60
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < M && col < N) {
        float sum = 0;
        for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
        if (row == 0 && col == 0) printf("%f\n", sum);
        C[row * N + col] = sum;
    }
}
