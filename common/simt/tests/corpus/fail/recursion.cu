// launch 1,1 32,1 0 1 32 1
__device__ __noinline__ float power(float base, int exponent) {
    if (exponent < 2) return exponent == 0 ? 1 : base;
    return power(base, exponent / 2) * power(base, exponent - exponent / 2);
}

extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    C[threadIdx.x] = power(A[0], N);
}
