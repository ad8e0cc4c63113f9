// Lanes of a warp: masks, shuffles, votes, volatile shared memory.
#include "kernel.h"

#define EXCHANGE(name, type, between)                                                  \
    KERNEL(name) {                                                                     \
        __shared__ type line[32];                                                      \
        line[T] = data[T];                                                             \
        between;                                                                       \
        out[T] = line[T ^ 1];                                                          \
    }
// 1 x 32: clean
EXCHANGE(warp, int, __syncwarp())
// 1 x 32: clean
EXCHANGE(warp_by_a_barrier, int, __syncthreads())
// 1 x 32: clean
EXCHANGE(warp_by_two_masks, int, __syncwarp(T < 16 ? 0xffff : 0xffff0000))
// 1 x 32: clean
EXCHANGE(warp_by_pairs, int, __syncwarp(3 << (T & ~1)))
// 1 x 32: data race
EXCHANGE(warp_without_sync, int, NOTHING)
// 1 x 32: data race
EXCHANGE(warp_with_a_fence, int, __threadfence_block())
// 1 x 32: data race
EXCHANGE(warp_each_by_itself, int, __syncwarp(1 << T))
// 1 x 32: data race
EXCHANGE(warp_even_and_odd, int, __syncwarp(T % 2 == 0 ? 0x55555555 : 0xaaaaaaaa))
// 1 x 32: data race
EXCHANGE(warp_of_the_lower_half, int, if (T < 16) __syncwarp(0xffff))
// 1 x 32: data race, lane outside its own mask
EXCHANGE(warp_outside_its_mask, int, __syncwarp(0xffff))
// 1 x 32: data race
EXCHANGE(warp_volatile, volatile int, NOTHING)
// 1 x 32: clean
EXCHANGE(warp_volatile_and_sync, volatile int, __syncwarp())
// 1 x 32: shared memory ordered by a shuffle
EXCHANGE(warp_by_a_shuffle, int, out[64 + T] = __shfl_xor_sync(~0u, T, 1))
// 1 x 32: shared memory ordered by a shuffle
EXCHANGE(warp_by_a_vote, int, out[64 + T] = __any_sync(~0u, T == 3))
// 1 x 32: data race, shared memory ordered by a shuffle
EXCHANGE(warp_by_another_shuffle, int, if (T < 16) out[64 + T] = __shfl_xor_sync(0xffff, T, 1))

#define REDUCE(name, type, between)                                                    \
    KERNEL(name) {                                                                     \
        __shared__ type line[64];                                                      \
        line[T] = data[T];                                                             \
        line[T + 32] = data[T + 32];                                                   \
        between;                                                                       \
        for (int half = 16; half > 0; half /= 2) {                                     \
            const int other = line[T + half];                                          \
            between;                                                                   \
            line[T] = line[T] + other;                                                 \
            between;                                                                   \
        }                                                                              \
        if (T == 0) out[0] = line[0];                                                  \
    }
