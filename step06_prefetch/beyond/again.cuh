// Where `matmul` was not sure of a tile, in any slice of K, every_shape.cu multiplies it with FP32
// units: for each slice one more launch, whose blocks mostly return at once.
__device__ bool is_sure(const int* unsure, int M)
{
    const int rows = (M + TILE_M - 1) / TILE_M, row = blockIdx.y * 64 / TILE_M;
    int any = 0;
    for (int z = 0; z < gridDim.z; ++z) any |= unsure[(z * rows + row) * gridDim.x + blockIdx.x];
    return !any;
}

#define matmul again
#define UNSURE , const int* unsure
#define IS_SURE is_sure(unsure, M)
#define TILE_M 64
#define TILE_N 128
#define TILE_K 16
#define THREAD_M 8
#define THREAD_N 8
#define GROUPS 4  // sums of a quarter of K each: cuBLAS cuts K up where it is long, too
#define ODD 0
#define STORED VECTOR
#define BLOCKS 1
#define SHARES 1
namespace fp32 {
#include "every_shape.cu"
}
