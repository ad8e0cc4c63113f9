// One block copies all of A and B to shared memory, so that each element is read from global memory
// only once, and computes all of C.

extern "C" __global__ void matmul(
    const ELEMENT* A, const ELEMENT* B, ELEMENT* C, int M, int N, int K)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    const int col = blockIdx.x * blockDim.x + threadIdx.x;

    // The host gives the block room for M * K + K * N elements.
    extern __shared__ ELEMENT shared[];
    ELEMENT* As = shared;
    ELEMENT* Bs = shared + M * K;

    // Cooperative load: the block's threads share the work, whoever needs the element later.
    const int thread = threadIdx.y * blockDim.x + threadIdx.x;
    const int threads = blockDim.x * blockDim.y;
    for (int i = thread; i < M * K; i += threads)
        As[i] = A[i];
    for (int i = thread; i < K * N; i += threads)
        Bs[i] = B[i];
    // No thread may read what another has not stored yet.
    __syncthreads();

    if (row < M && col < N) {
        ELEMENT sum = 0;
        for (int k = 0; k < K; ++k)
            sum += As[row * K + k] * Bs[k * N + col];
        C[(size_t)row * N + col] = sum;
    }
}
