// The same once more, one level down: while the elements of one k are multiplied, those of the next
// are on their way from shared memory to registers.

use gpu::*;
use host::*;

// TILE_M, TILE_N, TILE_K  rows and columns of C that a block computes, and the depth of its tiles
// THREAD_M, THREAD_N      rows and columns of C that a thread computes
// VECTOR                  elements of B in one copy: 4 if its rows start on 16 bytes, else 1
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
    // The padding keeps the transposed stores of a warp out of each other's banks.
    shared!(As: Element, 2 * TILE_K, TILE_M + 4);
    shared!(Bs: Element, 2 * TILE_K, TILE_N);

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

    // Starts this thread's copies of a pair of tiles. Tiles past the last one are zeros.
    let mut fetch = |buffer: u32, k0: u32| {
        for i in 0..TILE_M / A_ROWS {
            for k in (0..TILE_K).step_by(8) {
                let from = a_from[i].wrapping_add(k as usize);
                As.copy::<1>(buffer * TILE_K + a_k + k, a_row + i * A_ROWS, from, k0 + k < a_end[i]);
            }
            a_from[i] = a_from[i].wrapping_add(TILE_K as usize);
        }
        for k in (0..TILE_K).step_by(B_ROWS as usize) {
            Bs.copy::<VECTOR>(buffer * TILE_K + b_k + k, b_col, b_from, k0 + k < b_end);
            b_from = b_from.wrapping_add(B_ROWS as usize * N as usize);
        }
    };
    // Reads the elements of one k. Two sets of registers take turns.
    let load = |buffer: u32, k: u32| {
        let mut a = registers![Element::ZERO; THREAD_M];
        let mut b = registers![Element::ZERO; THREAD_N];
        for m in (0..THREAD_M).step_by(4) {
            a.set4(m, As.load4(buffer * TILE_K + k, y + m * 4));
        }
        for n in (0..THREAD_N).step_by(4) {
            b.set4(n, Bs.load4(buffer * TILE_K + k, x + n * 8));
        }
        (a, b)
    };

    let mut sum = registers![Element::ZERO; THREAD_M, THREAD_N];
    fetch(0, 0);
    wait();
    sync_threads();
    let (mut a, mut b) = load(0, 0);
    let mut k0 = 0;
    while k0 < K {
        let now = k0 / TILE_K % 2;
        for k in 0..TILE_K {
            if k == TILE_K - 1 { // the last elements of these tiles are in registers
                wait();
                sync_threads();
            }
            if k == 0 {
                fetch(1 - now, k0 + TILE_K);
            }
            let (a_next, b_next) = load(if k + 1 < TILE_K { now } else { 1 - now }, (k + 1) % TILE_K);
            for m in 0..THREAD_M {
                for i in 0..THREAD_N {
                    let n = if m % 2 == 0 { i } else { THREAD_N - 1 - i };
                    sum[m][n] = fma(a[m], b[n], sum[m][n]);
                }
            }
            (a, b) = (a_next, b_next);
        }
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
