// launch 1,1 16,1 0 1 64 64
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ __align__(16) unsigned char bytes[64];
    const int t = threadIdx.x;
    const float4 four = reinterpret_cast<const float4*>(A)[t];
    reinterpret_cast<uchar4*>(bytes)[t] = make_uchar4(four.x + 9, four.y + 9, four.z + 9, four.w + 9);
    __syncthreads();
    reinterpret_cast<float4*>(C)[t] = make_float4(bytes[63 - t], bytes[47 - t], (signed char)bytes[t], (short)bytes[t + 16]);
}
