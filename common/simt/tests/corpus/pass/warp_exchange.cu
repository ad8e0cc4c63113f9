// launch 1,1 64,1 0 1 64 64
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ float line[64];
    const int t = threadIdx.x, base = t & 32;
    line[t] = A[t];
    __syncwarp();
    const float other = line[base + (t + 1) % 32];
    __syncwarp();
    line[t] = other;
    C[t] = line[t];
}
