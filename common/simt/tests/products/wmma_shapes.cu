// launch 2,8 32,1 0
// Tiles of 8 rows and 32 columns, in half precision throughout, turned around in shared memory.
#include <mma.h>
using namespace nvcuda;

extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ __half As[8 * 16];
    __shared__ __half Bs[16 * 32];
    __shared__ __half Cs[8 * 32];
    int row = blockIdx.y * 8, col = blockIdx.x * 32, lane = threadIdx.x;
    for (int j = 0; j < 8; ++j) C[(row + j) * N + col + lane] = 0.0f;
    for (int k0 = 0; k0 < K; k0 += 16) {
        wmma::fragment<wmma::matrix_a, 8, 32, 16, __half, wmma::col_major> a;
        wmma::fragment<wmma::matrix_b, 8, 32, 16, __half, wmma::row_major> b;
        wmma::fragment<wmma::accumulator, 8, 32, 16, __half> c;
        wmma::fill_fragment(c, __float2half(0.0f));
        for (int i = lane; i < 128; i += 32) As[i % 16 * 8 + i / 16] = __float2half(A[(row + i / 16) * K + k0 + i % 16]);
        for (int i = 0; i < 16; ++i) Bs[i * 32 + lane] = __float2half(B[(k0 + i) * N + col + lane]);
        __syncwarp();
        wmma::load_matrix_sync(a, As, 8);
        wmma::load_matrix_sync(b, Bs, 32);
        wmma::mma_sync(c, a, b, c);
        wmma::store_matrix_sync(Cs, c, 8, wmma::mem_col_major);
        __syncwarp();
        for (int j = 0; j < 8; ++j) C[(row + j) * N + col + lane] += __half2float(Cs[lane * 8 + j]);
        __syncwarp();
    }
}
