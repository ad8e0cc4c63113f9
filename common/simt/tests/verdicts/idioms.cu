// Idioms of public kernels: queues of tasks, tables, stacks, pipelines, and barriers made by hand.
#include "kernel.h"

#define QUEUE(name, before_the_next)                                                   \
    KERNEL(name) {                                                                     \
        __shared__ int task;                                                           \
        for (;;) {                                                                     \
            if (T == 0) task = atomicAdd(flag, 1);                                     \
            __syncthreads();                                                           \
            const int mine = task;                                                     \
            before_the_next;                                                           \
            if (mine >= 10) return;                                                    \
            data[mine * 64 + T] = T;                                                   \
        }                                                                              \
    }

// 6 x 64: clean
QUEUE(queue_of_tasks, __syncthreads())
// 6 x 64: data race, exit before a barrier
QUEUE(queue_of_tasks_without_second_barrier, NOTHING)

#define TABLE(name, count)                                                             \
    KERNEL(name) {                                                                     \
        int key = (T * 7 + B * 13) % 50 + 1, at = key % 64;                            \
        for (;;) {                                                                     \
            int old = atomicCAS(data + at, 0, key);                                    \
            if (old == 0 || old == key) break;                                         \
            at = (at + 1) % 64;                                                        \
        }                                                                              \
        count;                                                                         \
    }

// 4 x 32: clean
TABLE(hash_table, atomicAdd(out + at, 1))
// 4 x 32: data race
TABLE(hash_table_counts_plainly, out[at] += 1)

#define STACK(name, fence, then)                                                       \
    KERNEL(name) {                                                                     \
        int node = B * 32 + T + 1, head;                                               \
        do { head = atomicAdd(flag, 0); data[node] = head; fence; } while (atomicCAS(flag, head, node) != head); \
        then                                                                           \
    }
#define WALK(fence)                                                                    \
    fence;                                                                             \
    if (T == 0) { int n = 0, p = atomicAdd(flag, 0); fence; while (p) { ++n; p = data[p]; } out[B] = n; }

// 4 x 32: clean
STACK(stack_push, __threadfence(), )
// 4 x 32: clean
STACK(stack_push_and_walk, __threadfence(), WALK(__threadfence()))
// 4 x 32: data race
STACK(stack_push_and_walk_without_fence, NOTHING, WALK(NOTHING))

#define APPEND(name, taken)                                                            \
    KERNEL(name) {                                                                     \
        const bool keep = T % 3 == 0;                                                  \
        const unsigned votes = __ballot_sync(~0u, keep);                               \
        int base = 0;                                                                  \
        if (T % 32 == 0) base = atomicAdd(flag, taken);                                \
        base = __shfl_sync(~0u, base, 0);                                              \
        if (keep) data[base + __popc(votes & ((1u << T % 32) - 1))] = B * 64 + T;      \
    }

// 4 x 64: clean
APPEND(append_aggregated, __popc(votes))
// 4 x 64: data race
APPEND(append_aggregated_wrong, __popc(votes) - 1)

// 5 x 64: clean
KERNEL(two_counters) {
    __shared__ int count; __shared__ bool last;
    if (T == 0) count = 0;
    __syncthreads();
    data[B * 64 + T] = T;
    __threadfence();
    if (atomicAdd(&count, 1) == 63) {
        count = 0;
        __threadfence();
        if (atomicAdd(flag, 1) == 4) { *flag = 0; __threadfence(); int s = 0; for (int i = 0; i < 320; ++i) s += data[i]; out[0] = s; }
    }
}

#define MINIMUM(name, modulus, wait)                                                   \
    KERNEL(name) {                                                                     \
        __shared__ int best;                                                           \
        if (T == 0) best = 1 << 30;                                                    \
        __syncthreads();                                                               \
        int v = (T * 37 + B) % modulus;                                                \
        atomicMin(&best, v);                                                           \
        wait;                                                                          \
        if (best == v) out[B] = T;                                                     \
    }

// 5 x 64: clean
MINIMUM(minimum_and_who, 101, __syncthreads())
// 5 x 64: data race
MINIMUM(minimum_without_barrier, 64, NOTHING)

// 6 x 32: clean
KERNEL(reusable_counter) {
    if (T) return;
    for (int round = 0; round < 3; ++round) {
        data[round * 8 + B] = B;
        __threadfence();
        if (atomicAdd(flag, 1) == 5) { *flag = 0; __threadfence(); store_release(flag + 1, round + 1); }
        else while (load_acquire(flag + 1) <= round) {}
    }
    out[B] = data[16 + (B + 1) % 6];
}

#define SUM(name, fence, take)                                                         \
    KERNEL(name) {                                                                     \
        if (T) return;                                                                 \
        atomicAdd(data, B);                                                            \
        fence;                                                                         \
        if (atomicAdd(flag, 1) == 5) { take; *flag = 0; }                              \
    }

// 6 x 32: data race
SUM(sum_and_reset_by_last, NOTHING, out[0] = data[0]; data[0] = 0)
// 6 x 32: clean
SUM(sum_exchanged_by_last, __threadfence(), out[0] = atomicExch(data, 0))

#define SPLIT_K(name, wait)                                                            \
    KERNEL(name) {                                                                     \
        if (T == 0) { while (atomicAdd(flag, 0) != B) {} __threadfence(); }            \
        __syncthreads();                                                               \
        data[T] += B;                                                                  \
        __threadfence();                                                               \
        wait;                                                                          \
        if (T == 0) atomicAdd(flag, 1);                                                \
    }

