// Lab 3. Through shared memory, in one block. This is step 2's kernel. The host launches one block
// of N x M threads or a wider one, and gives it shared memory for M * K + K * N elements.

use gpu::*;
use host::*;

// TODO task 1: shared!(extern shared: Element); then shared() is A's place, and shared().skip(M * K) that of B.

#[no_mangle]
pub unsafe extern "ptx-kernel" fn matmul(
    A: *const Element, B: *const Element, C: *mut Element, M: u32, N: u32, K: u32)
{
    let (A, B, C) = (Matrix::new(A, M, K), Matrix::new(B, K, N), Matrix::new(C, M, N));
    let row = block_idx().y * block_dim().y + thread_idx().y;
    let col = block_idx().x * block_dim().x + thread_idx().x;

    // TODO task 1: all threads copy A and B there together. Who may read the copy, and when?

    if row < M && col < N {
        let mut sum = Element::ZERO;
        // TODO task 1: read both factors from shared memory.
        for k in 0..K {
            sum = fma(A.get(row, k), B.get(k, col), sum);
        }
        C.set(row, col, sum);
    }
}
