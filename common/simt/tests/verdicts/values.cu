// Values that may not be there, or that a race decides: they count once they matter.
#include "kernel.h"

// Loads from shared memory ahead of the condition under which the value is needed, as compilers do.
#define SPECULATE(to, from, condition)                                                 \
    asm volatile("{ .reg .pred p; .reg .b32 v; setp.ne.s32 p, %2, 0; ld.shared.u32 v, [%1]; selp.b32 %0, v, 7, p; }" \
                 : "=r"(to) : "r"((int)__cvta_generic_to_shared(from)), "r"((int)(condition)) : "memory")
#define ADDRESS(place) ((int)__cvta_generic_to_shared(place))

#define UNWRITTEN(name, count, condition)                                              \
    KERNEL(name) {                                                                     \
        __shared__ int line[64];                                                       \
        int value;                                                                     \
        if (T < count) line[T] = data[T];                                              \
        __syncthreads();                                                               \
        SPECULATE(value, line + T, condition);                                         \
        out[T] = value;                                                                \
    }
// 1 x 64: clean
UNWRITTEN(unwritten_and_dropped, 40, T < 40)
// 1 x 64: uninitialised shared memory read
UNWRITTEN(unwritten_and_taken, 40, T < 41)

// The word is read before it is written, or after, by the order of the warps.
#define RACING(name, writer, reader, condition)                                        \
    KERNEL(name) {                                                                     \
        __shared__ int word;                                                           \
        if (T == 0) word = 1;                                                          \
        __syncthreads();                                                               \
        if (T == writer) *(int*)&word = data[0];                                       \
        if (T == reader) {                                                             \
            int value;                                                                 \
            SPECULATE(value, &word, condition);                                        \
            out[0] = value;                                                            \
        }                                                                              \
    }
// 1 x 64: clean
RACING(raced_after_the_write_and_dropped, 0, 32, data[1])
// 1 x 64: clean
RACING(raced_before_the_write_and_dropped, 32, 0, data[1])
// 1 x 64: data race
RACING(raced_after_the_write_and_taken, 0, 32, !data[1])
// 1 x 64: data race
RACING(raced_before_the_write_and_taken, 32, 0, !data[1])

// The same with a variable of the module: between the blocks, nothing orders it.
__device__ int variable;
#define VARIABLE(name, condition)                                                      \
    KERNEL(name) {                                                                     \
        if (T > 0) return;                                                             \
        if (B == 1) variable = 5;                                                      \
        int value;                                                                     \
        asm volatile("{ .reg .pred p; .reg .b32 v; setp.ne.s32 p, %2, 0; ld.global.u32 v, [%1]; selp.b32 %0, v, 7, p; }" \
                     : "=r"(value) : "l"(&variable), "r"((int)(condition)) : "memory"); \
        out[B] = value;                                                                \
    }
// 3 x 32: clean
VARIABLE(raced_between_blocks_and_dropped, B == 1)
// 3 x 32: data race
VARIABLE(raced_between_blocks_and_taken, B < 2)

// A value that passes the condition on: the comparison with it does not count where another part decides.
#define COMBINED(name, limit)                                                          \
    KERNEL(name) {                                                                     \
        __shared__ int line[64];                                                       \
        if (T < 40) line[T] = data[T] + 1;                                             \
        __syncthreads();                                                               \
        asm volatile("{ .reg .pred p, q; .reg .b32 v; ld.shared.u32 v, [%0]; setp.lt.s32 p, %1, %2; setp.gt.and.s32 q, v, 0, p; " \
                     "@q st.global.u32 [%3], %1; }"                                    \
                     ::"r"(ADDRESS(line + T)), "r"(T), "r"(limit), "l"(out + T) : "memory"); \
    }
// 1 x 64: clean
COMBINED(compared_where_it_is_there, 40)
// 1 x 64: uninitialised shared memory read
COMBINED(compared_where_it_is_not_there, 41)

// What was never set passes through shared memory.
#define THROUGH(name, reads)                                                           \
    KERNEL(name) {                                                                     \
        __shared__ int line[32];                                                       \
        asm volatile("{ .reg .pred p; .reg .b32 v; setp.lt.s32 p, %0, 20; @p mov.b32 v, %0; st.shared.u32 [%1], v; }" \
                     ::"r"(T), "r"(ADDRESS(line + T)) : "memory");                     \
        __syncthreads();                                                               \
        if (T < reads) out[T] = line[31 - T] * 2;                                      \
    }
// 1 x 32: clean
THROUGH(unset_items_are_not_read_back, 0)
// 1 x 32: unset register read
THROUGH(unset_items_are_read_back, 12)
// 1 x 32: clean
KERNEL(unset_items_are_overwritten) {
    __shared__ int line[32];
    asm volatile("{ .reg .pred p; .reg .b32 v; setp.lt.s32 p, %0, 20; @p mov.b32 v, %0; st.shared.u32 [%1], v; }"
                 ::"r"(T), "r"(ADDRESS(line + T)) : "memory");
    __syncthreads();
    if (T >= 20) line[T] = 3;
    __syncthreads();
    out[T] = line[31 - T];
}
// 1 x 32: unset register read
KERNEL(unset_items_decide_an_address) {
    __shared__ int line[32];
    asm volatile("{ .reg .pred p; .reg .b32 v; setp.lt.s32 p, %0, 20; @p mov.b32 v, %0; and.b32 v, v, 31; st.shared.u32 [%1], v; }"
                 ::"r"(T), "r"(ADDRESS(line + T)) : "memory");
    __syncthreads();
    out[line[T] & 31] = 1;
}

