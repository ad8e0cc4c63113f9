// Matrices that a warp loads and stores as a whole: no lane may take a word for its own.
#include "kernel.h"

#define PLACE(at) ((unsigned)__cvta_generic_to_shared(at))
#define WMMA_STORE(at, value)                                                          \
    asm volatile("wmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [%0], {%1, %1, %1, %1, %1, %1, %1, %1}, 16;" \
                 ::"r"(PLACE(at)), "f"(value) : "memory")
#define STORED(name, between, index)                                                   \
    KERNEL(name) {                                                                     \
        __shared__ alignas(32) float tile[256];                                        \
        WMMA_STORE(tile, 1.0f * B);                                                    \
        between;                                                                       \
        out[T] = tile[index];                                                          \
    }
// 1 x 32: data race
STORED(stored_without_sync, NOTHING, T)
// 1 x 32: data race
STORED(stored_without_sync_and_read_crosswise, NOTHING, 31 - T)
// 1 x 32: data race
STORED(stored_without_sync_and_read_in_pairs, NOTHING, T ^ 1)
// 1 x 32: clean
STORED(stored_and_synchronised, __syncwarp(), T)
// 1 x 32: clean
STORED(stored_and_met_at_a_barrier, __syncthreads(), T)

#define LOADED(name, before, behind)                                                   \
    KERNEL(name) {                                                                     \
        __shared__ alignas(16) int tile[32];                                           \
        tile[T] = data[T];                                                             \
        before;                                                                        \
        int value;                                                                     \
        asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"            \
                     : "=r"(value) : "r"(PLACE(tile + 4 * (T % 8))) : "memory");       \
        behind;                                                                        \
        out[T] = value;                                                                \
    }
// 1 x 32: data race
LOADED(loaded_without_sync, NOTHING, NOTHING)
// 1 x 32: clean
LOADED(loaded_after_sync, __syncwarp(), NOTHING)
// 1 x 32: data race
LOADED(overwritten_without_sync, __syncwarp(), tile[T] = 5)
// 1 x 32: clean
LOADED(overwritten_after_sync, __syncwarp(), __syncwarp(); tile[T] = 5)
