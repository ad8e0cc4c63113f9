// launch 8,64 32,4 0
// Four threads of a column pair add their part of K to one packed sum, in shared and then in global memory.
#include <cuda_fp16.h>

__device__ __half2 sums[64][32];
__device__ unsigned int arrived[64][32];

extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ __half2 near[4];
    int row = blockIdx.y, pair = blockIdx.x * 4 + threadIdx.y, k = threadIdx.x;
    if (k == 0) near[threadIdx.y] = __float2half2_rn(0.0f);
    __syncwarp();
    float a = A[row * K + k];
    atomicAdd(&near[threadIdx.y], __floats2half2_rn(a * B[k * N + 2 * pair], a * B[k * N + 2 * pair + 1]));
    __syncwarp();
    float far = A[row * K + k + 32];
    atomicAdd(&sums[row][pair], __floats2half2_rn(far * B[(k + 32) * N + 2 * pair], far * B[(k + 32) * N + 2 * pair + 1]));
    __threadfence();
    if (atomicAdd(&arrived[row][pair], 1u) == 31) {
        __half2 all = atomicAdd(&sums[row][pair], near[threadIdx.y]);
        all = __hadd2(all, near[threadIdx.y]);
        C[row * N + 2 * pair] = __low2float(all);
        C[row * N + 2 * pair + 1] = __high2float(all);
    }
}
