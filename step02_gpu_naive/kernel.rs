// One thread computes one element of C: the two outer loops have become the grid.

use gpu::*;
use host::*;

#[no_mangle]
pub unsafe extern "ptx-kernel" fn matmul(
    A: *const Element, B: *const Element, C: *mut Element, M: u32, N: u32, K: u32)
{
    let (A, B, C) = (Matrix::new(A, M, K), Matrix::new(B, K, N), Matrix::new(C, M, N));
    let row = block_idx().y * block_dim().y + thread_idx().y;
    let col = block_idx().x * block_dim().x + thread_idx().x;

    // If M or N is not a multiple of the block's edge, the last blocks reach past the end of C.
    if row < M && col < N {
        let mut sum = Element::ZERO;
        for k in 0..K {
            sum = fma(A.get(row, k), B.get(k, col), sum);
        }
        C.set(row, col, sum);
    }
}
