// launch 1,1 32,1 0 1 32 1
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ volatile float row[1];
    __shared__ float line[32];
    const int t = threadIdx.x;
    line[t] = A[0] + t;
    // The neighbour may not have written yet: lanes of a warp need a __syncwarp() too.
    C[t] = line[(t + 1) % 32];
}
