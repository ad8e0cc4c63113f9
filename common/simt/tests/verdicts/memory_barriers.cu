// Barriers in shared memory: who arrives releases, who finds a phase complete acquires, and the barrier itself must be made first.
#include "kernel.h"

#define BARRIER(words) asm volatile("{ .reg .b64 state; .reg .pred over; " words " }" ::"r"(at), "r"(T) : "memory")
#define INIT BARRIER("mbarrier.init.shared.b64 [%0], 64;")
#define ARRIVE BARRIER("mbarrier.arrive.shared.b64 state, [%0];")
#define ASK BARRIER("mbarrier.test_wait.parity.shared.b64 over, [%0], 0;")
#define WAIT BARRIER("again_%=: mbarrier.try_wait.parity.shared.b64 over, [%0], 0; @!over bra again_%=;")
#define INVALIDATE BARRIER("mbarrier.inval.shared.b64 [%0];")

// `first` writes, `second` reads what the other warp has written.
#define PASS(name, made, writer, first, second, last)                                  \
    KERNEL(name) {                                                                     \
        __shared__ unsigned long long barrier;                                         \
        __shared__ int line[32];                                                       \
        const unsigned at = (unsigned)__cvta_generic_to_shared(&barrier);              \
        if (T == 0) INIT;                                                              \
        made;                                                                          \
        const bool writes = T / 32 == writer;                                          \
        if (writes) line[T % 32] = data[T];                                            \
        first;                                                                         \
        if (!writes) {                                                                 \
            second;                                                                    \
            out[T] = line[31 - T % 32];                                                \
        }                                                                              \
        last;                                                                          \
    }
// 1 x 64: clean
PASS(arrive_and_wait, __syncthreads(), 0, ARRIVE, WAIT, NOTHING)
// 1 x 64: clean
PASS(arrive_and_wait_for_the_second, __syncthreads(), 1, ARRIVE, WAIT, NOTHING)
// 1 x 64: data race
PASS(arrive_and_never_wait, __syncthreads(), 0, ARRIVE, NOTHING, NOTHING)
// 1 x 64: data race
PASS(ask_and_do_not_listen, __syncthreads(), 0, if (writes) ARRIVE, ASK, NOTHING)
// 1 x 64: data race
PASS(made_without_a_barrier, NOTHING, 0, ARRIVE, WAIT, NOTHING)
// 1 x 64: clean
PASS(unmade_behind_a_barrier, __syncthreads(), 0, ARRIVE, WAIT, __syncthreads(); if (T == 0) INVALIDATE)
// 1 x 64: data race
PASS(unmade_too_early, __syncthreads(), 0, ARRIVE, WAIT, if (T == 63) INVALIDATE)

// Each thread copies, and its copy arrives when it has landed.
#define COPY(name, arrives, wait)                                                      \
    KERNEL(name) {                                                                     \
        __shared__ unsigned long long barrier;                                         \
        __shared__ int line[64];                                                       \
        const unsigned at = (unsigned)__cvta_generic_to_shared(&barrier);              \
        if (T == 0) INIT;                                                              \
        __syncthreads();                                                               \
        const unsigned to = (unsigned)__cvta_generic_to_shared(&line[T]);              \
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(data + T) : "memory"); \
        arrives;                                                                       \
        wait;                                                                          \
        out[T] = line[63 - T];                                                         \
    }
#define COPY_ARRIVES BARRIER("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];")
#define COPY_ARRIVES_TOO BARRIER("cp.async.mbarrier.arrive.shared.b64 [%0];")
// 1 x 64: clean
COPY(copies_arrive, COPY_ARRIVES, WAIT)
// 1 x 64: clean
COPY(copies_and_threads_arrive, COPY_ARRIVES_TOO; ARRIVE, WAIT)
// 1 x 64: asynchronous copy read before it has landed
COPY(copies_arrive_and_nobody_waits, COPY_ARRIVES, __syncthreads())
// 1 x 64: asynchronous copy read before it has landed
COPY(copies_and_threads_arrive_and_nobody_waits, COPY_ARRIVES_TOO; ARRIVE, __syncthreads())
// 1 x 64: clean
COPY(copies_arrive_and_are_waited_for_otherwise, COPY_ARRIVES, asm volatile("cp.async.wait_all;" ::: "memory"); __syncthreads())

// Waits without an end: they come to the limit as an endless loop does.
// 1 x 1024: limit
KERNEL(nobody_arrives) {
    __shared__ unsigned long long barrier;
    const unsigned at = (unsigned)__cvta_generic_to_shared(&barrier);
    if (T == 0) INIT;
    __syncthreads();
    WAIT;
    out[T] = T;
}
