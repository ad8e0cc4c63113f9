#define BM 64  // 64x64 tile of C, 64 threads, 8x8 each
#define BN 64
#define BK 8
extern "C" __global__ void __launch_bounds__(64)
matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ __align__(16) float As[BK][BM + 4];
    __shared__ __align__(16) float Bs[BK][BN];
    const int t = threadIdx.x;
    const int tr = t / 8, tc = t % 8;
    const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;
    float acc[8][8] = {};
    for (int k0 = 0; k0 < K; k0 += BK) {
        for (int i = 0; i < 8; ++i) {
            int m = i * 8 + t / 8, k = t % 8;
            As[k][m] = (row0 + m < M && k0 + k < K) ? A[(size_t)(row0 + m) * K + k0 + k] : 0.0f;
        }
        for (int i = 0; i < 8; ++i) {
            Bs[i][t] = (k0 + i < K && col0 + t < N) ? B[(size_t)(k0 + i) * N + col0 + t] : 0.0f;
        }
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < BK; ++k) {
            float a[8], b[8];
            #pragma unroll
            for (int i = 0; i < 8; i += 4) *(float4*)&a[i] = *(const float4*)&As[k][tr * 4 + i * 8];
            #pragma unroll
            for (int i = 0; i < 8; i += 4) *(float4*)&b[i] = *(const float4*)&Bs[k][tc * 4 + i * 8];
            #pragma unroll
            for (int i = 0; i < 8; ++i)
                #pragma unroll
                for (int j = 0; j < 8; ++j) acc[i][j] += a[i] * b[j];
        }
        __syncthreads();
    }
    #pragma unroll
    for (int i = 0; i < 8; ++i)
        #pragma unroll
        for (int j = 0; j < 8; ++j) {
            int r = row0 + tr * 4 + (i / 4) * 32 + i % 4, c = col0 + tc * 4 + (j / 4) * 32 + j % 4;
            if (r < M && c < N) C[(size_t)r * N + c] = acc[i][j];
        }
}
