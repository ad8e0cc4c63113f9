// launch 1,1 32,1 0 1 32 1
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    float sum = 0.0f;
    for (int i = 0; i <= (int)threadIdx.x; ++i) {
        sum += A[0];
        __syncthreads();
    }
    C[threadIdx.x] = sum;
}
