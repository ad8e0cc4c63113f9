// Scales each number by a power of two, so that no bit is lost, and splits it into two FP16 numbers
// of 11 bits, x = big + small / 2048.
#include "halves.cuh"

constexpr int LINES = 8;  // rows of A, or columns of B, of a block
constexpr int HELD = 4;   // chunks of 8 elements that a thread has in registers

extern "C" __global__ void __launch_bounds__(1024) split(
    const float* A, const float* B, Half* planes, Line* lines, int M, int N, int K)
{
    __shared__ struct Found { unsigned largest, norm; int small, inexact, fractions; } all[LINES];
    const int own = threadIdx.y;  // the line in the block; 4 threads have neighbouring chunks
    Found& found = all[own];
    const int line = blockIdx.x * LINES + own;
    const bool of_a = line < filled(M);
    const int row = of_a ? line : line - filled(M);
    const int end = row < (of_a ? M : N) ? K : 0;  // from here on there are only zeros
    const int step = of_a ? 1 : N;
    const int first = (threadIdx.z * 4 + threadIdx.x) * 8, k_step = blockDim.z * 32;
    float held[HELD][8];
    auto load = [&](int k0) {
        struct alignas(16) Pack { float at[4]; };
        const float* from = (of_a ? A + (size_t)row * K : B + row) + (size_t)k0 * step;
        #pragma unroll
        for (int h = 0; h < HELD; ++h, k0 += k_step, from += (size_t)k_step * step)
            if (of_a && K % 4 == 0)
                for (int i = 0; i < 8; i += 4)
                    *(Pack*)&held[h][i] = k0 + i < end ? *(const Pack*)&from[i] : Pack{};
            else
                for (int i = 0; i < 8; ++i) held[h][i] = k0 + i < end ? from[i * step] : 0;
    };
    if (first == 0) found = {};
    __syncthreads();

    unsigned largest = 0;
    bool whole = true;
    int k0 = first;
    for (;; k0 += HELD * k_step) {
        load(k0);
        for (int i = 0; i < HELD * 8; ++i) {
            const float x = held[i / 8][i % 8];
            largest = max(largest, __float_as_uint(fabsf(x)));
            whole &= x == truncf(x);
        }
        if (k0 - first + HELD * k_step >= K) break;
    }
    atomicMax(&found.largest, largest);
    atomicOr(&found.fractions, !whole);
    __syncthreads();
    // The largest element comes to lie in [2^13, 2^15).
    const int shift = min((14 + 127 - (int)(found.largest >> 23)) & ~1, 126);
    float norm = 0;
    int small_ones = 0, inexact = 0;  // in 11 bits
    for (;; load(k0 -= HELD * k_step)) {  // backwards: the last ones are still in registers
        for (int h = 0; h < HELD; ++h) {
            struct alignas(16) Chunk { unsigned at[4]; } big = {}, small = {};  // pairs
            for (int i = 0; i < 8; ++i) {
                const float scaled = held[h][i] * power_of_two(shift);
                const Half high = half(scaled);
                const float rest = (scaled - value(high)) * 2048;  // exact
                big.at[i / 2] |= high << i % 2 * 16;
                small.at[i / 2] |= half(rest) << i % 2 * 16;
                norm += fabsf(scaled);
                small_ones += scaled != 0 && fabsf(scaled) < 0x1p-13f;
                inexact |= rest != 0;
            }
            const int k = k0 + h * k_step;
            if (k >= (K + TILE_K - 1) / TILE_K * TILE_K) continue;
            Chunk* to = (Chunk*)(planes + (size_t)(k / TILE_K) * gridDim.x * LINES * BOTH)
                + (blockIdx.x * 2 * LINES + own) * 8 + (k / 8 % 8 ^ own);
            to[0] = big;
            to[LINES * 8] = small;
        }
        if (k0 == first) break;
    }
    atomicAdd(&found.norm, __float2uint_ru(norm / 256));
    atomicAdd(&found.small, small_ones);
    atomicOr(&found.inexact, inexact);
    __syncthreads();
    // From 2^-13 on, both parts hold 23 bits; smaller ones too, if FP32 ends there.
    const bool all_held = found.small == 0 || shift == 126;
    const float lost = all_held ? 0 : found.small > K / 64 ? 0x1p100f : 0x1p-12f;
    const int integers = found.fractions ? -1 : found.inexact;
    if (first == 0) lines[line] = { power_of_two(-shift / 2), found.norm * 256.0f, lost, integers };
}
