// launch 1,1 64,1 0 1 64 64
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    const int t = threadIdx.x;
    float value = A[t];
    switch (t % 5) {
        case 0: value += 1.0f; break;
        case 1: value *= 2.0f;
        case 2: for (int i = 0; i < t % 7; ++i) { if (i == 3) continue; if (i == 5) break; value += i; } break;
        case 3: if (t > 30) { if (t & 1) value -= 3.0f; else value -= 4.0f; } else value = -value; break;
        default: value = 0.5f;
    }
    C[t] = value;
}
