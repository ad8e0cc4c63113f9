// C = A·B in tiles of TILE x TILE elements, by blocks of TILE x TILE threads. The host says TILE
// when it compiles this; it is 16 if it does not.
#ifndef TILE
#define TILE 16
#endif

extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ float As[TILE][TILE];
    __shared__ float Bs[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y;
    int col = blockIdx.x * TILE + threadIdx.x;
    float sum = 0.0f;
    for (int k0 = 0; k0 < K; k0 += TILE) {
        int k = k0 + threadIdx.x;
        As[threadIdx.y][threadIdx.x] = row < M && k < K ? A[(size_t)row * K + k] : 0.0f;
        k = k0 + threadIdx.y;
        Bs[threadIdx.y][threadIdx.x] = k < K && col < N ? B[(size_t)k * N + col] : 0.0f;
        __syncthreads();
        for (int i = 0; i < TILE; i++) sum += As[threadIdx.y][i] * Bs[i][threadIdx.x];
        __syncthreads();
    }
    if (row < M && col < N) C[(size_t)row * N + col] = sum;
}
