// Products of matrices by four warps that go on while these do: their registers, and the shared memory that they read.
#include "kernel.h"

// A tile of B: eight columns of eight numbers, in pieces of 16 bytes.
typedef int Tile[64];
__device__ inline unsigned long long descriptor(const int* tile) {
    const unsigned long long place = (unsigned)__cvta_generic_to_shared(tile);
    return (place & 0x3ffff) >> 4 | 8ull << 16 | 16ull << 32;
}
__device__ inline void store(int* tile, const int* from) {
    if (T < 64) tile[T] = from[T];
}
__device__ inline void copy(int* tile, const int* from) {
    const unsigned place = (unsigned)__cvta_generic_to_shared(tile + T % 64);
    if (T < 64) asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(place), "l"(from + T) : "memory");
}
__device__ inline void load(int (&a)[4], const int* from) {
    for (int i = 0; i < 4; ++i) a[i] = from[4 * T + i];
}
#define MULTIPLY(d, a, tile)                                                                              \
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, " \
                 "%8, 1, 1, 1;"                                                                           \
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                          \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(descriptor(tile)))
#define PROXY asm volatile("fence.proxy.async;" ::: "memory")
#define REGISTERS asm volatile("wgmma.fence.sync.aligned;" ::: "memory")
#define COMMIT asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory")
#define WAIT(groups) asm volatile("wgmma.wait_group.sync.aligned " #groups ";" ::: "memory")
#define COPIED asm volatile("cp.async.wait_all;" ::: "memory")
// An access that the compiler does not move.
#define TOUCH(value) asm volatile("neg.f32 %0, %0;" : "+f"(value))
#define TOUCH_BITS(value) asm volatile("not.b32 %0, %0;" : "+r"(value))

// Steps with one tile: stored, multiplied, waited for.
#define STEPS(name, bring, proxy, meet, registers, behind, wait, end)                  \
    KERNEL(name) {                                                                     \
        __shared__ __align__(1024) Tile tile;                                          \
        float d[4] = {0, 0, 0, 0};                                                     \
        int a[4];                                                                      \
        for (int i = 0; i < 3; ++i) {                                                  \
            bring;                                                                     \
            load(a, data);                                                             \
            proxy;                                                                     \
            meet;                                                                      \
            registers;                                                                 \
            MULTIPLY(d, a, tile);                                                      \
            COMMIT;                                                                    \
            behind;                                                                    \
            wait;                                                                      \
            end;                                                                       \
        }                                                                              \
        out[T] = d[0] + d[1] + d[2] + d[3];                                            \
    }
#define STORED store(tile, data + 64 * i)
#define COPY copy(tile, data + 64 * i)
#define SYNC __syncthreads()

