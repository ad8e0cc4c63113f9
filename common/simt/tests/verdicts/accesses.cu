// Accesses that hide one another: stores of vectors, of the same value, atomic operations beside plain ones.
#include "kernel.h"

// 1 x 64: clean
KERNEL(histogram) {
    __shared__ int bins[8];
    if (T < 8) bins[T] = 0;
    __syncthreads();
    atomicAdd(&bins[data[T] + T % 8], 1);
    __syncthreads();
    if (T < 8) out[T] = bins[T];
}
// 1 x 64: data race
KERNEL(histogram_without_first_barrier) {
    __shared__ int bins[8];
    if (T < 8) bins[T] = 0;
    atomicAdd(&bins[T % 8], 1);
    __syncthreads();
    if (T < 8) out[T] = bins[T];
}
// 1 x 64: data race
KERNEL(histogram_without_second_barrier) {
    __shared__ int bins[8];
    if (T < 8) bins[T] = 0;
    __syncthreads();
    atomicAdd(&bins[T % 8], 1);
    if (T < 8) out[T] = bins[T];
}
// 1 x 64: data race
KERNEL(initialised_and_then_updated_by_one) {
    // Thread 0's own atomic operation hides its plain store from no one.
    if (T == 0) data[0] = 5;
    if (T == 0 || T == 40) atomicAdd(data, 1);
}
// 3 x 32: data race
KERNEL(initialised_by_the_block_that_adds) {
    if (T == 0 && B == 1) data[0] = 5;
    if (T == 0) atomicAdd(data, 1);
}
// 4 x 64: clean
KERNEL(sum_of_the_grid) {
    atomicAdd(data, T);
}
// 4 x 64: clean
KERNEL(places_by_a_counter) {
    out[atomicAdd(flag, 1)] = T;
}
// 4 x 64: data race
KERNEL(sum_of_block_scope) {
    atomicAdd_block(data, T);
}
// 4 x 64: clean
KERNEL(sums_of_blocks_of_block_scope) {
    atomicAdd_block(data + B, T);
}
// 4 x 64: data race
KERNEL(one_of_block_scope) {
    if (B == 2) atomicAdd_block(data, T);
    else atomicAdd(data, T);
}
// 4 x 64: data race
KERNEL(sum_read_meanwhile) {
    atomicAdd(data, T);
    if (T == 0) out[B] = data[0];
}
// 4 x 32: data race
KERNEL(three_blocks_agree_and_a_fourth_writes) {
    if (T != 0) return;
    if (B < 3) atomicAdd(data, 1);
    else data[0] = 9;
}
// 4 x 32: data race
KERNEL(three_blocks_read_and_a_fourth_writes) {
    if (T != 0) return;
    if (B < 3) out[B] = data[0];
    else data[0] = 9;
}
// 4 x 32: clean
KERNEL(all_blocks_read) {
    out[32 * B + T] = data[T];
}
// 1 x 32: data race
KERNEL(the_second_element_of_a_vector) {
    // All lanes store two elements to one place; the first is the same, the second is not.
    ((int2*)data)[0] = make_int2(7, T);
}
// 1 x 32: clean
KERNEL(the_same_vector_from_all_lanes) {
    ((int4*)data)[0] = make_int4(1, 2, 3, 4);
}
// 1 x 32: data race
KERNEL(vectors_that_overlap) {
    // As vectors of two that start at every place, the second of one lane meets the first of the next.
    if (T < 8) ((int2*)(data + 2 * (T / 2)))[0] = make_int2(T, T);
}
// 1 x 64: data race
KERNEL(the_same_value_from_two_warps) {
    if (T % 32 == 0) data[0] = 7;
}
// 1 x 32: data race
KERNEL(the_value_of_an_earlier_round) {
    // In round 0 lanes 0 and 1 store to places of their own, in round 1 lane 1 stores where lane 0 was, what lane 0 stores now.
    #pragma unroll 1
    for (int i = 0; i < 2; ++i) {
        if (T < 2) data[T == 0 ? 2 * i : 1 - i] = i == 0 ? 5 + T : 8;
    }
}
// 1 x 32: clean
KERNEL(one_thread_again_and_again) {
    for (int i = 0; i < 5; ++i) data[T] += i;
}
// 2 x 32: data race
KERNEL(neighbours_of_two_blocks) {
    data[31 * B + T] = B;
}
// 2 x 32: data race
KERNEL(bytes_of_two_blocks) {
    ((char*)data)[31 * B + T] = B;
}
// 2 x 32: clean
KERNEL(bytes_side_by_side) {
    ((char*)data)[2 * T + B] = B;
}
// 1 x 64: uninitialised shared memory read
KERNEL(shared_memory_nobody_wrote) {
    __shared__ int line[65];
    line[T] = T;
    __syncthreads();
    out[T] = line[T + 1];
}
// 1 x 32: uninitialised local memory read
KERNEL(local_memory_nobody_wrote) {
    int values[16];
    for (int i = 0; i < data[0] + 8; ++i) values[i] = i;
    out[T] = values[T % 16];
}
// 1 x 32: clean
KERNEL(local_memory) {
    int values[16];
    for (int i = 0; i < data[0] + 16; ++i) values[i % 16] = i;
    out[T] = values[T % 16];
}
// 4 x 64: data race
KERNEL(plain_flag) {
    if (B == 0) { data[T] = 1; flag[0] = 1; }
    else if (flag[0]) out[T] = data[T];
}
// 32 x 32 out is data: data race
KERNEL(one_array_as_two) {
    // What an odd block sees of the block before it, which takes its time, decides whether it writes.
    if (B % 2 == 0) {
        int sum = 0;
        for (int i = 0; i < 20000; ++i) sum += sum * i + T;
        out[32 * B + T] = sum | 1;
    } else if (data[32 * (B - 1) + T]) flag[T] = 1;
}
// 32 x 32 out is data: clean
KERNEL(one_array_as_two_in_its_own_block) {
    out[32 * B + T] = T;
    __syncthreads();
    out[32 * B + T] = data[32 * B + T] + 1;
}
// 32 x 32: clean
KERNEL(two_arrays) {
    out[32 * B + T] = data[32 * (31 - B) + T];
}
// 32 x 32 out is data: data race
KERNEL(two_arrays_that_are_one) {
    out[32 * B + T] = data[32 * (31 - B) + T];
}

