// launch 1,1 1,1 2048 1 1 1
// An array whose size the launch chooses starts where its alignment asks, whatever lies before it.
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float before[5];
    extern __shared__ __align__(1024) float tile[];

    before[0] = A[0];
    tile[0] = B[0];
    if ((size_t)__cvta_generic_to_shared(tile) % 1024 != (size_t)__cvta_generic_to_shared(before)) {
        __trap();
    }
    C[0] = before[0] * tile[0];
}
