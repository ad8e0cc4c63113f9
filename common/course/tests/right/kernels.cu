// Right kernels, each written in another way than the course writes its own. A line with == names the kernel that follows, and the
// lab whose step runs it if that is not 2.
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
== pointers_walked
// launch: block 1,1 tile 4096,4096
typedef const float* __restrict__ In;
extern "C" __global__ void matmul(In A, In B, float* __restrict__ C, int M, int N, int K)
{
    float* out = C;
    for (In a = A; a < A + M * K; a += K)
        for (int j = 0; j < N; j++) {
            float acc = 0.f;
            In pa = a;
            In pb = B + j;
            for (int n = K; n > 0; n--) {
                acc += *pa * *pb;
                pa++;
                pb += N;
            }
            *out++ = acc;
        }
}
== macro_and_template
// launch: block 1,1 tile 4096,4096
#define AT(X, r, c, width) X[(r) * (width) + (c)]
template <typename T> __device__ T dot(const T* a, const T* b, int stride, int count)
{
    T total = T(0);
    int i = count;
    while (i-- > 0)
        total += a[i] * b[i * stride];
    return total;
}
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    for (int idx = 0; idx < M * N; ++idx) {
        const int i = idx / N;
        const int j = idx % N;
        AT(C, i, j, N) = dot<float>(&AT(A, i, 0, K), &AT(B, 0, j, N), N, K);
    }
}
== sums_of_parts
// launch: block 1,1 tile 4096,4096
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    const int STEP = 8;
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float total = 0;
            for (int kk = 0; kk < K; kk += STEP) {
                float part = 0;
                int end = kk + STEP < K ? kk + STEP : K;
                for (int k = kk; k < end; k++)
                    part += A[i * K + k] * B[k * N + j];
                total += part;
            }
            C[i * N + j] = total;
        }
}
== struct_with_a_call
// launch: block 128,1 tile 32,4
struct View {
    const float* data;
    int rows, cols;
    __device__ float operator()(int r, int c) const { return data[r * cols + c]; }
    __device__ bool has(int r, int c) const { return r < rows && c < cols; }
};
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    View a{A, M, K}, b{B, K, N};
    int tx = threadIdx.x % 32, ty = threadIdx.x / 32;
    int r = blockIdx.y * 4 + ty;
    int c = blockIdx.x * 32 + tx;
    if (r >= M) return;
    if (c >= N) return;
    float acc = 0;
    for (int i = 0; i < K; ++i)
        acc = fmaf(a(r, i), b(i, c), acc);
    C[r * N + c] = acc;
}
== registers_2_by_2
// launch: block 16,16 tile 32,32
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    int r0 = (blockIdx.y * blockDim.y + threadIdx.y) * 2;
    int c0 = (blockIdx.x * blockDim.x + threadIdx.x) * 2;
    float acc[2][2] = {{0, 0}, {0, 0}};
    for (int p = 0; p < K; p++) {
        float a[2], b[2];
        for (int i = 0; i < 2; i++) a[i] = r0 + i < M ? A[(r0 + i) * K + p] : 0;
        for (int j = 0; j < 2; j++) b[j] = c0 + j < N ? B[p * N + c0 + j] : 0;
        for (int i = 0; i < 2; i++)
            for (int j = 0; j < 2; j++)
                acc[i][j] += a[i] * b[j];
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            if (r0 + i < M && c0 + j < N)
                C[(r0 + i) * N + c0 + j] = acc[i][j];
}
== grid_stride_in_two
// launch: block 16,8 tile 64,64
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    for (int y = blockIdx.y * blockDim.y + threadIdx.y; y < M; y += gridDim.y * blockDim.y)
        for (int x = blockIdx.x * blockDim.x + threadIdx.x; x < N; x += gridDim.x * blockDim.x) {
            const float* row = A + y * K;
            const float* col = B + x;
            float s = 0;
            for (int k = 0; k < K; ++k, ++row, col += N) s += *row * *col;
            C[y * N + x] = s;
        }
}
== vector_of_a
// launch: block 16,16 tile 16,16
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    int i = blockIdx.y * 16 + threadIdx.y, j = blockIdx.x * 16 + threadIdx.x;
    if (i >= M || j >= N) return;
    float s = 0;
    int k = 0;
    if (K % 4 == 0)
        for (; k < K; k += 4) {
            float4 v = *reinterpret_cast<const float4*>(A + i * K + k);
            s += v.x * B[k * N + j];
            s += v.y * B[(k + 1) * N + j];
            s += v.z * B[(k + 2) * N + j];
            s += v.w * B[(k + 3) * N + j];
        }
    for (; k < K; k++) s += A[i * K + k] * B[k * N + j];
    C[i * N + j] = s;
}
== flat_block_and_memory
// launch: block 256,1 tile 16,16 shared 2048
#define T 16
#define SA(r, k) smem[(r) * T + (k)]
#define SB(k, c) smem[T * T + (k) * T + (c)]
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    extern __shared__ float smem[];
    const int tid = threadIdx.x, r = tid / T, c = tid % T;
    const int gr = blockIdx.y * T + r, gc = blockIdx.x * T + c;
    float val = 0.0f;
    for (int t = 0; t < (K + T - 1) / T; t++) {
        int ka = t * T + c, kb = t * T + r;
        SA(r, c) = (gr < M && ka < K) ? A[gr * K + ka] : 0.0f;
        SB(r, c) = (gc < N && kb < K) ? B[kb * N + gc] : 0.0f;
        __syncthreads();
        for (int i = 0; i < T; i++) val += SA(r, i) * SB(i, c);
        __syncthreads();
    }
    if (gr < M && gc < N) C[gr * N + gc] = val;
}
== lambdas_and_a_struct
// launch: block 32,8 tile 32,8
template <int R, int W> struct Tile {
    float at[R][W + 1];
    __device__ float* operator[](int r) { return at[r]; }
};
constexpr int DEEP = 8;
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ Tile<8, DEEP> a;
    __shared__ Tile<DEEP, 32> b;
    const int x = threadIdx.x, y = threadIdx.y;
    const int top = blockIdx.y * 8, left = blockIdx.x * 32;
    auto load_a = [&](int k0) {
        if (x < DEEP)
            a[y][x] = top + y < M && k0 + x < K ? A[(top + y) * K + k0 + x] : 0;
    };
    auto load_b = [&](int k0) {
        b[y][x] = k0 + y < K && left + x < N ? B[(k0 + y) * N + left + x] : 0;
    };
    float s = 0;
    for (int k0 = 0; k0 < K; k0 += DEEP) {
        load_a(k0);
        load_b(k0);
        __syncthreads();
        #pragma unroll
        for (int k = DEEP - 1; k >= 0; k--)
            s += a[y][k] * b[k][x];
        __syncthreads();
    }
    if (top + y < M && left + x < N)
        C[(top + y) * N + left + x] = s;
}
== vectors_in_shared_memory
// launch: block 16,16 tile 16,16
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float4 sa[16][4];
    __shared__ float sb[16][16];
    int x = threadIdx.x, y = threadIdx.y;
    int i = blockIdx.y * 16 + y, j = blockIdx.x * 16 + x;
    float s = 0;
    for (int k0 = 0; k0 < K; k0 += 16) {
        if (x < 4) {
            float4 v = make_float4(0, 0, 0, 0);
            int k = k0 + 4 * x;
            if (i < M) {
                if (k < K) v.x = A[i * K + k];
                if (k + 1 < K) v.y = A[i * K + k + 1];
                if (k + 2 < K) v.z = A[i * K + k + 2];
                if (k + 3 < K) v.w = A[i * K + k + 3];
            }
            sa[y][x] = v;
        }
        sb[y][x] = k0 + y < K && j < N ? B[(k0 + y) * N + j] : 0;
        __syncthreads();
        for (int q = 0; q < 4; q++) {
            float4 v = sa[y][q];
            s += v.x * sb[4 * q][x] + v.y * sb[4 * q + 1][x];
            s += v.z * sb[4 * q + 2][x] + v.w * sb[4 * q + 3][x];
        }
        __syncthreads();
    }
    if (i < M && j < N) C[i * N + j] = s;
}
== flat_registers
// launch: block 64,1 tile 64,64
#define BM 64
#define BN 64
#define BK 8
#define TM 8
#define TN 8
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float sA[BK * BM];
    __shared__ float sB[BK * BN];
    const int tid = threadIdx.x;
    const int ty = tid / (BN / TN), tx = tid % (BN / TN);
    const int bm = blockIdx.y * BM, bn = blockIdx.x * BN;
    float acc[TM * TN] = {0.0f};
    float ra[TM], rb[TN];
    for (int k0 = 0; k0 < K; k0 += BK) {
        for (int i = tid; i < BM * BK; i += 64) {
            int m = i / BK, k = i % BK;
            sA[k * BM + m] = bm + m < M && k0 + k < K ? A[(bm + m) * K + k0 + k] : 0.0f;
        }
        for (int i = tid; i < BN * BK; i += 64) {
            int k = i / BN, n = i % BN;
            sB[k * BN + n] = bn + n < N && k0 + k < K ? B[(k0 + k) * N + bn + n] : 0.0f;
        }
        __syncthreads();
        for (int k = 0; k < BK; k++) {
            for (int m = 0; m < TM; m++) ra[m] = sA[k * BM + ty * TM + m];
            for (int n = 0; n < TN; n++) rb[n] = sB[k * BN + tx * TN + n];
            for (int m = 0; m < TM; m++)
                for (int n = 0; n < TN; n++)
                    acc[m * TN + n] += ra[m] * rb[n];
        }
        __syncthreads();
    }
    for (int m = 0; m < TM; m++)
        for (int n = 0; n < TN; n++) {
            int gm = bm + ty * TM + m, gn = bn + tx * TN + n;
            if (gm < M && gn < N) C[gm * N + gn] = acc[m * TN + n];
        }
}
== outer_product
// launch: block 16,16 tile 64,64
struct Quad { float v[4]; };
__device__ void outer(float (&acc)[4][4], const Quad& a, const Quad& b)
{
    #pragma unroll
    for (int i = 0; i < 4; i++)
        #pragma unroll
        for (int j = 0; j < 4; j++)
            acc[i][j] = fmaf(a.v[i], b.v[j], acc[i][j]);
}
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ __align__(16) float as[16][64], bs[16][64];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int r0 = blockIdx.y * 64, c0 = blockIdx.x * 64;
    float acc[4][4] = {};
    for (int k0 = 0; k0 < K; k0 += 16) {
        for (int i = 0; i < 4; i++) {
            int r = r0 + ty + 16 * i, k = k0 + tx;
            as[tx][ty + 16 * i] = r < M && k < K ? A[r * K + k] : 0;
        }
        for (int j = 0; j < 4; j++) {
            int c = c0 + tx + 16 * j, k = k0 + ty;
            bs[ty][tx + 16 * j] = c < N && k < K ? B[k * N + c] : 0;
        }
        __syncthreads();
        for (int k = 0; k < 16; k++) {
            Quad a = *(const Quad*)&as[k][4 * ty];
            Quad b = *(const Quad*)&bs[k][4 * tx];
            outer(acc, a, b);
        }
        __syncthreads();
    }
    #pragma unroll
    for (int i = 0; i < 4; i++) {
        int r = r0 + 4 * ty + i;
        for (int j = 0; j < 4; j++) {
            int c = c0 + 4 * tx + j;
            if (r < M && c < N) C[r * N + c] = acc[i][j];
        }
    }
}
== pool_of_buffers
// launch: block 16,16 tile 32,32
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float pool[2][2][16 * 32];
    const int tx = threadIdx.x, ty = threadIdx.y, t = ty * 16 + tx;
    const int r0 = blockIdx.y * 32, c0 = blockIdx.x * 32;
    float ga[2], gb[2];
    auto get = [&](int k0) {
        for (int i = 0; i < 2; i++) {
            int e = t + 256 * i, r = r0 + e / 16, ka = k0 + e % 16, kb = k0 + e / 32, c = c0 + e % 32;
            ga[i] = r < M && ka < K ? A[r * K + ka] : 0;
            gb[i] = kb < K && c < N ? B[kb * N + c] : 0;
        }
    };
    auto put = [&](float* sa, float* sb) {
        for (int i = 0; i < 2; i++) {
            int e = t + 256 * i;
            sa[e % 16 * 32 + e / 16] = ga[i];
            sb[e] = gb[i];
        }
    };
    int cur = 0;
    float acc[2][2] = {};
    get(0);
    put(pool[0][0], pool[0][1]);
    __syncthreads();
    for (int k0 = 0; k0 < K; k0 += 16) {
        bool more = k0 + 16 < K;
        if (more) get(k0 + 16);
        const float* sa = pool[cur][0];
        const float* sb = pool[cur][1];
        for (int k = 0; k < 16; k++)
            for (int i = 0; i < 2; i++)
                for (int j = 0; j < 2; j++)
                    acc[i][j] += sa[k * 32 + ty + 16 * i] * sb[k * 32 + tx + 16 * j];
        cur ^= 1;
        if (more) put(pool[cur][0], pool[cur][1]);
        __syncthreads();
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) {
            int r = r0 + ty + 16 * i, c = c0 + tx + 16 * j;
            if (r < M && c < N) C[r * N + c] = acc[i][j];
        }
}
== three_stages
// launch: block 256,1 tile 32,32
#define STAGES 3
#define KT 8
__device__ __forceinline__ void cp4(float* dst, const float* src, bool ok)
{
    unsigned d = (unsigned)__cvta_generic_to_shared(dst);
    int n = ok ? 4 : 0;
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" :: "r"(d), "l"(src), "r"(n) : "memory");
}
#define COMMIT() asm volatile("cp.async.commit_group;" ::: "memory")
#define WAIT(n) asm volatile("cp.async.wait_group %0;" :: "n"(n) : "memory")
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float sa[STAGES][32][KT + 1];
    __shared__ float sb[STAGES][KT][32];
    const int t = threadIdx.x;
    const int r0 = blockIdx.y * 32, c0 = blockIdx.x * 32;
    const int ar = t / KT, ak = t % KT, bk = t / 32, bc = t % 32;
    const int steps = (K + KT - 1) / KT;
    auto fetch = [&](int step) {
        int s = step % STAGES, ka = step * KT + ak, kb = step * KT + bk;
        bool a_in = r0 + ar < M && ka < K, b_in = c0 + bc < N && kb < K;
        cp4(&sa[s][ar][ak], a_in ? A + (r0 + ar) * K + ka : A, a_in);
        cp4(&sb[s][bk][bc], b_in ? B + kb * N + c0 + bc : B, b_in);
        COMMIT();
    };
    float acc[4] = {};
    fetch(0);
    fetch(1);
    for (int step = 0; step < steps; step++) {
        WAIT(1);
        __syncthreads();
        fetch(step + 2);
        int s = step % STAGES;
        for (int k = 0; k < KT; k++)
            for (int i = 0; i < 4; i++)
                acc[i] += sa[s][t / 32 * 4 + i][k] * sb[s][k][t % 32];
    }
    for (int i = 0; i < 4; i++) {
        int r = r0 + t / 32 * 4 + i, c = c0 + t % 32;
        if (r < M && c < N) C[r * N + c] = acc[i];
    }
}
== pointers_swapped
// launch: block 16,16 tile 16,16 shared 4096
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    extern __shared__ float smem[];
    float *a_rd = smem, *a_wr = smem + 256, *b_rd = smem + 512, *b_wr = smem + 768;
    int x = threadIdx.x, y = threadIdx.y, at = y * 16 + x;
    int i = blockIdx.y * 16 + y, j = blockIdx.x * 16 + x;
    a_rd[at] = i < M && x < K ? A[i * K + x] : 0;
    b_rd[at] = j < N && y < K ? B[y * N + j] : 0;
    __syncthreads();
    float s = 0;
    for (int k0 = 16; k0 < K + 16; k0 += 16) {
        float na = i < M && k0 + x < K ? A[i * K + k0 + x] : 0;
        float nb = j < N && k0 + y < K ? B[(k0 + y) * N + j] : 0;
        for (int k = 0; k < 16; k++) s += a_rd[y * 16 + k] * b_rd[k * 16 + x];
        a_wr[at] = na;
        b_wr[at] = nb;
        __syncthreads();
        float* tmp = a_rd;
        a_rd = a_wr;
        a_wr = tmp;
        tmp = b_rd;
        b_rd = b_wr;
        b_wr = tmp;
    }
    if (i < M && j < N) C[i * N + j] = s;
}