// Atomic operations on the same bytes, of different widths.
// 1 x 64: atomic accesses of different widths
KERNEL(half_of_a_wide_counter) {
    auto wide = (unsigned long long*)data;
    if (T < 32) atomicAdd(wide, 1ull);
    else atomicAdd(data, 1);
}
// 4 x 32: atomic accesses of different widths
KERNEL(half_of_a_wide_counter_of_the_grid) {
    auto wide = (unsigned long long*)data;
    if (B % 2 == 0) atomicAdd(wide, 1ull);
    else atomicAdd(data + 1, 1);
}
// 1 x 64: clean
KERNEL(halves_of_a_wide_counter_after_a_barrier) {
    __shared__ unsigned long long wide;
    if (T == 0) wide = 0;
    __syncthreads();
    if (T < 32) atomicAdd(&wide, 1ull);
    __syncthreads();
    if (T >= 32) atomicAdd((int*)&wide, 1);
    __syncthreads();
    if (T == 0) out[0] = (int)wide;
}
// 1 x 64: clean
KERNEL(signed_and_unsigned_and_swapped) {
    if (T < 20) atomicAdd(data, 1);
    else if (T < 40) atomicOr((unsigned*)data, 2u);
    else atomicCAS(data, T, 0);
}
// 1 x 64: atomic accesses of different widths
KERNEL(short_swap_in_a_word) {
    if (T < 32) atomicAdd(data, 1);
    else atomicCAS((unsigned short*)data + 1, (unsigned short)0, (unsigned short)1);
}
// 1 x 64: clean
KERNEL(short_swaps_of_neighbours) {
    atomicCAS((unsigned short*)data + T % 2, (unsigned short)0, (unsigned short)1);
}

