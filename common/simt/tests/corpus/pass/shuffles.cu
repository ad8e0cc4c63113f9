// launch 1,1 64,1 0 1 64 64
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    float sum = A[threadIdx.x];
    for (int apart = 16; apart > 0; apart /= 2) sum += __shfl_xor_sync(0xffffffff, sum, apart);
    C[threadIdx.x] = sum;
}
