//! Instructions on matrices of a warp: products in registers, and moves between memory and registers.

use super::plain::place;
use super::request::{At, addresses, check, check_shared, show};
use crate::exec::context::{Checked, Context};
use crate::exec::matrix::{gather, multiply, scatter, whole};
use crate::observe::Access;
use ptx::error::AccessKind;
use ptx::lower::SHARED_WINDOW;
use ptx::lower::matrix::{Matrix, MatrixOp};
use ptx::place::Space;
use std::sync::atomic::Ordering::Relaxed;

/// Executes `mma`, `wmma`, `ldmatrix` or `stmatrix`.
#[inline(never)]
pub(crate) fn matrix(context: &mut Context, at: At) -> Checked<()> {
    whole(context, at)?;
    let code = context.code;
    let matrix = &code.matrices[at.inst.imm as usize];
    match &matrix.op {
        MatrixOp::Multiply(fragments, saturates) => {
            multiply(code.target, at.r, fragments, *saturates, &matrix.registers);
        }
        MatrixOp::Rows { .. } => rows(context, at, matrix)?,
        MatrixOp::Move { .. } => move_fragment(context, at, matrix)?,
        MatrixOp::Warpgroup(_) => {}
    }
    Ok(())
}

/// Loads or stores a fragment. The lanes take its words in turn, in the order of memory, whichever elements they hold.
fn move_fragment(context: &mut Context, at: At, matrix: &Matrix) -> Checked<()> {
    let MatrixOp::Move { ref fragment, by_column, space, store } = matrix.op else { return Ok(()) };
    let At { inst, r, warp, lanes } = at;
    let base = addresses(r, inst.a, matrix.wide, matrix.offset, lanes)[0];
    let shared = space == Space::Shared || (SHARED_WINDOW..SHARED_WINDOW + (1 << 32)).contains(&base);
    let base = if shared && space == Space::Generic { base - SHARED_WINDOW } else { base };
    let (rows, columns, size) = (fragment.rows as usize, fragment.columns as usize, fragment.kind.bytes() as usize);
    // Bytes from a row (or column) to the next.
    let stride = u64::from(r.lane::<u32>(inst.b, 0)) * size as u64;
    let length = if by_column { rows } else { columns };
    let words = length * size / 4;
    // The number of an element in row order, given its number in the order of memory.
    let element = |at: usize| if by_column { at % length * columns + at / length } else { at };
    let mut bytes = vec![0; rows * columns * size];
    if store {
        let elements = gather(fragment, &matrix.registers, r);
        for (at, to) in bytes.chunks_exact_mut(size).enumerate() {
            to.copy_from_slice(&elements[element(at)].to_le_bytes()[..size]);
        }
    }
    for (first, bytes) in bytes.chunks_exact_mut(4 * 32).enumerate() {
        let addresses: [u64; 32] = std::array::from_fn(|lane| {
            let at = 32 * first + lane;
            base.wrapping_add((at / words) as u64 * stride).wrapping_add((at % words) as u64 * 4)
        });
        let word = |lane: usize| u32::from_le_bytes(std::array::from_fn(|byte| bytes[4 * lane + byte]));
        let data: [[u32; 4]; 32] = std::array::from_fn(|lane| [word(lane), 0, 0, 0]);
        let kind = if store { AccessKind::Store } else { AccessKind::Load };
        let (by, space) = ((warp, inst.pc, u32::MAX), if shared { Space::Shared } else { Space::Global });
        let access = Access { data: store.then_some(&data), ..Access::new(by, (kind, space), 4, &addresses) };
        let cache = check(context, &access)?;
        show(context, &access);
        for (lane, to) in bytes.chunks_exact_mut(4).enumerate() {
            if shared {
                let word = &mut context.shared[addresses[lane] as usize / 4];
                if store {
                    *word = data[lane][0];
                } else {
                    to.copy_from_slice(&word.to_le_bytes());
                }
            } else {
                let (words, at) = place(context, cache, addresses[lane]);
                let word = &words[at / 4];
                if store {
                    word.store(data[lane][0], Relaxed);
                } else {
                    to.copy_from_slice(&word.load(Relaxed).to_le_bytes());
                }
            }
        }
    }
    if !store {
        let mut elements = vec![0; rows * columns];
        for (at, from) in bytes.chunks_exact(size).enumerate() {
            elements[element(at)] = from.iter().rev().fold(0, |bits, &byte| bits << 8 | u64::from(byte));
        }
        scatter(fragment, &matrix.registers, r, &elements);
    }
    Ok(())
}

/// Executes `ldmatrix` or `stmatrix`. Eight lanes give the addresses of the rows of each matrix, 16 bytes each. Every lane holds
/// two elements of a row, or of a column if rows and columns are `exchanged`.
fn rows(context: &mut Context, at: At, matrix: &Matrix) -> Checked<()> {
    let MatrixOp::Rows { count, exchanged, store } = matrix.op else { return Ok(()) };
    let At { inst, r, warp, .. } = at;
    let given = addresses(r, inst.a, matrix.wide, matrix.offset, u32::MAX);
    // Other lanes may have any addresses, so they are replaced.
    let rows = std::array::from_fn(|lane| given[lane % (8 * count as usize)]);
    let lanes = u32::MAX >> (32 - 8 * count);
    let what = (if store { AccessKind::Store } else { AccessKind::Load }, Space::Shared);
    check_shared(context, &Access::new((warp, inst.pc, lanes), what, 16, &rows))?;
    // Exchanges rows and columns if asked to, for loads and stores alike.
    let turned = |words: [u32; 32]| {
        let half = |row: usize, column: usize| words[4 * row + column / 2] >> (16 * (column % 2)) & 0xffff;
        let word = |lane: usize| half(2 * (lane % 4), lane / 4) | half(2 * (lane % 4) + 1, lane / 4) << 16;
        if exchanged { std::array::from_fn(word) } else { words }
    };
    for index in 0..count as usize {
        let register = matrix.registers[index];
        let words: [u64; 32] = std::array::from_fn(|lane| given[8 * index + lane / 4] + 4 * (lane as u64 % 4));
        let access = Access::new((warp, inst.pc, u32::MAX), what, 4, &words);
        if store {
            let data = turned(r.read(register)).map(|word| [word, 0, 0, 0]);
            show(context, &Access { data: Some(&data), ..access });
            words.iter().zip(data).for_each(|(&word, data)| context.shared[word as usize / 4] = data[0]);
        } else {
            show(context, &access);
            r.write(register, u32::MAX, &turned(words.map(|word| context.shared[word as usize / 4])));
        }
    }
    Ok(())
}