// Loads through the read-only path, of what somebody writes.
// 1 x 64: read-only load of what the kernel writes
KERNEL(read_only_after_a_barrier) {
    data[T] = T;
    __syncthreads();
    out[T] = __ldg(&data[63 - T]);
}
// 1 x 64: read-only load of what the kernel writes
KERNEL(read_only_of_its_own) {
    data[T] = T;
    out[T] = __ldg(&data[T]);
}
// 2 x 64: data race
KERNEL(read_only_of_another_block) {
    if (B == 0) data[T] = T;
    else out[T] = __ldg(&data[T]);
}
// 1 x 64: clean
KERNEL(read_only_before_it_is_written) {
    const int value = __ldg(&data[63 - T]);
    __syncthreads();
    data[T] = value;
}
#define PROMISED(name)                                                                 \
    extern "C" __global__ void name(int* flag, const int* __restrict__ data, int* __restrict__ out)
// 1 x 64 out is data: read-only load of what the kernel writes
PROMISED(apart_and_not) {
    out[T] = T;
    __syncthreads();
    if (T < 32) out[64 + T] = data[63 - T];
}
// 2 x 32: volatile access between threads
KERNEL(atomic_and_volatile_store_of_two_blocks) {
    if (T == 0 && B == 0) atomicAdd(data, 1);
    if (T == 0 && B == 1) volatile_store(data, 5);
}
// 2 x 32: data race
KERNEL(volatile_store_and_plain_store_of_two_blocks) {
    if (T == 0 && B == 0) volatile_store(data, 5);
    if (T == 0 && B == 1) data[0] = 5;
}
// An atomic operation of one type and a plain access of another width.
#define WIDE(p) ((unsigned long long*)(p))
// 2 x 32: data race
KERNEL(wide_atomic_and_narrow_load_of_two_blocks) {
    if (T == 0 && B == 0) atomicAdd(WIDE(data), 1ull);
    if (T == 0 && B == 1) out[0] = data[1];
}
// 1 x 64: data race
KERNEL(wide_atomic_and_narrow_store_of_two_warps) {
    if (T == 0) atomicMax(WIDE(data), 1ull);
    if (T == 32) data[1] = 7;
}
// 1 x 64: data race
KERNEL(atomic_and_byte_of_two_warps) {
    if (T == 0) atomicAdd(data, 1);
    if (T == 32) out[0] = ((char*)data)[3];
}
// 2 x 32: data race
KERNEL(atomic_and_short_of_two_blocks) {
    if (T == 0 && B == 0) atomicAdd(data, 1);
    if (T == 0 && B == 1) ((short*)data)[1] = 3;
}
// 1 x 64: data race
KERNEL(wide_atomic_and_narrow_load_of_shared_memory) {
    __shared__ unsigned long long sums[2];
    if (T < 2) sums[T] = 0;
    __syncthreads();
    if (T == 0) atomicAdd(sums, 1ull);
    if (T == 32) out[0] = ((int*)sums)[1];
}
// 2 x 32: atomic accesses of different widths
KERNEL(wide_atomic_and_narrow_atomic_of_two_blocks) {
    if (T == 0 && B == 0) atomicAdd(WIDE(data), 1ull);
    if (T == 0 && B == 1) atomicAdd(data + 1, 1);
}

__constant__ int table[64];
// 1 x 32: store of table[0] in constant memory
KERNEL(store_into_constant_memory) {
    int* to = T < 40 ? (int*)table : out;
    to[T] = data[T];
}
// 1 x 32: clean
KERNEL(load_from_constant_memory) {
    const int* from = data[40] == 0 ? table : data;
    out[T] = from[T];
}

// What was never set is followed until it decides something.
// 1 x 64: clean
KERNEL(set_where_it_is_used) {
    int value;
    if (T < 40) value = data[T];
    if (T < 40) out[T] = value;
}
