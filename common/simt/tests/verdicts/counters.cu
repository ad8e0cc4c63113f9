// Blocks that count themselves: the last one reads what all wrote, and barriers of the whole grid.
#include "kernel.h"

#define LAST(name, written, count, then)                                               \
    KERNEL(name) {                                                                     \
        __shared__ bool last;                                                          \
        data[B * (int)blockDim.x + T] = T;                                             \
        written;                                                                       \
        if (T == 0) last = (count) == (int)gridDim.x - 1;                              \
        __syncthreads();                                                               \
        then;                                                                          \
        if (last) {                                                                    \
            int sum = 0;                                                               \
            for (int b = 0; b < (int)gridDim.x; ++b) sum += data[b * (int)blockDim.x + T]; \
            out[T] = sum;                                                              \
        }                                                                              \
    }
#define COUNT atomicAdd(flag, 1)

// 5 x 64: clean
LAST(last_block, (__threadfence(), __syncthreads()), COUNT, NOTHING)
// 5 x 64: clean
LAST(last_block_one_fence, (__syncthreads(), __threadfence()), COUNT, __threadfence())
// 5 x 64: clean
LAST(last_block_acquires_and_releases, __syncthreads(), add_both(flag, 1), NOTHING)
// 5 x 64: data race
LAST(last_block_without_fence, __syncthreads(), COUNT, NOTHING)
// 5 x 64: data race
LAST(last_block_without_barrier, __threadfence(), COUNT, NOTHING)
// 5 x 64: data race
LAST(last_block_with_block_fence, (__threadfence_block(), __syncthreads()), COUNT, NOTHING)
// 5 x 64: data race
LAST(last_block_counted_with_block_scope, (__threadfence(), __syncthreads()), atomicAdd_block(flag, 1), NOTHING)
// 5 x 64: data race
LAST(last_block_where_one_forgets_the_fence, ((B == 2 ? NOTHING : __threadfence()), __syncthreads()), COUNT, NOTHING)
// 5 x 64: clean
LAST(last_block_by_increment, (__threadfence(), __syncthreads()), (int)atomicInc((unsigned*)flag, gridDim.x), NOTHING)

// The last one resets the counter for the next launch.
#define RESET(name, who, reset)                                                        \
    KERNEL(name) {                                                                     \
        __shared__ bool last;                                                          \
        data[B * 32 + T] = T;                                                          \
        __threadfence();                                                               \
        __syncthreads();                                                               \
        if (T == 0) {                                                                  \
            const int ticket = COUNT;                                                  \
            last = ticket == (int)gridDim.x - 1;                                       \
            out[100 + B] = ticket;                                                     \
        }                                                                              \
        __syncthreads();                                                               \
        if (who) reset;                                                                \
    }
// 5 x 32: clean
RESET(last_block_resets, last && T == 0, *flag = 0)
// 5 x 32: clean
RESET(another_thread_of_the_last_block_resets, last && T == 31, *flag = 0)
// 5 x 32: clean
RESET(last_block_reads_the_counter, last, out[T] = *flag)
// 5 x 32: data race
RESET(last_block_by_number_resets, B == 4 && T == 0, *flag = 0)
// 5 x 32: data race
RESET(last_block_by_number_reads_the_counter, B == 4, out[T] = *flag)
// 5 x 32: data race
RESET(every_block_reads_the_counter, true, out[T] = *flag)
// 1 x 64: clean
KERNEL(last_thread_resets) {
    __shared__ int count;
    if (T == 0) count = 0;
    __syncthreads();
    data[T] = T;
    if (atomicAdd(&count, 1) == 63) { count = 0; out[0] = 1; }
}
// 1 x 64: data race
KERNEL(last_thread_by_number_resets) {
    __shared__ int count;
    if (T == 0) count = 0;
    __syncthreads();
    data[atomicAdd(&count, 1)] = T;
    if (T == 63) count = 0;
}

