// Barriers of a block: of all threads, named ones, for some of the warps.
#include "kernel.h"

#define SHIFT(name, between)                                                           \
    KERNEL(name) {                                                                     \
        __shared__ int line[128];                                                      \
        line[T] = data[T];                                                             \
        between;                                                                       \
        out[T] = line[T ^ 64];                                                         \
    }
// 1 x 128: clean
SHIFT(barrier, __syncthreads())
// 1 x 128: clean
SHIFT(barrier_with_number_and_count, BAR_SYNC(5, 128))
// 1 x 128: clean
SHIFT(barrier_that_counts, out[128 + T] = __syncthreads_count(T))
// 1 x 128: data race
SHIFT(barrier_missing, NOTHING)
// 1 x 128: data race
SHIFT(fence_for_a_barrier, __threadfence_block())
// 1 x 128: data race
SHIFT(barrier_of_two_halves, if (T < 64) BAR_SYNC(1, 64); else BAR_SYNC(2, 64))
// 1 x 128: data race
SHIFT(barrier_number_by_warp, asm volatile("bar.sync %0, 64;" ::"r"(1 + T / 64) : "memory"))
// 1 x 128: clean
SHIFT(barrier_of_pairs, asm volatile("bar.sync %0, 64;" ::"r"(1 + T / 32 % 2) : "memory"))
// 1 x 128: different barriers
SHIFT(barrier_at_two_places, if (T < 64) __syncthreads(); else __syncthreads())
// 1 x 128: barriers that do not pair up
SHIFT(barrier_with_two_counts, if (T < 32) BAR_SYNC(1, 64); else BAR_SYNC(1, 128))
// 1 x 128: barriers that do not pair up
SHIFT(barrier_and_reduction, if (T < 64) __syncthreads(); else out[128 + T] = __syncthreads_or(T))

// Two buffers used in turn, or one.
#define ROUNDS(name, buffers, between, behind)                                         \
    KERNEL(name) {                                                                     \
        __shared__ int line[buffers][128];                                             \
        int sum = 0;                                                                   \
        for (int i = 0; i < 6; ++i) {                                                  \
            line[i % buffers][T] = data[i * 128 + T];                                  \
            between;                                                                   \
            sum += line[i % buffers][127 - T];                                         \
            behind;                                                                    \
        }                                                                              \
        out[T] = sum;                                                                  \
    }
// 1 x 128: clean
ROUNDS(rounds, 1, __syncthreads(), __syncthreads())
// 1 x 128: clean
ROUNDS(rounds_with_two_buffers, 2, __syncthreads(), NOTHING)
// 1 x 128: data race
ROUNDS(rounds_without_second_barrier, 1, __syncthreads(), NOTHING)
// 1 x 128: data race
ROUNDS(rounds_without_first_barrier, 1, NOTHING, __syncthreads())
// 1 x 128: data race
ROUNDS(rounds_with_two_buffers_and_no_barrier, 2, NOTHING, NOTHING)

// One warp makes, another uses; barrier 1 says that the buffer is full, barrier 2 that it is empty.
#define PRODUCER(name, full, wait_full, empty, wait_empty)                             \
    KERNEL(name) {                                                                     \
        __shared__ int buffer[32];                                                     \
        int sum = 0;                                                                   \
        for (int i = 0; i < 4; ++i) {                                                  \
            if (T < 32) {                                                              \
                if (i > 0) wait_empty;                                                 \
                buffer[T] = data[32 * i + T];                                          \
                full;                                                                  \
            } else {                                                                   \
                wait_full;                                                             \
                sum += buffer[63 - T];                                                 \
                if (i < 3) empty;                                                      \
            }                                                                          \
        }                                                                              \
        if (T >= 32) out[T] = sum;                                                     \
    }
// 1 x 64: clean
PRODUCER(producer, BAR_ARRIVE(1, 64), BAR_SYNC(1, 64), BAR_ARRIVE(2, 64), BAR_SYNC(2, 64))
// 1 x 64: clean
PRODUCER(producer_waits_too, BAR_SYNC(1, 64), BAR_SYNC(1, 64), BAR_SYNC(2, 64), BAR_SYNC(2, 64))
// 1 x 64: arrival at a barrier that nobody waits for, data race, deadlock
PRODUCER(producer_does_not_wait, BAR_ARRIVE(1, 64), BAR_SYNC(1, 64), BAR_ARRIVE(2, 64), NOTHING)
// 1 x 64: data race
PRODUCER(producer_only_arrives, BAR_ARRIVE(1, 64), BAR_SYNC(1, 64), BAR_SYNC(2, 64), BAR_ARRIVE(2, 64))
// 1 x 64: barriers that do not pair up
PRODUCER(producer_with_another_count, BAR_ARRIVE(1, 64), BAR_SYNC(1, 32), BAR_ARRIVE(2, 64), BAR_SYNC(2, 64))

