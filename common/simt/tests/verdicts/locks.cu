// Locks: one thread at a time changes data[0].
#include "kernel.h"

#define LOCK(name, take, then, before, give)                                           \
    KERNEL(name) {                                                                     \
        if (T == 0) {                                                                  \
            while (take != 0) {}                                                       \
            then;                                                                      \
            data[0] += 1;                                                              \
            before;                                                                    \
            give;                                                                      \
        }                                                                              \
    }
#define TAKE atomicCAS(flag, 0, 1)
#define GIVE atomicExch(flag, 0)

// 8 x 32: clean
LOCK(lock, TAKE, __threadfence(), __threadfence(), GIVE)
// 8 x 32: clean
LOCK(lock_of_system_scope, atomicCAS_system(flag, 0, 1), __threadfence_system(), __threadfence_system(), atomicExch_system(flag, 0))
// 8 x 32: data race
LOCK(lock_without_fence_when_taken, TAKE, NOTHING, __threadfence(), GIVE)
// 8 x 32: data race
LOCK(lock_without_fence_when_given, TAKE, __threadfence(), NOTHING, GIVE)
// 8 x 32: data race
LOCK(lock_without_fences, TAKE, NOTHING, NOTHING, GIVE)
// 8 x 32: data race
LOCK(lock_with_block_fence_when_taken, TAKE, __threadfence_block(), __threadfence(), GIVE)
// 8 x 32: data race
LOCK(lock_with_block_fence_when_given, TAKE, __threadfence(), __threadfence_block(), GIVE)
// 8 x 32: data race
LOCK(lock_of_block_scope, atomicCAS_block(flag, 0, 1), __threadfence(), __threadfence(), atomicExch_block(flag, 0))
// 8 x 32: data race
LOCK(lock_given_with_block_scope, TAKE, __threadfence(), __threadfence(), atomicExch_block(flag, 0))
// 8 x 32: data race
LOCK(lock_given_by_a_plain_store, TAKE, __threadfence(), __threadfence(), flag[0] = 0)
// 8 x 32: volatile access between threads
LOCK(lock_given_by_a_volatile_store, TAKE, __threadfence(), __threadfence(), volatile_store(flag, 0))
// 8 x 32: clean
LOCK(lock_that_acquires_and_releases, take_acquire(flag), NOTHING, NOTHING, store_release(flag, 0))
// 8 x 32: data race
LOCK(lock_given_relaxed, take_acquire(flag), NOTHING, NOTHING, store_relaxed(flag, 0))
// 8 x 32: data race
LOCK(lock_taken_relaxed, TAKE, NOTHING, NOTHING, store_release(flag, 0))
// 8 x 32: data race
LOCK(two_locks_for_one_place, atomicCAS(flag + B % 2, 0, 1), __threadfence(), __threadfence(), atomicExch(flag + B % 2, 0))
// 8 x 32: data race
LOCK(one_block_takes_no_lock, B == 5 ? 0 : TAKE, __threadfence(), __threadfence(), if (B != 5) GIVE)
// One side alone lacks its fence, and may be the one that runs first.
// 8 x 32: data race
LOCK(first_block_takes_without_fence, TAKE, if (B != 0) __threadfence(), __threadfence(), GIVE)
// 8 x 32: data race
LOCK(last_block_takes_without_fence, TAKE, if (B != 7) __threadfence(), __threadfence(), GIVE)
// 8 x 32: data race
LOCK(first_block_gives_without_fence, TAKE, __threadfence(), if (B != 0) __threadfence(), GIVE)
// 8 x 32: data race
LOCK(last_block_gives_without_fence, TAKE, __threadfence(), if (B != 7) __threadfence(), GIVE)
// 8 x 32: data race
LOCK(last_block_gives_with_block_fence, TAKE, __threadfence(), if (B == 7) __threadfence_block(); else __threadfence(), GIVE)
// 1 x 128: data race
KERNEL(every_thread_without_a_lock) {
    data[0] += 1;
}
// 8 x 32: data race
KERNEL(written_once_more_after_the_lock_was_given) {
    if (T == 0) {
        while (TAKE != 0) {}
        __threadfence();
        data[0] += 1;
        __threadfence();
        GIVE;
        if (B == 3) data[0] = 7;
    }
}
// 8 x 32: data race
KERNEL(a_failed_attempt_gives_nothing) {
    // Block 1 writes without the lock, and its fence and its failed compare-and-swap must not order that.
    if (T == 0 && B == 0) {
        while (TAKE != 0) {}
        while (atomicAdd(flag + 1, 0) == 0) {}
        GIVE;
    } else if (T == 0 && B == 1) {
        data[0] = 1;
        __threadfence();
        TAKE;
        atomicExch(flag + 1, 1);
    } else if (T == 0 && B == 2) {
        while (TAKE != 0) {}
        __threadfence();
        data[0] += 1;
    }
}

