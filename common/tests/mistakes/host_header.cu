// launch 4,3 16,16 0 40 50 60
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
}
