// launch 2,1 128,1 0 64 64 64
// C transposed: 64 columns of B in registers, 32 rows of A in shared memory, swizzled; two buffers.
#define TILE_M 32
#define TILE_K 32
__device__ __forceinline__ void copy16(float* to, const float* from) {
    const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(to));
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(from) : "memory");
}
__device__ __forceinline__ unsigned long long descriptor(const float* tile) {
    const unsigned long long address = static_cast<unsigned>(__cvta_generic_to_shared(tile));
    return (address & 0x3ffff) >> 4 | 1ull << 16 | 64ull << 32 | 1ull << 62;
}
__device__ __forceinline__ void multiply(float (&d)[16], const float (&b)[4], unsigned long long a) {
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n32k8.f32.tf32.tf32 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, {%16, %17, %18, %19}, %20, 1, 1, 1;"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
          "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15])
        : "r"(__float_as_uint(b[0])), "r"(__float_as_uint(b[1])), "r"(__float_as_uint(b[2])), "r"(__float_as_uint(b[3])),
          "l"(a));
}
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ __align__(1024) float As[2][TILE_M][TILE_K];
    const int lane = threadIdx.x % 32, row0 = blockIdx.x * TILE_M, col = threadIdx.x / 32 * 16 + lane / 4;
    const int y = threadIdx.x / 8, piece = threadIdx.x % 8;
    float sums[16] = {};
    auto fetch = [&](int tile) {
        for (int row = y; row < TILE_M; row += 16)
            copy16(&As[tile % 2][row][4 * (piece ^ row % 8)], A + (row0 + row) * K + tile * TILE_K + 4 * piece);
        asm volatile("cp.async.commit_group;" ::: "memory");
    };
    fetch(0);
    for (int tile = 0; tile < K / TILE_K; ++tile) {
        asm volatile("cp.async.wait_group 0;" ::: "memory");
        // Each thread changes in place what it has copied.
        for (int row = y; row < TILE_M; row += 16)
            for (int x = 0; x < 4; ++x) As[tile % 2][row][4 * (piece ^ row % 8) + x] *= 2;
        asm volatile("fence.proxy.async;" ::: "memory");
        __syncthreads();
        if (tile + 1 < K / TILE_K) fetch(tile + 1);
        float b[TILE_K / 8][4];
        for (int step = 0; step < TILE_K / 8; ++step)
            for (int i = 0; i < 4; ++i)
                b[step][i] = B[(tile * TILE_K + 8 * step + lane % 4 + i / 2 * 4) * N + col + i % 2 * 8];
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        for (int step = 0; step < TILE_K / 8; ++step) multiply(sums, b[step], descriptor(&As[tile % 2][0][8 * step]));
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    }
    for (int i = 0; i < 16; ++i)
        C[(row0 + i / 4 * 8 + lane % 4 * 2 + i % 2) * N + col + i / 2 % 2 * 8] = sums[i];
}
