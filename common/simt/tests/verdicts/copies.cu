// Asynchronous copies: pipelines of one and two stages.
#include "kernel.h"

__device__ inline void copy(int* to, const int* from) {
    const unsigned place = (unsigned)__cvta_generic_to_shared(to);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(place), "l"(from) : "memory");
}
#define COMMIT asm volatile("cp.async.commit_group;" ::: "memory")
#define WAIT(groups) asm volatile("cp.async.wait_group " #groups ";" ::: "memory")

#define PIPELINE(name, stages, wait, between, behind)                                  \
    KERNEL(name) {                                                                     \
        __shared__ int line[stages][64];                                               \
        int sum = 0;                                                                   \
        for (int i = 0; i < stages - 1; ++i) {                                         \
            copy(&line[i][T], &data[64 * i + T]);                                      \
            COMMIT;                                                                    \
        }                                                                              \
        for (int i = 0; i < 6; ++i) {                                                  \
            const int next = i + stages - 1;                                           \
            if (next < 6) copy(&line[next % stages][T], &data[64 * next + T]);         \
            COMMIT;                                                                    \
            wait;                                                                      \
            between;                                                                   \
            sum += line[i % stages][63 - T];                                           \
            behind;                                                                    \
        }                                                                              \
        out[T] = sum;                                                                  \
    }
// 1 x 64: clean
PIPELINE(one_stage, 1, WAIT(0), __syncthreads(), __syncthreads())
// 1 x 64: clean
PIPELINE(two_stages, 2, WAIT(1), __syncthreads(), __syncthreads())
// 1 x 64: clean
PIPELINE(three_stages, 3, WAIT(2), __syncthreads(), __syncthreads())
// 1 x 64: data race
PIPELINE(one_stage_without_barrier, 1, WAIT(0), NOTHING, __syncthreads())
// 1 x 64: data race
PIPELINE(one_stage_without_second_barrier, 1, WAIT(0), __syncthreads(), NOTHING)
// 1 x 64: data race, asynchronous copy read before it has landed
PIPELINE(two_stages_without_second_barrier, 2, WAIT(1), __syncthreads(), NOTHING)
// 1 x 64: asynchronous copy read before it has landed
PIPELINE(two_stages_waited_for_too_few, 2, WAIT(2), __syncthreads(), { WAIT(0); __syncthreads(); })
// 1 x 64: asynchronous copy read before it has landed
PIPELINE(one_stage_not_waited_for, 1, NOTHING, __syncthreads(), { WAIT(0); __syncthreads(); })

// What is copied must stay as it is until the copy has landed.
#define SOURCE(name, before, behind, element)                                          \
    KERNEL(name) {                                                                     \
        __shared__ int line[64];                                                       \
        copy(&line[T], &data[T]);                                                      \
        before;                                                                        \
        data[element] = T;                                                             \
        behind;                                                                        \
        __syncthreads();                                                               \
        out[T] = line[63 - T];                                                         \
    }
// 1 x 64: source of an asynchronous copy overwritten in flight
SOURCE(source_overwritten_in_flight, NOTHING, WAIT(0); COMMIT; WAIT(0); asm volatile("cp.async.wait_all;" ::: "memory"), T)
// 1 x 64: data race, source of an asynchronous copy overwritten in flight
SOURCE(source_overwritten_by_others_behind_a_barrier, __syncthreads(), asm volatile("cp.async.wait_all;" ::: "memory"), 63 - T)
// 1 x 64: clean
SOURCE(source_overwritten_after_it_landed, asm volatile("cp.async.wait_all;" ::: "memory"), NOTHING, T)
// 1 x 64: data race
SOURCE(source_overwritten_after_one_wait, asm volatile("cp.async.wait_all;" ::: "memory"), NOTHING, (T + 32) % 64)
// 1 x 64: clean
SOURCE(another_part_is_overwritten, NOTHING, asm volatile("cp.async.wait_all;" ::: "memory"), 64 + T)
