extern "C" __global__ void matmul(const float* A)
{
    int x = ;
}
