// launch 1,1 8,1 0 1 8 1
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ __align__(16) float line[64];
    for (int i = threadIdx.x; i < 64; i += blockDim.x) line[i] = i;
    __syncthreads();
    const float2 two = *reinterpret_cast<const float2*>(line + 2 * threadIdx.x + 1);
    C[threadIdx.x] = two.x + two.y;
}