== flat_pointers
// launch: block 256,1 tile 16,16
#define T 16
#define LDS 17
extern "C" __global__ void matmul(const ELEMENT* A, const ELEMENT* B, ELEMENT* C, int M, int N, int K)
{
    __shared__ ELEMENT smem[2 * T * LDS];
    ELEMENT* sa = smem;
    ELEMENT* sb = smem + T * LDS;
    const int tid = threadIdx.x;
    const int ty = tid >> 4, tx = tid & 15;
    const int m = blockIdx.y * T + ty;
    const int n = blockIdx.x * T + tx;
    const ELEMENT* pa = A + m * K + tx;
    const ELEMENT* pb = B + ty * N + n;
    ELEMENT acc = 0;
    int left = K;
    while (left > 0) {
        ELEMENT va = 0, vb = 0;
        if (m < M && tx < left) va = *pa;
        if (n < N && ty < left) vb = *pb;
        sa[ty * LDS + tx] = va;
        sb[ty * LDS + tx] = vb;
        __syncthreads();
        const ELEMENT* qa = sa + ty * LDS;
        const ELEMENT* qb = sb + tx;
        for (int p = 0; p < T; ++p) {
            acc += *qa * *qb;
            qa += 1;
            qb += LDS;
        }
        __syncthreads();
        pa += T;
        pb += T * N;
        left -= T;
    }
    if (m < M && n < N) C[m * N + n] = acc;
}

== swapped_roles
// launch: block 16,16 tile 16,16
// threadIdx.x runs along rows here
constexpr int T = 16;
extern "C" __global__ void matmul(const ELEMENT* A, const ELEMENT* B, ELEMENT* C, int M, int N, int K)
{
    __shared__ ELEMENT ta[T][T];
    __shared__ ELEMENT tb[T][T];
    int i = threadIdx.x, j = threadIdx.y;
    int gi = blockIdx.y * T + i;
    int gj = blockIdx.x * T + j;
    ELEMENT s = 0;
    int tiles = (K + T - 1) / T;
    for (int t = 0; t < tiles; t++) {
        int ka = t * T + j;
        int kb = t * T + i;
        ta[i][j] = (gi < M && ka < K) ? A[gi * K + ka] : ELEMENT(0);
        tb[i][j] = (gj < N && kb < K) ? B[kb * N + gj] : ELEMENT(0);
        __syncthreads();
#pragma unroll
        for (int p = 0; p < T; p++) s += ta[i][p] * tb[p][j];
        __syncthreads();
    }
    if (gi < M && gj < N) C[gi * N + gj] = s;
}

== swizzled
// launch: block 32,8 tile 32,32
constexpr int T = 32;
__device__ __forceinline__ int sw(int r, int c) { return r * T + (c ^ r); }
extern "C" __global__ void matmul(const ELEMENT* A, const ELEMENT* B, ELEMENT* C, int M, int N, int K)
{
    __shared__ ELEMENT As[T * T];
    __shared__ ELEMENT Bs[T * T];
    const int x = threadIdx.x;
    const int y = threadIdx.y;
    const int row0 = blockIdx.y * T, col0 = blockIdx.x * T;
    ELEMENT sum[4] = {};
    for (int k0 = 0; k0 < K; k0 += T) {
        for (int r = y; r < T; r += 8) {
            As[sw(r, x)] = row0 + r < M && k0 + x < K ? A[(row0 + r) * K + k0 + x] : ELEMENT(0);
            Bs[sw(x, r)] = k0 + r < K && col0 + x < N ? B[(k0 + r) * N + col0 + x] : ELEMENT(0);
        }
        __syncthreads();
        for (int k = 0; k < T; ++k)
            for (int q = 0; q < 4; ++q)
                sum[q] += As[sw(y + 8 * q, k)] * Bs[sw(x, k)];
        __syncthreads();
    }
    for (int q = 0; q < 4; ++q) {
        const int row = row0 + y + 8 * q;
        if (row < M && col0 + x < N) C[row * N + col0 + x] = sum[q];
    }
}

== macros_unrolled
// launch: block 16,16 tile 16,16
#define BS 16
#define AT(r, c) ((r) < M && (c) < K ? A[(size_t)(r) * K + (c)] : (ELEMENT)0)
#define BT(r, c) ((r) < K && (c) < N ? B[(size_t)(r) * N + (c)] : (ELEMENT)0)
#define STEP(k) acc += a[threadIdx.y][k] * b[k][threadIdx.x];
extern "C" __global__ void matmul(const ELEMENT* A, const ELEMENT* B, ELEMENT* C, int M, int N, int K)
{
    __shared__ ELEMENT a[BS][BS], b[BS][BS];
    const int r = blockIdx.y * BS + threadIdx.y;
    const int c = blockIdx.x * BS + threadIdx.x;
    ELEMENT acc = 0;
    for (int base = 0; base < K; base += BS) {
        a[threadIdx.y][threadIdx.x] = AT(r, base + threadIdx.x);
        b[threadIdx.y][threadIdx.x] = BT(base + threadIdx.y, c);
        __syncthreads();
        STEP(0) STEP(1) STEP(2) STEP(3)
        STEP(4) STEP(5) STEP(6) STEP(7)
        STEP(8) STEP(9) STEP(10) STEP(11)
        STEP(12) STEP(13) STEP(14) STEP(15)
        __syncthreads();
    }
    if (r < M && c < N) C[(size_t)r * N + c] = acc;
}

== float4_outer
// launch: block 16,16 tile 64,64
constexpr int BM = 64, BN = 64, BK = 16;
template <int R> __device__ void outer(ELEMENT (&acc)[R][R], const ELEMENT* a, const ELEMENT* b)
{
#pragma unroll
    for (int i = 0; i < R; ++i)
#pragma unroll
        for (int j = 0; j < R; ++j) acc[i][j] = fmaf(a[i], b[j], acc[i][j]);
}
extern "C" __global__ void matmul(const ELEMENT* A, const ELEMENT* B, ELEMENT* C, int M, int N, int K)
{
    __shared__ __align__(16) ELEMENT As[BK][BM];
    __shared__ __align__(16) ELEMENT Bs[BK][BN];
    const int tid = threadIdx.y * 16 + threadIdx.x;
    const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;
    const int la = tid / 4, lk = (tid % 4) * 4;
    const int lb = tid / 16, lc = (tid % 16) * 4;
    ELEMENT acc[4][4] = {};
    for (int k0 = 0; k0 < K; k0 += BK) {
        for (int v = 0; v < 4; ++v) {
            const bool ia = row0 + la < M && k0 + lk + v < K;
            As[lk + v][la] = ia ? A[(size_t)(row0 + la) * K + k0 + lk + v] : 0.f;
            const bool ib = k0 + lb < K && col0 + lc + v < N;
            Bs[lb][lc + v] = ib ? B[(size_t)(k0 + lb) * N + col0 + lc + v] : 0.f;
        }
        __syncthreads();
        for (int k = 0; k < BK; ++k) {
            const float4 a = *reinterpret_cast<const float4*>(&As[k][threadIdx.y * 4]);
            const float4 b = *reinterpret_cast<const float4*>(&Bs[k][threadIdx.x * 4]);
            const ELEMENT ra[4] = {a.x, a.y, a.z, a.w};
            const ELEMENT rb[4] = {b.x, b.y, b.z, b.w};
            outer<4>(acc, ra, rb);
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) {
            const int r = row0 + threadIdx.y * 4 + i, c = col0 + threadIdx.x * 4 + j;
            if (r < M && c < N) C[(size_t)r * N + c] = acc[i][j];
        }
}

== warp_split_k
// launch: block 32,4 tile 32,32
// The warps of a block each take a quarter of every tile's k.
constexpr int T = 32;
extern "C" __global__ void matmul(const ELEMENT* A, const ELEMENT* B, ELEMENT* C, int M, int N, int K)
{
    __shared__ ELEMENT As[T][T + 1];
    __shared__ ELEMENT Bs[T][T];
    __shared__ ELEMENT part[4][T][T];
    const int lane = threadIdx.x, w = threadIdx.y;
    const int row0 = blockIdx.y * T, col = blockIdx.x * T + lane;
    ELEMENT sum[T];
    for (int i = 0; i < T; ++i) sum[i] = 0;
    for (int k0 = 0; k0 < K; k0 += T) {
        for (int r = w; r < T; r += 4) {
            As[r][lane] = row0 + r < M && k0 + lane < K ? A[(row0 + r) * K + k0 + lane] : 0;
            Bs[r][lane] = k0 + r < K && col < N ? B[(k0 + r) * N + col] : 0;
        }
        __syncthreads();
        for (int k = 8 * w; k < 8 * w + 8; ++k)
            for (int i = 0; i < T; ++i)
                sum[i] += As[i][k] * Bs[k][lane];
        __syncthreads();
    }
    for (int i = 0; i < T; ++i) part[w][i][lane] = sum[i];
    __syncthreads();
    for (int r = w; r < T; r += 4) {
        ELEMENT total = 0;
        for (int p = 0; p < 4; ++p) total += part[p][r][lane];
        if (row0 + r < M && col < N) C[(row0 + r) * N + col] = total;
    }
}

== xor_buffers
// launch: block 16,16 tile 32,32
constexpr int T = 32, BK = 16;
constexpr int SA = T * BK;
extern "C" __global__ void matmul(const ELEMENT* A, const ELEMENT* B, ELEMENT* C, int M, int N, int K)
{
    __shared__ ELEMENT buf[4 * SA];  // A, A', B, B'
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int r0 = blockIdx.y * T + ty, c0 = blockIdx.x * T + tx;
    int at = 0;
    auto put = [&](int to, int k0) {
        for (int h = 0; h < 2; ++h) {
            const int r = r0 + 16 * h, c = c0 + 16 * h;
            buf[to + (ty + 16 * h) * BK + tx] = r < M && k0 + tx < K ? A[r * K + k0 + tx] : 0.f;
            buf[2 * SA + to + ty * T + tx + 16 * h] = c < N && k0 + ty < K ? B[(k0 + ty) * N + c] : 0.f;
        }
    };
    ELEMENT s00 = 0, s01 = 0, s10 = 0, s11 = 0;
    put(0, 0);
    for (int k0 = 0; k0 < K; k0 += BK) {
        __syncthreads();
        if (k0 + BK < K) put(at ^ SA, k0 + BK);
        const ELEMENT* a = buf + at;
        const ELEMENT* b = buf + 2 * SA + at;
        for (int k = 0; k < BK; ++k) {
            const ELEMENT a0 = a[ty * BK + k], a1 = a[(ty + 16) * BK + k];
            const ELEMENT b0 = b[k * T + tx], b1 = b[k * T + tx + 16];
            s00 += a0 * b0;
            s01 += a0 * b1;
            s10 += a1 * b0;
            s11 += a1 * b1;
        }
        at ^= SA;
    }
    auto out = [&](int r, int c, ELEMENT s) { if (r < M && c < N) C[r * N + c] = s; };
    out(r0, c0, s00);
    out(r0, c0 + 16, s01);
    out(r0 + 16, c0, s10);
    out(r0 + 16, c0 + 16, s11);
}

== cp_async
// launch: block 16,16 tile 32,32
constexpr int T = 32, BK = 16, ST = 3;
__device__ __forceinline__ void cp4(ELEMENT* to, const ELEMENT* from, bool in)
{
    unsigned s = (unsigned)__cvta_generic_to_shared(to);
    int n = in ? 4 : 0;
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(s), "l"(from), "r"(n) : "memory");
}
__device__ __forceinline__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N> __device__ __forceinline__ void wait_for() { asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory"); }
extern "C" __global__ void matmul(const ELEMENT* A, const ELEMENT* B, ELEMENT* C, int M, int N, int K)
{
    __shared__ ELEMENT As[ST][T][BK];
    __shared__ ELEMENT Bs[ST][BK][T];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * T + ty, col = blockIdx.x * T + tx;
    auto load = [&](int s, int k0) {
        for (int h = 0; h < T; h += 16) {
            bool ia = row + h < M && k0 + tx < K;
            cp4(&As[s][ty + h][tx], ia ? A + (size_t)(row + h) * K + k0 + tx : A, ia);
            bool ib = k0 + ty < K && col + h < N;
            cp4(&Bs[s][ty][tx + h], ib ? B + (size_t)(k0 + ty) * N + col + h : B, ib);
        }
        commit();
    };
    ELEMENT sum[2][2] = {};
    for (int s = 0; s < ST - 1; ++s) load(s, s * BK);
    for (int step = 0; step * BK < K; ++step) {
        wait_for<ST - 2>();
        __syncthreads();
        const int now = step % ST;
        load((step + ST - 1) % ST, (step + ST - 1) * BK);
        for (int k = 0; k < BK; ++k)
            for (int i = 0; i < 2; ++i)
                for (int j = 0; j < 2; ++j)
                    sum[i][j] += As[now][ty + 16 * i][k] * Bs[now][k][tx + 16 * j];
    }
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 2; ++j)
            if (row + 16 * i < M && col + 16 * j < N) C[(size_t)(row + 16 * i) * N + col + 16 * j] = sum[i][j];
}

== shuffled
// launch: block 32,8 tile 32,8
// Every lane holds one element of a row of A, and gives it to the others.
extern "C" __global__ void matmul(const ELEMENT* A, const ELEMENT* B, ELEMENT* C, int M, int N, int K)
{
    __shared__ ELEMENT Bs[32][32];
    const int lane = threadIdx.x;
    const int row = blockIdx.y * 8 + threadIdx.y;
    const int col = blockIdx.x * 32 + lane;
    ELEMENT sum = 0;
    for (int k0 = 0; k0 < K; k0 += 32) {
        for (int r = threadIdx.y; r < 32; r += 8)
            Bs[r][lane] = k0 + r < K && col < N ? B[(k0 + r) * N + col] : 0;
        const ELEMENT a = row < M && k0 + lane < K ? A[row * K + k0 + lane] : 0;
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 32; ++k)
            sum += __shfl_sync(0xffffffff, a, k) * Bs[k][lane];
        __syncthreads();
    }
    if (row < M && col < N) C[row * N + col] = sum;
}

