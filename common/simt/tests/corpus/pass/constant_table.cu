// launch 1,1 64,1 0 1 64 1
__constant__ float table[8] = {1, 2, 4, 8, 16, 32, 64, 128};
__device__ int offsets[4] = {3, 1, 0, 2};
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    C[threadIdx.x] = table[(threadIdx.x + offsets[threadIdx.x % 4]) % 8];
}
