// launch 1,1 64,1 0 1 64 8
__device__ __noinline__ float power(float base, int exponent) {
    float result = 1.0f;
    for (int i = 0; i < exponent; ++i) result *= base;
    return result;
}
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    C[threadIdx.x] = power(A[threadIdx.x % K], threadIdx.x % 5) + power(B[0], 2);
}