== warptile
// launch: block 128,1 tile 64,64
constexpr int BM = 64, BN = 64, BK = 8, WM = 32, WN = 32, TM = 8, TN = 4;
#define LD4(p) (*reinterpret_cast<const float4*>(p))
extern "C" __global__ void matmul(const ELEMENT* A, const ELEMENT* B, ELEMENT* C, int M, int N, int K)
{
    __shared__ __align__(16) ELEMENT As[BK * BM];
    __shared__ __align__(16) ELEMENT Bs[BK * BN];
    const int tid = threadIdx.x, warp = tid / 32, lane = tid % 32;
    const int wr = warp / 2 * WM, wc = warp % 2 * WN;
    const int tr = lane / 8 * TM, tc = lane % 8 * TN;
    const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;
    ELEMENT acc[TM * TN] = {0};
    for (int k0 = 0; k0 < K; k0 += BK) {
        for (int e = tid; e < BM * BK; e += 128) {
            const int r = e / BK, k = e % BK;
            As[k * BM + r] = row0 + r < M && k0 + k < K ? A[(row0 + r) * K + k0 + k] : 0;
        }
        for (int e = tid; e < BN * BK; e += 128) {
            const int k = e / BN, c = e % BN;
            Bs[k * BN + c] = col0 + c < N && k0 + k < K ? B[(k0 + k) * N + col0 + c] : 0;
        }
        __syncthreads();
        for (int k = 0; k < BK; ++k) {
            ELEMENT ra[TM], rb[TN];
            *(float4*)&ra[0] = LD4(&As[k * BM + wr + tr]);
            *(float4*)&ra[4] = LD4(&As[k * BM + wr + tr + 4]);
            *(float4*)&rb[0] = LD4(&Bs[k * BN + wc + tc]);
            for (int i = 0; i < TM; ++i)
                for (int j = 0; j < TN; ++j) acc[i * TN + j] += ra[i] * rb[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < TM; ++i)
        for (int j = 0; j < TN; ++j) {
            const int r = row0 + wr + tr + i, c = col0 + wc + tc + j;
            if (r < M && c < N) C[r * N + c] = acc[i * TN + j];
        }
}

== reg_prefetch
// launch: block 16,16 tile 32,32
constexpr int T = 32, BK = 16;
extern "C" __global__ void matmul(const ELEMENT* A, const ELEMENT* B, ELEMENT* C, int M, int N, int K)
{
    __shared__ ELEMENT As[2][T][BK + 1];
    __shared__ ELEMENT Bs[2][BK][T];
    const int x = threadIdx.x, y = threadIdx.y;
    const int row = blockIdx.y * T + y, col = blockIdx.x * T + x;
    ELEMENT na[2], nb[2], s[2][2] = {};
    const ELEMENT* pa = A + (size_t)row * K + x;
    const ELEMENT* pb = B + (size_t)y * N + col;
    auto fetch = [&](int k0) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            na[i] = row + 16 * i < M && k0 + x < K ? pa[(size_t)16 * i * K] : 0;
            nb[i] = col + 16 * i < N && k0 + y < K ? pb[16 * i] : 0;
        }
        pa += BK;
        pb += (size_t)BK * N;
    };
    auto keep = [&](int to) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            As[to][y + 16 * i][x] = na[i];
            Bs[to][y][x + 16 * i] = nb[i];
        }
    };
    fetch(0);
    keep(0);
    __syncthreads();
    int now = 0;
    for (int k0 = 0; k0 < K; k0 += BK) {
        const bool more = k0 + BK < K;
        if (more) fetch(k0 + BK);
#pragma unroll
        for (int k = 0; k < BK; ++k)
#pragma unroll
            for (int i = 0; i < 2; ++i)
#pragma unroll
                for (int j = 0; j < 2; ++j) s[i][j] += As[now][y + 16 * i][k] * Bs[now][k][x + 16 * j];
        if (more) keep(1 - now);
        __syncthreads();
        now = 1 - now;
    }
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 2; ++j)
            if (row + 16 * i < M && col + 16 * j < N) C[(size_t)(row + 16 * i) * N + col + 16 * j] = s[i][j];
}

== even_and_odd
// launch: block 16,16 tile 16,16
extern "C" __global__ void matmul(const ELEMENT* A, const ELEMENT* B, ELEMENT* C, int M, int N, int K)
{
    const int col = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
    if (row >= M || col >= N) return;
    ELEMENT even = 0, odd = 0;
    int k = 0;
    for (; k + 1 < K; k += 2) {
        even += A[row * K + k] * B[k * N + col];
        odd += A[row * K + k + 1] * B[(k + 1) * N + col];
    }
    if (k < K) even += A[row * K + k] * B[k * N + col];
    C[row * N + col] = even + odd;
}

== indices_that_go_on
// launch: block 32,16 tile 32,16
extern "C" __global__ void matmul(
    const ELEMENT* A, const ELEMENT* B, ELEMENT* C, int M, int N, int K)
{
    int i = threadIdx.y + blockDim.y * blockIdx.y;
    int j = threadIdx.x + blockDim.x * blockIdx.x;
    if (i >= M || j >= N)
        return;
    ELEMENT acc = 0;
    int ia = i * K;
    int ib = j;
    for (int p = 0; p < K; p++) {
        acc += A[ia] * B[ib];
        ia += 1;
        ib += N;
    }
    C[i * N + j] = acc;
}

== unsigned_rows_counted_down
// launch: block 32,16 tile 32,16
extern "C" __global__ void matmul(
    const float* A, const float* B, float* C, int M, int N, int K)
{
    const unsigned c = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned r = blockIdx.y * blockDim.y + threadIdx.y;
    if (r < M) {
        if (c < N) {
            float dot = 0.0f;
            for (int kk = K - 1; kk >= 0; --kk)
                dot = fmaf(A[r * K + kk], B[kk * N + c], dot);
            C[r * N + c] = dot;
        }
    }
}

== shuffled_lanes
// launch: block 32,16 tile 1,16
// A warp computes one element: its lanes share k.
extern "C" __global__ void matmul(
    const float* A, const float* B, float* C, int M, int N, int K)
{
    const int lane = threadIdx.x;
    const int row = blockIdx.y * 16 + threadIdx.y;
    const int col = blockIdx.x;
    float sum = 0;
    if (row < M)
        for (int k = lane; k < K; k += 32)
            sum += A[row * K + k] * B[k * N + col];
    sum += __shfl_down_sync(0xffffffff, sum, 16);
    sum += __shfl_down_sync(0xffffffff, sum, 8);
    sum += __shfl_down_sync(0xffffffff, sum, 4);
    sum += __shfl_down_sync(0xffffffff, sum, 2);
    sum += __shfl_down_sync(0xffffffff, sum, 1);
    if (lane == 0 && row < M)
        C[row * N + col] = sum;
}

== four_sums_and_a_rest
// launch: block 32,16 tile 32,16
extern "C" __global__ void matmul(
    const float* A, const float* B, float* C, int M, int N, int K)
{
    int row = blockIdx.y * 16 + threadIdx.y;
    int col = blockIdx.x * 32 + threadIdx.x;
    if (row >= M || col >= N) return;
    float s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    int k = 0;
    for (; k + 3 < K; k += 4) {
        s0 += A[row * K + k] * B[k * N + col];
        s1 += A[row * K + k + 1] * B[(k + 1) * N + col];
        s2 += A[row * K + k + 2] * B[(k + 2) * N + col];
        s3 += A[row * K + k + 3] * B[(k + 3) * N + col];
    }
    for (; k < K; ++k)
        s0 += A[row * K + k] * B[k * N + col];
    C[row * N + col] = s0 + s1 + s2 + s3;
}

== tiles_with_else
// launch: block 32,32 tile 32,32
#define T 32
extern "C" __global__ void matmul(
    const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float sA[T * T];
    __shared__ float sB[T * T];
    int tx = threadIdx.x, ty = threadIdx.y;
    int i = blockIdx.y * T + ty;
    int j = blockIdx.x * T + tx;
    float tmp = 0.0f;
    int steps = (K + T - 1) / T;
    for (int t = 0; t < steps; t++) {
        int ka = t * T + tx;
        int kb = t * T + ty;
        if (i < M && ka < K)
            sA[ty * T + tx] = A[i * K + ka];
        else
            sA[ty * T + tx] = 0.0f;
        if (kb < K && j < N)
            sB[ty * T + tx] = B[kb * N + j];
        else
            sB[ty * T + tx] = 0.0f;
        __syncthreads();
        for (int e = 0; e < T; e++)
            tmp += sA[ty * T + e] * sB[e * T + tx];
        __syncthreads();
    }
    if (i < M && j < N)
        C[i * N + j] = tmp;
}

== one_tile_ahead
// launch: block 32,32 tile 32,32
extern "C" __global__ void matmul(
    const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float s_a[32][32];
    __shared__ float s_b[32][32];
    const int x = threadIdx.x, y = threadIdx.y;
    const int r = blockIdx.y * 32 + y;
    const int c = blockIdx.x * 32 + x;
    float value = 0.f;
    float next_a = r < M && x < K ? A[r * K + x] : 0.f;
    float next_b = c < N && y < K ? B[y * N + c] : 0.f;
    for (int k0 = 0; k0 < K; k0 += 32) {
        s_a[y][x] = next_a;
        s_b[y][x] = next_b;
        __syncthreads();
        const int ahead = k0 + 32;
        next_a = r < M && ahead + x < K ? A[r * K + ahead + x] : 0.f;
        next_b = c < N && ahead + y < K ? B[(ahead + y) * N + c] : 0.f;
        for (int k = 0; k < 32; ++k)
            value += s_a[y][k] * s_b[k][x];
        __syncthreads();
    }
    if (r < M && c < N)
        C[r * N + c] = value;
}

== one_pool_transposed
// launch: block 32,32 tile 32,32
// B's tile is kept transposed, with a pad.
extern "C" __global__ void matmul(
    const ELEMENT* A, const ELEMENT* B, ELEMENT* C, int M, int N, int K)
{
    constexpr int LD = 32 + 1;
    __shared__ ELEMENT smem[2 * 32 * LD];
    ELEMENT* at = smem;
    ELEMENT* bt = smem + 32 * LD;
    const unsigned tid = threadIdx.y * 32 + threadIdx.x;
    const unsigned u = tid % 32;
    const unsigned v = tid / 32;
    const int m = blockIdx.y * 32 + v;
    const int n = blockIdx.x * 32 + u;
    const int tiles = (K - 1) / 32 + 1;
    ELEMENT r = 0;
    for (int tile = 0; tile < tiles; ++tile) {
        const int ka = tile * 32 + u;
        const int kb = tile * 32 + v;
        at[v * LD + u] = m < M && ka < K ? A[(size_t)m * K + ka] : ELEMENT(0);
        bt[u * LD + v] = kb < K && n < N ? B[(size_t)kb * N + n] : ELEMENT(0);
        __syncthreads();
        for (int k = 0; k < 32; ++k)
            r += at[v * LD + k] * bt[u * LD + k];
        __syncthreads();
    }
    if (m < M && n < N)
        C[(size_t)m * N + n] = r;
}

== column_of_sums
// launch: block 64,8 tile 64,64
constexpr int BM = 64, BN = 64, BK = 8, TM = 8;
extern "C" __global__ void matmul(
    const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float As[BM * BK];
    __shared__ float Bs[BK * BN];
    const int tid = threadIdx.y * 64 + threadIdx.x;
    const int threadCol = tid % BN;
    const int threadRow = tid / BN;
    const int innerColA = tid % BK;
    const int innerRowA = tid / BK;
    const int innerColB = tid % BN;
    const int innerRowB = tid / BN;
    const int cRow = blockIdx.y * BM;
    const int cCol = blockIdx.x * BN;
    float threadResults[TM] = {0.0f};
    for (int bk = 0; bk < K; bk += BK) {
        As[innerRowA * BK + innerColA] =
            (cRow + innerRowA < M && bk + innerColA < K)
                ? A[(cRow + innerRowA) * K + bk + innerColA] : 0.0f;
        Bs[innerRowB * BN + innerColB] =
            (bk + innerRowB < K && cCol + innerColB < N)
                ? B[(bk + innerRowB) * N + cCol + innerColB] : 0.0f;
        __syncthreads();
        for (int dot = 0; dot < BK; ++dot) {
            const float tmpB = Bs[dot * BN + threadCol];
            for (int res = 0; res < TM; ++res)
                threadResults[res] += As[(threadRow * TM + res) * BK + dot] * tmpB;
        }
        __syncthreads();
    }
    for (int res = 0; res < TM; ++res) {
        const int row = cRow + threadRow * TM + res;
        if (row < M && cCol + threadCol < N)
            C[row * N + cCol + threadCol] = threadResults[res];
    }
}

== pointers_that_swap
// launch: block 32,8 tile 32,32
extern "C" __global__ void matmul(
    const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float mem[4][32 * 32];
    float* a_now = mem[0];
    float* b_now = mem[1];
    float* a_other = mem[2];
    float* b_other = mem[3];
    const int x = threadIdx.x, y = threadIdx.y;
    const int row = blockIdx.y * 32, col = blockIdx.x * 32 + x;
    float sum[4] = {0, 0, 0, 0};
    for (int i = y; i < 32; i += 8) {
        a_now[i * 32 + x] = row + i < M && x < K ? A[(row + i) * K + x] : 0.f;
        b_now[i * 32 + x] = i < K && col < N ? B[i * N + col] : 0.f;
    }
    for (int k0 = 0; k0 < K; k0 += 32) {
        __syncthreads();
        if (k0 + 32 < K) {
            for (int i = y; i < 32; i += 8) {
                const int ka = k0 + 32 + x;
                const int kb = k0 + 32 + i;
                a_other[i * 32 + x] = row + i < M && ka < K ? A[(row + i) * K + ka] : 0.f;
                b_other[i * 32 + x] = kb < K && col < N ? B[kb * N + col] : 0.f;
            }
        }
        for (int k = 0; k < 32; ++k) {
            const float b = b_now[k * 32 + x];
            sum[0] += a_now[y * 32 + k] * b;
            sum[1] += a_now[(y + 8) * 32 + k] * b;
            sum[2] += a_now[(y + 16) * 32 + k] * b;
            sum[3] += a_now[(y + 24) * 32 + k] * b;
        }
        float* t = a_now; a_now = a_other; a_other = t;
        t = b_now; b_now = b_other; b_other = t;
    }
    if (col < N)
        for (int i = 0; i < 4; ++i)
            if (row + y + 8 * i < M)
                C[(row + y + 8 * i) * N + col] = sum[i];
}

== even_and_odd_k
// Two threads share an element: even and odd k.
// launch: block 32,16 tile 16,16
extern "C" __global__ void matmul(
    const ELEMENT* A, const ELEMENT* B, ELEMENT* C, int M, int N, int K)
{
    const int part = threadIdx.x & 1;
    const int c = blockIdx.x * 16 + (threadIdx.x >> 1);
    const int r = blockIdx.y * 16 + threadIdx.y;
    const bool mine = r < M && c < N;
    ELEMENT p = 0;
    for (int k = part; mine && k < K; k += 2)
        p += A[r * K + k] * B[k * N + c];
    p += __shfl_xor_sync(0xffffffffu, p, 1);
    if (mine && part == 0)
        C[r * N + c] = p;
}

== rows_of_1024_threads
// launch: block 32,32 tile 32,32
// The block is taken as 1024 threads in a row.
extern "C" __global__ void matmul(
    const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float lhs[32][32], rhs[32][32];
    const int id = threadIdx.x + 32 * threadIdx.y;
    const int hi = id >> 5, lo = id & 31;
    const int brow = blockIdx.y << 5, bcol = blockIdx.x << 5;
    const float* ap = A + (brow + hi) * K;
    const float* bp = B + bcol + lo;
    float out = 0.0f;
    for (int step = 0; step * 32 < K; step++) {
        const int k_a = step * 32 + lo;
        const int k_b = step * 32 + hi;
        float la = 0.0f, lb = 0.0f;
        if (brow + hi < M && k_a < K) la = ap[k_a];
        if (bcol + lo < N && k_b < K) lb = bp[k_b * N];
        lhs[hi][lo] = la;
        rhs[hi][lo] = lb;
        __syncthreads();
        #pragma unroll
        for (int i = 0; i < 32; i += 4) {
            out += lhs[hi][i] * rhs[i][lo];
            out += lhs[hi][i + 1] * rhs[i + 1][lo];
            out += lhs[hi][i + 2] * rhs[i + 2][lo];
            out += lhs[hi][i + 3] * rhs[i + 3][lo];
        }
        __syncthreads();
    }
    if (brow + hi < M && bcol + lo < N)
        C[(brow + hi) * N + bcol + lo] = out;
}

== do_while_in_a_macro
// launch: block 32,16 tile 32,16
#define AT(m, r, c, ld) m[(size_t)(r) * (ld) + (c)]
extern "C" __global__ void matmul(
    const float* A, const float* B, float* C, int M, int N, int K)
{
    const int my_row = blockIdx.y * blockDim.y + threadIdx.y;
    const int my_col = blockIdx.x * blockDim.x + threadIdx.x;
    if (my_row < M && my_col < N) {
        double total = 0.0;
        int k = K;
        do {
            --k;
            total += (double)AT(A, my_row, k, K) * AT(B, k, my_col, N);
        } while (k > 0);
        AT(C, my_row, my_col, N) = (float)total;
    }
}

== helpers_and_a_place
// launch: block 32,32 tile 32,32
#define TILE 32
// helper functions, one-dimensional tiles, a barrier with a name
#define AT(tile, r, c) (tile)[(r) * TILE + (c)]
typedef struct { int row, col; } Place;

__device__ void barrier() { __syncthreads(); }