// 1 x 96: data race
KERNEL(arrived_too_early) {
    __shared__ int value[96];
    if (T < 32) {
        BAR_ARRIVE(1, 96);
        value[T] = T;
    } else {
        BAR_SYNC(1, 96);
        out[T] = value[T % 32];
    }
}
// 1 x 96: clean
KERNEL(passed_on_by_a_second_barrier) {
    // Warp 0 meets warp 1, and warp 1 then meets warp 2.
    __shared__ int value[32];
    if (T < 32) {
        value[T] = T;
        BAR_SYNC(1, 64);
    } else if (T < 64) {
        BAR_SYNC(1, 64);
        BAR_SYNC(2, 64);
    } else {
        BAR_SYNC(2, 64);
        out[T] = value[T % 32];
    }
}
// 1 x 96: data race
KERNEL(passed_on_in_the_wrong_order) {
    __shared__ int value[32];
    if (T < 32) {
        value[T] = T;
        BAR_SYNC(1, 64);
    } else if (T < 64) {
        BAR_SYNC(2, 64);
        BAR_SYNC(1, 64);
    } else {
        BAR_SYNC(2, 64);
        out[T] = value[T % 32];
    }
}
// 1 x 128: data race
KERNEL(a_third_reader) {
    // All warps read; warps 0 to 2 meet, and warp 0 writes: the fourth may still read.
    __shared__ int value;
    if (T == 0) value = 1;
    __syncthreads();
    out[T] = value;
    if (T < 96) BAR_SYNC(1, 96);
    if (T == 0) value = 2;
}
// 1 x 128: barrier without all threads
KERNEL(early_exit) {
    __shared__ int line[128];
    if (T >= 96) return;
    line[T] = T;
    __syncthreads();
    out[T] = line[95 - T];
}
// 1 x 128: exit before a barrier, uninitialised shared memory read
KERNEL(early_exit_that_is_missed) {
    __shared__ int line[128];
    if (T >= 96) return;
    line[T] = T;
    __syncthreads();
    out[T] = line[127 - T];
}
// 1 x 64: barrier not reached by all threads
KERNEL(half_a_warp_waits) {
    if (T % 32 < 16) __syncthreads();
    out[T] = T;
}

// Barriers without .aligned, which the lanes of a warp reach by ways of their own.
#define BY_TWO_WAYS(name, even, odd)                                                   \
    KERNEL(name) {                                                                     \
        __shared__ int line[128];                                                      \
        if (T % 2 == 0) {                                                              \
            line[T] = data[T];                                                         \
            even;                                                                      \
        } else {                                                                       \
            line[T] = 1;                                                               \
            odd;                                                                       \
        }                                                                              \
        out[T] = line[127 - T];                                                        \
    }
// 1 x 128: different barriers
BY_TWO_WAYS(lanes_by_two_ways, SYNC_ALONE(0), SYNC_ALONE(0))
// 1 x 128: barrier not reached by all threads
BY_TWO_WAYS(lanes_by_two_ways_aligned, __syncthreads(), SYNC_ALONE(0))
// 1 x 128: barriers 2 and 1 in one warp: its threads must name the same,
BY_TWO_WAYS(lanes_at_two_barriers, SYNC_ALONE(1), SYNC_ALONE(2))
// 1 x 128: data race, different barriers
BY_TWO_WAYS(lanes_that_write_behind, SYNC_ALONE(0), SYNC_ALONE(0); line[T] = 2)
// 1 x 128: data race, exit before a barrier
BY_TWO_WAYS(lanes_that_do_not_come, SYNC_ALONE(0), NOTHING)
// 1 x 128: different barriers
KERNEL(lanes_of_four_ways) {
    __shared__ int line[128];
    line[T] = data[T];
    switch (T % 4) {
    case 0: SYNC_ALONE(0); out[T] = line[T ^ 65]; break;
    case 1: SYNC_ALONE(0); out[T] = line[T ^ 66] + 1; break;
    case 2:
        if (T % 8 == 2) { SYNC_ALONE(0); out[T] = line[T ^ 67] + 2; }
        else { SYNC_ALONE(0); out[T] = line[T ^ 68] + 3; }
        break;
    default: SYNC_ALONE(0); out[T] = line[T ^ 69] + 4;
    }
}
// 1 x 128: different barriers
KERNEL(lanes_in_rounds) {
    __shared__ int line[2][128];
    int sum = 0;
    for (int i = 0; i < 6; ++i) {
        line[i % 2][T] = i;
        if (T % 32 < 7) { SYNC_ALONE(3); sum += line[i % 2][127 - T]; }
        else { SYNC_ALONE(3); sum -= line[i % 2][127 - T]; }
    }
    out[T] = sum;
}
// 1 x 128: barrier without all threads
KERNEL(lanes_that_have_ended) {
    __shared__ int line[128];
    if (T % 32 >= 20) return;
    line[T] = data[T];
    SYNC_ALONE(0);
    out[T] = line[T ^ 64];
}
// 1 x 96: deadlock
KERNEL(too_many_are_waited_for) {
    if (T < 64) BAR_SYNC(1, 96);
    out[T] = T;
}

