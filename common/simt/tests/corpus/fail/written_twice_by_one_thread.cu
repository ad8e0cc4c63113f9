// launch 1,1 32,1 0 1 32 1
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    volatile float* out = C;
    out[threadIdx.x] = A[0];
    out[threadIdx.x] = B[0];
}