__device__ ELEMENT fetch(const ELEMENT* from, int row, int col, int rows, int cols)
{
    if (row >= rows || col >= cols) return 0;
    return from[(size_t)row * cols + col];
}

__device__ ELEMENT dot(const ELEMENT* a, const ELEMENT* b, int y, int x)
{
    ELEMENT part = 0;
    for (int i = 0; i < TILE; i++)
        part += AT(a, y, i) * AT(b, i, x);
    return part;
}

extern "C" __global__ void matmul(
    const ELEMENT* A, const ELEMENT* B, ELEMENT* C, int M, int N, int K)
{
    __shared__ ELEMENT left[TILE * TILE];
    __shared__ ELEMENT right[TILE * TILE];
    const int tx = threadIdx.x;
    const int ty = threadIdx.y;
    Place me;
    me.row = blockIdx.y * TILE + ty;
    me.col = blockIdx.x * TILE + tx;
    ELEMENT acc = 0;
    const int phases = (K + TILE - 1) / TILE;
    for (int phase = 0; phase < phases; phase++) {
        AT(left, ty, tx) = fetch(A, me.row, phase * TILE + tx, M, K);
        AT(right, ty, tx) = fetch(B, phase * TILE + ty, me.col, K, N);
        barrier();
        acc += dot(left, right, ty, tx);
        barrier();
    }
    if (me.row >= M || me.col >= N) return;
    C[(size_t)me.row * N + me.col] = acc;
}

== walking_pointers
// launch: block 32,32 tile 32,32
#define TILE 32
// pointers that advance, a while loop, pointers into the tiles
extern "C" __global__ void matmul(
    const ELEMENT* A, const ELEMENT* B, ELEMENT* C, int M, int N, int K)
{
    __shared__ ELEMENT sA[TILE][TILE + 1];
    __shared__ ELEMENT sB[TILE][TILE + 1];
    const unsigned tid = threadIdx.y * TILE + threadIdx.x;
    const unsigned ly = tid / TILE, lx = tid % TILE;
    const unsigned gy = blockIdx.y * TILE + ly;
    const unsigned gx = blockIdx.x * TILE + lx;
    const bool rowOk = gy < M;
    const bool colOk = gx < N;
    const ELEMENT* pa = A + (size_t)gy * K;
    const ELEMENT* pb = B + gx;
    ELEMENT total = 0.0f;
    int done = 0;
    while (done < K) {
        ELEMENT va = 0, vb = 0;
        if (rowOk && done + lx < K) va = pa[done + lx];
        if (colOk && done + ly < K) vb = pb[(size_t)(done + ly) * N];
        sA[ly][lx] = va;
        sB[ly][lx] = vb;
        __syncthreads();
        const ELEMENT* ra = sA[ly];
        const ELEMENT* rb = &sB[0][lx];
#pragma unroll
        for (int t = 0; t < TILE; ++t) {
            total = fmaf(*ra, *rb, total);
            ra += 1;
            rb += TILE + 1;
        }
        __syncthreads();
        done += TILE;
    }
    if (rowOk && colOk) C[(size_t)gy * N + gx] = total;
}

== lambdas_in_pairs
// launch: block 32,16 tile 32,16
// lambdas and an early return
extern "C" __global__ void matmul(
    const ELEMENT* A, const ELEMENT* B, ELEMENT* C, int M, int N, int K)
{
    const auto a = [=](int i, int j) { return A[(size_t)i * K + j]; };
    const auto b = [=](int i, int j) { return B[(size_t)i * N + j]; };
    const dim3 me(blockIdx.x * blockDim.x + threadIdx.x, blockIdx.y * blockDim.y + threadIdx.y);
    if (me.x >= N || me.y >= M) return;
    ELEMENT even = 0, odd = 0;
    int k = 0;
    for (; k + 1 < K; k += 2) {
        even += a(me.y, k) * b(k, me.x);
        odd += a(me.y, k + 1) * b(k + 1, me.x);
    }
    if (k < K) even += a(me.y, k) * b(k, me.x);
    C[(size_t)me.y * N + me.x] = even + odd;
}

== template_tiles
// launch: block 16,16 tile 64,64
// templates, register tiles
constexpr int BM = 64, BN = 64, BK = 16, TM = 4, TN = 4;

template <int ROWS, int COLS>
__device__ void loadTile(ELEMENT (&tile)[ROWS][COLS], const ELEMENT* src, int r0, int c0, int rows, int cols)
{
    const int tid = threadIdx.y * 16 + threadIdx.x;
    for (int e = tid; e < ROWS * COLS; e += 256) {
        const int r = e / COLS, c = e % COLS;
        const bool inside = r0 + r < rows && c0 + c < cols;
        tile[r][c] = inside ? src[(size_t)(r0 + r) * cols + c0 + c] : ELEMENT(0);
    }
}

extern "C" __global__ void matmul(
    const ELEMENT* A, const ELEMENT* B, ELEMENT* C, int M, int N, int K)
{
    __shared__ ELEMENT sa[BM][BK];
    __shared__ ELEMENT sb[BK][BN];
    const int firstRow = blockIdx.y * BM, firstCol = blockIdx.x * BN;
    const int ty = threadIdx.y, tx = threadIdx.x;
    ELEMENT acc[TM][TN];
    for (int i = 0; i < TM; i++)
        for (int j = 0; j < TN; j++)
            acc[i][j] = 0;
    for (int kb = 0; kb < K; kb += BK) {
        loadTile<BM, BK>(sa, A, firstRow, kb, M, K);
        loadTile<BK, BN>(sb, B, kb, firstCol, K, N);
        __syncthreads();
        for (int kk = 0; kk < BK; kk++) {
            ELEMENT ra[TM], rb[TN];
            for (int i = 0; i < TM; i++) ra[i] = sa[ty * TM + i][kk];
            for (int j = 0; j < TN; j++) rb[j] = sb[kk][tx + 16 * j];
            for (int i = 0; i < TM; i++)
                for (int j = 0; j < TN; j++)
                    acc[i][j] += ra[i] * rb[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < TM; i++) {
        const int r = firstRow + ty * TM + i;
        if (r >= M) break;
        for (int j = 0; j < TN; j++) {
            const int c = firstCol + tx + 16 * j;
            if (c >= N) continue;
            C[(size_t)r * N + c] = acc[i][j];
        }
    }
}

== stages_and_registers
// launch: block 16,16 tile 32,32
// prefetch into registers, two stages
struct Stage { ELEMENT a[32][17]; ELEMENT b[16][32]; };
struct Regs { ELEMENT a[2], b[2]; };

__device__ Regs load(const ELEMENT* A, const ELEMENT* B, int k0, int M, int N, int K)
{
    Regs regs;
    for (int h = 0; h < 2; ++h) {
        const int row = blockIdx.y * 32 + threadIdx.y + 16 * h, ka = k0 + threadIdx.x;
        const int col = blockIdx.x * 32 + threadIdx.x + 16 * h, kb = k0 + threadIdx.y;
        regs.a[h] = row < M && ka < K ? A[(size_t)row * K + ka] : 0;
        regs.b[h] = col < N && kb < K ? B[(size_t)kb * N + col] : 0;
    }
    return regs;
}

__device__ void put(Stage& stage, const Regs& regs)
{
    for (int h = 0; h < 2; ++h) {
        stage.a[threadIdx.y + 16 * h][threadIdx.x] = regs.a[h];
        stage.b[threadIdx.y][threadIdx.x + 16 * h] = regs.b[h];
    }
}

extern "C" __global__ void matmul(
    const ELEMENT* A, const ELEMENT* B, ELEMENT* C, int M, int N, int K)
{
    __shared__ Stage stages[2];
    ELEMENT sum[2][2] = {{0, 0}, {0, 0}};
    put(stages[0], load(A, B, 0, M, N, K));
    __syncthreads();
    int turn = 0;
    for (int k0 = 0; k0 < K; k0 += 16) {
        const Regs regs = load(A, B, k0 + 16, M, N, K);
        const Stage& s = stages[turn];
        for (int k = 0; k < 16; ++k)
            for (int i = 0; i < 2; ++i)
                for (int j = 0; j < 2; ++j)
                    sum[i][j] += s.a[threadIdx.y + 16 * i][k] * s.b[k][threadIdx.x + 16 * j];
        turn ^= 1;
        put(stages[turn], regs);
        __syncthreads();
    }
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 2; ++j) {
            const int row = blockIdx.y * 32 + threadIdx.y + 16 * i, col = blockIdx.x * 32 + threadIdx.x + 16 * j;
            if (row < M && col < N) C[(size_t)row * N + col] = sum[i][j];
        }
}

== tile_with_methods
// launch: block 32,32 tile 32,32
#define TILE 32
// nested index variables, a struct with methods, one array for both tiles, braces on own lines
struct Tile
{
    ELEMENT* at;
    int pitch;
    __device__ ELEMENT get(int r, int c) const
    {
        return at[r * pitch + c];
    }
    __device__ void put(int r, int c, ELEMENT v)
    {
        at[r * pitch + c] = v;
    }
};

extern "C" __global__ void matmul(
    const ELEMENT* A, const ELEMENT* B, ELEMENT* C, int M, int N, int K)
{
    __shared__ ELEMENT both[2 * TILE * TILE];
    Tile lhs = { both, TILE };
    Tile rhs = { both + TILE * TILE, TILE };
    const int2 t = make_int2(threadIdx.x, threadIdx.y);
    const int2 g = make_int2(blockIdx.x * TILE + t.x, blockIdx.y * TILE + t.y);
    ELEMENT result = 0;
    for (int tile = 0; tile < (K + TILE - 1) / TILE; ++tile)
    {
        const int ak = tile * TILE + t.x;
        const int bk = tile * TILE + t.y;
        ELEMENT x = 0;
        if (g.y < M && ak < K)
        {
            x = A[(size_t)g.y * K + ak];
        }
        lhs.put(t.y, t.x, x);
        x = 0;
        if (bk < K && g.x < N)
        {
            x = B[(size_t)bk * N + g.x];
        }
        rhs.put(t.y, t.x, x);
        __syncthreads();
        int k = 0;
        do
        {
            result += lhs.get(t.y, k) * rhs.get(k, t.x);
        } while (++k < TILE);
        __syncthreads();
    }
    if (g.y < M)
    {
        if (g.x < N)
        {
            C[(size_t)g.y * N + g.x] = result;
        }
    }
}

== views_with_methods
// launch: block 16,16 tile 16,16
struct Panel {
    float* data;
    int width;
    __device__ float& at(int r, int c) { return data[r * width + c]; }
};
struct View {
    const float* base;
    int rows, cols;
    __device__ float get(int r, int c) const { return r < rows && c < cols ? base[(size_t)r * cols + c] : 0.0f; }
};
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float pool[512];
    Panel pa{pool, 16}, pb{pool + 256, 16};
    View va{A, M, K}, vb{B, K, N};
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * 16 + y, col = blockIdx.x * 16 + x;
    float sum = 0;
    for (int k0 = 0; k0 < K; k0 += 16) {
        pa.at(y, x) = va.get(row, k0 + x);
        pb.at(y, x) = vb.get(k0 + y, col);
        __syncthreads();
        for (int k = 0; k < 16; ++k) sum += pa.at(y, k) * pb.at(k, x);
        __syncthreads();
    }
    if (row < M && col < N) C[(size_t)row * N + col] = sum;
}

== without_shared_memory
// launch: block 128,1 tile 128,64
// 8 rows and 8 columns per thread, all of them read from global memory
extern "C" __global__ void matmul(
    const ELEMENT* A, const ELEMENT* B, ELEMENT* C, int M, int N, int K)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int row0 = blockIdx.y * 64 + warp / 2 * 32 + lane / 8 * 8;
    const int col0 = blockIdx.x * 128 + warp % 2 * 64 + lane % 8 * 8;
    ELEMENT sum[8][8] = {};
    for (int k = 0; k < K; ++k) {
        ELEMENT a[8], b[8];
        for (int i = 0; i < 8; ++i) {
            a[i] = row0 + i < M ? A[(size_t)(row0 + i) * K + k] : 0;
            b[i] = col0 + i < N ? B[(size_t)k * N + col0 + i] : 0;
        }
        for (int m = 0; m < 8; ++m)
            for (int n = 0; n < 8; ++n) sum[m][n] += a[m] * b[n];
    }
    for (int m = 0; m < 8; ++m)
        for (int n = 0; n < 8; ++n)
            if (row0 + m < M && col0 + n < N) C[(size_t)(row0 + m) * N + col0 + n] = sum[m][n];
}
== odd_depth_backwards
// launch: block 8,32 tile 8,32
__device__ __forceinline__ bool outside(size_t i, size_t j, size_t m, size_t n) { return i >= m || j >= n; }
extern "C" __global__ void matmul(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C, int M, int N, int K)
{
    const size_t i = (size_t)blockDim.y * blockIdx.y + threadIdx.y;
    const size_t j = (size_t)blockDim.x * blockIdx.x + threadIdx.x;
    if (outside(i, j, M, N))
        return;
    const float* arow = &A[i * K];
    const float* bcol = &B[j];
    float even = 0.f, odd = 0.f;
    int p = K;
    if (K & 1) {
        --p;
        even = __ldg(arow + p) * __ldg(bcol + (size_t)p * N);
    }
    while (p > 0) {
        p -= 2;
        even = fmaf(__ldg(arow + p), __ldg(bcol + (size_t)p * N), even);
        odd = fmaf(__ldg(arow + p + 1), __ldg(bcol + (size_t)(p + 1) * N), odd);
    }
    C[i * N + j] = even + odd;
}
== panels_in_a_structure
// launch: block 128,1 tile 64,64
template <int ROWS, int COLS, int PAD = 0>
struct Panel {
    float v[ROWS][COLS + PAD];
};
template <int ROWS, int COLS, int PAD>
__device__ void fill(Panel<ROWS, COLS, PAD>& panel, const float* src, int r0, int c0, int rows, int cols)
{
    for (int e = threadIdx.x; e < ROWS * COLS; e += blockDim.x) {
        const int r = e / COLS, c = e % COLS;
        const bool in = r0 + r < rows && c0 + c < cols;
        panel.v[r][c] = in ? src[(size_t)(r0 + r) * cols + c0 + c] : 0.0f;
    }
}
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    constexpr int BM = 64, BN = 64, BK = 8;
    __shared__ struct {
        Panel<BM, BK, 1> a;
        Panel<BK, BN> b;
    } s;
    const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    const int wr = (warp >> 1) * 32, wc = (warp & 1) * 32;
    const int lr = wr + (lane >> 3) * 8, lc = wc + (lane & 7) * 4;
    const int bm = blockIdx.y * BM, bn = blockIdx.x * BN;
    float acc[8][4] = {};
    for (int kt = 0; kt < K; kt += BK) {
        fill(s.a, A, bm, kt, M, K);
        fill(s.b, B, kt, bn, K, N);
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < BK; ++k) {
            float fa[8];
            #pragma unroll
            for (int i = 0; i < 8; ++i) fa[i] = s.a.v[lr + i][k];
            const float4 fb = *reinterpret_cast<const float4*>(&s.b.v[k][lc]);
            #pragma unroll
            for (int i = 0; i < 8; ++i) {
                acc[i][0] += fa[i] * fb.x;
                acc[i][1] += fa[i] * fb.y;
                acc[i][2] += fa[i] * fb.z;
                acc[i][3] += fa[i] * fb.w;
            }
        }
        __syncthreads();
    }
    for (int i = 0; i < 8; ++i) {
        const int r = bm + lr + i;
        if (r >= M) break;
        for (int j = 0; j < 4; ++j) {
            const int c = bn + lc + j;
            if (c >= N) break;
            C[(size_t)r * N + c] = acc[i][j];
        }
    }
}
== slots_by_lambdas
// launch: block 16,16 tile 64,64
struct __align__(16) Slot {
    float x[16][64];
    float y[16][64];
};
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ Slot slot[2];
    const int t = threadIdx.y * 16 + threadIdx.x;
    const int m0 = blockIdx.y * 64, n0 = blockIdx.x * 64;
    const int arow = t >> 2, acol = (t & 3) * 4;
    const int brow = t >> 4, bcol = (t & 15) * 4;
    const bool whole_a = K % 4 == 0, whole_b = N % 4 == 0;
    float4 ra, rb;
    auto fetch = [&](int k0) {
        ra = make_float4(0, 0, 0, 0);
        rb = make_float4(0, 0, 0, 0);
        const float* pa = A + (size_t)(m0 + arow) * K + k0 + acol;
        const float* pb = B + (size_t)(k0 + brow) * N + n0 + bcol;
        if (m0 + arow < M) {
            if (whole_a && k0 + acol < K) ra = *reinterpret_cast<const float4*>(pa);
            else {
                if (k0 + acol + 0 < K) ra.x = pa[0];
                if (k0 + acol + 1 < K) ra.y = pa[1];
                if (k0 + acol + 2 < K) ra.z = pa[2];
                if (k0 + acol + 3 < K) ra.w = pa[3];
            }
        }
        if (k0 + brow < K) {
            if (whole_b && n0 + bcol < N) rb = *reinterpret_cast<const float4*>(pb);
            else {
                if (n0 + bcol + 0 < N) rb.x = pb[0];
                if (n0 + bcol + 1 < N) rb.y = pb[1];
                if (n0 + bcol + 2 < N) rb.z = pb[2];
                if (n0 + bcol + 3 < N) rb.w = pb[3];
            }
        }
    };
    auto commit = [&](Slot& to) {
        to.x[acol + 0][arow] = ra.x;
        to.x[acol + 1][arow] = ra.y;
        to.x[acol + 2][arow] = ra.z;
        to.x[acol + 3][arow] = ra.w;
        *reinterpret_cast<float4*>(&to.y[brow][bcol]) = rb;
    };
    float out[4][4] = {};
    int cur = 0;
    fetch(0);
    commit(slot[cur]);
    __syncthreads();
    for (int k0 = 16; ; k0 += 16) {
        const bool last = k0 >= K;
        if (!last) fetch(k0);
        #pragma unroll
        for (int k = 0; k < 16; ++k) {
            const float4 u = *reinterpret_cast<const float4*>(&slot[cur].x[k][threadIdx.y * 4]);
            const float4 v = *reinterpret_cast<const float4*>(&slot[cur].y[k][threadIdx.x * 4]);
            const float us[4] = {u.x, u.y, u.z, u.w}, vs[4] = {v.x, v.y, v.z, v.w};
            for (int i = 0; i < 4; ++i)
                for (int j = 0; j < 4; ++j)
                    out[i][j] = fmaf(us[i], vs[j], out[i][j]);
        }
        if (last) break;
        cur ^= 1;
        commit(slot[cur]);
        __syncthreads();
    }
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) {
            const int r = m0 + threadIdx.y * 4 + i, c = n0 + threadIdx.x * 4 + j;
            if (r < M && c < N) C[(size_t)r * N + c] = out[i][j];
        }
}
== strips_backwards
// launch: block 32,4 tile 32,32
// the tile is not the block's size: 32 rows by 4 rows of threads, 8 sums per thread
constexpr int T = 32, STEP = 4, PER = T / STEP;
using Tile = float[T][T + 1];
__device__ __forceinline__ float get(const float* m, int r, int c, int rows, int cols)
{
    return r < rows && c < cols ? m[(long long)r * cols + c] : 0.0f;
}
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ Tile ta, tb;
    int x = threadIdx.x, y = threadIdx.y;
    int col = blockIdx.x * T + x;
    int top = blockIdx.y * T;
    float part[PER];
    for (int q = 0; q < PER; ++q) part[q] = 0.0f;
    for (int base = (K - 1) / T * T; base >= 0; base -= T) {
        for (int q = 0; q < PER; ++q) {
            int r = y + q * STEP;
            ta[r][x] = get(A, top + r, base + x, M, K);
            tb[r][x] = get(B, base + r, col, K, N);
        }
        __syncthreads();
        for (int k = 0; k < T; ++k) {
            float b = tb[k][x];
            for (int q = 0; q < PER; ++q)
                part[q] += ta[y + q * STEP][k] * b;
        }
        __syncthreads();
    }
    if (col < N)
        for (int q = 0; q < PER; ++q) {
            int row = top + y + q * STEP;
            if (row < M) C[(long long)row * N + col] = part[q];
        }
}
== warp_tiles_by_vectors
// launch: block 128,1 tile 64,64
// Warp tiling: 4 warps of 32x32, each thread 4x4 in two sub-tiles.
#define BM 64
#define BN 64
#define BK 16
#define WM 32
#define WN 32
#define WNITER 2
#define TM 4
#define TN 4
#define WSUBN (WN / WNITER)

