// Lab 5. More than one element per thread. This is step 4's kernel: 32 x 32 threads compute 32 x 32
// elements of C. You choose the launch: `block` is threads in x and y, `tile` is columns and rows
// of C per block.
//
// launch: block 32,32 tile 32,32

use gpu::*;
use host::*;

const TILE: u32 = 32;

#[no_mangle]
pub unsafe extern "ptx-kernel" fn matmul(
    A: *const Element, B: *const Element, C: *mut Element, M: u32, N: u32, K: u32)
{
    let (A, B, C) = (Matrix::new(A, M, K), Matrix::new(B, K, N), Matrix::new(C, M, N));
    let x = thread_idx().x;
    let y = thread_idx().y;
    let row = block_idx().y * TILE + y;
    let col = block_idx().x * TILE + x;

    shared!(As: Element, TILE, TILE);
    shared!(Bs: Element, TILE, TILE);

    // This thread's element of the first tile of A and of B.
    let mut a_from = A.at(row, x);
    let mut b_from = B.at(y, col);
    // From this k0 on there is no such element: it lies beyond the edge, and counts as zero.
    let a_end = if row < M { K.saturating_sub(x) } else { 0 };
    let b_end = if col < N { K.saturating_sub(y) } else { 0 };

    // TODO task 1: one sum for each element of this thread: let mut sum = registers![Element::ZERO; THREAD_M];
    let mut sum = Element::ZERO;
    let mut k0 = 0;
    while k0 < K {
        // TODO task 1: the block has fewer threads than a tile has elements, so each copies more.
        // Cooperative load. Neighbouring threads differ in x, the fastest index of A and of B, so
        // both loads are coalesced.
        As.store(y, x, if k0 < a_end { *a_from } else { Element::ZERO });
        Bs.store(y, x, if k0 < b_end { *b_from } else { Element::ZERO });
        a_from = a_from.wrapping_add(TILE as usize);
        b_from = b_from.wrapping_add(TILE as usize * N as usize);
        // No thread may read the tiles before every thread has stored its elements ...
        sync_threads();

        // TODO task 1: for each k, read the element of B once and use it for all sums.
        for k in 0..TILE {
            sum = fma(As.load(y, k), Bs.load(k, x), sum);
        }
        // ... and no thread may store the next tiles before every thread has read these.
        sync_threads();
        k0 += TILE;
    }

    if row < M && col < N {
        C.set(row, col, sum);
    }
}
