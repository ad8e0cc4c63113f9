// Asynchronous copies from global to shared memory, in the words of PTX. GPUs older than compute
// capability 8.0 have none: there each copy is an ordinary load and store.

// Starts a copy of COUNT elements; zeros arrive if `inside` is false.
template <int COUNT> __device__ void copy(ELEMENT* to, const ELEMENT* from, bool inside)
{
#if __CUDA_ARCH__ >= 800
    const unsigned shared = __cvta_generic_to_shared(to);
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;"
        :: "r"(shared), "l"(from), "n"(4 * COUNT), "r"(inside ? 4 * COUNT : 0) : "memory");
#else
    for (int i = 0; i < COUNT; ++i)
        to[i] = inside ? from[i] : ELEMENT(0);
#endif
}

// Waits until all copies that this thread has started have arrived.
__device__ void wait()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}
