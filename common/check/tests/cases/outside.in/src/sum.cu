extern "C" __global__ void sum(const float* numbers, float* total, unsigned count) {
    __shared__ float sums[8];
    float own = 0.0f;
    for (unsigned i = threadIdx.x; i < count; i += blockDim.x) own += numbers[i];
    for (int lanes = 16; lanes > 0; lanes /= 2) own += __shfl_down_sync(0xffffffff, own, lanes);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = own;
    // The last thread adds up what the warps have found.
    if (threadIdx.x == blockDim.x - 1) {
        float all = 0.0f;
        for (int warp = 0; warp < 8; warp++) all += sums[warp];
        *total = all;
    }
}
