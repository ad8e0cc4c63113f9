// Right kernels, each written in another way than the course writes its own. A line with == names the kernel that follows.
== grid_stride
// launch: block 64,1 tile 4096,4096
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < M * N; i += gridDim.x * blockDim.x) {
        float dot = 0.0f;
        for (int p = K - 1; p >= 0; p--) dot = __fmaf_rn(A[i / N * K + p], B[p * N + i % N], dot);
        C[i] = dot;
    }
}
== read_only_and_pointers
// launch: block 16,16 tile 16,16
extern "C" __global__ void matmul(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C, int M, int N, int K)
{
    int c = blockIdx.x * 16 + threadIdx.x, r = blockIdx.y * 16 + threadIdx.y;
    if (r >= M || c >= N) return;
    const float *a = A + r * K, *end = a + K, *b = B + c;
    float s = 0;
    while (a != end) { s += __ldg(a++) * __ldg(b); b += N; }
    C[r * N + c] = s;
}
== two_columns
// launch: block 32,4 tile 64,4
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    int r = blockIdx.y * 4 + threadIdx.y, c = (blockIdx.x * 32 + threadIdx.x) * 2;
    if (r >= M || c >= N) return;
    bool pair = c + 1 < N && N % 2 == 0;
    float2 s = make_float2(0, 0);
    for (int k = 0; k < K; k++) {
        float2 b = pair ? *(const float2*)&B[k * N + c] : make_float2(B[k * N + c], c + 1 < N ? B[k * N + c + 1] : 0);
        float a = A[r * K + k];
        s.x += a * b.x;
        s.y += a * b.y;
    }
    C[r * N + c] = s.x;
    if (c + 1 < N) C[r * N + c + 1] = s.y;
}
== a_warp_for_an_element
// launch: block 32,4 tile 1,4
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    int r = blockIdx.y * 4 + threadIdx.y, c = blockIdx.x, lane = threadIdx.x;
    float s = 0;
    if (r < M) for (int k = lane; k < K; k += 32) s += A[r * K + k] * B[k * N + c];
    for (int d = 16; d > 0; d /= 2) s += __shfl_down_sync(0xffffffff, s, d);
    if (lane == 0 && r < M) C[r * N + c] = s;
}
== a_by_shuffles
// launch: block 32,4 tile 32,4
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    int r = blockIdx.y * 4 + threadIdx.y, c = blockIdx.x * 32 + threadIdx.x;
    float s = 0;
    for (int k0 = 0; k0 < K; k0 += 32) {
        float mine = r < M && k0 + threadIdx.x < K ? A[r * K + k0 + threadIdx.x] : 0;
        for (int k = 0; k < 32; k++) {
            float a = __shfl_sync(0xffffffff, mine, k);
            if (k0 + k < K && c < N) s += a * B[(k0 + k) * N + c];
        }
    }
    if (r < M && c < N) C[r * N + c] = s;
}
== split_k_in_a_block
// launch: block 32,8 tile 32,1
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float sums[32];
    int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y;
    if (threadIdx.y == 0) sums[threadIdx.x] = 0;
    __syncthreads();
    float s = 0;
    if (c < N) for (int k = threadIdx.y; k < K; k += 8) s += A[r * K + k] * B[k * N + c];
    atomicAdd(&sums[threadIdx.x], s);
    __syncthreads();
    if (threadIdx.y == 0 && c < N) C[r * N + c] = sums[threadIdx.x];
}
== unrolled_with_a_rest
// launch: block 32,8 tile 32,8
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    int r = blockIdx.y * 8 + threadIdx.y, c = blockIdx.x * 32 + threadIdx.x;
    if (r < M && c < N) {
        float s0 = 0, s1 = 0, s2 = 0, s3 = 0;
        int k = 0;
        for (; k + 3 < K; k += 4) {
            s0 += A[r * K + k] * B[k * N + c];
            s1 += A[r * K + k + 1] * B[(k + 1) * N + c];
            s2 += A[r * K + k + 2] * B[(k + 2) * N + c];
            s3 += A[r * K + k + 3] * B[(k + 3) * N + c];
        }
        for (; k < K; k++) s0 += A[r * K + k] * B[k * N + c];
        C[r * N + c] = (s0 + s1) + (s2 + s3);
    }
}
== transposed_and_padded_tile
// launch: block 16,16 tile 16,16
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float at[16][17], bt[16][17];
    int x = threadIdx.x, y = threadIdx.y, r = blockIdx.y * 16 + y, c = blockIdx.x * 16 + x;
    float s = 0;
    for (int t = 0; t < (K + 15) / 16; t++) {
        at[x][y] = r < M && t * 16 + x < K ? A[r * K + t * 16 + x] : 0.0f;
        bt[x][y] = t * 16 + y < K && c < N ? B[(t * 16 + y) * N + c] : 0.0f;
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < 16; k++) s = fmaf(at[k][y], bt[x][k], s);
        __syncthreads();
    }
    if (r < M && c < N) C[r * N + c] = s;
}
== two_buffers_by_pointers
// launch: block 16,16 tile 16,16
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float room[4 * 256];
    float *now = room, *next = room + 512;
    int x = threadIdx.x, y = threadIdx.y, r = blockIdx.y * 16 + y, c = blockIdx.x * 16 + x, at = y * 16 + x;
    float s = 0;
    now[at] = r < M && x < K ? A[r * K + x] : 0;
    now[256 + at] = y < K && c < N ? B[y * N + c] : 0;
    for (int k0 = 0; k0 < K; k0 += 16) {
        __syncthreads();
        int k1 = k0 + 16;
        next[at] = r < M && k1 + x < K ? A[r * K + k1 + x] : 0;
        next[256 + at] = k1 + y < K && c < N ? B[(k1 + y) * N + c] : 0;
        for (int k = 0; k < 16; k++) s += now[y * 16 + k] * now[256 + k * 16 + x];
        float* old = now;
        now = next;
        next = old;
    }
    if (r < M && c < N) C[r * N + c] = s;
}
== registers_4_by_2
// launch: block 16,8 tile 32,32
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float as[8][32], bs[8][32];
    int tid = threadIdx.y * 16 + threadIdx.x, r0 = blockIdx.y * 32, c0 = blockIdx.x * 32;
    float acc[4][2] = {};
    for (int k0 = 0; k0 < K; k0 += 8) {
        for (int i = tid; i < 256; i += 128) {
            int r = r0 + i % 32, ka = k0 + i / 32, kb = k0 + i / 32, c = c0 + i % 32;
            as[i / 32][i % 32] = r < M && ka < K ? A[r * K + ka] : 0;
            bs[i / 32][i % 32] = c < N && kb < K ? B[kb * N + c] : 0;
        }
        __syncthreads();
        for (int i = 0; i < 4; i++)
            for (int k = 0; k < 8; k++)
                for (int j = 0; j < 2; j++) acc[i][j] += as[k][threadIdx.y * 4 + i] * bs[k][threadIdx.x + 16 * j];
        __syncthreads();
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 2; j++) {
            int r = r0 + threadIdx.y * 4 + i, c = c0 + threadIdx.x + 16 * j;
            if (r < M && c < N) C[r * N + c] = acc[i][j];
        }
}
== columns_first
// launch: block 8,32 tile 8,32
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    unsigned col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < M) if (col < N) {
        double sum = 0;
        for (unsigned k = 0; k != K; ++k) sum += (double)A[row * K + k] * B[k * N + col];
        C[row * N + col] = (float)sum;
    }
}
== a_row_in_shared_memory
// launch: block 64,1 tile 64,1 shared 4096
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    extern __shared__ float line[];
    int row = blockIdx.y, col = blockIdx.x * 64 + threadIdx.x;
    for (int k = threadIdx.x; k < K; k += 64) line[k] = A[row * K + k];
    __syncthreads();
    if (col >= N) return;
    float even = 0, odd = 0;
    for (int k = 0; k < K; k++) (k % 2 ? odd : even) += line[k] * B[k * N + col];
    C[row * N + col] = even + odd;
}
