// launch 2,64 32,1 0
// Groups of eight lanes vote, compare and add up at the same place, each for itself; a wrong answer spoils the product.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    auto team = cg::tiled_partition<8>(cg::this_thread_block());
    const unsigned lane = threadIdx.x, group = lane / 8, mask = 0xffu << group * 8;
    const int row = blockIdx.y, col = blockIdx.x * 32 + lane;
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];

    const bool own = team.ballot(sum > 0.0f) >> team.thread_rank() & 1;
    const bool any = __any_sync(mask, lane == 20), all = __all_sync(mask, lane >= 16);
    int same;
    const unsigned matched = __match_all_sync(mask, group, &same), pairs = __match_any_sync(mask, lane / 2);
    const unsigned added = __reduce_add_sync(mask, lane);

    const bool votes = own == (sum > 0.0f) && any == (group == 2) && all == (group >= 2);
    const bool matches = matched == mask && same && pairs == 3u << (lane & ~1u);
    C[row * N + col] = votes && matches && added == 28 + 64 * group ? sum : -1000.0f;
}
