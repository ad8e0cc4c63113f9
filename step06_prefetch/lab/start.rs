// Lab 6. Prefetching. This is step 5's kernel, with its constants and its launch written down: they
// are yours to change. Only VECTOR still comes from the host.
//
// launch: block 128,1 tile 128,64

use gpu::*;
use host::*;

// TILE_M, TILE_N, TILE_K  rows and columns of C that a block computes, and the depth of its tiles
// THREAD_M, THREAD_N      rows and columns of C that a thread computes
// VECTOR                  elements of B in one copy: 4 if its rows start on 16 bytes, else 1
const TILE_M: u32 = 64;
const TILE_N: u32 = 128;
const TILE_K: u32 = 16;
const THREAD_M: u32 = 8;
const THREAD_N: u32 = 8;
const WARP_M: u32 = 4 * THREAD_M; // a warp is a grid of 4 x 8 threads
const WARP_N: u32 = 8 * THREAD_N;
const THREADS: u32 = TILE_M / THREAD_M * (TILE_N / THREAD_N);
const A_ROWS: u32 = THREADS / 8; // rows of A that the block copies at a time
const B_ROWS: u32 = THREADS / (TILE_N / VECTOR); // rows of B that the block copies at a time

#[no_mangle]
pub unsafe extern "ptx-kernel" fn matmul(
    A: *const Element, B: *const Element, C: *mut Element, M: u32, N: u32, K: u32)
{
    let (A, B, C) = (Matrix::new(A, M, K), Matrix::new(B, K, N), Matrix::new(C, M, N));
    let thread = thread_idx().x;
    let lane = thread % 32;
    let warp = thread / 32;
    // Lanes 1 apart share columns and lanes 2 apart share rows, so that a load takes 2 wavefronts.
    let x = warp % (TILE_N / WARP_N) * WARP_N + lane / 2 % 8 * 4;
    let y = warp / (TILE_N / WARP_N) * WARP_M + (lane / 16 * 2 + lane % 2) * 4;
    let row0 = block_idx().y * TILE_M;
    let col0 = block_idx().x * TILE_N;

    // TODO task 1: two pairs of tiles, of 2 * TILE_K rows each, that take turns.
    // The padding keeps the transposed stores of a warp out of each other's banks.
    shared!(As: Element, TILE_K, TILE_M + 4);
    shared!(Bs: Element, TILE_K, TILE_N);

    // Where this thread's copies of A and of B start, and from which k on there are only zeros.
    let a_row = thread / 8;
    let a_k = thread % 8;
    let mut a_from = registers![A.at(0, 0); TILE_M / A_ROWS];
    let mut a_end = registers![0; TILE_M / A_ROWS];
    for i in 0..TILE_M / A_ROWS {
        a_from[i] = A.at(row0 + a_row + i * A_ROWS, a_k);
        a_end[i] = if row0 + a_row + i * A_ROWS < M { K.saturating_sub(a_k) } else { 0 };
    }
    let b_k = thread / (TILE_N / VECTOR);
    let b_col = thread % (TILE_N / VECTOR) * VECTOR;
    let mut b_from = B.at(b_k, col0 + b_col);
    let b_end = if col0 + b_col < N { K.saturating_sub(b_k) } else { 0 };

    let mut sum = registers![Element::ZERO; THREAD_M, THREAD_N];
    // TODO task 1: who fetches the first pair of tiles, if the loop fetches the next one?
    let mut k0 = 0;
    while k0 < K {
        // TODO task 1: when is the *next* pair fetched into registers, and when is it stored?
        // Cooperative load, as in step 3: a tile has more elements than the block has threads.
        for i in 0..TILE_M / A_ROWS {
            for k in (0..TILE_K).step_by(8) {
                let inside = k0 + k < a_end[i];
                As.store(a_k + k, a_row + i * A_ROWS, if inside { *a_from[i].add(k as usize) } else { Element::ZERO });
            }
            a_from[i] = a_from[i].wrapping_add(TILE_K as usize);
        }
        for k in (0..TILE_K).step_by(B_ROWS as usize) {
            let pack = if k0 + k < b_end { Pack::load(b_from) } else { Pack::ZERO };
            Bs.store_pack::<VECTOR>(b_k + k, b_col, pack);
            b_from = b_from.wrapping_add(B_ROWS as usize * N as usize);
        }
        // No thread may read the tiles before every thread has stored its elements ...
        sync_threads();

        for k in 0..TILE_K {
            let mut a = registers![Element::ZERO; THREAD_M];
            let mut b = registers![Element::ZERO; THREAD_N];
            for m in (0..THREAD_M).step_by(4) {
                a.set4(m, As.load4(k, y + m * 4));
            }
            for n in (0..THREAD_N).step_by(4) {
                b.set4(n, Bs.load4(k, x + n * 8));
            }
            for m in 0..THREAD_M {
                for i in 0..THREAD_N {
                    let n = if m % 2 == 0 { i } else { THREAD_N - 1 - i };
                    sum[m][n] = fma(a[m], b[n], sum[m][n]);
                }
            }
        }
        // TODO task 1: with two pairs, one barrier for each pair is enough. Which of the two goes?
        // ... and no thread may store the next tiles before every thread has read these.
        sync_threads();
        k0 += TILE_K;
    }

    for m in 0..THREAD_M {
        let row = row0 + y + m / 4 * 16 + m % 4;
        if row < M {
            for n in 0..THREAD_N {
                let col = col0 + x + n / 4 * 32 + n % 4;
                C.set(row, col, sum[m][n]);
            }
        }
    }
}