// A lock in shared memory, taken by one thread of each warp.
#define SHARED_LOCK(name, then, before)                                                \
    KERNEL(name) {                                                                     \
        __shared__ int lock, count;                                                    \
        if (T == 0) lock = count = 0;                                                  \
        __syncthreads();                                                               \
        if (T % 32 == 0) {                                                             \
            while (atomicCAS(&lock, 0, 1) != 0) {}                                     \
            then;                                                                      \
            count += T;                                                                \
            before;                                                                    \
            atomicExch(&lock, 0);                                                      \
        }                                                                              \
        __syncthreads();                                                               \
        if (T == 0) out[0] = count;                                                    \
    }
// 1 x 256: clean
SHARED_LOCK(shared_lock, __threadfence_block(), __threadfence_block())
// 1 x 256: data race
SHARED_LOCK(shared_lock_without_fence_when_taken, NOTHING, __threadfence_block())
// 1 x 256: data race
SHARED_LOCK(shared_lock_without_fence_when_given, __threadfence_block(), NOTHING)
// 1 x 256: data race
SHARED_LOCK(first_warp_takes_without_fence, if (T >= 32) __threadfence_block(), __threadfence_block())
// 1 x 256: data race
SHARED_LOCK(last_warp_gives_without_fence, __threadfence_block(), if (T < 224) __threadfence_block())

#define TICKET(name, turn, then, before, next)                                         \
    KERNEL(name) {                                                                     \
        if (T == 0) {                                                                  \
            const int mine = atomicAdd(flag, 1);                                       \
            while ((turn) != mine) {}                                                  \
            then;                                                                      \
            data[0] = 2 * data[0] + B;                                                 \
            before;                                                                    \
            next;                                                                      \
        }                                                                              \
    }
// 6 x 32: clean
TICKET(ticket, atomicAdd(flag + 1, 0), __threadfence(), __threadfence(), atomicAdd(flag + 1, 1))
// 6 x 32: clean
TICKET(ticket_acquire_release, load_acquire(flag + 1), NOTHING, NOTHING, add_release(flag + 1, 1))
// 6 x 32: volatile access between threads
TICKET(ticket_volatile, volatile_load(flag + 1), __threadfence(), __threadfence(), atomicAdd(flag + 1, 1))
// 6 x 32: data race
TICKET(ticket_without_fence_before, atomicAdd(flag + 1, 0), __threadfence(), NOTHING, atomicAdd(flag + 1, 1))
// 6 x 32: data race
TICKET(ticket_without_fence_after, atomicAdd(flag + 1, 0), NOTHING, __threadfence(), atomicAdd(flag + 1, 1))
// 6 x 32: data race
TICKET(ticket_relaxed, load_relaxed(flag + 1), NOTHING, NOTHING, add_release(flag + 1, 1))

#define LOCK_OF_EVERY_THREAD(name, then, before)                                       \
    KERNEL(name) {                                                                     \
        while (TAKE != 0) {}                                                           \
        then;                                                                          \
        data[0] += 1;                                                                  \
        before;                                                                        \
        GIVE;                                                                          \
        __syncthreads();                                                               \
        out[B * blockDim.x + T] = __shfl_xor_sync(0xffffffff, T, 1);                   \
    }
// 2 x 64: clean
LOCK_OF_EVERY_THREAD(lock_of_every_thread, __threadfence(), __threadfence())
// 2 x 64: data race
LOCK_OF_EVERY_THREAD(lock_of_every_thread_without_fence_when_taken, NOTHING, __threadfence())
// 2 x 64: data race
LOCK_OF_EVERY_THREAD(lock_of_every_thread_without_fence_when_given, __threadfence(), NOTHING)
// 1 x 32: clean
KERNEL(one_lane_waits_for_another) {
    if (T == 0) while (load_acquire(flag) == 0) {}
    else if (T == 7) {
        data[0] = 1;
        store_release(flag, 1);
    }
    if (T == 0) out[0] = data[0];
}
// 1 x 32: data race
KERNEL(one_lane_waits_for_another_without_order) {
    if (T == 0) while (load_relaxed(flag) == 0) {}
    else if (T == 7) {
        data[0] = 1;
        store_relaxed(flag, 1);
    }
    if (T == 0) out[0] = data[0];
}

