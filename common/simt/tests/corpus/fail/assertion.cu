// launch 2,1 32,1 0 8 8 8
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    assert(i < M * N);
    C[i] = A[i];
    if (i == 33) printf("printed before the fault\n");
    assert(i != 37 && "thirty-seven is too much");
}
