// launch 4,4 32,2 0
// Two warps work on one tile, each on its own half of K; the second adds to what the first has stored.
#include <mma.h>
using namespace nvcuda;

extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ __half As[2][16 * 24];
    __shared__ __half Bs[2][16 * 16];
    int row = blockIdx.y * 16, col = blockIdx.x * 16, warp = threadIdx.y, lane = threadIdx.x;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
    wmma::fill_fragment(c, 0.0f);
    for (int k0 = warp * (K / 2); k0 < (warp + 1) * (K / 2); k0 += 16) {
        for (int i = lane; i < 256; i += 32) {
            As[warp][i / 16 * 24 + i % 16] = __float2half(A[(row + i / 16) * K + k0 + i % 16]);
            Bs[warp][i % 16 * 16 + i / 16] = __float2half(B[(k0 + i / 16) * N + col + i % 16]);
        }
        __syncwarp();
        wmma::load_matrix_sync(a, As[warp], 24);
        wmma::load_matrix_sync(b, Bs[warp], 16);
        wmma::mma_sync(c, a, b, c);
        __syncwarp();
    }
    if (warp == 0) wmma::store_matrix_sync(C + row * N + col, c, N, wmma::mem_row_major);
    __syncthreads();
    if (warp == 1) {
        wmma::fragment<wmma::accumulator, 16, 16, 16, float> before;
        wmma::load_matrix_sync(before, C + row * N + col, N, wmma::mem_row_major);
        for (int i = 0; i < c.num_elements; ++i) c.x[i] += before.x[i];
        wmma::store_matrix_sync(C + row * N + col, c, N, wmma::mem_row_major);
    }
}