// Whoever comes first initialises, and the others only look: what is wrong shows if one block has ended before another begins.
#define ONCE(name, look, then)                                                         \
    KERNEL(name) {                                                                     \
        if (T != 0) return;                                                            \
        if ((look) == 0) {                                                             \
            while (atomicCAS(flag + 1, 0, 1) != 0) {}                                  \
            __threadfence();                                                           \
            if (load_relaxed(flag) == 0) {                                             \
                data[0] = 42;                                                          \
                store_release(flag, 1);                                                \
            }                                                                          \
            __threadfence();                                                           \
            atomicExch(flag + 1, 0);                                                   \
        } else {                                                                       \
            then;                                                                      \
        }                                                                              \
        out[B] = data[0];                                                              \
    }
// 8 x 32: clean
ONCE(once, load_acquire(flag), NOTHING)
// 8 x 32: clean
ONCE(once_and_a_fence, load_relaxed(flag), __threadfence())
// 8 x 32: data race
ONCE(once_without_a_fence, load_relaxed(flag), NOTHING)

// Several may read, or one may write.
#define READERS(name, before)                                                          \
    KERNEL(name) {                                                                     \
        if (T != 0) return;                                                            \
        if (B % 4 == 0) {                                                              \
            while (atomicCAS(flag, 0, -1) != 0) {}                                     \
            __threadfence();                                                           \
            data[0] += 1;                                                              \
            __threadfence();                                                           \
            atomicExch(flag, 0);                                                       \
        } else {                                                                       \
            for (;;) {                                                                 \
                const int readers = atomicAdd(flag, 0);                                \
                if (readers >= 0 && atomicCAS(flag, readers, readers + 1) == readers) break; \
            }                                                                          \
            __threadfence();                                                           \
            out[B] = data[0];                                                          \
            before;                                                                    \
            atomicSub(flag, 1);                                                        \
        }                                                                              \
    }
// 8 x 32: clean
READERS(readers_and_writers, __threadfence())
// 8 x 32: data race
READERS(readers_and_writers_without_a_fence, NOTHING)

// A semaphore lets several in at once, each into a place of its own or all into one.
#define SEMAPHORE(name, permits, where, before)                                        \
    KERNEL(name) {                                                                     \
        if (T % 32 != 0) return;                                                       \
        for (;;) {                                                                     \
            const int inside = atomicAdd(flag, 0);                                     \
            if (inside < permits && atomicCAS(flag, inside, inside + 1) == inside) break; \
        }                                                                              \
        __threadfence();                                                               \
        data[where] += 1;                                                              \
        before;                                                                        \
        atomicSub(flag, 1);                                                            \
    }
// 8 x 32: clean
SEMAPHORE(semaphore_with_one_permit, 1, 0, __threadfence())
// 8 x 32: data race
SEMAPHORE(semaphore_with_two_permits, 2, 0, __threadfence())
// 8 x 32: data race
SEMAPHORE(semaphore_with_three_permits, 3, 0, __threadfence())
// 8 x 32: clean
SEMAPHORE(semaphore_for_places, 3, B, __threadfence())
// 1 x 256: data race
SEMAPHORE(semaphore_within_a_block, 2, 0, __threadfence())
// 3 x 64: data race
SEMAPHORE(semaphore_of_blocks_and_warps, 2, B % 2, __threadfence())
// 8 x 32: data race
SEMAPHORE(semaphore_without_a_fence, 1, 0, NOTHING)

// Permits that are taken by counting down, and given back if there were none.
#define PERMITS(name, permits)                                                         \
    KERNEL(name) {                                                                     \
        if (T != 0) return;                                                            \
        while (atomicAdd(flag, 1) >= permits) atomicSub(flag, 1);                      \
        __threadfence();                                                               \
        data[0] += B;                                                                  \
        __threadfence();                                                               \
        atomicSub(flag, 1);                                                            \
    }
// 6 x 32: clean
PERMITS(one_permit_by_counting, 1)
// 6 x 32: data race
PERMITS(two_permits_by_counting, 2)
