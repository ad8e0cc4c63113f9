// launch 1,1 32,1 0 1 32 1
__constant__ float weights[20] = {1, 2, 3};
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    C[threadIdx.x] = weights[threadIdx.x];
}
