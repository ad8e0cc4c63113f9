// What `split` and `matmul` share, and what they say in the words of PTX: FP16 numbers, the tensor
// cores of compute capability 9.0, and bulk copies.

constexpr int TILE_K = 64;            // 128 bytes: as long as a row of a swizzled tile may be
constexpr int BOTH = 2 * TILE_K;      // elements of a row of a tile, with both parts

// What `matmul` must know of a line: a row of A, or a column of B.
struct alignas(16) Line {
    float root;    // its elements were divided by the square of this, a power of two
    float norm;    // the sum of their absolute values then
    float lost;    // 2^-12 if some are so small that they may lose bits; huge if many are
    int integers;  // 1 if all are integers and some have more than 11 bits, 0 if none, else -1
};

// All rows of A come first, then the columns of B, each filled up with zeros to a multiple of 128.
__device__ int filled(int lines) { return (lines + 127) / 128 * 128; }

// Both parts of all lines, the planes, have the order in which they are copied: tiles of 64 k; in
// these, groups of 8 lines, first their big parts, then their small ones; in each line 8 chunks of
// 8 k, of which chunk c of line r lies at c ^ r % 8, where the tensor cores look for it.

typedef unsigned short Half;  // the bits of an FP16 number

__device__ Half half(float x)  // rounded to 11 bits
{
    Half bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
    return bits;
}
__device__ float value(Half bits)
{
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
    return x;
}

__device__ float power_of_two(int exponent) { return __int_as_float((127 + exponent) << 23); }

// What wgmma must know of a tile in shared memory whose rows are 128 bytes long: its address, 2048
// bytes from one group of 8 rows to the next, and that the chunks of its rows are swizzled.
__device__ unsigned long long descriptor(const Half* tile)
{
    const unsigned long long address = __cvta_generic_to_shared(tile);
    return address >> 4 | 128ull << 32 | 1ull << 62;
}

// Four warps, a warpgroup, start sum (+)= a · b for 16 steps of k, 64 rows of a and 128 columns of
// b, which are in shared memory, and go on while the tensor cores multiply. Each warp holds 16 rows
// of the sums. These registers count as used until `finish`.
__device__ void multiply(float (&sum)[64], unsigned long long a, unsigned long long b, bool add)
{
#define TEN(t) "%" #t "0, %" #t "1, %" #t "2, %" #t "3, %" #t "4, " \
    "%" #t "5, %" #t "6, %" #t "7, %" #t "8, %" #t "9, "
#define EIGHT(i) "+f"(sum[i]), "+f"(sum[i + 1]), "+f"(sum[i + 2]), "+f"(sum[i + 3]), \
    "+f"(sum[i + 4]), "+f"(sum[i + 5]), "+f"(sum[i + 6]), "+f"(sum[i + 7])
#define ALL EIGHT(0), EIGHT(8), EIGHT(16), EIGHT(24), EIGHT(32), EIGHT(40), EIGHT(48), EIGHT(56)
    asm volatile("{.reg .pred add; setp.ne.b32 add, %66, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {"
        TEN() TEN(1) TEN(2) TEN(3) TEN(4) TEN(5) "%60, %61, %62, %63}, %64, %65, add, 1, 1, 0, 0;}"
        : ALL : "l"(a), "l"(b), "r"((int)add));
}

// Before the first `multiply` after registers that it uses have changed.
__device__ void begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

// Products that were started become a group; then the wait for all groups but the newest `COUNT`,
// after which `sum` may be read.
__device__ void commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int COUNT> __device__ void finish(float (&sum)[64])
{
    asm volatile("wgmma.wait_group.sync.aligned %64;" : ALL : "n"(COUNT) : "memory");
}

// Bulk copies: one instruction of one thread copies a whole tile. Who waits for the tile looks at a
// barrier in shared memory, whose phase ends when one thread has arrived and all bytes have.
typedef unsigned long long Barrier;
__device__ unsigned shared_address(const void* at) { return __cvta_generic_to_shared(at); }

__device__ void make(Barrier* barrier)
{
    asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"(shared_address(barrier)) : "memory");
}

// What this thread has stored in shared memory becomes visible to copies and tensor cores.
__device__ void publish() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// First the number of bytes, then the copies, then the arrival.
__device__ void expect(Barrier* barrier, int bytes)
{
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;"
        :: "r"(shared_address(barrier)), "r"(bytes) : "memory");
}
__device__ void copy(void* to, const void* from, int bytes, Barrier* barrier)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
        "[%0], [%1], %2, [%3];" :: "r"(shared_address(to)), "l"(from), "r"(bytes),
        "r"(shared_address(barrier)) : "memory");
}
__device__ void arrive(Barrier* barrier)
{
    asm volatile("{.reg .b64 state; mbarrier.arrive.shared.b64 state, [%0];}"
        :: "r"(shared_address(barrier)) : "memory");
}

// Waits for the end of a phase; phases are even and odd in turn, and the first is even.
__device__ void wait(Barrier* barrier, int odd)
{
    int ended = 0;
    while (!ended)
        asm volatile("{.reg .pred ended; mbarrier.try_wait.parity.shared.b64 ended, [%1], %2;\n"
            "selp.b32 %0, 1, 0, ended;}"
            : "=r"(ended) : "r"(shared_address(barrier)), "r"(odd) : "memory");
}
