// Draws a block of A or of B on the GPU that needs it. The elements are those that the host draws
// for the same seed: words of the generator ChaCha8 (D. Bernstein, "ChaCha, a variant of Salsa20",
// 2008), which gives 16 words for a key, a stream and a counter, and needs no words before them.

constexpr int WORDS = 16;            // that one call of the generator gives
constexpr int STREAM_WORDS = 65536;  // elements that are drawn from one stream

__device__ unsigned rotate(unsigned x, int bits) { return x << bits | x >> (32 - bits); }

__device__ void quarter_round(unsigned& a, unsigned& b, unsigned& c, unsigned& d)
{
    a += b; d = rotate(d ^ a, 16);
    c += d; b = rotate(b ^ c, 12);
    a += b; d = rotate(d ^ a, 8);
    c += d; b = rotate(b ^ c, 7);
}

// `to` receives rows x cols elements, row-major: those of the matrix of `width` columns from row0
// and col0 on. `range` 0: uniform in [-1, 1); else integers from -range to range.
extern "C" __global__ void draw(
    float* to, int row0, int rows, int col0, int cols, int width, int range,
    int k0, int k1, int k2, int k3, int k4, int k5, int k6, int k7)
{
    const int call = blockIdx.x * blockDim.x + threadIdx.x;
    for (int row = blockIdx.y; row < rows; row += gridDim.y) {
        const unsigned long long begin = (unsigned long long)(row0 + row) * width + col0;
        const unsigned long long first = (begin / WORDS + call) * WORDS;  // of the first word
        if (first >= begin + cols) continue;
        const unsigned counter = first % STREAM_WORDS / WORDS;
        const unsigned long long stream = first / STREAM_WORDS;
        const unsigned start[WORDS] = {
            0x61707865, 0x3320646e, 0x79622d32, 0x6b206574,  // "expand 32-byte k"
            (unsigned)k0, (unsigned)k1, (unsigned)k2, (unsigned)k3,
            (unsigned)k4, (unsigned)k5, (unsigned)k6, (unsigned)k7,
            counter, 0, (unsigned)stream, (unsigned)(stream >> 32)};
        unsigned word[WORDS];
        #pragma unroll
        for (int i = 0; i < WORDS; ++i) word[i] = start[i];
        #pragma unroll
        for (int twice = 0; twice < 4; ++twice) {  // columns, then diagonals
            quarter_round(word[0], word[4], word[8], word[12]);
            quarter_round(word[1], word[5], word[9], word[13]);
            quarter_round(word[2], word[6], word[10], word[14]);
            quarter_round(word[3], word[7], word[11], word[15]);
            quarter_round(word[0], word[5], word[10], word[15]);
            quarter_round(word[1], word[6], word[11], word[12]);
            quarter_round(word[2], word[7], word[8], word[13]);
            quarter_round(word[3], word[4], word[9], word[14]);
        }
        #pragma unroll
        for (int i = 0; i < WORDS; ++i) {
            const unsigned long long element = first + i;
            if (element < begin || element >= begin + cols) continue;
            const unsigned drawn = word[i] + start[i];
            float value = (drawn >> 8) * (1.0f / (1 << 23)) - 1.0f;
            if (range == 1) value = drawn % 2 == 0 ? -1.0f : 1.0f;
            if (range > 1) value = (int)((drawn * (2ull * range + 1)) >> 32) - range;
            to[(size_t)row * cols + (element - begin)] = value;
        }
    }
}
