// Idioms of public kernels: queues of tasks, tables, stacks, pipelines, and barriers made by hand.
#include "kernel.h"

// 6 x 64: clean
KERNEL(queue_of_tasks) {
    __shared__ int task;
    for (;;) {
        if (T == 0) task = atomicAdd(flag, 1);
        __syncthreads();
        const int mine = task;
        __syncthreads();
        if (mine >= 10) return;
        data[mine * 64 + T] = T;
    }
}

// 6 x 64: data race, exit before a barrier
KERNEL(queue_of_tasks_without_second_barrier) {
    __shared__ int task;
    for (;;) {
        if (T == 0) task = atomicAdd(flag, 1);
        __syncthreads();
        const int mine = task;
        if (mine >= 10) return;
        data[mine * 64 + T] = T;
    }
}

// 4 x 32: clean
KERNEL(hash_table) {
    int key = (T * 7 + B * 13) % 50 + 1, at = key % 64;
    for (;;) {
        int old = atomicCAS(data + at, 0, key);
        if (old == 0 || old == key) break;
        at = (at + 1) % 64;
    }
    atomicAdd(out + at, 1);
}

// 4 x 32: data race
KERNEL(hash_table_counts_plainly) {
    int key = (T * 7 + B * 13) % 50 + 1, at = key % 64;
    for (;;) {
        int old = atomicCAS(data + at, 0, key);
        if (old == 0 || old == key) break;
        at = (at + 1) % 64;
    }
    out[at] += 1;
}

// 4 x 32: clean
KERNEL(stack_push) {
    int node = B * 32 + T + 1, head;
    do { head = atomicAdd(flag, 0); data[node] = head; __threadfence(); } while (atomicCAS(flag, head, node) != head);
}

// 4 x 32: clean
KERNEL(stack_push_and_walk) {
    int node = B * 32 + T + 1, head;
    do { head = atomicAdd(flag, 0); data[node] = head; __threadfence(); } while (atomicCAS(flag, head, node) != head);
    __threadfence();
    if (T == 0) { int n = 0, p = atomicAdd(flag, 0); __threadfence(); while (p) { ++n; p = data[p]; } out[B] = n; }
}

// 4 x 32: data race
KERNEL(stack_push_and_walk_without_fence) {
    int node = B * 32 + T + 1, head;
    do { head = atomicAdd(flag, 0); data[node] = head; } while (atomicCAS(flag, head, node) != head);
    if (T == 0) { int n = 0, p = atomicAdd(flag, 0); while (p) { ++n; p = data[p]; } out[B] = n; }
}

// 4 x 64: clean
KERNEL(append_aggregated) {
    const bool keep = T % 3 == 0;
    const unsigned votes = __ballot_sync(~0u, keep);
    int base = 0;
    if (T % 32 == 0) base = atomicAdd(flag, __popc(votes));
    base = __shfl_sync(~0u, base, 0);
    if (keep) data[base + __popc(votes & ((1u << T % 32) - 1))] = B * 64 + T;
}

// 4 x 64: data race
KERNEL(append_aggregated_wrong) {
    const bool keep = T % 3 == 0;
    const unsigned votes = __ballot_sync(~0u, keep);
    int base = 0;
    if (T % 32 == 0) base = atomicAdd(flag, __popc(votes) - 1);
    base = __shfl_sync(~0u, base, 0);
    if (keep) data[base + __popc(votes & ((1u << T % 32) - 1))] = B * 64 + T;
}

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

// 5 x 64: clean
KERNEL(minimum_and_who) {
    __shared__ int best;
    if (T == 0) best = 1 << 30;
    __syncthreads();
    int v = (T * 37 + B) % 101;
    atomicMin(&best, v);
    __syncthreads();
    if (best == v) out[B] = T;
}

// 5 x 64: data race
KERNEL(minimum_without_barrier) {
    __shared__ int best;
    if (T == 0) best = 1 << 30;
    __syncthreads();
    int v = (T * 37 + B) % 64;
    atomicMin(&best, v);
    if (best == v) out[B] = T;
}

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

// 6 x 32: data race
KERNEL(sum_and_reset_by_last) {
    if (T) return;
    atomicAdd(data, B);
    if (atomicAdd(flag, 1) == 5) { out[0] = data[0]; data[0] = 0; *flag = 0; }
}

