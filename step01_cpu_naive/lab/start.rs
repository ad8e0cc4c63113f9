// Lab 1. One thread computes all of C (M x N) = A (M x K) * B (K x N), all row-major. Element is
// the type of the elements: f32, unless you run with --dtype i32.

use gpu::*;
use host::*;

#[no_mangle]
pub unsafe extern "ptx-kernel" fn matmul(
    A: *const Element, B: *const Element, C: *mut Element, M: u32, N: u32, K: u32)
{
    let (A, B, C) = (Matrix::new(A, M, K), Matrix::new(B, K, N), Matrix::new(C, M, N));
    for row in 0..M {
        for col in 0..N {
            // TODO task 1: add up A.get(row, k) * B.get(k, col) over all k.
            // TODO task 2: form the sum in a variable, and write it to C once.
            C.set(row, col, Element::ZERO);
        }
    }
}
