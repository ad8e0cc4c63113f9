// One block copies all of A and B to shared memory, so that each element is read from global memory
// only once, and computes all of C.

use gpu::*;
use host::*;

// The host gives the block room for M * K + K * N elements.
shared!(extern shared: Element);

#[no_mangle]
pub unsafe extern "ptx-kernel" fn matmul(
    A: *const Element, B: *const Element, C: *mut Element, M: u32, N: u32, K: u32)
{
    let (A, B, C) = (Matrix::new(A, M, K), Matrix::new(B, K, N), Matrix::new(C, M, N));
    let row = block_idx().y * block_dim().y + thread_idx().y;
    let col = block_idx().x * block_dim().x + thread_idx().x;

    let As = shared();
    let Bs = shared().skip(M * K);

    // Cooperative load: the block's threads share the work, whoever needs the element later.
    let thread = thread_idx().y * block_dim().x + thread_idx().x;
    let threads = block_dim().x * block_dim().y;
    let mut i = thread;
    while i < M * K {
        As.store(0, i, *A.at(0, i));
        i += threads;
    }
    let mut i = thread;
    while i < K * N {
        Bs.store(0, i, *B.at(0, i));
        i += threads;
    }
    // No thread may read what another has not stored yet.
    sync_threads();

    if row < M && col < N {
        let mut sum = Element::ZERO;
        for k in 0..K {
            sum = fma(As.load(0, row * K + k), Bs.load(0, k * N + col), sum);
        }
        C.set(row, col, sum);
    }
}