// 4 x 32: data race
KERNEL(last_block_guesses) {
    // The last by its number need not be the last to end.
    data[B * 32 + T] = T;
    __threadfence();
    __syncthreads();
    if (B == 3) {
        int sum = 0;
        for (int b = 0; b < 4; ++b) sum += data[b * 32 + T];
        out[T] = sum;
    }
}
// 4 x 32: clean
KERNEL(one_thread_of_each_block) {
    if (T != 0) return;
    data[B] = B;
    __threadfence();
    if (atomicAdd(flag, 1) == (int)gridDim.x - 1) {
        __threadfence();
        for (int b = 0; b < (int)gridDim.x; ++b) out[0] += data[b];
    }
}

#define GRID(name, arrive, wait)                                                       \
    KERNEL(name) {                                                                     \
        data[B * 64 + T] = B;                                                          \
        __syncthreads();                                                               \
        if (T == 0) {                                                                  \
            arrive;                                                                    \
            while (atomicAdd(flag, 0) < (int)gridDim.x) {}                             \
            wait;                                                                      \
        }                                                                              \
        __syncthreads();                                                               \
        out[B * 64 + T] = data[(B + 1) % (int)gridDim.x * 64 + T];                     \
    }
// 12 x 64: clean
GRID(grid_barrier, (__threadfence(), atomicAdd(flag, 1)), __threadfence())
// 12 x 64: data race
GRID(grid_barrier_without_fence, atomicAdd(flag, 1), __threadfence())
// 12 x 64: data race
GRID(grid_barrier_of_block_scope, (__threadfence_block(), atomicAdd(flag, 1)), __threadfence())

// As cooperative groups meet: the last one to count turns a bit, for which the others wait. What a block does then is not behind
// what another one does then, though the first to go on may have come to the next barrier before the others have looked.
__device__ inline void meet(int* flag) {
    __syncthreads();
    if (T == 0) {
        __threadfence();
        const int old = atomicAdd(flag, B == 0 ? (1 << 31) - ((int)gridDim.x - 1) : 1);
        while (((load_acquire(flag) ^ old) & 1 << 31) == 0) {}
    }
    __syncthreads();
}
// 4 x 64: data race
KERNEL(written_by_all_between_grid_barriers) {
    meet(flag);
    if (T == 0) data[0] = B;
    meet(flag);
    out[B * 64 + T] = data[0];
}
// 4 x 64: clean
KERNEL(written_by_one_between_grid_barriers) {
    meet(flag);
    if (T == 0 && B == 1) data[0] = B;
    meet(flag);
    out[B * 64 + T] = data[0];
}
// 64 x 256: clean
KERNEL(wide_last_block) {
    __shared__ int s[256];
    __shared__ bool last;
    int sum = 0;
    for (int i = B * 256 + T; i < 1024; i += gridDim.x * 256) sum += data[i];
    s[T] = sum; __syncthreads();
    for (int h = 128; h > 0; h /= 2) { if (T < h) s[T] += s[T + h]; __syncthreads(); }
    if (T == 0) { out[B] = s[0]; __threadfence(); last = atomicInc((unsigned*)flag, gridDim.x - 1) == gridDim.x - 1; }
    __syncthreads();
    if (last) {
        s[T] = T < gridDim.x ? out[T] : 0; __syncthreads();
        for (int h = 128; h > 0; h /= 2) { if (T < h) s[T] += s[T + h]; __syncthreads(); }
        if (T == 0) data[0] = s[0];
    }
}

