// launch 1,1 8,1 0 1 8 64
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    const float4 four = *reinterpret_cast<const float4*>(A + 4 * threadIdx.x + 1);
    C[threadIdx.x] = four.x + four.w;
}