__device__ __forceinline__ float4 load4(const float* base, int row, int col, int rows, int cols)
{
    float4 v = make_float4(0.f, 0.f, 0.f, 0.f);
    if (row < rows) {
        const float* p = base + (size_t)row * cols + col;
        if (cols % 4 == 0 && col + 3 < cols) v = *(const float4*)p;
        else {
            if (col < cols) v.x = p[0];
            if (col + 1 < cols) v.y = p[1];
            if (col + 2 < cols) v.z = p[2];
            if (col + 3 < cols) v.w = p[3];
        }
    }
    return v;
}

extern "C" __global__ void __launch_bounds__(128) matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float As[BK * BM];
    __shared__ float Bs[BK * BN];
    const int cRow = blockIdx.y, cCol = blockIdx.x;
    const int warpIdx = threadIdx.x / 32;
    const int warpCol = warpIdx % (BN / WN);
    const int warpRow = warpIdx / (BN / WN);
    const int lane = threadIdx.x % 32;
    const int threadColInWarp = lane % (WSUBN / TN);
    const int threadRowInWarp = lane / (WSUBN / TN);
    const int innerRowA = threadIdx.x / (BK / 4);
    const int innerColA = threadIdx.x % (BK / 4);
    const int rowStrideA = 128 * 4 / BK;
    const int innerRowB = threadIdx.x / (BN / 4);
    const int innerColB = threadIdx.x % (BN / 4);
    const int rowStrideB = 128 / (BN / 4);

    float threadResults[TM * WNITER * TN] = {0.0f};
    float regM[TM];
    float regN[WNITER * TN];

    for (int bkIdx = 0; bkIdx < K; bkIdx += BK) {
        for (int offset = 0; offset + rowStrideA <= BM; offset += rowStrideA) {
            const float4 tmp = load4(A, cRow * BM + innerRowA + offset, bkIdx + innerColA * 4, M, K);
            As[(innerColA * 4 + 0) * BM + innerRowA + offset] = tmp.x;
            As[(innerColA * 4 + 1) * BM + innerRowA + offset] = tmp.y;
            As[(innerColA * 4 + 2) * BM + innerRowA + offset] = tmp.z;
            As[(innerColA * 4 + 3) * BM + innerRowA + offset] = tmp.w;
        }
        for (int offset = 0; offset + rowStrideB <= BK; offset += rowStrideB) {
            *(float4*)&Bs[(innerRowB + offset) * BN + innerColB * 4] =
                load4(B, bkIdx + innerRowB + offset, cCol * BN + innerColB * 4, K, N);
        }
        __syncthreads();
        for (int dotIdx = 0; dotIdx < BK; ++dotIdx) {
            for (int i = 0; i < TM; ++i)
                regM[i] = As[dotIdx * BM + warpRow * WM + threadRowInWarp * TM + i];
            for (int wSubCol = 0; wSubCol < WNITER; ++wSubCol)
                for (int i = 0; i < TN; ++i)
                    regN[wSubCol * TN + i] = Bs[dotIdx * BN + warpCol * WN + wSubCol * WSUBN + threadColInWarp * TN + i];
            for (int wSubCol = 0; wSubCol < WNITER; ++wSubCol)
                for (int m = 0; m < TM; ++m)
                    for (int n = 0; n < TN; ++n)
                        threadResults[m * (WNITER * TN) + wSubCol * TN + n] += regM[m] * regN[wSubCol * TN + n];
        }
        __syncthreads();
    }
    for (int wSubCol = 0; wSubCol < WNITER; ++wSubCol)
        for (int m = 0; m < TM; ++m)
            for (int n = 0; n < TN; ++n) {
                const int row = cRow * BM + warpRow * WM + threadRowInWarp * TM + m;
                const int col = cCol * BN + warpCol * WN + wSubCol * WSUBN + threadColInWarp * TN + n;
                if (row < M && col < N) C[(size_t)row * N + col] = threadResults[m * (WNITER * TN) + wSubCol * TN + n];
            }
}
== swizzled_stages
// launch: block 256,1 tile 64,64
// Three stages of cp.async, A swizzled by row.
#define BM 64
#define BN 64
#define BK 16
#define STAGES 3
__device__ __forceinline__ void cpAsync4(void* smem, const void* gmem, bool pred)
{
    unsigned s = static_cast<unsigned>(__cvta_generic_to_shared(smem));
    int bytes = pred ? 4 : 0;
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;\n" ::"r"(s), "l"(gmem), "r"(bytes));
}
__device__ __forceinline__ int swz(int row, int k) { return row * BK + (k ^ ((row >> 1) & 15)); }

__device__ void loadTile(float* As, float* Bs, const float* A, const float* B, int tile, int M, int N, int K)
{
    const int k0 = tile * BK;
    for (int i = threadIdx.x; i < BM * BK; i += 256) {
        const int r = i / BK, k = i % BK;
        const bool in = blockIdx.y * BM + r < M && k0 + k < K;
        cpAsync4(&As[swz(r, k)], in ? &A[(size_t)(blockIdx.y * BM + r) * K + k0 + k] : A, in);
    }
    for (int i = threadIdx.x; i < BK * BN; i += 256) {
        const int k = i / BN, c = i % BN;
        const bool in = k0 + k < K && blockIdx.x * BN + c < N;
        cpAsync4(&Bs[k * BN + c], in ? &B[(size_t)(k0 + k) * N + blockIdx.x * BN + c] : B, in);
    }
    asm volatile("cp.async.commit_group;\n" ::);
}

extern "C" __global__ void __launch_bounds__(256) matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ __align__(16) float As[STAGES][BM * BK];
    __shared__ __align__(16) float Bs[STAGES][BK * BN];
    const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
    const int numTiles = (K + BK - 1) / BK;
    float acc[4][4] = {};
    for (int s = 0; s < STAGES - 1; ++s) loadTile(As[s], Bs[s], A, B, s, M, N, K);
    int rd = 0, wr = STAGES - 1;
    for (int t = 0; t < numTiles; ++t) {
        asm volatile("cp.async.wait_group %0;\n" ::"n"(STAGES - 2));
        __syncthreads();
        loadTile(As[wr], Bs[wr], A, B, t + STAGES - 1, M, N, K);
        for (int k = 0; k < BK; ++k) {
            float a[4], b[4];
            for (int i = 0; i < 4; ++i) a[i] = As[rd][swz(ty * 4 + i, k)];
            for (int j = 0; j < 4; ++j) b[j] = Bs[rd][k * BN + tx + j * 16];
            for (int i = 0; i < 4; ++i)
                for (int j = 0; j < 4; ++j) acc[i][j] += a[i] * b[j];
        }
        rd = (rd + 1) % STAGES;
        wr = (wr + 1) % STAGES;
    }
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) {
            const int r = blockIdx.y * BM + ty * 4 + i, c = blockIdx.x * BN + tx + j * 16;
            if (r < M && c < N) C[(size_t)r * N + c] = acc[i][j];
        }
}
== dots_by_helper
// threads are numbered by themselves, a helper walks both pointers
__device__ ELEMENT dot(const ELEMENT* p, int p_step, const ELEMENT* q, int q_step, int count)
{
    ELEMENT total = 0;
    while (count > 0) {
        total += *p * *q;
        p += p_step;
        q += q_step;
        --count;
    }
    return total;
}

