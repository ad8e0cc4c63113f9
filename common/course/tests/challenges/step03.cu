// Lab 3's open challenge: any K in 8 KiB, a piece of A and of B at a time.
// launch: block 32,32 tile 32,32 shared 8192

extern "C" __global__ void matmul(
    const ELEMENT* A, const ELEMENT* B, ELEMENT* C, int M, int N, int K)
{
    extern __shared__ ELEMENT shared[];
    ELEMENT* As = shared;
    ELEMENT* Bs = shared + 32 * 32;
    const int x = threadIdx.x, y = threadIdx.y;
    const int row = blockIdx.y * 32 + y, col = blockIdx.x * 32 + x;

    ELEMENT sum = 0;
    for (int k0 = 0; k0 < K; k0 += 32) {
        As[y * 32 + x] = row < M && k0 + x < K ? A[(size_t)row * K + k0 + x] : 0;
        Bs[y * 32 + x] = k0 + y < K && col < N ? B[(size_t)(k0 + y) * N + col] : 0;
        __syncthreads();
        for (int k = 0; k < 32; ++k) sum += As[y * 32 + k] * Bs[k * 32 + x];
        __syncthreads();
    }
    if (row < M && col < N) C[(size_t)row * N + col] = sum;
}