#define BLOCK_SUM(name, between, behind)                                               \
    KERNEL(name) {                                                                     \
        __shared__ int part[8];                                                        \
        for (int i = 0; i < 2; ++i) {                                                  \
            int sum = data[256 * i + T];                                               \
            for (int by = 16; by > 0; by /= 2) sum += __shfl_down_sync(~0u, sum, by);  \
            if (T % 32 == 0) part[T / 32] = sum;                                       \
            between;                                                                   \
            if (T < 32) {                                                              \
                sum = T < 8 ? part[T] : 0;                                             \
                for (int by = 4; by > 0; by /= 2) sum += __shfl_down_sync(~0u, sum, by); \
                if (T == 0) out[i] = sum;                                              \
            }                                                                          \
            behind;                                                                    \
        }                                                                              \
    }
// 1 x 256: clean
BLOCK_SUM(block_sum, __syncthreads(), __syncthreads())
// 1 x 256: data race
BLOCK_SUM(block_sum_without_first_barrier, NOTHING, __syncthreads())
// 1 x 256: data race
BLOCK_SUM(block_sum_without_second_barrier, __syncthreads(), NOTHING)
// 1 x 256: clean
KERNEL(pairs_of_warps_again_and_again) {
    __shared__ int line[256];
    const int group = T / 64, id = 1 + group;
    for (int i = 0; i < 5; ++i) {
        line[T] = i + T;
        asm volatile("bar.sync %0, 64;" ::"r"(id) : "memory");
        out[T] = line[64 * group + 63 - T % 64];
        asm volatile("bar.sync %0, 64;" ::"r"(id) : "memory");
    }
}
// 1 x 256: data race
KERNEL(pairs_of_warps_that_look_at_others) {
    __shared__ int line[256];
    const int group = T / 64, id = 1 + group;
    for (int i = 0; i < 5; ++i) {
        line[T] = i + T;
        asm volatile("bar.sync %0, 64;" ::"r"(id) : "memory");
        out[T] = line[255 - T];
        asm volatile("bar.sync %0, 64;" ::"r"(id) : "memory");
    }
}
// 2 x 128: clean
KERNEL(barrier_in_a_condition_of_the_block) {
    __shared__ int line[128];
    if (B == 1) {
        line[T] = T;
        __syncthreads();
        out[T] = line[127 - T];
    }
}
// 4 x 64: data race
KERNEL(neighbours_in_place) {
    const int i = 64 * B + T;
    const int left = i > 0 ? data[i - 1] : 0;
    __syncthreads();
    data[i] = left + 1;
}

// 1 x 64: barriers 1 and 2 in one warp: its threads must name the same,
KERNEL(barriers_of_half_warps) {
    asm volatile("bar.sync %0, 64;" ::"r"(1 + T / 16) : "memory");
    out[T] = 1;
}
// 1 x 64: clean
KERNEL(clock_that_runs_on) {
    const long long begin = clock64();
    __syncthreads();
    const long long between = clock64();
    while (clock64() - between < 100000) {}
    if (between <= begin) asm volatile("trap;");
    out[T] = 1;
}
// 1 x 64: barrier without all threads
KERNEL(half_of_a_warp_ends_elsewhere) {
    if (T % 2 == 0) {
        out[T] = T;
        return;
    }
    __syncthreads();
    data[T] = -T;
}

// A warp that goes around a barrier and then goes on has not ended before it. What only returns has.
#define AROUND(name, condition, behind)                                                \
    KERNEL(name) {                                                                     \
        __shared__ int line[128];                                                      \
        line[T] = data[T];                                                             \
        if (condition) __syncthreads();                                                \
        behind;                                                                        \
    }
// 1 x 128: barrier that some warps go around
AROUND(one_warp_goes_around, T >= 32, out[T] = line[T])
// 1 x 128: clean
AROUND(no_warp_goes_around, T >= 0, out[T] = line[T])
// 1 x 128: barrier without all threads
AROUND(one_warp_ends_at_once, T >= 32, NOTHING)
// 1 x 128: barrier that some warps go around
KERNEL(fewer_rounds_of_barriers) {
    int sum = 0;
#pragma unroll 1
    for (int i = 0; i < 2 + T / 32; ++i) {
        sum += data[i];
        __syncthreads();
    }
    out[T] = sum;
}
// 1 x 128: barrier without all threads
KERNEL(warps_end_in_different_rounds) {
    for (int i = 0; i < 8; ++i) {
        if (i > T / 32) return;
        __syncthreads();
        out[T] = i;
    }
}
// 1 x 64: arrival at a barrier that nobody waits for
KERNEL(nobody_hears_it) {
    out[T] = T;
    if (T < 32) BAR_ARRIVE(3, 64);
}
