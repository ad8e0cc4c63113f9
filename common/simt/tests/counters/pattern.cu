// One warp (or more) makes one access of a given shape, each lane at a place the host chooses: B holds one index per
// lane, in units of the access; a negative index means that the lane takes no part. Made only to learn how the hardware
// counts; the answer in C keeps the compiler from dropping the access.
#ifndef WIDTH // words of 4 bytes a lane accesses: 1, 2 or 4
#define WIDTH 1
#endif
#ifndef OP // 0 global load, 1 global store, 2 shared load, 3 shared store
#define OP 0
#endif

#if WIDTH == 1
typedef float Element;
__device__ __forceinline__ float sum(Element e) { return e; }
__device__ __forceinline__ Element make(float f) { return f; }
#elif WIDTH == 2
typedef float2 Element;
__device__ __forceinline__ float sum(Element e) { return e.x + e.y; }
__device__ __forceinline__ Element make(float f) { return make_float2(f, f + 1); }
#else
typedef float4 Element;
__device__ __forceinline__ float sum(Element e) { return e.x + e.y + e.z + e.w; }
__device__ __forceinline__ Element make(float f) { return make_float4(f, f + 1, f + 2, f + 3); }
#endif

extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    extern __shared__ __align__(16) float shared[];
    const int t = threadIdx.x;
    const int place = reinterpret_cast<const int*>(B)[t];
    float answer = 0.0f;
#if OP == 0
    if (place >= 0) answer = sum(reinterpret_cast<const Element*>(A)[place]);
#elif OP == 1
    if (place >= 0) reinterpret_cast<Element*>(C)[place] = make(t);
#elif OP == 2
    // The array is filled one word a lane, without conflicts.
    for (int i = t; i < M; i += blockDim.x) shared[i] = i;
    __syncthreads();
    if (place >= 0) answer = sum(reinterpret_cast<const Element*>(shared)[place]);
#elif OP == 3
    if (place >= 0) reinterpret_cast<Element*>(shared)[place] = make(t);
    __syncthreads();
    answer = shared[t];
#endif
#if OP != 1
    C[t] = answer;
#endif
}
