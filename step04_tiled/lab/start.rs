// Lab 4. Tiles. This is step 3's kernel, but the host now launches it with blocks of TILE x TILE
// threads that cover C, and gives it no dynamic shared memory: it must do with two small tiles.
// TILE is 32, and the host defines it.

use gpu::*;
use host::*;

// TODO task 1: two tiles in place of this, in the function: shared!(As: Element, TILE, TILE); and Bs.
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

    // TODO task 1: K may be many tiles long. What does a block do with each pair of tiles, and
    // when must its threads wait for each other?
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
    sync_threads();

    if row < M && col < N {
        let mut sum = Element::ZERO;
        for k in 0..K {
            sum = fma(As.load(0, row * K + k), Bs.load(0, k * N + col), sum);
        }
        C.set(row, col, sum);
    }
}
