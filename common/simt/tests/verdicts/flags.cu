// Messages: one block writes and raises a flag, another waits for it and reads.
#include "kernel.h"

#define MESSAGE(name, before, raise, poll, then)                                       \
    KERNEL(name) {                                                                     \
        if (T != 0) return;                                                            \
        if (B == 0) {                                                                  \
            data[0] = 42;                                                              \
            before;                                                                    \
            raise;                                                                     \
        } else {                                                                       \
            while ((poll) == 0) {}                                                     \
            then;                                                                      \
            out[0] = data[0];                                                          \
        }                                                                              \
    }
#define RAISE atomicExch(flag, 1)
#define POLL atomicAdd(flag, 0)

// 2 x 32: clean
MESSAGE(message, __threadfence(), RAISE, POLL, __threadfence())
// 2 x 32: clean
MESSAGE(message_sequentially_consistent, FENCE("fence.sc.gpu"), store_relaxed(flag, 1), load_relaxed(flag), FENCE("fence.sc.gpu"))
// 2 x 32: clean
MESSAGE(message_acquire_release_fences, FENCE("fence.acq_rel.gpu"), store_relaxed(flag, 1), load_relaxed(flag), FENCE("fence.acq_rel.gpu"))
// 2 x 32: clean
MESSAGE(message_release_acquire, NOTHING, store_release(flag, 1), load_acquire(flag), NOTHING)
// 2 x 32: clean
MESSAGE(message_of_system_scope, NOTHING, store_release_system(flag, 1), load_acquire_system(flag), NOTHING)
// 2 x 32: clean
MESSAGE(message_of_both_kinds, NOTHING, store_release(flag, 1), POLL, __threadfence())
// 2 x 32: volatile access between threads
MESSAGE(message_volatile, __threadfence(), volatile_store(flag, 1), volatile_load(flag), __threadfence())
// 2 x 32: data race, volatile access between threads
MESSAGE(message_volatile_without_fences, NOTHING, volatile_store(flag, 1), volatile_load(flag), NOTHING)
// 2 x 32: data race, volatile access between threads
MESSAGE(message_volatile_without_fence_after, __threadfence(), volatile_store(flag, 1), volatile_load(flag), NOTHING)
// 2 x 32: data race
MESSAGE(message_without_fence_before, NOTHING, RAISE, POLL, __threadfence())
// 2 x 32: data race
MESSAGE(message_without_fence_after, __threadfence(), RAISE, POLL, NOTHING)
// 2 x 32: data race
MESSAGE(message_fence_behind_the_flag, NOTHING, (RAISE, __threadfence()), POLL, __threadfence())
// 2 x 32: data race
MESSAGE(message_with_a_block_fence_before, __threadfence_block(), RAISE, POLL, __threadfence())
// 2 x 32: data race
MESSAGE(message_with_a_block_fence_after, __threadfence(), RAISE, POLL, __threadfence_block())
// 2 x 32: data race
MESSAGE(message_raised_with_block_scope, __threadfence(), atomicExch_block(flag, 1), POLL, __threadfence())
// 2 x 32: data race
MESSAGE(message_polled_with_block_scope, __threadfence(), RAISE, atomicAdd_block(flag, 0), __threadfence())
// 2 x 32: data race
MESSAGE(message_released_relaxed, NOTHING, store_relaxed(flag, 1), load_acquire(flag), NOTHING)
// 2 x 32: data race
MESSAGE(message_acquired_relaxed, NOTHING, store_release(flag, 1), load_relaxed(flag), NOTHING)
// 2 x 32: data race
MESSAGE(message_released_to_the_block, NOTHING, store_release_block(flag, 1), load_acquire(flag), NOTHING)
// 2 x 32: data race
MESSAGE(message_acquired_from_the_block, NOTHING, store_release(flag, 1), load_acquire_block(flag), NOTHING)
// 2 x 32: data race
MESSAGE(message_raised_by_a_plain_store, __threadfence(), flag[0] = 1, POLL, __threadfence())
// 2 x 32: data race
MESSAGE(message_written_again_after_the_flag, (__threadfence(), RAISE), data[0] = 43, POLL, __threadfence())