// 4 x 64: clean
SPLIT_K(split_k, __syncthreads())
// 4 x 64: data race
SPLIT_K(split_k_without_barrier, NOTHING)

#define LOCKED(name, take, place, give)                                                \
    KERNEL(name) {                                                                     \
        if (T) return;                                                                 \
        take;                                                                          \
        __threadfence();                                                               \
        data[place] += B;                                                              \
        __threadfence();                                                               \
        give;                                                                          \
    }
#define LOCK flag + B % 2
#define BIT                                                                            \
    int slot;                                                                          \
    for (;;) {                                                                         \
        int seen = atomicAdd(flag, 0);                                                 \
        if (seen == 3) continue;                                                       \
        slot = (seen & 1) ? 1 : 0;                                                     \
        if (!(atomicOr(flag, 1 << slot) >> slot & 1)) break;                           \
    }

// 6 x 32: clean
LOCKED(test_and_test_and_set, for (;;) { while (load_relaxed(flag)) {} if (atomicExch(flag, 1) == 0) break; }, 0, store_relaxed(flag, 0))
// 6 x 32: data race
LOCKED(two_locks_for_one_place, while (atomicCAS(LOCK, 0, 1)) {}, 0, atomicExch(LOCK, 0))
// 8 x 32: data race
LOCKED(lock_of_two_by_ticket, int mine = atomicAdd(flag, 1); while (atomicAdd(flag + 1, 0) + 1 < mine) {}, 0, atomicAdd(flag + 1, 1))
// 8 x 32: clean
LOCKED(bits_as_permits, BIT, slot, atomicAnd(flag, ~(1 << slot)))
// 8 x 32: data race
LOCKED(bits_as_permits_one_place, BIT, 0, atomicAnd(flag, ~(1 << slot)))

// 1 x 256: data race
KERNEL(semaphore_in_shared) {
    __shared__ int inside, sum;
    if (T == 0) inside = sum = 0;
    __syncthreads();
    if (T % 32 == 0) {
        for (;;) { int n = atomicAdd(&inside, 0); if (n < 2 && atomicCAS(&inside, n, n + 1) == n) break; }
        __threadfence_block();
        sum += T;
        __threadfence_block();
        atomicSub(&inside, 1);
    }
}

// 1 x 128: data race
KERNEL(barrier_of_arrivals_missing_one) {
    __shared__ int count;
    if (T == 0) count = 0;
    __syncthreads();
    data[T] = T;
    __threadfence_block();
    __syncwarp();
    if (T % 32 == 0) { atomicAdd(&count, 1); while (atomicAdd(&count, 0) < 3) {} }
    __threadfence_block();
    __syncwarp();
    out[T] = data[(T + 32) % 128];
}

// 1 x 128: clean
KERNEL(retry_forever_within_a_block) {
    __shared__ int flags[2];
    if (T < 2) flags[T] = 0;
    __syncthreads();
    if (T == 0) { atomicAdd(&flags[0], 1); while (atomicAdd(&flags[1], 0) == 0) {} atomicSub(&flags[0], 1); }
    else if (T % 32 == 0) {
        while (atomicAdd(&flags[0], 1) >= 2 && T != 64) atomicSub(&flags[0], 1);
        atomicExch(&flags[1], 1);
        atomicSub(&flags[0], 1);
    }
}

#define PIPELINE(name, is_full, is_empty)                                              \
    KERNEL(name) {                                                                     \
        __shared__ int full, empty, cell;                                              \
        if (T == 0) full = empty = 0;                                                  \
        __syncthreads();                                                               \
        if (T == 0) for (int i = 1; i <= 5; ++i) {                                     \
            while (!(atomicAdd(&empty, 0) is_empty)) {}                                \
            __threadfence_block(); cell = i; __threadfence_block();                    \
            atomicExch(&full, i);                                                      \
        }                                                                              \
        if (T == 32) for (int i = 1; i <= 5; ++i) {                                    \
            while (!(atomicAdd(&full, 0) is_full)) {}                                  \
            __threadfence_block(); data[B * 8 + i] = cell; __threadfence_block();      \
            atomicExch(&empty, i);                                                     \
        }                                                                              \
    }

// 3 x 96: clean
PIPELINE(pipeline_of_warps, == i, == i - 1)
// 3 x 96: data race
PIPELINE(pipeline_of_warps_one_ahead, >= i, >= i - 2)

// 6 x 32: data race
KERNEL(barrier_of_blocks_missing_one) {
    data[B * 32 + T] = T;
    __threadfence();
    __syncwarp();
    if (T == 0) { atomicAdd(flag, 1); while (atomicAdd(flag, 0) < 5) {} __threadfence(); }
    __syncwarp();
    out[B * 32 + T] = data[(B + 1) % 6 * 32 + T];
}

// 6 x 32: data race
KERNEL(last_but_one_sums) {
    if (T) return;
    data[B] = B;
    __threadfence();
    if (atomicAdd(flag, 1) == 4) { __threadfence(); for (int b = 0; b < 6; ++b) out[0] += data[b]; }
}

// Cooperative groups count the warps of a larger tile in shared memory that the system reserves, and that is zero at first.
// 2 x 128: clean
KERNEL(count_in_reserved_memory) {
    unsigned start, before;
    asm volatile("mov.u32 %0, %%reserved_smem_offset_1;" : "=r"(start));
    asm volatile("atom.shared.add.u32 %0, [%1], 1;" : "=r"(before) : "r"(start) : "memory");
    __syncthreads();
    unsigned after;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(after) : "r"(start) : "memory");
    if (before >= 128 || after != 128) asm volatile("trap;");
}