// 1 x 128: clean
STEPS(one_tile, STORED, PROXY, SYNC, REGISTERS, NOTHING, WAIT(0), SYNC)
// 1 x 256: clean
STEPS(two_warpgroups, STORED, PROXY, SYNC, REGISTERS, NOTHING, WAIT(0), SYNC)
// 1 x 128: clean
STEPS(one_tile_copied, COPY; COPIED, PROXY, SYNC, REGISTERS, NOTHING, WAIT(0), SYNC)
// 1 x 128: memory written without a proxy fence
STEPS(without_proxy_fence, STORED, NOTHING, SYNC, REGISTERS, NOTHING, WAIT(0), SYNC)
// 1 x 128: memory written without a proxy fence
STEPS(copied_without_proxy_fence, COPY; COPIED, NOTHING, SYNC, REGISTERS, NOTHING, WAIT(0), SYNC)
// 1 x 128: memory written without a proxy fence
STEPS(proxy_fence_before_the_store, PROXY; STORED, NOTHING, SYNC, REGISTERS, NOTHING, WAIT(0), SYNC)
// 1 x 128: memory written without a proxy fence
STEPS(proxy_fence_for_global_memory, STORED, FENCE("fence.proxy.async.global"), SYNC, REGISTERS, NOTHING, WAIT(0), SYNC)
// 1 x 128: memory written without a proxy fence
STEPS(proxy_fence_by_one_of_two_writers, STORED, { if (T < 32) PROXY; }, SYNC, REGISTERS, NOTHING, WAIT(0), SYNC)
// 1 x 128: clean
STEPS(proxy_fence_behind_the_barrier, STORED, NOTHING, { SYNC; PROXY; }, REGISTERS, NOTHING, WAIT(0), SYNC)
// 1 x 128: memory written without a proxy fence
STEPS(proxy_fence_behind_the_barrier_by_one_warp, STORED, NOTHING, { SYNC; if (T < 32) PROXY; }, REGISTERS, NOTHING, WAIT(0), SYNC)
// 1 x 128: clean
STEPS(proxy_fence_passed_on, STORED, NOTHING, { SYNC; if (T < 32) PROXY; SYNC; }, REGISTERS, NOTHING, WAIT(0), SYNC)
// 1 x 128: data race, asynchronous copy read before it has landed
STEPS(copy_not_waited_for, COPY, PROXY, SYNC, REGISTERS, NOTHING, WAIT(0); COPIED, SYNC)
// 1 x 128: data race
STEPS(without_barrier, STORED, PROXY, NOTHING, REGISTERS, NOTHING, WAIT(0), SYNC)
// 1 x 128: data race
STEPS(without_second_barrier, STORED, PROXY, SYNC, REGISTERS, NOTHING, WAIT(0), NOTHING)
// 1 x 128: data race, shared memory overwritten under a product
STEPS(overwritten_before_the_wait, STORED, PROXY, SYNC, REGISTERS, { SYNC; store(tile, data); }, WAIT(0), SYNC)
// 1 x 128: shared memory overwritten under a product, data race
STEPS(copied_over_before_the_wait, STORED, PROXY, SYNC, REGISTERS, { SYNC; COPY; }, WAIT(0); COPIED, NOTHING)
// 1 x 128: data race, shared memory overwritten under a product
STEPS(overwritten_by_its_own_thread, { if (T == 0) STORED; SYNC; }, { if (T == 0) tile[0] = 1; PROXY; }, SYNC, REGISTERS, { if (T == 0) tile[0] = 2; }, WAIT(0), SYNC)
// 1 x 128: register of a product accessed without a fence before it
STEPS(without_register_fence, STORED, PROXY, SYNC, NOTHING, NOTHING, WAIT(0), SYNC)
// 1 x 128: register of a product accessed without a fence before it
STEPS(operand_loaded_behind_the_fence, STORED, PROXY, SYNC, { REGISTERS; TOUCH_BITS(a[2]); }, NOTHING, WAIT(0), SYNC)
// 1 x 128: register of a product accessed before the wait
STEPS(sum_read_before_the_wait, STORED, PROXY, SYNC, REGISTERS, { out[T] = d[1]; }, WAIT(0), SYNC)
// 1 x 128: register of a product accessed before the wait
STEPS(sum_changed_before_the_wait, STORED, PROXY, SYNC, REGISTERS, TOUCH(d[3]), WAIT(0), SYNC)
// 1 x 128: register of a product accessed before the wait
STEPS(operand_changed_before_the_wait, STORED, PROXY, SYNC, REGISTERS, TOUCH_BITS(a[0]), WAIT(0), SYNC)
// 1 x 128: register of a product accessed before the wait, shared memory overwritten under a product
STEPS(never_waited_for, STORED, PROXY, SYNC, REGISTERS, NOTHING, NOTHING, SYNC)
// 1 x 128: register of a product accessed before the wait, shared memory overwritten under a product
STEPS(waited_for_too_few, STORED, PROXY, SYNC, REGISTERS, NOTHING, WAIT(1), SYNC)

#define TOUCH_IF(condition, value)                                                     \
    asm volatile("{.reg .pred p; setp.ne.s32 p, %1, 0; @p neg.f32 %0, %0;}" : "+f"(value) : "r"((int)(condition)))
// 1 x 128: register of a product accessed before the wait
STEPS(sum_changed_under_a_guard, STORED, PROXY, SYNC, REGISTERS, TOUCH_IF(T == 77, d[3]), WAIT(0), SYNC)
// 1 x 128: clean
STEPS(sum_changed_under_a_guard_by_nobody, STORED, PROXY, SYNC, REGISTERS, TOUCH_IF(data[T] == 12345, d[3]), WAIT(0), SYNC)

// One lane fences, and another tells the other warps.
#define TOLD_BY_ANOTHER_LANE(name, meet)                                               \
    KERNEL(name) {                                                                     \
        __shared__ __align__(1024) Tile tile;                                          \
        __shared__ int ready;                                                          \
        float d[4] = {0, 0, 0, 0};                                                     \
        int a[4];                                                                      \
        if (T == 0) ready = 0;                                                         \
        load(a, data);                                                                 \
        SYNC;                                                                          \
        if (T < 32) {                                                                  \
            tile[T] = data[T];                                                         \
            tile[T + 32] = data[T + 32];                                               \
            __syncwarp();                                                              \
            if (T == 3) PROXY;                                                         \
            meet;                                                                      \
            if (T == 5) {                                                              \
                __threadfence_block();                                                 \
                atomicExch(&ready, 1);                                                 \
            }                                                                          \
        }                                                                              \
        while (atomicAdd(&ready, 0) == 0) {}                                           \
        __threadfence_block();                                                         \
        REGISTERS;                                                                     \
        MULTIPLY(d, a, tile);                                                          \
        COMMIT;                                                                        \
        WAIT(0);                                                                       \
        out[T] = d[0];                                                                 \
    }
// 1 x 128: clean
TOLD_BY_ANOTHER_LANE(proxy_fence_told_by_another_lane, __syncwarp())
// 1 x 128: memory written without a proxy fence
TOLD_BY_ANOTHER_LANE(proxy_fence_not_told_by_another_lane, NOTHING)

