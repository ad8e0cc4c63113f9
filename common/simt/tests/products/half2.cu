// launch 4,4 8,16 0
// Two columns a thread in half precision, with the comparisons of packed numbers.
#include <cuda_fp16.h>

extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ __half As[16][16];
    __shared__ __half2 Bs[16][8];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * 16 + ty, col = blockIdx.x * 16 + 2 * tx;
    float2 all = make_float2(0.0f, 0.0f);
    for (int k0 = 0; k0 < K; k0 += 16) {
        As[ty][2 * tx] = __float2half(A[row * K + k0 + 2 * tx]);
        As[ty][2 * tx + 1] = __float2half_rn(A[row * K + k0 + 2 * tx + 1]);
        const float* from = B + (k0 + ty) * N + col;
        Bs[ty][tx] = __halves2half2(__float2half(from[0]), __float2half(from[1]));
        __syncthreads();
        __half2 sum = __float2half2_rn(0.0f);
        for (int k = 0; k < 16; ++k) {
            __half2 product = __hmul2(__half2half2(As[ty][k]), Bs[k][tx]);
            sum = k % 2 ? __hfma2(__half2half2(As[ty][k]), Bs[k][tx], sum) : __hadd2(product, sum);
        }
        float2 part = __half22float2(sum);
        __half2 none = __hsub2(sum, sum);
        __half2 positive = __hgt2(sum, none);
        if (__low2float(positive) != (part.x > 0.0f ? 1.0f : 0.0f) || !__hbeq2(sum, sum) || __hne(none.x, none.y)) {
            part.x = 1e9f;
        }
        all.x += part.x;
        all.y += part.y;
        __syncthreads();
    }
    C[row * N + col] = all.x;
    C[row * N + col + 1] = all.y;
}