extern "C" __global__ void matmul(const ELEMENT* A, const ELEMENT* B, ELEMENT* C, int M, int N, int K)
{
    const int t = threadIdx.y * blockDim.x + threadIdx.x;
    const int i = blockIdx.y * 16 + t / 32;
    const int j = blockIdx.x * 32 + t % 32;
    if (i >= M || j >= N) return;
    C[(size_t)i * N + j] = dot(A + (size_t)i * K, 1, B + j, N, K);
}
== macro_at
// a macro for places, four products a step, then the rest
#define AT(p, r, c, width) ((p)[(size_t)(r) * (width) + (c)])
struct Spot { int r, c; };
extern "C" __global__ void matmul(const ELEMENT* A, const ELEMENT* B, ELEMENT* C, int M, int N, int K)
{
    Spot s;
    s.r = blockDim.y * blockIdx.y + threadIdx.y;
    s.c = blockDim.x * blockIdx.x + threadIdx.x;
    if (s.r < M && s.c < N) {
        ELEMENT acc0 = 0, acc1 = 0;
        int p = 0;
        for (; p + 1 < K; p += 2) {
            acc0 += AT(A, s.r, p, K) * AT(B, p, s.c, N);
            acc1 += AT(A, s.r, p + 1, K) * AT(B, p + 1, s.c, N);
        }
        if (p < K) acc0 += AT(A, s.r, p, K) * AT(B, p, s.c, N);
        AT(C, s.r, s.c, N) = acc0 + acc1;
    }
}
== padded_countdown
// launch: block 32,32 tile 32,32
// lab 4: padded tiles in one line each, tiles counted down, a helper that reads with an edge
#define W 33
__device__ __forceinline__ ELEMENT peek(const ELEMENT* from, int r, int c, int rows, int cols)
{
    return (r < rows && c < cols) ? from[(size_t)r * cols + c] : ELEMENT(0);
}
extern "C" __global__ void matmul(const ELEMENT* A, const ELEMENT* B, ELEMENT* C, int M, int N, int K)
{
    __shared__ ELEMENT ta[32 * W];
    __shared__ ELEMENT tb[32 * W];
    const int lx = threadIdx.x, ly = threadIdx.y;
    const int gy = blockIdx.y * 32 + ly, gx = blockIdx.x * 32 + lx;
    ELEMENT s = 0;
    for (int tile = (K + 31) / 32 - 1; tile >= 0; tile--) {
        ta[ly * W + lx] = peek(A, gy, tile * 32 + lx, M, K);
        tb[ly * W + lx] = peek(B, tile * 32 + ly, gx, K, N);
        __syncthreads();
        for (int z = 31; z >= 0; z--) s += ta[ly * W + z] * tb[z * W + lx];
        __syncthreads();
    }
    if (gy < M && gx < N) C[(size_t)gy * N + gx] = s;
}
== turned_tile
// launch: block 32,32 tile 32,32
#define TILE 32
// lab 4: B's tile is stored turned around, the inner loop takes four k at once
extern "C" __global__ void matmul(const ELEMENT* A, const ELEMENT* B, ELEMENT* C, int M, int N, int K)
{
    __shared__ ELEMENT Ta[TILE][TILE];
    __shared__ ELEMENT Tb[TILE][TILE + 1];
    const int u = threadIdx.x, v = threadIdx.y;
    const int n = blockIdx.x * TILE + u, m = blockIdx.y * TILE + v;
    const ELEMENT* pa = A + (size_t)m * K + u;
    const ELEMENT* pb = B + (size_t)v * N + n;
    ELEMENT acc = 0;
    for (int left = K; left > 0; left -= TILE) {
        Ta[v][u] = m < M && u < left ? *pa : 0;
        Tb[u][v] = n < N && v < left ? *pb : 0;
        pa += TILE;
        pb += TILE * N;
        __syncthreads();
        for (int q = 0; q < TILE; q += 4) {
            acc += Ta[v][q] * Tb[u][q];
            acc += Ta[v][q + 1] * Tb[u][q + 1];
            acc += Ta[v][q + 2] * Tb[u][q + 2];
            acc += Ta[v][q + 3] * Tb[u][q + 3];
        }
        __syncthreads();
    }
    if (m < M) if (n < N) C[(size_t)m * N + n] = acc;
}
== xor_tile
// launch: block 32,32 tile 32,32
// lab 4: both tiles are swizzled instead of padded; a template for their side
template <int S> struct Tiles {
    ELEMENT lhs[S][S];
    ELEMENT rhs[S][S];
};
template <int S>
__device__ void product(const ELEMENT* A, const ELEMENT* B, ELEMENT* C, int M, int N, int K)
{
    __shared__ Tiles<S> t;
    const int x = threadIdx.x, y = threadIdx.y;
    const int gi = blockIdx.y * S + y, gj = blockIdx.x * S + x;
    ELEMENT out = 0;
    for (int base = 0; base < K; base += S) {
        const int ak = base + x, bk = base + y;
        t.lhs[y][x ^ y] = gi < M && ak < K ? A[(size_t)gi * K + ak] : 0;
        t.rhs[y][x ^ y] = gj < N && bk < K ? B[(size_t)bk * N + gj] : 0;
        __syncthreads();
        for (int k = 0; k < S; ++k) out += t.lhs[y][k ^ y] * t.rhs[k][x ^ k];
        __syncthreads();
    }
    if (gi < M && gj < N) C[(size_t)gi * N + gj] = out;
}
extern "C" __global__ void matmul(const ELEMENT* A, const ELEMENT* B, ELEMENT* C, int M, int N, int K)
{
    product<32>(A, B, C, M, N, K);
}
== lambda_loads
// launch: block 32,32 tile 32,32
// lab 4: two lambdas load, the accumulator is a double, early exit at the end
extern "C" __global__ void matmul(const ELEMENT* A, const ELEMENT* B, ELEMENT* C, int M, int N, int K)
{
    __shared__ ELEMENT sa[32][32], sb[32][32];
    const unsigned tx = threadIdx.x, ty = threadIdx.y;
    const unsigned i0 = blockIdx.y << 5, j0 = blockIdx.x << 5;
    auto loadA = [&](unsigned k0) {
        const unsigned r = i0 + ty, c = k0 + tx;
        sa[ty][tx] = (r < M && c < K) ? A[(size_t)r * K + c] : 0.f;
    };
    auto loadB = [&](unsigned k0) {
        const unsigned r = k0 + ty, c = j0 + tx;
        sb[ty][tx] = (r < K && c < N) ? B[(size_t)r * N + c] : 0.f;
    };
    ELEMENT d = 0;
    unsigned step = 0;
    do {
        loadA(step);
        loadB(step);
        __syncthreads();
        #pragma unroll
        for (unsigned k = 0; k < 32; ++k) d += sa[ty][k] * sb[k][tx];
        __syncthreads();
        step += 32;
    } while (step < K);
    if (i0 + ty >= M) return;
    if (j0 + tx >= N) return;
    C[(size_t)(i0 + ty) * N + j0 + tx] = d;
}
== four_rows
// launch: block 32,8 tile 32,32
// lab 5: four sums with names, rows 8 apart
#define BS 32
extern "C" __global__ void matmul(const ELEMENT* A, const ELEMENT* B, ELEMENT* C, int M, int N, int K)
{
    __shared__ ELEMENT P[BS][BS];
    __shared__ ELEMENT Q[BS][BS];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int col = blockIdx.x * BS + tx;
    ELEMENT c0 = 0, c1 = 0, c2 = 0, c3 = 0;
    for (int k0 = 0; k0 < K; k0 += BS) {
        for (int h = 0; h < BS; h += 8) {
            const int r = blockIdx.y * BS + ty + h;
            P[ty + h][tx] = r < M && k0 + tx < K ? A[r * K + k0 + tx] : 0;
            Q[ty + h][tx] = col < N && k0 + ty + h < K ? B[(k0 + ty + h) * N + col] : 0;
        }
        __syncthreads();
        for (int k = 0; k < BS; ++k) {
            const ELEMENT b = Q[k][tx];
            c0 += P[ty][k] * b;
            c1 += P[ty + 8][k] * b;
            c2 += P[ty + 16][k] * b;
            c3 += P[ty + 24][k] * b;
        }
        __syncthreads();
    }
    const int row = blockIdx.y * BS + ty;
    if (col < N) {
        if (row < M) C[row * N + col] = c0;
        if (row + 8 < M) C[(row + 8) * N + col] = c1;
        if (row + 16 < M) C[(row + 16) * N + col] = c2;
        if (row + 24 < M) C[(row + 24) * N + col] = c3;
    }
}
== square_by_vectors
// launch: block 256,1 tile 64,64
// lab 5: 256 threads in a line, 4 x 4 sums in float4, tiles 8 deep and A's turned around
#define BM 64
#define BN 64
#define BK 8
extern "C" __global__ void __launch_bounds__(256) matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ __align__(16) float As[BK * BM];
    __shared__ __align__(16) float Bs[BK * BN];
    const int tid = threadIdx.x;
    const int tr = tid / 16 * 4, tc = tid % 16 * 4;
    const int m0 = blockIdx.y * BM, n0 = blockIdx.x * BN;
    float4 acc[4];
    for (int i = 0; i < 4; ++i) acc[i] = make_float4(0, 0, 0, 0);
    for (int k0 = 0; k0 < K; k0 += BK) {
        for (int e = tid; e < BM * BK; e += 256) {
            const int r = e / BK, k = e % BK;
            As[k * BM + r] = m0 + r < M && k0 + k < K ? A[(size_t)(m0 + r) * K + k0 + k] : 0.f;
        }
        for (int e = tid; e < BK * BN; e += 256) {
            const int k = e / BN, c = e % BN;
            Bs[e] = k0 + k < K && n0 + c < N ? B[(size_t)(k0 + k) * N + n0 + c] : 0.f;
        }
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < BK; ++k) {
            const float4 a = *(const float4*)&As[k * BM + tr];
            const float4 b = ((const float4*)Bs)[(k * BN + tc) / 4];
            const float as[4] = {a.x, a.y, a.z, a.w};
            #pragma unroll
            for (int i = 0; i < 4; ++i) {
                acc[i].x += as[i] * b.x;
                acc[i].y += as[i] * b.y;
                acc[i].z += as[i] * b.z;
                acc[i].w += as[i] * b.w;
            }
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; ++i) {
        const int r = m0 + tr + i;
        if (r >= M) break;
        const float out[4] = {acc[i].x, acc[i].y, acc[i].z, acc[i].w};
        for (int j = 0; j < 4; ++j)
            if (n0 + tc + j < N) C[(size_t)r * N + n0 + tc + j] = out[j];
    }
}
== panels_by_template
// launch: block 16,16 tile 64,32
// lab 5: 2 x 4 sums a thread, strided; one template loads both panels
template <int ROWS, int COLS>
__device__ void panel(ELEMENT (&to)[ROWS][COLS], const ELEMENT* from, int r0, int c0, int rows, int cols)
{
    const int me = threadIdx.y * 16 + threadIdx.x;
    #pragma unroll
    for (int e = 0; e < ROWS * COLS; e += 256) {
        const int r = (e + me) / COLS, c = (e + me) % COLS;
        to[r][c] = r0 + r < rows && c0 + c < cols ? from[(size_t)(r0 + r) * cols + c0 + c] : 0;
    }
}
extern "C" __global__ void matmul(const ELEMENT* A, const ELEMENT* B, ELEMENT* C, int M, int N, int K)
{
    constexpr int DEPTH = 16, H = 32, V = 64;
    __shared__ ELEMENT pa[H][DEPTH];
    __shared__ ELEMENT pb[DEPTH][V];
    const int tx = threadIdx.x, ty = threadIdx.y;
    ELEMENT regs[2][4] = {};
    for (int z = 0; z < K; z += DEPTH) {
        panel<H, DEPTH>(pa, A, blockIdx.y * H, z, M, K);
        panel<DEPTH, V>(pb, B, z, blockIdx.x * V, K, N);
        __syncthreads();
        for (int k = 0; k < DEPTH; ++k) {
            ELEMENT u[2], w[4];
            for (int i = 0; i < 2; ++i) u[i] = pa[ty + 16 * i][k];
            for (int j = 0; j < 4; ++j) w[j] = pb[k][tx + 16 * j];
            for (int i = 0; i < 2; ++i)
                for (int j = 0; j < 4; ++j) regs[i][j] += u[i] * w[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 4; ++j) {
            const int r = blockIdx.y * H + ty + 16 * i, c = blockIdx.x * V + tx + 16 * j;
            if (r < M && c < N) C[(size_t)r * N + c] = regs[i][j];
        }
}
== swapping_pointers
// launch: block 16,16 tile 32,32
// lab 6: two buffers behind pointers that are swapped, the next tiles wait in registers
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float store[2][2][16 * 32];
    float (*now)[16 * 32] = store[0];
    float (*then)[16 * 32] = store[1];
    const int tx = threadIdx.x, ty = threadIdx.y, id = ty * 16 + tx;
    const int ar = id / 16, ak = id % 16;
    const int bk = id / 32, bc = id % 32;
    const int top = blockIdx.y * 32, left = blockIdx.x * 32;
    float ra[2], rb[2];
    auto pull = [&](int k0) {
        for (int h = 0; h < 2; ++h) {
            const int r = top + ar + 16 * h, ka = k0 + ak;
            ra[h] = r < M && ka < K ? A[(size_t)r * K + ka] : 0;
            const int kb = k0 + bk + 8 * h, c = left + bc;
            rb[h] = kb < K && c < N ? B[(size_t)kb * N + c] : 0;
        }
    };
    auto push = [&](float (*to)[16 * 32]) {
        for (int h = 0; h < 2; ++h) {
            to[0][(ar + 16 * h) * 16 + ak] = ra[h];
            to[1][(bk + 8 * h) * 32 + bc] = rb[h];
        }
    };
    pull(0);
    push(now);
    __syncthreads();
    float q00 = 0, q01 = 0, q10 = 0, q11 = 0;
    for (int k0 = 0; k0 < K; k0 += 16) {
        const bool more = k0 + 16 < K;
        if (more) pull(k0 + 16);
        #pragma unroll
        for (int k = 0; k < 16; ++k) {
            const float a0 = now[0][ty * 16 + k], a1 = now[0][(ty + 16) * 16 + k];
            const float b0 = now[1][k * 32 + tx], b1 = now[1][k * 32 + tx + 16];
            q00 += a0 * b0;
            q01 += a0 * b1;
            q10 += a1 * b0;
            q11 += a1 * b1;
        }
        if (more) {
            push(then);
            float (*old)[16 * 32] = now;
            now = then;
            then = old;
            __syncthreads();
        }
    }
    const int r = top + ty, c = left + tx;
    if (r < M && c < N) C[r * N + c] = q00;
    if (r < M && c + 16 < N) C[r * N + c + 16] = q01;
    if (r + 16 < M && c < N) C[(r + 16) * N + c] = q10;
    if (r + 16 < M && c + 16 < N) C[(r + 16) * N + c + 16] = q11;
}
== ring_of_three
// launch: block 16,16 tile 32,32
// lab 6: a ring of three stages that asynchronous copies fill
#define DEPTH 16
#define RING 3
__device__ __forceinline__ void cp(float* to, const float* from, bool there)
{
    const unsigned at = (unsigned)__cvta_generic_to_shared(to);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(at), "l"(from), "r"(there ? 4 : 0) : "memory");
}
__device__ __forceinline__ void close() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int LEFT> __device__ __forceinline__ void await() { asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory"); }
struct Stage {
    float a[32][DEPTH];
    float b[DEPTH][32];
};
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ Stage ring[RING];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int i0 = blockIdx.y * 32, j0 = blockIdx.x * 32;
    const int tiles = (K + DEPTH - 1) / DEPTH;
    auto request = [&](int tile) {
        if (tile < tiles) {
            Stage& s = ring[tile % RING];
            for (int h = 0; h < 32; h += 16) {
                const int r = i0 + ty + h, ka = tile * DEPTH + tx;
                const bool ina = r < M && ka < K;
                cp(&s.a[ty + h][tx], ina ? A + (size_t)r * K + ka : A, ina);
                const int kb = tile * DEPTH + ty, c = j0 + tx + h;
                const bool inb = kb < K && c < N;
                cp(&s.b[ty][tx + h], inb ? B + (size_t)kb * N + c : B, inb);
            }
        }
        close();
    };
    float acc[2][2] = {{0, 0}, {0, 0}};
    request(0);
    request(1);
    for (int tile = 0; tile < tiles; ++tile) {
        await<1>();
        __syncthreads();
        request(tile + 2);
        const Stage& s = ring[tile % RING];
        #pragma unroll
        for (int k = 0; k < DEPTH; ++k)
            for (int i = 0; i < 2; ++i)
                for (int j = 0; j < 2; ++j)
                    acc[i][j] += s.a[ty + 16 * i][k] * s.b[k][tx + 16 * j];
    }
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 2; ++j)
            if (i0 + ty + 16 * i < M && j0 + tx + 16 * j < N)
                C[(size_t)(i0 + ty + 16 * i) * N + j0 + tx + 16 * j] = acc[i][j];
}
== wide_loads
// launch: block 64,1 tile 32,32
// lab 6: 64 threads, 4 x 4 sums, global loads of four elements where rows allow it
constexpr int T = 32, D = 16;
__device__ float4 four(const float* row, int at, int end, bool inside)
{
    float4 v = make_float4(0.f, 0.f, 0.f, 0.f);
    if (!inside) return v;
    if (end % 4 == 0) {
        if (at < end) v = reinterpret_cast<const float4*>(row)[at / 4];
        return v;
    }
    if (at < end) v.x = row[at];
    if (at + 1 < end) v.y = row[at + 1];
    if (at + 2 < end) v.z = row[at + 2];
    if (at + 3 < end) v.w = row[at + 3];
    return v;
}
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ __align__(16) float a_tile[2][D][T];
    __shared__ __align__(16) float b_tile[2][D][T];
    const int id = threadIdx.x;
    const int ty = id / 8, tx = id % 8;
    const int row0 = blockIdx.y * T, col0 = blockIdx.x * T;
    float4 keep_a[2], keep_b[2];
    auto read = [&](int k0) {
        #pragma unroll
        for (int h = 0; h < 2; ++h) {
            const int r = row0 + id / 4 + 16 * h;
            keep_a[h] = four(A + (size_t)r * K, k0 + id % 4 * 4, K, r < M);
            const int k = k0 + id / 8 + 8 * h;
            keep_b[h] = four(B + (size_t)k * N, col0 + id % 8 * 4, N, k < K);
        }
    };
    auto write = [&](int slot) {
        #pragma unroll
        for (int h = 0; h < 2; ++h) {
            const int r = id / 4 + 16 * h, k = id % 4 * 4;
            a_tile[slot][k][r] = keep_a[h].x;
            a_tile[slot][k + 1][r] = keep_a[h].y;
            a_tile[slot][k + 2][r] = keep_a[h].z;
            a_tile[slot][k + 3][r] = keep_a[h].w;
            *reinterpret_cast<float4*>(&b_tile[slot][id / 8 + 8 * h][id % 8 * 4]) = keep_b[h];
        }
    };
    float sums[4][4] = {};
    read(0);
    write(0);
    __syncthreads();
    const int steps = (K + D - 1) / D;
    for (int s = 0; s < steps; ++s) {
        if (s + 1 < steps) read((s + 1) * D);
        const int slot = s & 1;
        #pragma unroll
        for (int k = 0; k < D; ++k) {
            float a[4], b[4];
            *(float4*)a = *(const float4*)&a_tile[slot][k][ty * 4];
            *(float4*)b = *(const float4*)&b_tile[slot][k][tx * 4];
            for (int i = 0; i < 4; ++i)
                for (int j = 0; j < 4; ++j) sums[i][j] += a[i] * b[j];
        }
        if (s + 1 < steps) write(slot ^ 1);
        __syncthreads();
    }
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j)
            if (row0 + ty * 4 + i < M && col0 + tx * 4 + j < N)
                C[(size_t)(row0 + ty * 4 + i) * N + col0 + tx * 4 + j] = sums[i][j];
}
== flags_and_float2
// launch: block 16,16 tile 32,32
// lab 6: the buffer is a bit that turns over, B's tile is read in float2
struct Buffers {
    ELEMENT lhs[2][8][32 + 2];
    ELEMENT rhs[2][8][32];
};
extern "C" __global__ void matmul(const ELEMENT* A, const ELEMENT* B, ELEMENT* C, int M, int N, int K)
{
    __shared__ __align__(8) Buffers buf;
    const int tid = threadIdx.x + threadIdx.y * blockDim.x;
    const int ra = tid >> 3, ka = tid & 7;
    const int kb = tid >> 5, cb = tid & 31;
    const int row = blockIdx.y * 32 + ra, col = blockIdx.x * 32 + cb;
    const ELEMENT* from_a = A + (size_t)row * K + ka;
    const ELEMENT* from_b = B + (size_t)kb * N + col;
    int bit = 0;
    float2 out[2];
    out[0].x = out[0].y = out[1].x = out[1].y = 0;
    buf.lhs[bit][ka][ra] = row < M && ka < K ? *from_a : 0;
    buf.rhs[bit][kb][cb] = col < N && kb < K ? *from_b : 0;
    __syncthreads();
    for (int done = 8; done - 8 < K; done += 8) {
        ELEMENT next_a = 0, next_b = 0;
        from_a += 8;
        from_b += 8 * (size_t)N;
        if (row < M && done + ka < K) next_a = *from_a;
        if (col < N && done + kb < K) next_b = *from_b;
        #pragma unroll
        for (int k = 0; k < 8; ++k) {
            const float2 b = *(const float2*)&buf.rhs[bit][k][threadIdx.x * 2];
            const float2 a = *(const float2*)&buf.lhs[bit][k][threadIdx.y * 2];
            out[0].x += a.x * b.x;
            out[0].y += a.x * b.y;
            out[1].x += a.y * b.x;
            out[1].y += a.y * b.y;
        }
        bit ^= 1;
        buf.lhs[bit][ka][ra] = next_a;
        buf.rhs[bit][kb][cb] = next_b;
        __syncthreads();
    }
    for (int i = 0; i < 2; ++i) {
        const int r = blockIdx.y * 32 + threadIdx.y * 2 + i;
        const int c = blockIdx.x * 32 + threadIdx.x * 2;
        if (r < M && c < N) C[(size_t)r * N + c] = out[i].x;
        if (r < M && c + 1 < N) C[(size_t)r * N + c + 1] = out[i].y;
    }
}
== strip_of_rows
// launch: block 32,4 tile 32,16
// lab 2: four rows below each other per thread, a row pointer each, helper functions
__device__ int first_row(int per_thread) { return (blockIdx.y * blockDim.y + threadIdx.y) * per_thread; }
__device__ int my_col() { return blockDim.x * blockIdx.x + threadIdx.x; }
__device__ const ELEMENT* row_of(const ELEMENT* matrix, int row, int width)
{
    return &matrix[(size_t)row * width];
}
extern "C" __global__ void matmul(const ELEMENT* A, const ELEMENT* B, ELEMENT* C, int M, int N, int K)
{
    const int top = first_row(4);
    const int col = my_col();
    if (top >= M || col >= N) return;
    const int rows = min(4, M - top);
    ELEMENT out[4] = {0, 0, 0, 0};
    for (int k = 0; k < K; ++k) {
        const ELEMENT b = row_of(B, k, N)[col];
        for (int r = 0; r < rows; ++r)
            out[r] += row_of(A, top + r, K)[k] * b;
    }
    ELEMENT* c = C + (size_t)top * N + col;
    for (int r = 0; r < rows; ++r, c += N)
        *c = out[r];
}
== nested_loads 3
// lab 3: rows and columns copied by two nested loops, A transposed in shared memory, early return after the barrier
extern __shared__ ELEMENT pool[];
extern "C" __global__ void matmul(const ELEMENT* A, const ELEMENT* B, ELEMENT* C, int M, int N, int K)
{
    ELEMENT* At = pool;
    ELEMENT* Bp = At + K * M;
    const int dx = blockDim.x, dy = blockDim.y;
    for (int r = threadIdx.y; r < M; r += dy)
        for (int k = threadIdx.x; k < K; k += dx)
            At[k * M + r] = A[r * K + k];
    for (int k = threadIdx.y; k < K; k += dy)
        for (int c = threadIdx.x; c < N; c += dx)
            Bp[k * N + c] = B[k * N + c];
    __syncthreads();
    const int r = threadIdx.y, c = threadIdx.x;
    if (r >= M || c >= N)
        return;
    const ELEMENT* pa = At + r;
    const ELEMENT* pb = Bp + c;
    ELEMENT total = 0;
    for (int k = K; k; --k) {
        total += *pa * *pb;
        pa += M;
        pb += N;
    }
    C[r * N + c] = total;
}
== chunks_of_k
// launch: block 32,32 tile 32,32 shared 8192
// lab 3: any K in 8 KiB: chunks of 32 steps, a class with the two halves of the memory
struct Chunk {
    ELEMENT* a;
    ELEMENT* b;
    int len;
    __device__ ELEMENT dot(int y, int x) const
    {
        ELEMENT s = 0;
        for (int i = 0; i < len; ++i) s += a[y * 32 + i] * b[i * 32 + x];
        return s;
    }
};
extern "C" __global__ void matmul(const ELEMENT* A, const ELEMENT* B, ELEMENT* C, int M, int N, int K)
{
    extern __shared__ ELEMENT mem[];
    const int x = threadIdx.x, y = threadIdx.y;
    const int r = blockIdx.y * 32 + y, c = blockIdx.x * 32 + x;
    ELEMENT sum = 0;
    int done = 0;
    while (done < K) {
        const Chunk chunk = {mem, mem + 1024, min(32, K - done)};
        if (r < M && x < chunk.len) chunk.a[y * 32 + x] = A[(size_t)r * K + done + x];
        if (c < N && y < chunk.len) chunk.b[y * 32 + x] = B[(size_t)(done + y) * N + c];
        __syncthreads();
        if (r < M && c < N) sum += chunk.dot(y, x);
        __syncthreads();
        done += chunk.len;
    }
    if (r < M && c < N) C[(size_t)r * N + c] = sum;
}
== clamped_edges 4
// lab 4: indices clamped to the last row and column; only k needs zeros; do-while
template <int S> struct Square {
    ELEMENT cell[S * S];
    __device__ ELEMENT& operator()(int r, int c) { return cell[r * S + c]; }
};
extern "C" __global__ void matmul(const ELEMENT* A, const ELEMENT* B, ELEMENT* C, int M, int N, int K)
{
    __shared__ Square<TILE> left, right;
    const int ty = threadIdx.y, tx = threadIdx.x;
    const int row = blockIdx.y * TILE + ty;
    const int col = blockIdx.x * TILE + tx;
    const int safe_row = min(row, M - 1);
    const int safe_col = min(col, N - 1);
    ELEMENT value = 0;
    int base = 0;
    do {
        const int ka = min(base + tx, K - 1);
        const int kb = min(base + ty, K - 1);
        left(ty, tx) = A[(size_t)safe_row * K + ka];
        right(ty, tx) = B[(size_t)kb * N + safe_col];
        __syncthreads();
        const int depth = min(TILE, K - base);
        for (int i = 0; i < depth; ++i)
            value += left(ty, i) * right(i, tx);
        __syncthreads();
        base += TILE;
    } while (base < K);
    if (row == safe_row && col == safe_col)
        C[(size_t)row * N + col] = value;
}
== step_struct
// launch: block 32,8 tile 32,32
// lab 4: a small structure for a place, functions that load a whole tile, while (true) with a break, rows in steps of 8
struct At { int r, c; };
__device__ At my_place(int i) { return {int(threadIdx.y) + 8 * i, int(threadIdx.x)}; }
__device__ At shifted(At p, int dr, int dc) { return {p.r + dr, p.c + dc}; }
__device__ bool inside(At p, int rows, int cols) { return p.r < rows && p.c < cols; }
__device__ ELEMENT peek(const ELEMENT* m, At p, int rows, int cols)
{
    if (!inside(p, rows, cols)) return 0;
    return m[(size_t)p.r * cols + p.c];
}
extern "C" __global__ void matmul(const ELEMENT* A, const ELEMENT* B, ELEMENT* C, int M, int N, int K)
{
    __shared__ ELEMENT sa[32][32], sb[32][32];
    const int r0 = blockIdx.y * 32, c0 = blockIdx.x * 32;
    ELEMENT acc[4] = {};
    int k0 = 0;
    while (true) {
        for (int i = 0; i < 4; ++i) {
            const At p = my_place(i);
            sa[p.r][p.c] = peek(A, shifted(p, r0, k0), M, K);
            sb[p.r][p.c] = peek(B, shifted(p, k0, c0), K, N);
        }
        __syncthreads();
        for (int i = 0; i < 4; ++i) {
            const At p = my_place(i);
            ELEMENT part = 0;
            for (int k = 0; k < 32; ++k) part += sa[p.r][k] * sb[k][p.c];
            acc[i] += part;
        }
        k0 += 32;
        if (k0 >= K) break;
        __syncthreads();
    }
    for (int i = 0; i < 4; ++i) {
        const At p = shifted(my_place(i), r0, c0);
        if (inside(p, M, N)) C[(size_t)p.r * N + p.c] = acc[i];
    }
}
== column_strip
// launch: block 64,4 tile 64,32
// lab 5: eight rows of one column per thread, pointers into both tiles walk, the column of B in a register, one flat array
constexpr int ROWS = 32, COLS = 64, DEPTH = 16, PER = 8;
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float room[ROWS * DEPTH + DEPTH * COLS];
    float* const a_room = room;
    float* const b_room = room + ROWS * DEPTH;
    const int tid = threadIdx.y * COLS + threadIdx.x;
    const int first = blockIdx.y * ROWS + threadIdx.y * PER;
    const int col = blockIdx.x * COLS + threadIdx.x;
    float c_reg[PER] = {};
    for (int from = 0; from < K; from += DEPTH) {
        for (int n = tid; n < ROWS * DEPTH; n += 256) {
            const int r = blockIdx.y * ROWS + n / DEPTH, k = from + n % DEPTH;
            float v = 0;
            if (r < M && k < K) v = A[(size_t)r * K + k];
            a_room[n] = v;
        }
        const float* b_src = B + (size_t)(from + threadIdx.y) * N + col;
        for (int k = threadIdx.y; k < DEPTH; k += 4, b_src += (size_t)4 * N)
            b_room[k * COLS + threadIdx.x] = col < N && from + k < K ? *b_src : 0;
        __syncthreads();
        const float* pa = a_room + threadIdx.y * PER * DEPTH;
        const float* pb = b_room + threadIdx.x;
        for (int k = 0; k < DEPTH; ++k, ++pa, pb += COLS) {
            const float b = *pb;
            #pragma unroll
            for (int i = 0; i < PER; ++i) c_reg[i] += pa[i * DEPTH] * b;
        }
        __syncthreads();
    }
    float* dst = C + (size_t)first * N + col;
    if (col < N)
        for (int i = 0; i < PER && first + i < M; ++i) {
            *dst = c_reg[i];
            dst += N;
        }
}
== deep_tile
// launch: block 256,1 tile 32,32
// lab 4: tiles of 32 x 64, threads in a line, four sums per thread in a column, padded flat arrays, one index per copy
enum { W = 32, D = 64, PITCH_A = D + 1, PITCH_B = W };
__device__ void copy_tile(ELEMENT* to, int pitch, int rows, int cols, const ELEMENT* from, int ld,
    int top, int left, int height, int width)
{
    for (int e = threadIdx.x; e < rows * cols; e += blockDim.x) {
        const int i = e / cols;
        const int j = e - i * cols;
        const bool ok = top + i < height && left + j < width;
        to[i * pitch + j] = ok ? from[(size_t)(top + i) * ld + left + j] : ELEMENT(0);
    }
}
extern "C" __global__ void matmul(const ELEMENT* A, const ELEMENT* B, ELEMENT* C, int M, int N, int K)
{
    __shared__ ELEMENT ta[W * PITCH_A];
    __shared__ ELEMENT tb[D * PITCH_B];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int row0 = blockIdx.y * W, col0 = blockIdx.x * W;
    ELEMENT s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    for (int k0 = 0; k0 < K; k0 += D) {
        copy_tile(ta, PITCH_A, W, D, A, K, row0, k0, M, K);
        copy_tile(tb, PITCH_B, D, W, B, N, k0, col0, K, N);
        __syncthreads();
        const ELEMENT* a = &ta[warp * PITCH_A];
        for (int k = 0; k < D; ++k) {
            const ELEMENT b = tb[k * PITCH_B + lane];
            s0 += a[k] * b;
            s1 += a[8 * PITCH_A + k] * b;
            s2 += a[16 * PITCH_A + k] * b;
            s3 += a[24 * PITCH_A + k] * b;
        }
        __syncthreads();
    }
    const int col = col0 + lane;
    if (col >= N) return;
    const ELEMENT sums[4] = {s0, s1, s2, s3};
    for (int i = 0; i < 4; ++i) {
        const int row = row0 + warp + 8 * i;
        if (row < M) C[(size_t)row * N + col] = sums[i];
    }
}
== sub_tiles
// launch: block 128,1 tile 64,64
// lab 5: four warps, each 32 x 32 in 2 x 2 parts; a thread has 2 x 2 parts of 4 x 2
template <int R, int C_> struct Regs { float v[R][C_]; };
constexpr int EDGE = 64, DEEP = 8, PARTS = 2, PM = 4, PN = 2;
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float As[DEEP][EDGE];
    __shared__ float Bs[DEEP][EDGE];
    const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    const int warp_row = (warp >> 1) * 32, warp_col = (warp & 1) * 32;
    const int lane_row = (lane >> 3) * PM, lane_col = (lane & 7) * PN;
    const int row0 = blockIdx.y * EDGE, col0 = blockIdx.x * EDGE;
    Regs<PARTS * PM, PARTS * PN> acc = {};
    for (int k0 = 0; k0 < K; k0 += DEEP) {
        #pragma unroll
        for (int s = 0; s < EDGE * DEEP / 128; ++s) {
            const int e = s * 128 + threadIdx.x;
            const int ar = e / DEEP, ak = e % DEEP;
            As[ak][ar] = row0 + ar < M && k0 + ak < K ? A[(size_t)(row0 + ar) * K + (k0 + ak)] : 0.0f;
            const int bk = e / EDGE, bc = e % EDGE;
            Bs[bk][bc] = col0 + bc < N && k0 + bk < K ? B[(size_t)(k0 + bk) * N + (col0 + bc)] : 0.0f;
        }
        __syncthreads();
        for (int k = 0; k < DEEP; ++k) {
            float fa[PARTS][PM], fb[PARTS][PN];
            for (int p = 0; p < PARTS; ++p)
                for (int i = 0; i < PM; ++i) fa[p][i] = As[k][warp_row + p * 16 + lane_row + i];
            for (int p = 0; p < PARTS; ++p)
                for (int j = 0; j < PN; ++j) fb[p][j] = Bs[k][warp_col + p * 16 + lane_col + j];
            for (int p = 0; p < PARTS; ++p)
                for (int q = 0; q < PARTS; ++q)
                    for (int i = 0; i < PM; ++i)
                        for (int j = 0; j < PN; ++j)
                            acc.v[p * PM + i][q * PN + j] += fa[p][i] * fb[q][j];
        }
        __syncthreads();
    }
    for (int p = 0; p < PARTS; ++p)
        for (int q = 0; q < PARTS; ++q) {
            float* part = C + (size_t)(row0 + warp_row + p * 16) * N + col0 + warp_col + q * 16;
            for (int i = 0; i < PM; ++i)
                for (int j = 0; j < PN; ++j)
                    if (row0 + warp_row + p * 16 + lane_row + i < M && col0 + warp_col + q * 16 + lane_col + j < N)
                        part[(size_t)(lane_row + i) * N + lane_col + j] = acc.v[p * PM + i][q * PN + j];
        }
}
== turned_by_float4
// launch: block 256,1 tile 64,64
// lab 5: A by float4 and turned while stored, 4 x 4 results, vectors multiplied by an operator
#define BM 64
#define BN 64
#define BK 16
__device__ float4 load4(const float* p, int n, bool aligned)
{
    if (n >= 4 && aligned) return *reinterpret_cast<const float4*>(p);
    float4 v;
    v.x = n > 0 ? p[0] : 0.f;
    v.y = n > 1 ? p[1] : 0.f;
    v.z = n > 2 ? p[2] : 0.f;
    v.w = n > 3 ? p[3] : 0.f;
    return v;
}
__device__ void axpy(float4& acc, float a, const float4& b)
{
    acc.x += a * b.x;
    acc.y += a * b.y;
    acc.z += a * b.z;
    acc.w += a * b.w;
}
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float As[BK * (BM + 4)];
    __shared__ __align__(16) float Bs[BK * BN];
    const int t = threadIdx.x;
    const int rowA = t / (BK / 4), kA = t % (BK / 4) * 4;
    const int kB = t / (BN / 4), colB = t % (BN / 4) * 4;
    const int ty = t / 16 * 4, tx = t % 16 * 4;
    const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;
    float4 acc[4];
    for (int i = 0; i < 4; ++i) acc[i] = make_float4(0.f, 0.f, 0.f, 0.f);
    for (int k0 = 0; k0 < K; k0 += BK) {
        const float4 a = load4(A + (size_t)(row0 + rowA) * K + k0 + kA, row0 + rowA < M ? K - k0 - kA : 0, K % 4 == 0);
        As[(kA + 0) * (BM + 4) + rowA] = a.x;
        As[(kA + 1) * (BM + 4) + rowA] = a.y;
        As[(kA + 2) * (BM + 4) + rowA] = a.z;
        As[(kA + 3) * (BM + 4) + rowA] = a.w;
        *(float4*)(Bs + kB * BN + colB) =
            load4(B + (size_t)(k0 + kB) * N + col0 + colB, k0 + kB < K ? N - col0 - colB : 0, N % 4 == 0);
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < BK; ++k) {
            const float4 b = *(const float4*)(Bs + k * BN + tx);
            for (int i = 0; i < 4; ++i)
                axpy(acc[i], As[k * (BM + 4) + ty + i], b);
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; ++i) {
        const int r = row0 + ty + i, c = col0 + tx;
        if (r >= M) break;
        float* out = C + (size_t)r * N + c;
        if (c < N) out[0] = acc[i].x;
        if (c + 1 < N) out[1] = acc[i].y;
        if (c + 2 < N) out[2] = acc[i].z;
        if (c + 3 < N) out[3] = acc[i].w;
    }
}
== both_in_one
// launch: block 16,16 tile 64,64
// lab 6: one structure for a pair of tiles, registers as a structure, a buffer index by xor, pointers that walk
constexpr int S = 64, D = 16;
struct Pair { float a[D][S + 4]; float b[D][S]; };
struct Ahead { float a[4], b[4]; };
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ Pair pair[2];
    const int x = threadIdx.x, y = threadIdx.y;
    const int top = blockIdx.y * S, left = blockIdx.x * S;
    const float* a_at = A + (size_t)(top + y) * K + x;
    const float* b_at = B + (size_t)y * N + left + x;
    int rest = K;
    Ahead ahead;
    auto take = [&]() {
        for (int i = 0; i < 4; ++i) {
            ahead.a[i] = top + y + 16 * i < M && x < rest ? a_at[(size_t)16 * i * K] : 0.f;
            ahead.b[i] = left + x + 16 * i < N && y < rest ? b_at[16 * i] : 0.f;
        }
        a_at += D;
        b_at += (size_t)D * N;
        rest -= D;
    };
    auto drop = [&](Pair& p) {
        for (int i = 0; i < 4; ++i) {
            p.a[x][y + 16 * i] = ahead.a[i];
            p.b[y][x + 16 * i] = ahead.b[i];
        }
    };
    float acc[4][4] = {};
    int w = 0;
    take();
    drop(pair[w]);
    __syncthreads();
    const int turns = (K + D - 1) / D;
    for (int turn = 0; turn < turns; ++turn) {
        const Pair& p = pair[w];
        if (turn + 1 < turns) take();
        for (int k = 0; k < D; ++k)
            for (int i = 0; i < 4; ++i)
                for (int j = 0; j < 4; ++j) acc[i][j] += p.a[k][y + 16 * i] * p.b[k][x + 16 * j];
        w ^= 1;
        if (turn + 1 < turns) drop(pair[w]);
        __syncthreads();
    }
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) {
            const int r = top + y + 16 * i, c = left + x + 16 * j;
            if (r < M && c < N) C[(size_t)r * N + c] = acc[i][j];
        }
}
== two_stage_flags
// launch: block 256,1 tile 64,32
// lab 6: bool that toggles, separate arrays for even and odd tiles chosen by ?:, registers named one by one
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float even_a[32 * 8], odd_a[32 * 8], even_b[8 * 64], odd_b[8 * 64];
    const int t = threadIdx.x;
    const int ar = t >> 3, ak = t & 7;
    const int bk = t >> 6, bc = t & 63;
    const int r0 = blockIdx.y * 32, c0 = blockIdx.x * 64;
    const bool a_row = r0 + ar < M, b_col = c0 + bc < N;
    const int ty = t >> 5, tx = t & 31;
    float next_a = a_row && ak < K ? A[(size_t)(r0 + ar) * K + ak] : 0;
    float next_b0 = b_col && bk < K ? B[(size_t)bk * N + c0 + bc] : 0;
    float next_b1 = b_col && bk + 4 < K ? B[(size_t)(bk + 4) * N + c0 + bc] : 0;
    float s[4][2] = {};
    bool odd = false;
    for (int k0 = 0; k0 < K; k0 += 8) {
        float* const a = odd ? odd_a : even_a;
        float* const b = odd ? odd_b : even_b;
        a[ar * 8 + ak] = next_a;
        b[bk * 64 + bc] = next_b0;
        b[(bk + 4) * 64 + bc] = next_b1;
        __syncthreads();
        const int k1 = k0 + 8;
        next_a = a_row && k1 + ak < K ? A[(size_t)(r0 + ar) * K + k1 + ak] : 0;
        next_b0 = b_col && k1 + bk < K ? B[(size_t)(k1 + bk) * N + c0 + bc] : 0;
        next_b1 = b_col && k1 + bk + 4 < K ? B[(size_t)(k1 + bk + 4) * N + c0 + bc] : 0;
        #pragma unroll
        for (int k = 0; k < 8; ++k) {
            const float b0 = b[k * 64 + tx], b1 = b[k * 64 + tx + 32];
            #pragma unroll
            for (int i = 0; i < 4; ++i) {
                const float v = a[(ty * 4 + i) * 8 + k];
                s[i][0] += v * b0;
                s[i][1] += v * b1;
            }
        }
        odd = !odd;
    }
    for (int i = 0; i < 4; ++i) {
        const int r = r0 + ty * 4 + i;
        if (r >= M) return;
        if (c0 + tx < N) C[(size_t)r * N + c0 + tx] = s[i][0];
        if (c0 + tx + 32 < N) C[(size_t)r * N + c0 + tx + 32] = s[i][1];
    }
}
== ring_of_four 6
// launch: block 128,1 tile 32,32
// lab 6: four tiles in a ring, read and write counters that wrap, the step's copies, prologue in a loop
#include "async.cuh"
#define RING 2
#define T 32
#define KD 16
struct Stage { float a[T * KD], b[KD * T]; };
__device__ void request(Stage& s, const float* A, const float* B, int row0, int col0, int k0, int M, int N, int K)
{
    for (int e = threadIdx.x; e < T * KD; e += 128) {
        const int ra = e >> 4, ka = e & 15;
        copy<1>(&s.a[e], A + (size_t)(row0 + ra) * K + k0 + ka, row0 + ra < M && k0 + ka < K);
        const int kb = e >> 5, cb = e & 31;
        copy<1>(&s.b[e], B + (size_t)(k0 + kb) * N + col0 + cb, k0 + kb < K && col0 + cb < N);
    }
}
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ Stage ring[RING];
    const int row0 = blockIdx.y * T, col0 = blockIdx.x * T;
    const int ty = threadIdx.x / 16, tx = threadIdx.x % 16;
    float acc[4][2] = {};
    int head = 0, tail = 0, next_k = 0;
    request(ring[head], A, B, row0, col0, next_k, M, N, K);
    head = (head + 1) % RING;
    next_k += KD;
    for (int left = K; left > 0; left -= KD) {
        wait();
        __syncthreads();
        if (next_k < K) {
            request(ring[head], A, B, row0, col0, next_k, M, N, K);
            head = (head + 1) % RING;
            next_k += KD;
        }
        const Stage& s = ring[tail];
        for (int k = 0; k < KD; ++k)
            for (int i = 0; i < 4; ++i)
                for (int j = 0; j < 2; ++j)
                    acc[i][j] += s.a[(ty * 4 + i) * KD + k] * s.b[k * T + tx + 16 * j];
        tail = (tail + 1) % RING;
    }
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 2; ++j) {
            const int r = row0 + ty * 4 + i, c = col0 + tx + 16 * j;
            if (r < M && c < N) C[(size_t)r * N + c] = acc[i][j];
        }
}
== pitch_by_template 4
// One-dimensional blocks, flat padded tiles, shifts and masks, pointers that move on.
// launch: block 1024,1 tile 32,32
#define BS 32
#define LD (BS + 1)

