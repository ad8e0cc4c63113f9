// Bulk copies: one thread copies a whole line, and who reads it waits at a barrier in shared memory.
#include "kernel.h"

__device__ inline unsigned place(const void* at) { return (unsigned)__cvta_generic_to_shared(at); }
__device__ inline void init(unsigned barrier) {
    asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(barrier) : "memory");
}
#define PUBLISH asm volatile("fence.proxy.async.shared::cta;" ::: "memory")
#define PUBLISH_BARRIERS asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory")
__device__ inline void expect(unsigned barrier, int bytes) {
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
__device__ inline void arrive(unsigned barrier) {
    asm volatile("{ .reg .b64 state; mbarrier.arrive.shared::cta.b64 state, [%0]; }" ::"r"(barrier) : "memory");
}
__device__ inline void arrive_and_expect(unsigned barrier, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
__device__ inline void copy(void* to, const void* from, int bytes, unsigned barrier) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(place(to)),
                 "l"(from), "r"(bytes), "r"(barrier) : "memory");
}
__device__ inline void wait(unsigned barrier, int odd) {
    asm volatile("{ .reg .pred over; again_%=: mbarrier.try_wait.parity.shared.b64 over, [%0], %1; @!over bra again_%=; }" ::"r"(
                     barrier), "r"(odd) : "memory");
}
#define BARRIERS(count)                                                                \
    __shared__ unsigned long long barriers[count];                                     \
    const unsigned at = place(barriers);

// Six lines go through the stages. One thread fetches, all wait and read.
#define PIPELINE(name, stages, made, fetches, waits, behind)                           \
    KERNEL(name) {                                                                     \
        __shared__ alignas(16) int line[stages][64];                                   \
        BARRIERS(stages)                                                               \
        if (T == 0) {                                                                  \
            for (int i = 0; i < stages; ++i) init(at + 8 * i);                         \
            made;                                                                      \
        }                                                                              \
        __syncthreads();                                                               \
        int sum = 0;                                                                   \
        for (int i = -stages + 1; i < 6; ++i) {                                        \
            const int next = i + stages - 1, slot = next % stages;                     \
            const unsigned full = at + 8 * slot;                                       \
            if (T == 0 && next < 6) fetches;                                           \
            if (i < 0) continue;                                                       \
            waits;                                                                     \
            sum += line[i % stages][63 - T];                                           \
            behind;                                                                    \
        }                                                                              \
        out[T] = sum;                                                                  \
    }
#define FETCH { expect(full, 256); copy(line[slot], data + 64 * next, 256, full); arrive(full); }
#define FETCH_AFTER { arrive_and_expect(full, 256); copy(line[slot], data + 64 * next, 256, full); }
#define FETCH_BEFORE { copy(line[slot], data + 64 * next, 256, full); arrive_and_expect(full, 256); }
#define FETCH_HALVES { arrive_and_expect(full, 256); for (int h = 0; h < 64; h += 32) copy(line[slot] + h, data + 64 * next + h, 128, full); }
#define WAIT(stages) wait(at + 8 * (i % stages), i / stages % 2)
// 1 x 64: clean
PIPELINE(one_stage, 1, PUBLISH, FETCH, WAIT(1), __syncthreads())
// 1 x 64: clean
PIPELINE(two_stages, 2, PUBLISH, FETCH, WAIT(2), __syncthreads())
// 1 x 64: clean
PIPELINE(three_stages_expected_with_the_arrival, 3, PUBLISH_BARRIERS, FETCH_AFTER, WAIT(3), __syncthreads())
// 1 x 64: clean
PIPELINE(copied_before_it_is_expected, 2, PUBLISH, FETCH_BEFORE, WAIT(2), __syncthreads())
// 1 x 64: clean
PIPELINE(two_copies_for_a_phase, 2, PUBLISH, FETCH_HALVES, WAIT(2), __syncthreads())
// 1 x 64: memory written without a proxy fence
PIPELINE(barriers_not_published, 2, NOTHING, FETCH, WAIT(2), __syncthreads())
// 1 x 64: asynchronous copy read before it has landed
PIPELINE(nobody_waits, 6, PUBLISH, FETCH, __syncthreads(), __syncthreads())
// 1 x 64: asynchronous copy read before it has landed, data race
PIPELINE(waits_for_the_stage_before, 6, PUBLISH, FETCH, if (i > 0) wait(at + 8 * (i - 1), 0); __syncthreads(), NOTHING)
// 1 x 64: asynchronous copy read before it has landed, data race
PIPELINE(one_warp_does_not_wait, 6, PUBLISH, FETCH, if (T < 32) WAIT(6), NOTHING)
// 1 x 64: asynchronous copy read before it has landed, data race
PIPELINE(overwritten_while_others_read, 2, PUBLISH, FETCH, WAIT(2), NOTHING)
// 1 x 64: asynchronous copy overwritten in flight, data race
PIPELINE(stored_to_in_flight, 1, PUBLISH, FETCH; if (T == 1 && next == 0) line[0][5] = 1, WAIT(1), __syncthreads())
// 1 x 64: limit
PIPELINE(fewer_bytes_than_expected, 1, PUBLISH, { arrive_and_expect(full, 512); copy(line[slot], data + 64 * next, 256, full); }, WAIT(1), __syncthreads())

// A bulk copy reads by another way than threads write, and writes by another way. A fence joins the two, in both directions.
#define BULK(name, first, fence, second)                                               \
    KERNEL(name) {                                                                     \
        __shared__ alignas(16) int line[64];                                           \
        BARRIERS(1)                                                                    \
        if (T == 0) { init(at); PUBLISH_BARRIERS; }                                    \
        first;                                                                         \
        fence;                                                                         \
        __syncthreads();                                                               \
        if (T == 0) { arrive_and_expect(at, 256); copy(line, data, 256, at); }         \
        second;                                                                        \
        wait(at, 0);                                                                   \
        out[T] = line[63 - T];                                                         \
    }
#define PUBLISH_ALL asm volatile("fence.proxy.async;" ::: "memory")
#define PUBLISH_GLOBAL asm volatile("fence.proxy.async.global;" ::: "memory")
// 1 x 64: memory written without a proxy fence
BULK(bulk_source_not_published, data[T] = T, NOTHING, NOTHING)
// 1 x 64: memory written without a proxy fence
BULK(bulk_source_published_for_shared_memory, data[T] = T, PUBLISH, NOTHING)
// 1 x 64: clean
BULK(bulk_source_published, data[T] = T, PUBLISH_GLOBAL, NOTHING)
// 1 x 64: clean
BULK(bulk_source_published_for_all, data[T] = T, PUBLISH_ALL, NOTHING)
// 1 x 64: memory written without a proxy fence
BULK(bulk_target_not_published, line[T] = T, NOTHING, NOTHING)
// 1 x 64: clean
BULK(bulk_target_published, line[T] = T, PUBLISH, NOTHING)
// 1 x 64: source of an asynchronous copy overwritten in flight
BULK(bulk_source_overwritten_in_flight, NOTHING, NOTHING, if (T == 0) data[5] = 7)