// The fourth part of a vector, and the padding of a structure.
struct alignas(16) Three { float x, y, z; };
#define THIRD(name, more)                                                              \
    KERNEL(name) {                                                                     \
        __shared__ float4 items[32];                                                   \
        items[T].x = T;                                                                \
        items[T].y = 2;                                                                \
        items[T].z = 3;                                                                \
        __syncthreads();                                                               \
        float4 item;                                                                   \
        asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"                        \
                     : "=f"(item.x), "=f"(item.y), "=f"(item.z), "=f"(item.w) : "r"(ADDRESS(items + 31 - T)) : "memory"); \
        out[T] = item.x + item.y + item.z + more;                                         \
    }
// 1 x 32: clean
THIRD(fourth_part_is_not_used, 0)
// 1 x 32: uninitialised shared memory read
THIRD(fourth_part_is_used, item.w)
#define MEANWHILE(name, writer, more)                                                  \
    KERNEL(name) {                                                                     \
        __shared__ float4 shared;                                                      \
        if (T == 0) shared = make_float4(1, 2, 3, 4);                                  \
        __syncthreads();                                                               \
        if (T == writer) {                                                             \
            shared.w = 5;                                                              \
        } else {                                                                       \
            float4 item;                                                               \
            asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"                    \
                         : "=f"(item.x), "=f"(item.y), "=f"(item.z), "=f"(item.w) : "r"(ADDRESS(&shared)) : "memory"); \
            out[T] = item.x + item.y + item.z + more;                                  \
        }                                                                              \
    }
// 1 x 64: clean
MEANWHILE(fourth_part_is_written_before, 0, 0)
// 1 x 64: clean
MEANWHILE(fourth_part_is_written_afterwards, 63, 0)
// 1 x 64: data race
MEANWHILE(fourth_part_is_written_and_used, 63, item.w)
// 1 x 32: clean
KERNEL(structure_is_copied_whole) {
    __shared__ Three items[32];
    items[T].x = T;
    items[T].y = 2;
    items[T].z = 3;
    __syncthreads();
    asm volatile("{ .reg .b64 v<2>; ld.shared.v2.u64 {v0, v1}, [%0]; st.global.v2.u64 [%1], {v0, v1}; }"
                 ::"r"(ADDRESS(items + 31 - T)), "l"((Three*)out + T) : "memory");
}
struct Padded { int value; char letter; };
// 1 x 32: clean
KERNEL(structure_with_a_letter_is_copied_whole) {
    __shared__ Padded items[32];
    items[T].value = T;
    items[T].letter = 'a';
    __syncthreads();
    asm volatile("{ .reg .b32 v<2>; ld.shared.v2.u32 {v0, v1}, [%0]; st.global.v2.u32 [%1], {v0, v1}; }"
                 ::"r"(ADDRESS(items + 31 - T)), "l"((Padded*)out + T) : "memory");
}
// 1 x 32: uninitialised shared memory read
KERNEL(nothing_of_it_was_written) {
    __shared__ int2 items[32];
    if (T < 31) items[T] = make_int2(T, T);
    __syncthreads();
    asm volatile("{ .reg .b64 v; ld.shared.u64 v, [%0]; st.global.u64 [%1], v; }"
                 ::"r"(ADDRESS(items + 31 - T)), "l"((int2*)out + T) : "memory");
}
// Of a word, only the lower half was written.
#define HALVES(name, mask)                                                             \
    KERNEL(name) {                                                                     \
        __shared__ alignas(4) short line[64];                                          \
        line[2 * T] = T;                                                               \
        __syncthreads();                                                               \
        int both;                                                                      \
        asm volatile("ld.shared.u32 %0, [%1];" : "=r"(both) : "r"(ADDRESS(line + 2 * (31 - T))) : "memory"); \
        asm volatile("and.b32 %0, %0, " mask ";" : "+r"(both));                        \
        out[T] = both > 3 ? 1 : 2;                                                     \
    }
// 1 x 32: clean
HALVES(half_of_a_word_is_used, "0xffff")
// 1 x 32: uninitialised shared memory read
HALVES(more_than_half_of_a_word_is_used, "0x1ffff")

// Volatile words: a flag that is polled is one thing, data is another.
// 1 x 64: volatile access between threads
KERNEL(volatile_flag) {
    __shared__ volatile int word;
    if (T == 0) word = 0;
    __syncthreads();
    if (T == 32) word = 1;
    if (T == 0) while (word == 0);
}
// 1 x 64: data race
KERNEL(volatile_data) {
    __shared__ volatile int line[64];
    line[T] = data[T];
    out[T] = line[63 - T];
}
// 1 x 64: data race
KERNEL(volatile_data_before_it_is_overwritten) {
    __shared__ volatile int line[64];
    line[T] = data[T];
    __syncthreads();
    out[T] = line[63 - T];
    line[T] = 5;
}
// 1 x 64: data race, volatile access between threads
KERNEL(volatile_data_that_also_decides) {
    __shared__ volatile int line[64];
    line[T] = data[T] + T;
    const int other = line[63 - T];
    if (other > 12) out[T] = other;
}
// 1 x 64: atomic accesses of different widths
KERNEL(volatile_words_of_different_widths) {
    __shared__ alignas(4) short line[2];
    if (T == 0) *(volatile int*)line = 0;
    if (T == 32) *(volatile short*)line = 1;
}