// Every block waits for the one before it and passes a sum on.
#define SCAN(name, before, publish, poll, then)                                        \
    KERNEL(name) {                                                                     \
        __shared__ int prefix;                                                         \
        const int own = data[B * 32 + T];                                              \
        int sum = own;                                                                 \
        for (int by = 16; by > 0; by /= 2) sum += __shfl_xor_sync(~0u, sum, by);       \
        if (T == 0) {                                                                  \
            int earlier = 0;                                                           \
            if (B > 0) {                                                               \
                while ((poll) == 0) {}                                                 \
                then;                                                                  \
                earlier = out[900 + B - 1];                                           \
            }                                                                          \
            out[900 + B] = earlier + sum;                                             \
            before;                                                                    \
            publish;                                                                   \
            prefix = earlier;                                                          \
        }                                                                              \
        __syncthreads();                                                               \
        out[B * 32 + T] = prefix + own;                                                \
    }
// 20 x 32: clean
SCAN(scan, __threadfence(), atomicExch(flag + B, 1), atomicAdd(flag + B - 1, 0), __threadfence())
// 20 x 32: clean
SCAN(scan_acquire_release, NOTHING, store_release(flag + B, 1), load_acquire(flag + B - 1), NOTHING)
// 20 x 32: data race
SCAN(scan_without_fence_before, NOTHING, atomicExch(flag + B, 1), atomicAdd(flag + B - 1, 0), __threadfence())
// 20 x 32: data race
SCAN(scan_without_fence_after, __threadfence(), atomicExch(flag + B, 1), atomicAdd(flag + B - 1, 0), NOTHING)

// Whoever waits sees each step of those it waits for: too few of them, one flag of two, the place behind the one that is told.
#define TOO_FEW(name, reader, many)                                                    \
    KERNEL(name) {                                                                     \
        __shared__ int count, line[128];                                               \
        if (T == 0) count = 0;                                                         \
        __syncthreads();                                                               \
        if (T / 32 != reader) {                                                        \
            line[T] = T;                                                               \
            __syncwarp();                                                              \
            __threadfence_block();                                                     \
            if (T % 32 == 0) atomicAdd(&count, 1);                                     \
        } else {                                                                       \
            while (atomicAdd(&count, 0) < many) {}                                     \
            __threadfence_block();                                                     \
            int sum = 0;                                                               \
            for (int i = 0; i < 4; i++) sum += i != reader ? line[32 * i + T % 32] : 0; \
            out[T] = sum;                                                              \
        }                                                                              \
    }
// 1 x 128: clean
TOO_FEW(warps_counted_0, 0, 3)
// 1 x 128: clean
TOO_FEW(warps_counted_3, 3, 3)
// 1 x 128: data race
TOO_FEW(warps_too_few_0, 0, 2)
// 1 x 128: data race
TOO_FEW(warps_too_few_3, 3, 2)
#define COUNTED(name, reader, many, look)                                              \
    KERNEL(name) {                                                                     \
        if (B != reader) {                                                             \
            for (int i = 0; i < 100; i++) data[32 * B + T] = T + i;                    \
            __threadfence();                                                           \
            __syncwarp();                                                              \
            if (T == 0) atomicAdd(flag, 1);                                            \
        } else {                                                                       \
            if (T == 0) {                                                              \
                while (look < many) {}                                                 \
                __threadfence();                                                       \
            }                                                                          \
            __syncwarp();                                                              \
            int sum = 0;                                                               \
            for (int i = 0; i < 6; i++) sum += i != reader ? data[32 * i + T] : 0;     \
            out[T] = sum;                                                              \
        }                                                                              \
    }
// 6 x 32: clean
COUNTED(blocks_counted_5, 5, 5, load_relaxed(flag))
// 6 x 32: data race
COUNTED(blocks_too_few_0, 0, 4, atomicAdd(flag, 0))
// 6 x 32: data race
COUNTED(blocks_too_few_2, 2, 4, load_relaxed(flag))
// 6 x 32: data race
COUNTED(blocks_too_few_5, 5, 4, load_relaxed(flag))
#define TWO(name, reader, first, second, look)                                         \
    KERNEL(name) {                                                                     \
        if (B != reader) {                                                             \
            data[32 * B + T] = T;                                                      \
            __threadfence();                                                           \
            __syncwarp();                                                              \
            if (T == 0) atomicExch(flag + B, 1);                                       \
        } else {                                                                       \
            if (T == 0) {                                                              \
                while (!(look)) {}                                                     \
                __threadfence();                                                       \
            }                                                                          \
            __syncwarp();                                                              \
            out[T] = data[32 * first + T] + data[32 * second + T];                     \
        }                                                                              \
    }
