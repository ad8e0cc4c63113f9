// launch 1,1 32,1 0 1 32 32
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    C[(int)threadIdx.x - 1] = 1.0f;
}