// 6 x 32: clean
KERNEL(sum_exchanged_by_last) {
    if (T) return;
    atomicAdd(data, B);
    __threadfence();
    if (atomicAdd(flag, 1) == 5) { out[0] = atomicExch(data, 0); *flag = 0; }
}

// 4 x 64: clean
KERNEL(split_k) {
    if (T == 0) { while (atomicAdd(flag, 0) != B) {} __threadfence(); }
    __syncthreads();
    data[T] += B;
    __threadfence();
    __syncthreads();
    if (T == 0) atomicAdd(flag, 1);
}

// 4 x 64: data race
KERNEL(split_k_without_barrier) {
    if (T == 0) { while (atomicAdd(flag, 0) != B) {} __threadfence(); }
    __syncthreads();
    data[T] += B;
    __threadfence();
    if (T == 0) atomicAdd(flag, 1);
}

// 6 x 32: clean
KERNEL(test_and_test_and_set) {
    if (T) return;
    for (;;) { while (load_relaxed(flag)) {} if (atomicExch(flag, 1) == 0) break; }
    __threadfence();
    data[0] += B;
    __threadfence();
    store_relaxed(flag, 0);
}

// 6 x 32: data race
KERNEL(two_locks_for_one_place) {
    if (T) return;
    int* lock = flag + B % 2;
    while (atomicCAS(lock, 0, 1)) {}
    __threadfence();
    data[0] += B;
    __threadfence();
    atomicExch(lock, 0);
}

// 8 x 32: data race
KERNEL(lock_of_two_by_ticket) {
    if (T) return;
    int mine = atomicAdd(flag, 1);
    while (atomicAdd(flag + 1, 0) + 1 < mine) {}
    __threadfence();
    data[0] += B;
    __threadfence();
    atomicAdd(flag + 1, 1);
}

// 8 x 32: clean
KERNEL(bits_as_permits) {
    if (T) return;
    int slot;
    for (;;) {
        int seen = atomicAdd(flag, 0);
        if (seen == 3) continue;
        slot = (seen & 1) ? 1 : 0;
        if (!(atomicOr(flag, 1 << slot) >> slot & 1)) break;
    }
    __threadfence();
    data[slot] += B;
    __threadfence();
    atomicAnd(flag, ~(1 << slot));
}

// 8 x 32: data race
KERNEL(bits_as_permits_one_place) {
    if (T) return;
    int slot;
    for (;;) {
        int seen = atomicAdd(flag, 0);
        if (seen == 3) continue;
        slot = (seen & 1) ? 1 : 0;
        if (!(atomicOr(flag, 1 << slot) >> slot & 1)) break;
    }
    __threadfence();
    data[0] += B;
    __threadfence();
    atomicAnd(flag, ~(1 << slot));
}

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

// 3 x 96: clean
KERNEL(pipeline_of_warps) {
    __shared__ int full, empty, cell;
    if (T == 0) full = empty = 0;
    __syncthreads();
    if (T == 0) for (int i = 1; i <= 5; ++i) {
        while (atomicAdd(&empty, 0) != i - 1) {}
        __threadfence_block(); cell = i; __threadfence_block();
        atomicExch(&full, i);
    }
    if (T == 32) for (int i = 1; i <= 5; ++i) {
        while (atomicAdd(&full, 0) != i) {}
        __threadfence_block(); data[B * 8 + i] = cell; __threadfence_block();
        atomicExch(&empty, i);
    }
}

// 3 x 96: data race
KERNEL(pipeline_of_warps_one_ahead) {
    __shared__ int full, empty, cell;
    if (T == 0) full = empty = 0;
    __syncthreads();
    if (T == 0) for (int i = 1; i <= 5; ++i) {
        while (atomicAdd(&empty, 0) < i - 2) {}
        __threadfence_block(); cell = i; __threadfence_block();
        atomicExch(&full, i);
    }
    if (T == 32) for (int i = 1; i <= 5; ++i) {
        while (atomicAdd(&full, 0) < i) {}
        __threadfence_block(); data[B * 8 + i] = cell; __threadfence_block();
        atomicExch(&empty, i);
    }
}

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