// 3 x 32: clean
TWO(two_flags, 0, 1, 2, atomicAdd(flag + 1, 0) && atomicAdd(flag + 2, 0))
// 3 x 32: data race
TWO(either_flag_0, 0, 1, 2, atomicAdd(flag + 1, 0) || atomicAdd(flag + 2, 0))
// 3 x 32: data race
TWO(either_flag_2, 2, 0, 1, load_acquire(flag) || load_acquire(flag + 1))
// 3 x 32: data race
TWO(second_flag_only, 0, 1, 2, atomicAdd(flag + 2, 0))
// 3 x 32: data race
TWO(first_flag_only_last, 2, 0, 1, atomicAdd(flag, 0))
#define STREAM(name, writer, ahead, tell, look)                                        \
    KERNEL(name) {                                                                     \
        if (T != 0) return;                                                            \
        if (B == writer) {                                                             \
            for (int i = 0; i < 8; i++) {                                              \
                data[i] = i;                                                           \
                __threadfence();                                                       \
                tell;                                                                  \
            }                                                                          \
        } else {                                                                       \
            for (int i = 0; i < 8 - ahead; i++) {                                      \
                while (look <= i) {}                                                   \
                __threadfence();                                                       \
                out[i] = data[i + ahead];                                              \
            }                                                                          \
        }                                                                              \
    }
// 2 x 32: clean
STREAM(stream_0, 0, 0, atomicAdd(flag, 1), atomicAdd(flag, 0))
// 2 x 32: clean
STREAM(stream_1, 1, 0, store_relaxed(flag, i + 1), load_relaxed(flag))
// 2 x 32: data race
STREAM(stream_ahead_0, 0, 1, atomicAdd(flag, 1), atomicAdd(flag, 0))
// 2 x 32: data race
STREAM(stream_ahead_1, 1, 1, atomicAdd(flag, 1), atomicAdd(flag, 0))
// 2 x 32: data race
STREAM(stream_ahead_relaxed_1, 1, 1, store_relaxed(flag, i + 1), load_relaxed(flag))
// 2 x 32: data race
STREAM(stream_release_ahead, 1, 1, store_release(flag, i + 1), load_acquire(flag))

// All blocks add to one sum, and the last one reads it.
#define SUM(name, add, before, then, read)                                             \
    KERNEL(name) {                                                                     \
        if (T != 0) return;                                                            \
        add;                                                                           \
        before;                                                                        \
        if (atomicAdd(flag, 1) == (int)gridDim.x - 1) {                                \
            then;                                                                      \
            out[0] = read;                                                             \
        }                                                                              \
    }
// 6 x 32: clean
SUM(sum, atomicAdd(data, B), __threadfence(), __threadfence(), data[0])
// 6 x 32: clean
SUM(sum_read_atomically, atomicAdd(data, B), NOTHING, NOTHING, atomicAdd(data, 0))
// 6 x 32: data race
SUM(sum_without_fences, atomicAdd(data, B), NOTHING, NOTHING, data[0])
// 6 x 32: data race
SUM(sum_with_a_fence_before_the_count, atomicAdd(data, B), __threadfence(), NOTHING, data[0])
// 6 x 32: data race
SUM(sum_with_a_fence_after_the_count, atomicAdd(data, B), NOTHING, __threadfence(), data[0])
// 6 x 32: data race
SUM(greatest_without_fences, atomicMax(data, B), NOTHING, NOTHING, data[0])
