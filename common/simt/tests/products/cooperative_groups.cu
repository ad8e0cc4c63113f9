// launch 16,16 64,4 0
// Sixteen threads work on one element: each on its part of K, then they add up, in three ways.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;

extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ float parts[4][64];
    cg::thread_block block = cg::this_thread_block();
    auto team = cg::tiled_partition<16>(block);
    int row = blockIdx.y * 4 + threadIdx.y, col = blockIdx.x * 4 + threadIdx.x / 16;
    float sum = 0.0f;
    for (int k = team.thread_rank(); k < K; k += team.size()) sum += A[row * K + k] * B[k * N + col];
    float all;
    if (row % 3 == 0) {
        all = cg::reduce(team, sum, cg::plus<float>());
    } else if (row % 3 == 1) {
        all = sum;
        for (int apart = team.size() / 2; apart > 0; apart /= 2) all += team.shfl_down(all, apart);
    } else {
        all = 0.0f;
        for (int other = 0; other < 16; ++other) all += team.shfl(sum, other);
    }
    if (team.thread_rank() == 0) parts[threadIdx.y][threadIdx.x / 16] = all;
    block.sync();
    auto few = cg::tiled_partition(block, 4);
    few.sync();
    if (block.thread_rank() < 16) {
        int i = block.thread_rank();
        C[(blockIdx.y * 4 + i / 4) * N + blockIdx.x * 4 + i % 4] = parts[i / 4][i % 4];
    }
}
