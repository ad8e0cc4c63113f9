// launch 4,3 16,16 0 40 50 60
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    float* line = new float[K];
    if (row < M && col < N) {
        float sum = 0;
        for (int k = 0; k < K; ++k) line[k] = A[row * K + k] * B[k * N + col];
        for (int k = 0; k < K; ++k) sum += line[k];
        C[row * N + col] = sum;
    }
    delete[] line;
}
