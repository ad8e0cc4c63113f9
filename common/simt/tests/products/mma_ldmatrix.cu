// launch 8,4 32,1 0
// The steps of K are taken in half precision and in bfloat16, in turn, and the last in single precision cut to TF32.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#define SUM "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
#define LEFT "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3])

extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ __align__(16) unsigned short As[16][24];
    __shared__ __align__(16) unsigned short Bs[16][8];
    int row = blockIdx.y * 16, col = blockIdx.x * 8, lane = threadIdx.x, group = lane / 4, member = lane % 4;
    float c[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    for (int k0 = 0; k0 + 16 < K; k0 += 16) {
        bool brief = k0 / 16 % 2;
        for (int i = lane; i < 256; i += 32) {
            float x = A[(row + i / 16) * K + k0 + i % 16];
            As[i / 16][i % 16] = brief ? __bfloat16_as_ushort(__float2bfloat16(x)) : __half_as_ushort(__float2half(x));
        }
        for (int i = lane; i < 128; i += 32) {
            float x = B[(k0 + i / 8) * N + col + i % 8];
            Bs[i / 8][i % 8] = brief ? __bfloat16_as_ushort(__float2bfloat16(x)) : __half_as_ushort(__float2half(x));
        }
        __syncwarp();
        unsigned a[4], b[2];
        unsigned left = __cvta_generic_to_shared(&As[lane % 16][lane / 16 * 8]);
        unsigned right = __cvta_generic_to_shared(&Bs[lane % 16][0]);
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3]) : "r"(left));
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                     : "=r"(b[0]), "=r"(b[1]) : "r"(right));
        if (brief) {
            asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
                         : SUM : "r"(a[0]), "r"(a[1]), "r"(b[0]));
            asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
                         : SUM : "r"(a[2]), "r"(a[3]), "r"(b[1]));
        } else {
            asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                         : SUM : LEFT, "r"(b[0]), "r"(b[1]));
        }
        __syncwarp();
    }
    for (int k0 = K - 16; k0 < K; k0 += 8) {
        unsigned a[4], b[2];
        for (int i = 0; i < 4; ++i) {
            float x = A[(row + group + i % 2 * 8) * K + k0 + member + i / 2 * 4];
            asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(a[i]) : "f"(x));
        }
        for (int i = 0; i < 2; ++i) {
            float x = B[(k0 + member + i * 4) * N + col + group];
            asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(b[i]) : "f"(x));
        }
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                     : SUM : LEFT, "r"(b[0]), "r"(b[1]));
    }
    for (int i = 0; i < 4; ++i) C[(row + group + i / 2 * 8) * N + col + 2 * member + i % 2] = c[i];
}
