// Lab 5 without wide loads: 4 x 4 elements per thread, rows and columns 16 apart.
// launch: block 16,16 tile 64,64

#ifndef ELEMENT
#define ELEMENT float
#endif

constexpr int EDGE = 64, DEPTH = 16, OWN = 4;

extern "C" __global__ void matmul(const ELEMENT* A, const ELEMENT* B, ELEMENT* C, int M, int N, int K)
{
    const int x = threadIdx.x, y = threadIdx.y, thread = y * 16 + x;
    const int first_row = blockIdx.y * EDGE, first_col = blockIdx.x * EDGE;
    __shared__ ELEMENT As[DEPTH][EDGE + 1];
    __shared__ ELEMENT Bs[DEPTH][EDGE];

    // Lanes 16 apart own other rows; a warp loads two words of A and 16 of B at a time.
    ELEMENT sum[OWN][OWN] = {};
    for (int k0 = 0; k0 < K; k0 += DEPTH) {
        for (int i = thread; i < EDGE * DEPTH; i += 256) {
            const int row = first_row + i / DEPTH, k = k0 + i % DEPTH;
            As[i % DEPTH][i / DEPTH] = row < M && k < K ? A[(size_t)row * K + k] : 0;
        }
        for (int i = thread; i < EDGE * DEPTH; i += 256) {
            const int k = k0 + i / EDGE, col = first_col + i % EDGE;
            Bs[i / EDGE][i % EDGE] = k < K && col < N ? B[(size_t)k * N + col] : 0;
        }
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < DEPTH; ++k) {
            ELEMENT a[OWN], b[OWN];
            #pragma unroll
            for (int i = 0; i < OWN; ++i) {
                a[i] = As[k][y + 16 * i];
                b[i] = Bs[k][x + 16 * i];
            }
            #pragma unroll
            for (int i = 0; i < OWN; ++i)
                #pragma unroll
                for (int j = 0; j < OWN; ++j) sum[i][j] += a[i] * b[j];
        }
        __syncthreads();
    }
    #pragma unroll
    for (int i = 0; i < OWN; ++i)
        #pragma unroll
        for (int j = 0; j < OWN; ++j) {
            const int row = first_row + y + 16 * i, col = first_col + x + 16 * j;
            if (row < M && col < N) C[(size_t)row * N + col] = sum[i][j];
        }
}
