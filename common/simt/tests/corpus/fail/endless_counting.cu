// launch 1,1 32,1 0 1 32 1
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    float sum = 0.0f;
    // The step was forgotten.
    for (int k = 0; k < K; k += 0) sum += *static_cast<volatile const float*>(A);
    C[threadIdx.x] = sum;
}
