// The parts of the check that are done where the matrices are.

constexpr int THREADS = 256;

// Freivalds' check: each row of a matrix of integers times x, modulo 2^64. A block takes a row.
// `odd` says of a row whether an element is no integer that a sum can reach (1), and whether one is
// NaN, as memory that was never written is (2).
extern "C" __global__ void __launch_bounds__(THREADS) rows_times(
    const float* matrix, const unsigned long long* x, unsigned long long* sums, int* odd,
    int rows, int cols)
{
    __shared__ unsigned long long partial[THREADS];
    __shared__ int flags[THREADS];
    const float* row = matrix + (size_t)blockIdx.x * cols;
    unsigned long long sum = 0;
    int flag = 0;
    for (int col = threadIdx.x; col < cols; col += THREADS) {
        const float element = row[col];
        if (element != element) flag |= 2;
        const bool small = element >= -16777216.0f && element <= 16777216.0f;
        const int integer = small ? (int)element : 0;
        if (!small || (float)integer != element) flag |= 1;
        sum += (unsigned long long)(long long)integer * x[col];
    }
    partial[threadIdx.x] = sum;
    flags[threadIdx.x] = flag;
    for (int half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) {
            partial[threadIdx.x] += partial[threadIdx.x + half];
            flags[threadIdx.x] |= flags[threadIdx.x + half];
        }
    }
    if (threadIdx.x == 0) {
        sums[blockIdx.x] = partial[0];
        odd[blockIdx.x] = flags[0];
    }
}

// A few rows of the product in double precision: adds A * B for a piece of K to `sums`, and
// |A| * |B| to `absolutes`. A thread takes a column, a layer of the grid one of the rows.
extern "C" __global__ void __launch_bounds__(THREADS) sampled_rows(
    const float* A, const float* B, double* sums, double* absolutes, int N, int K)
{
    const int col = blockIdx.x * THREADS + threadIdx.x;
    if (col >= N) return;
    const float* row = A + (size_t)blockIdx.y * K;
    double sum = 0;
    double absolute = 0;
    for (int k = 0; k < K; ++k) {
        const double product = (double)row[k] * B[(size_t)k * N + col];
        sum += product;
        absolute += product < 0 ? -product : product;
    }
    sums[(size_t)blockIdx.y * N + col] += sum;
    absolutes[(size_t)blockIdx.y * N + col] += absolute;
}
