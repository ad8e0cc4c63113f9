// launch: block 16,16 tile 16,16
// size: 40x50x60
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    float* line = nullptr;
    if (K < 0) line = C;
    if (row < M && col < N) {
        line[col] = A[row * K];
        C[row * N + col] = line[col];
    }
}
