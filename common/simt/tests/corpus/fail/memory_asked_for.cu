// launch 1,1 32,1 0 1 32 1
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    float* line = static_cast<float*>(malloc(4 * N));
    line[threadIdx.x] = A[0];
    C[threadIdx.x] = line[threadIdx.x];
    free(line);
}
