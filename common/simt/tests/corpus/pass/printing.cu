// launch 2,1 32,1 0 8 8 8
// What threads print comes block after block; the texts that threads give are read where they lie.
__constant__ char parity[2][5] = {"even", "odd"};

extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    char letters[3] = {(char)('a' + threadIdx.x), 'z', 0};
    if (threadIdx.x < 3) {
        int length = printf("block %d: A[%2d] = %+.2f is %s, %s%c\n", blockIdx.x, i, A[i], parity[i & 1], letters, '!');
        C[i] = length;
    } else {
        C[i] = 0.0f;
    }
    if (i == 40) printf("%-8lld|%#x|%e|%5.1f%%\n", 1234567890123LL, 255, 0.1, 12.34f);
}
