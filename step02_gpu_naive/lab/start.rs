// Lab 2. From three loops to a grid of threads. This is step 1's kernel, but the host now launches
// it with blocks of 32 x 16 threads that cover C: every one of them computes all of C.

use gpu::*;
use host::*;

#[no_mangle]
pub unsafe extern "ptx-kernel" fn matmul(
    A: *const Element, B: *const Element, C: *mut Element, M: u32, N: u32, K: u32)
{
    let (A, B, C) = (Matrix::new(A, M, K), Matrix::new(B, K, N), Matrix::new(C, M, N));

    // TODO task 1: compute row and col from block_idx(), block_dim() and thread_idx(); no outer loops.
    // TODO task 1: the last blocks reach past the end of C; their threads there must do nothing.
    for row in 0..M {
        for col in 0..N {
            let mut sum = Element::ZERO;
            for k in 0..K {
                sum = fma(A.get(row, k), B.get(k, col), sum);
            }
            C.set(row, col, sum);
        }
    }
}
