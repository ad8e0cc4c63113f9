// What the kernels of the verdicts share. Above each kernel stands its launch and what must be said of it.
#define KERNEL(name) extern "C" __global__ void name(int* flag, int* data, int* out)
#define NOTHING ((void)0)
#define T ((int)threadIdx.x)
#define B ((int)blockIdx.x)

__device__ inline int volatile_load(const int* p) { return *(const volatile int*)p; }
__device__ inline void volatile_store(int* p, int value) { *(volatile int*)p = value; }

#define LOAD(name, words)                                                              \
    __device__ inline int name(const int* p) {                                         \
        int value;                                                                     \
        asm volatile(words " %0, [%1];" : "=r"(value) : "l"(p) : "memory");            \
        return value;                                                                  \
    }
LOAD(load_acquire, "ld.acquire.gpu.global.s32")
LOAD(load_acquire_block, "ld.acquire.cta.global.s32")
LOAD(load_acquire_system, "ld.acquire.sys.global.s32")
LOAD(load_relaxed, "ld.relaxed.gpu.global.s32")

#define STORE(name, words)                                                             \
    __device__ inline void name(int* p, int value) {                                   \
        asm volatile(words " [%0], %1;" ::"l"(p), "r"(value) : "memory");              \
    }
STORE(store_release, "st.release.gpu.global.s32")
STORE(store_release_block, "st.release.cta.global.s32")
STORE(store_release_system, "st.release.sys.global.s32")
STORE(store_relaxed, "st.relaxed.gpu.global.s32")

__device__ inline int take_acquire(int* p) {
    int old;
    asm volatile("atom.acquire.gpu.global.cas.b32 %0, [%1], 0, 1;" : "=r"(old) : "l"(p) : "memory");
    return old;
}
__device__ inline void add_release(int* p, int value) {
    asm volatile("red.release.gpu.global.add.s32 [%0], %1;" ::"l"(p), "r"(value) : "memory");
}
__device__ inline int add_both(int* p, int value) {
    int old;
    asm volatile("atom.acq_rel.gpu.global.add.s32 %0, [%1], %2;" : "=r"(old) : "l"(p), "r"(value) : "memory");
    return old;
}
#define FENCE(words) asm volatile(words ";" ::: "memory")

// As __syncthreads(), but the lanes of a warp may come to it one by one: what a thread_block's sync() is.
#define SYNC_ALONE(id) asm volatile("barrier.sync " #id ";" ::: "memory")
#define BAR_SYNC(id, threads) asm volatile("bar.sync " #id ", " #threads ";" ::: "memory")
#define BAR_ARRIVE(id, threads) asm volatile("bar.arrive " #id ", " #threads ";" ::: "memory")
