// launch 1,1 8,8 0 20 8 1
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    const int row = blockIdx.y * 8 + threadIdx.y, col = blockIdx.x * 8 + threadIdx.x;
    if (row < M && col < N) C[row * N + col] = A[0];
}
