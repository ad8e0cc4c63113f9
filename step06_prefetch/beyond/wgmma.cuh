// Tensor cores of compute capability 9.0, in the words of PTX. Four warps, a warpgroup, multiply
// together, and go on while the tensor cores do it.

// x rounded to TF32: 11 bits, of which 10 are stored. The 13 bits after them become zeros.
__device__ float tf32(float x)
{
    return __uint_as_float((__float_as_uint(x) + 0x1000) & 0xffffe000);
}

// The size of x as an integer, for comparisons. Zero is the largest.
__device__ unsigned size(float x) { return 2 * __float_as_uint(x) - 1; }

// What wgmma must know of a tile in shared memory whose rows are 128 bytes long: its address, 1024
// bytes from one group of 8 rows to the next, and that the chunks of its rows are swizzled.
__device__ unsigned long long descriptor(const float* tile)
{
    const unsigned long long address = __cvta_generic_to_shared(tile);
    return address >> 4 | 64ull << 32 | 1ull << 62;
}

// Starts sum (+)= a · b for 8 steps of k. Of a, 64 rows, each warp holds 16, and each thread 4
// elements; b, 64 columns, lies in shared memory. Registers count as used until `finish`.
__device__ void multiply(float (&sum)[32], const float (&a)[4], unsigned long long b, bool add)
{
#define EIGHT(i) "+f"(sum[i]), "+f"(sum[i + 1]), "+f"(sum[i + 2]), "+f"(sum[i + 3]), \
    "+f"(sum[i + 4]), "+f"(sum[i + 5]), "+f"(sum[i + 6]), "+f"(sum[i + 7])
    asm volatile("{.reg .pred add; setp.ne.b32 add, %37, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n64k8.f32.tf32.tf32 {%0, %1, %2, %3, %4, %5, %6, %7, "
        "%8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, "
        "%24, %25, %26, %27, %28, %29, %30, %31}, {%32, %33, %34, %35}, %36, add, 1, 1;}"
        : EIGHT(0), EIGHT(8), EIGHT(16), EIGHT(24)
        : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[1])), "r"(__float_as_uint(a[2])),
          "r"(__float_as_uint(a[3])), "l"(b), "r"((int)add));
}

// Before the first `multiply` after registers that it uses have changed.
__device__ void begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

// All products that were started become a group; then the wait for it, and `sum` may be read.
__device__ void commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
__device__ void finish(float (&sum)[32])
{
    asm volatile("wgmma.wait_group.sync.aligned 0;"
        : EIGHT(0), EIGHT(8), EIGHT(16), EIGHT(24) :: "memory");
}

// What this thread has stored in shared memory becomes visible to the tensor cores.
__device__ void publish() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// Starts a copy of COUNT elements; zeros arrive if `inside` is false. A copy of 16 bytes passes the
// L1 cache by: the shared memory of two blocks leaves little of it.
template <int COUNT> __device__ void copy(float* to, const float* from, bool inside)
{
    const unsigned shared = __cvta_generic_to_shared(to);
    const int bytes = inside ? 4 * COUNT : 0;
    if (COUNT == 4)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
            :: "r"(shared), "l"(from), "r"(bytes) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;"
            :: "r"(shared), "l"(from), "r"(bytes) : "memory");
}

// Copies that were started become a group; then the wait for all groups but the newest.
__device__ void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
__device__ void wait_for_older() { asm volatile("cp.async.wait_group 1;" ::: "memory"); }
