// launch: block 32,1 tile 32,1
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (col < N)
        C[col] = A[0] * B[col];
}
