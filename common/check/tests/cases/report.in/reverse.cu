extern "C" __global__ void reverse(float* data) {
    __shared__ float tile[64];
    tile[threadIdx.x] = data[threadIdx.x];
    data[threadIdx.x] = tile[63 - threadIdx.x];
}