template <int LOG, int PITCH>
__device__ ELEMENT mulTile(const ELEMENT* sA, const ELEMENT* sBt, int r, int c, ELEMENT acc)
{
    #pragma unroll
    for (int k = 0; k < (1 << LOG); k++)
        acc += sA[r * PITCH + k] * sBt[c * PITCH + k];
    return acc;
}

extern "C" __global__ void matmul(
    const ELEMENT* A, const ELEMENT* B, ELEMENT* C, int M, int N, int K)
{
    __shared__ ELEMENT sA[BS * LD];
    __shared__ ELEMENT sBt[BS * LD];  // transposed

    const int tid = threadIdx.x;
    const int c = tid & 31;
    const int r = tid >> 5;
    const int rowBase = blockIdx.y << 5;
    const int colBase = blockIdx.x << 5;

    A += rowBase * K;
    B += colBase;
    C += rowBase * N + colBase;
    const bool rowOk = rowBase + r < M;
    const bool colOk = colBase + c < N;

    ELEMENT tmp = 0;
    for (int left = K; left > 0; left -= BS) {
        sA[r * LD + c] = (rowOk && c < left) ? A[r * K + c] : 0;
        sBt[c * LD + r] = (colOk && r < left) ? B[r * N + c] : 0;
        __syncthreads();
        tmp = mulTile<5, LD>(sA, sBt, r, c, tmp);
        __syncthreads();
        A += BS;
        B += BS * N;
    }
    if (rowOk && colOk)
        C[r * N + c] = tmp;
}
== views_with_zeros 4
// After the programming guide: views of matrices, with zeros outside.
struct Matrix {
    int height;
    int width;
    int stride;
    const ELEMENT* elements;

