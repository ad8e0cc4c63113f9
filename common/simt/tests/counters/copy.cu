// A warp copies asynchronously, WIDTH words of 4 bytes a lane, from and to places the host chooses: B holds a code for each lane.
// Bits 0 to 11 are its place in A and bits 12 to 22 its place in shared memory, in units of the copy; bit 24 says that it only fills
// with zeros; a negative code, that it takes no part. Made only to learn how the hardware counts.
#ifndef WIDTH // words of 4 bytes a lane copies: 1, 2 or 4
#define WIDTH 1
#endif
#ifndef LEVEL // "ca": through the first-level cache; "cg": past it, for copies of 4 words only
#define LEVEL "ca"
#endif

extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    extern __shared__ __align__(128) float shared[];
    const int code = reinterpret_cast<const int*>(B)[threadIdx.x];
    const int place = code & 0xfff, to = code >> 12 & 0x7ff, zero = code >> 24 & 1;
    const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(shared)) + 4 * WIDTH * to;
    const float* from = A + WIDTH * place;
#ifdef ALONE // The assembler keeps `zero` in its first predicate, P0, and Nsight Compute 2025.3 takes it for false.
    asm volatile("cp.async." LEVEL ".shared.global [%0], [%1], %3, %2;" ::"r"(address), "l"(from), "r"(zero ? 0 : 4 * WIDTH), "n"(4 * WIDTH));
    asm volatile("cp.async.wait_all;");
#else // Other predicates come first here.
    #pragma unroll 1
    for (int i = 0; i < K; ++i) {
        if (code >= 0)
            asm volatile("cp.async." LEVEL ".shared.global [%0], [%1], %3, %2;" ::"r"(address), "l"(from), "r"(zero ? 0 : 4 * WIDTH), "n"(4 * WIDTH));
        asm volatile("cp.async.wait_all;");
        __syncthreads();
    }
    if (code == -2) C[threadIdx.x] = shared[threadIdx.x];
#endif
}