// 2 x 32: data race
KERNEL(a_fence_hides_no_missing_one) {
    if (T != 0) return;
    if (B == 0) {
        data[0] = 1;
        __threadfence();
        data[1] = 2;
        RAISE;
    } else {
        while (POLL == 0) {}
        __threadfence();
        out[0] = data[0] + data[1];
    }
}
// 2 x 32: clean
KERNEL(the_first_block_waits_for_the_second) {
    if (T != 0) return;
    if (B == 1) {
        data[0] = 1;
        __threadfence();
        RAISE;
    } else {
        while (POLL == 0) {}
        __threadfence();
        out[0] = data[0];
    }
}

#define CHAIN(name, between)                                                           \
    KERNEL(name) {                                                                     \
        if (T != 0) return;                                                            \
        if (B == 0) {                                                                  \
            data[0] = 1;                                                               \
            __threadfence();                                                           \
            atomicExch(flag, 1);                                                       \
        } else if (B == 1) {                                                           \
            while (atomicAdd(flag, 0) == 0) {}                                         \
            between;                                                                   \
            atomicExch(flag + 1, 1);                                                   \
        } else {                                                                       \
            while (atomicAdd(flag + 1, 0) == 0) {}                                     \
            __threadfence();                                                           \
            out[0] = data[0];                                                          \
        }                                                                              \
    }
// 3 x 32: clean
CHAIN(passed_on, __threadfence())
// 3 x 32: data race
CHAIN(passed_on_without_a_fence, NOTHING)

// A whole block writes, a whole block reads.
#define BLOCKS(name, written, raise, read)                                             \
    KERNEL(name) {                                                                     \
        if (B == 0) {                                                                  \
            data[T] = T;                                                               \
            written;                                                                   \
            if (T == 0) raise;                                                         \
        } else {                                                                       \
            if (T == 0) {                                                              \
                while (POLL == 0) {}                                                   \
            }                                                                          \
            read;                                                                      \
            out[T] = data[T ^ 1];                                                      \
        }                                                                              \
    }
// 2 x 128: clean
BLOCKS(block_to_block, __syncthreads(), (__threadfence(), RAISE), (__threadfence(), __syncthreads()))
// 2 x 128: clean
BLOCKS(block_to_block_all_fence_and_wait, (__threadfence(), __syncthreads()), RAISE, __syncthreads())
// 2 x 128: data race
BLOCKS(block_to_block_writers_do_not_wait, __threadfence(), RAISE, __syncthreads())
// 2 x 128: data race
BLOCKS(block_to_block_readers_do_not_wait, (__threadfence(), __syncthreads()), RAISE, __threadfence())
// 2 x 128: data race
BLOCKS(block_to_block_no_fence, __syncthreads(), RAISE, (__threadfence(), __syncthreads()))
// 2 x 128: data race
BLOCKS(block_to_block_one_warp_fences, (T < 32 ? __threadfence() : NOTHING), RAISE, __syncthreads())

// The same between the warps of a block, in shared memory.
#define WARPS(name, before, after)                                                     \
    KERNEL(name) {                                                                     \
        __shared__ int ready, value;                                                   \
        if (T == 0) ready = 0;                                                         \
        __syncthreads();                                                               \
        if (T == 0) {                                                                  \
            value = data[0];                                                           \
            before;                                                                    \
            atomicExch(&ready, 1);                                                     \
        } else if (T == 32) {                                                          \
            while (atomicAdd(&ready, 0) == 0) {}                                       \
            after;                                                                     \
            out[0] = value;                                                            \
        }                                                                              \
    }
// 1 x 64: clean
WARPS(warp_to_warp, __threadfence_block(), __threadfence_block())
// 1 x 64: clean
WARPS(warp_to_warp_by_wide_fences, __threadfence(), __threadfence())
// 1 x 64: data race
WARPS(warp_to_warp_without_fence_before, NOTHING, __threadfence_block())
// 1 x 64: data race
WARPS(warp_to_warp_without_fence_after, __threadfence_block(), NOTHING)