// 1 x 32: clean
REDUCE(sum, int, __syncwarp())
// 1 x 32: data race
REDUCE(sum_without_sync, int, NOTHING)
// 1 x 32: data race
REDUCE(sum_volatile, volatile int, NOTHING)
// 1 x 32: clean
KERNEL(sum_by_shuffles) {
    int sum = data[T];
    for (int half = 16; half > 0; half /= 2) sum += __shfl_down_sync(~0u, sum, half);
    if (T == 0) out[0] = sum;
}
// 1 x 32: lane outside its own mask
KERNEL(shuffle_outside_its_mask) {
    out[T] = __shfl_sync(0x7fffffff, data[T], 0);
}
// 1 x 64: data race
KERNEL(warps_are_not_lanes) {
    __shared__ int line[64];
    line[T] = T;
    __syncwarp();
    out[T] = line[63 - T];
}
// 1 x 32: data race
KERNEL(a_lane_that_read_is_not_forgotten) {
    __shared__ int value;
    if (T == 0) value = 1;
    __syncwarp();
    out[T] = value;
    if (T < 16) __syncwarp(0xffff);
    if (T == 0) value = 2;
}
// 1 x 64: clean
KERNEL(one_lane_takes_the_lock_for_its_warp) {
    __shared__ int lock, line[32];
    if (T == 0) lock = 0;
    if (T < 32) line[T] = 0;
    __syncthreads();
    if (T % 32 == 0) {
        while (atomicCAS(&lock, 0, 1) != 0) {}
        __threadfence_block();
    }
    __syncwarp();
    line[T % 32] += T;
    __syncwarp();
    if (T % 32 == 0) {
        __threadfence_block();
        atomicExch(&lock, 0);
    }
}
// 1 x 64: data race
KERNEL(one_lane_takes_the_lock_and_the_others_do_not_wait) {
    __shared__ int lock, line[32];
    if (T == 0) lock = 0;
    if (T < 32) line[T] = 0;
    __syncthreads();
    if (T % 32 == 0) {
        while (atomicCAS(&lock, 0, 1) != 0) {}
        __threadfence_block();
    }
    line[T % 32] += T;
    __syncwarp();
    if (T % 32 == 0) {
        __threadfence_block();
        atomicExch(&lock, 0);
    }
}
// 1 x 32: clean
KERNEL(sync_in_both_branches) {
    __shared__ int line[32];
    if (T < 16) {
        line[T] = data[T];
        __syncwarp();
        out[T] = line[31 - T];
    } else {
        line[T] = data[T] + 1;
        __syncwarp();
        out[T] = 2 * line[31 - T];
    }
}
// 1 x 32: clean
KERNEL(lanes_take_turns) {
    __shared__ int value;
    if (T == 0) value = 0;
    __syncwarp();
    for (int i = 0; i < 32; ++i) {
        if (T == i) value += T;
        __syncwarp();
    }
    out[T] = value;
}
// 1 x 32: clean
KERNEL(sync_in_nested_branches) {
    __shared__ int line[32];
    line[T] = 0;
    __syncwarp();
    for (int i = 0; i < 3; ++i) {
        if (T < 16) {
            if (T < 8) {
                line[T] += data[T] + i;
                __syncwarp();
            } else {
                line[T] -= data[T];
                __syncwarp();
            }
        } else {
            line[T] = 2 * line[T];
            __syncwarp();
        }
        out[32 * i + T] = line[31 - T];
        __syncwarp();
    }
}
// 1 x 32: data race
KERNEL(sync_in_one_branch) {
    __shared__ int line[32];
    line[T] = 0;
    __syncwarp();
    if (T < 16) {
        line[T] = data[T];
        __syncwarp(0xffff);
    } else {
        line[T] = 2 * data[T];
    }
    out[T] = line[31 - T];
}
// 1 x 48: shuffle from a lane that is not there
KERNEL(shuffle_from_a_lane_that_the_block_does_not_have) {
    out[T] = __shfl_down_sync(0xffffffff, T, 8);
}
// 1 x 32: shuffle from a lane that is not there
KERNEL(shuffle_from_a_lane_that_has_ended) {
    if (T >= 20) return;
    out[T] = __shfl_xor_sync(0xffffffff, T, 16);
}
// 1 x 48: shuffle from a lane that is not there
KERNEL(sum_over_a_whole_warp_that_is_half_there) {
    int sum = data[T];
    for (int by = 16; by > 0; by /= 2) sum += __shfl_down_sync(0xffffffff, sum, by);
    if (T % 32 == 0) out[T / 32] = sum;
}
// 1 x 48: clean
KERNEL(sum_over_half_a_warp) {
    int sum = data[T];
    for (int by = 8; by > 0; by /= 2) sum += __shfl_down_sync(0xffffffff, sum, by);
    if (T % 16 == 0) out[T / 16] = sum;
}
// 1 x 48: clean
KERNEL(one_lane_adds_for_its_warp) {
    int start;
    if (T % 32 == 0) start = atomicAdd(flag, 32);
    start = __shfl_sync(0xffffffff, start, 0);
    out[start + T % 32] = T;
}