    __device__ ELEMENT operator()(int r, int c) const
    {
        if (r < 0 || r >= height || c < 0 || c >= width)
            return 0;
        return elements[r * stride + c];
    }
};

__device__ Matrix GetSubMatrix(const Matrix& mat, int blockRow, int blockCol)
{
    Matrix sub;
    sub.height = min(TILE, mat.height - blockRow * TILE);
    sub.width = min(TILE, mat.width - blockCol * TILE);
    sub.stride = mat.stride;
    sub.elements = mat.elements + blockRow * TILE * mat.stride + blockCol * TILE;
    return sub;
}

extern "C" __global__ void matmul(
    const ELEMENT* d_A, const ELEMENT* d_B, ELEMENT* d_C, int M, int N, int K)
{
    const Matrix a{M, K, K, d_A};
    const Matrix b{K, N, N, d_B};

    __shared__ ELEMENT ds_M[TILE][TILE];
    __shared__ ELEMENT ds_N[TILE][TILE];

    int bx = blockIdx.x, by = blockIdx.y;
    int tx = threadIdx.x, ty = threadIdx.y;

    ELEMENT Pvalue = 0;
    int numTiles = (K + TILE - 1) / TILE;
    for (int p = 0; p < numTiles; ++p) {
        Matrix Asub = GetSubMatrix(a, by, p);
        Matrix Bsub = GetSubMatrix(b, p, bx);
        ds_M[ty][tx] = Asub(ty, tx);
        ds_N[ty][tx] = Bsub(ty, tx);
        __syncthreads();
        #pragma unroll 8
        for (int i = 0; i < TILE; ++i)
            Pvalue += ds_M[ty][i] * ds_N[i][tx];
        __syncthreads();
    }

    int Row = by * TILE + ty;
    int Col = bx * TILE + tx;
    if (Row < M && Col < N)
        d_C[Row * N + Col] = Pvalue;
}
== pointers_swapped_by_a_function 6
// Registers hold the next tiles; two buffers whose pointers are swapped.
// launch: block 16,16 tile 64,64
enum { BM = 64, BN = 64, BK = 8, TM = 4, TN = 4, NT = 256, PER = 2, LDA = BM + 1 };

template <typename T> __device__ void swapPtr(T*& p, T*& q) { T* t = p; p = q; q = t; }

struct Loader {
    const ELEMENT* base;
    int rows, cols, row0, col0;

    __device__ ELEMENT get(int r, int c) const
    {
        r += row0;
        c += col0;
        return r < rows && c < cols ? base[(size_t)r * cols + c] : ELEMENT(0);
    }
};

extern "C" __global__ void matmul(
    const ELEMENT* A, const ELEMENT* B, ELEMENT* C, int M, int N, int K)
{
    __shared__ ELEMENT memA[2 * BK * LDA];
    __shared__ ELEMENT memB[2 * BK * BN];
    ELEMENT *curA = memA, *nextA = memA + BK * LDA;
    ELEMENT *curB = memB, *nextB = memB + BK * BN;

    const int tx = threadIdx.x, ty = threadIdx.y;
    const int t = ty * blockDim.x + tx;
    Loader la = {A, M, K, (int)blockIdx.y * BM, 0};
    Loader lb = {B, K, N, 0, (int)blockIdx.x * BN};

    ELEMENT pa[PER], pb[PER];
    ELEMENT c[TM][TN];
    for (int i = 0; i < TM; i++)
        for (int j = 0; j < TN; j++)
            c[i][j] = 0;

    for (int u = 0; u < PER; u++) {
        int e = t + u * NT;
        curA[e % BK * LDA + e / BK] = la.get(e / BK, e % BK);
        curB[e] = lb.get(e / BN, e % BN);
    }
    __syncthreads();

    for (int kt = 0; kt < K; kt += BK) {
        const bool more = kt + BK < K;
        if (more) {
            la.col0 += BK;
            lb.row0 += BK;
            for (int u = 0; u < PER; u++) {
                int e = t + u * NT;
                pa[u] = la.get(e / BK, e % BK);
                pb[u] = lb.get(e / BN, e % BN);
            }
        }
        #pragma unroll
        for (int k = 0; k < BK; k++) {
            ELEMENT ra[TM], rb[TN];
            for (int i = 0; i < TM; i++)
                ra[i] = curA[k * LDA + ty + i * 16];
            for (int j = 0; j < TN; j++)
                rb[j] = curB[k * BN + tx + j * 16];
            for (int i = 0; i < TM; i++)
                for (int j = 0; j < TN; j++)
                    c[i][j] = fmaf(ra[i], rb[j], c[i][j]);
        }
        if (more) {
            for (int u = 0; u < PER; u++) {
                int e = t + u * NT;
                nextA[e % BK * LDA + e / BK] = pa[u];
                nextB[e] = pb[u];
            }
            __syncthreads();
            swapPtr(curA, nextA);
            swapPtr(curB, nextB);
        }
    }

    for (int i = 0; i < TM; i++) {
        const int r = blockIdx.y * BM + ty + i * 16;
        for (int j = 0; j < TN; j++) {
            const int q = blockIdx.x * BN + tx + j * 16;
            if (r < M && q < N)
                C[(size_t)r * N + q] = c[i][j];
        }
    }
}