// A group that is not closed is not waited for.
// 1 x 128: register of a product accessed before the wait
KERNEL(not_committed) {
    __shared__ __align__(1024) Tile tile;
    float d[4] = {0, 0, 0, 0};
    int a[4];
    store(tile, data);
    load(a, data);
    PROXY;
    SYNC;
    REGISTERS;
    MULTIPLY(d, a, tile);
    WAIT(0);
    out[T] = d[0];
}

// Products of one shape may follow each other.
// 1 x 128: clean
KERNEL(a_chain) {
    __shared__ __align__(1024) Tile tiles[2];
    float d[4] = {0, 0, 0, 0};
    int a[4], b[4];
    store(tiles[0], data);
    store(tiles[1], data + 64);
    load(a, data);
    load(b, data + 512);
    PROXY;
    SYNC;
    REGISTERS;
    MULTIPLY(d, a, tiles[0]);
    MULTIPLY(d, b, tiles[1]);
    COMMIT;
    MULTIPLY(d, a, tiles[1]);
    COMMIT;
    WAIT(0);
    out[T] = d[0];
}

// Others may not.
// 1 x 128: register of a product accessed before the wait
KERNEL(a_chain_of_two_shapes) {
    __shared__ __align__(1024) Tile tiles[2];
    float d[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    int a[4];
    store(tiles[0], data);
    store(tiles[1], data);
    load(a, data);
    PROXY;
    SYNC;
    REGISTERS;
    MULTIPLY(d, a, tiles[0]);
    asm volatile("wgmma.mma_async.sync.aligned.m64n16k8.f32.tf32.tf32 {%0, %1, %2, %3, %4, %5, %6, %7}, {%8, %9, %10, %11}, %12, 1, 1, 1;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(descriptor(tiles[0])));
    COMMIT;
    WAIT(0);
    out[T] = d[0] + d[4];
}

// Two tiles in turn: the next one is brought while a product reads the one before.
#define TURNS(name, groups, meet)                                                      \
    KERNEL(name) {                                                                     \
        __shared__ __align__(1024) Tile tiles[2];                                      \
        float d[4] = {0, 0, 0, 0};                                                     \
        int a[4];                                                                      \
        load(a, data);                                                                 \
        REGISTERS;                                                                     \
        for (int i = 0; i < 6; ++i) {                                                  \
            copy(tiles[i % 2], data + 64 * i);                                         \
            COPIED;                                                                    \
            PROXY;                                                                     \
            SYNC;                                                                      \
            MULTIPLY(d, a, tiles[i % 2]);                                              \
            COMMIT;                                                                    \
            WAIT(groups);                                                              \
            meet;                                                                      \
        }                                                                              \
        WAIT(0);                                                                       \
        out[T] = d[0];                                                                 \
    }
// 1 x 128: clean
TURNS(two_tiles, 1, SYNC)
// 1 x 128: data race, shared memory overwritten under a product
TURNS(two_tiles_without_second_barrier, 1, NOTHING)
// 1 x 128: clean
TURNS(two_tiles_all_waited_for, 0, NOTHING)
// 1 x 128: shared memory overwritten under a product
TURNS(two_tiles_waited_for_too_few, 2, SYNC)

// Threads that meet at a barrier in memory.
#define ARRIVALS(name, proxy)                                                          \
    KERNEL(name) {                                                                     \
        __shared__ __align__(1024) Tile tile;                                          \
        __shared__ unsigned long long meeting;                                         \
        const unsigned place = (unsigned)__cvta_generic_to_shared(&meeting);           \
        float d[4] = {0, 0, 0, 0};                                                     \
        int a[4];                                                                      \
        load(a, data);                                                                 \
        if (T == 0) asm volatile("mbarrier.init.shared.b64 [%0], 64;" ::"r"(place) : "memory"); \
        SYNC;                                                                          \
        if (T < 64) {                                                                  \
            store(tile, data);                                                         \
            proxy;                                                                     \
            asm volatile("{ .reg .b64 state; mbarrier.arrive.shared.b64 state, [%0]; }" ::"r"(place) : "memory"); \
        }                                                                              \
        int done = 0;                                                                  \
        while (!done)                                                                  \
            asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], 0; selp.b32 %0, 1, 0, p; }" \
                         : "=r"(done) : "r"(place) : "memory");                        \
        REGISTERS;                                                                     \
        MULTIPLY(d, a, tile);                                                          \
        COMMIT;                                                                        \
        WAIT(0);                                                                       \
        out[T] = d[0];                                                                 \
    }
// 1 x 128: clean
ARRIVALS(barrier_in_memory, PROXY)
// 1 x 128: memory written without a proxy fence
ARRIVALS(barrier_in_memory_without_proxy_fence, NOTHING)

// What nobody has written.
// 1 x 128: uninitialised shared memory read
KERNEL(half_a_tile) {
    __shared__ __align__(1024) Tile tile;
    float d[4] = {0, 0, 0, 0};
    int a[4];
    load(a, data);
    if (T < 32) tile[T] = data[T];
    PROXY;
    SYNC;
    REGISTERS;
    MULTIPLY(d, a, tile);
    COMMIT;
    WAIT(0);
    out[T] = d[0];
}
