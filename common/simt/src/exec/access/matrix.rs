//! Matrices from memory to the registers of a warp and back.

use super::elements::addresses;
use super::global::place;
use super::request::{At, check_global, check_shared, show};
use crate::ast::Space;
use crate::error::AccessKind;
use crate::exec::context::{Cache, Checked, Context};
use crate::exec::isa::Plain;
use crate::exec::matrix::{gather, scatter, whole};
use crate::lower::SHARED_WINDOW;
use crate::lower::fragment::Fragment;
use crate::lower::matrix::{Matrix, MatrixOp};
use crate::observe::Access;
use std::sync::atomic::Ordering::Relaxed;

/// `ldmatrix`, and the loads and stores of `wmma`.
#[inline(never)]
pub(crate) fn matrix(context: &mut Context, at: At) -> Checked<()> {
    let At { inst, r, warp, lanes } = at;
    whole(context, inst, warp, lanes)?;
    let code = context.code;
    let matrix = &code.matrices[inst.imm as usize];
    match matrix.op {
        MatrixOp::Multiply(..) | MatrixOp::Warpgroup(_) => {}
        MatrixOp::Rows { count, exchanged } => load_rows(context, at, matrix, count, exchanged)?,
        MatrixOp::Move { fragment, by_column, space, store } => {
            let base = addresses(r, inst.a, matrix.wide, matrix.offset, lanes)[0];
            let shared = space == Space::Shared || (SHARED_WINDOW..SHARED_WINDOW + (1 << 32)).contains(&base);
            let window = if shared && space == Space::Generic { SHARED_WINDOW } else { 0 };
            let stride = u64::from(r.lane::<u32>(inst.b, 0)) * u64::from(fragment.kind.bytes());
            let place = Area { base: base.wrapping_sub(window), stride, shared, fragment, by_column };
            place.transfer(context, at, &matrix.registers, store)?;
        }
    }
    Ok(())
}

/// A matrix in memory.
struct Area {
    base: u64,
    /// Bytes from a row (or column) to the next.
    stride: u64,
    shared: bool,
    fragment: Fragment,
    by_column: bool,
}

impl Area {
    /// Loads or stores all of it. The lanes take its words in turn, in the order of memory, whatever they keep of them.
    fn transfer(&self, context: &mut Context, at: At, registers: &[u32], store: bool) -> Checked<()> {
        let At { inst, r, warp, .. } = at;
        let Fragment { kind, rows, columns, .. } = self.fragment;
        let (lines, line) = if self.by_column { (columns, rows) } else { (rows, columns) };
        let words = (line * kind.bytes() / 4) as usize;
        let parts = if kind.bytes() == 8 { 1 } else { 4 / kind.bytes() as usize };
        let wide = kind.bytes() as usize / 4;
        let element = |line: usize, at: usize| {
            let (row, column) = if self.by_column { (at, line) } else { (line, at) };
            row * columns as usize + column
        };
        let mut elements =
            if store { gather(&self.fragment, registers, r) } else { vec![0; (rows * columns) as usize] };
        for first in (0..lines as usize * words).step_by(32) {
            let addresses: [u64; 32] = std::array::from_fn(|lane| {
                let at = first + lane;
                self.base.wrapping_add((at / words) as u64 * self.stride).wrapping_add((at % words) as u64 * 4)
            });
            let mut values = [0u64; 32];
            for (lane, value) in values.iter_mut().enumerate().filter(|_| store) {
                let (number, word) = ((first + lane) / words, (first + lane) % words);
                *value = if kind.bytes() == 8 {
                    elements[element(number, word / 2)] >> (32 * (word % 2)) & 0xffff_ffff
                } else {
                    let bits = 8 * kind.bytes() as usize;
                    let mask = (1u64 << bits) - 1;
                    (0..parts).fold(0, |sum, part| {
                        sum | (elements[element(number, word * parts + part)] & mask) << (part * bits)
                    })
                };
            }
            let data = values.map(|value| [value as u32, 0, 0, 0]);
            let what = (
                if store { AccessKind::Store } else { AccessKind::Load },
                if self.shared { Space::Shared } else { Space::Global },
            );
            let access =
                Access { data: store.then_some(&data), ..Access::new((warp, inst.pc, u32::MAX), what, 4, &addresses) };
            let cache = if self.shared {
                check_shared::<Plain>(context, &access)?;
                None
            } else {
                check_global::<Plain>(context, &access)?.0
            };
            show(context, &access);
            for lane in 0..32 {
                if store {
                    self.write(context, cache, addresses[lane], values[lane] as u32);
                    continue;
                }
                let word = self.read(context, cache, addresses[lane]);
                let (number, at) = ((first + lane) / words, (first + lane) % words);
                if kind.bytes() == 8 {
                    elements[element(number, at / wide)] |= u64::from(word) << (32 * (at % wide));
                } else {
                    for part in 0..parts {
                        elements[element(number, at * parts + part)] =
                            u64::from(word >> (part as u32 * 8 * kind.bytes()));
                    }
                }
            }
        }
        if !store {
            scatter(&self.fragment, registers, r, &elements);
        }
        Ok(())
    }

    fn read<'a>(&self, context: &Context<'a, '_>, cache: Option<Cache<'a>>, address: u64) -> u32 {
        if self.shared {
            return context.shared[address as usize / 4];
        }
        let (words, at) = place(context, cache, address);
        words[at / 4].load(Relaxed)
    }

    fn write<'a>(&self, context: &mut Context<'a, '_>, cache: Option<Cache<'a>>, address: u64, value: u32) {
        if self.shared {
            context.shared[address as usize / 4] = value;
        } else {
            let (words, at) = place(context, cache, address);
            words[at / 4].store(value, Relaxed);
        }
    }
}

/// `ldmatrix`: eight lanes give the rows of each matrix, 16 bytes each; every lane gets two elements of a row, or of a
/// column if the matrix is exchanged.
fn load_rows(context: &mut Context, at: At, matrix: &Matrix, count: u32, exchanged: bool) -> Checked<()> {
    let At { inst, r, warp, .. } = at;
    let given = addresses(r, inst.a, matrix.wide, matrix.offset, u32::MAX);
    // Lanes whose addresses are not asked for may have any.
    let rows = std::array::from_fn(|lane| given[lane % (8 * count as usize)]);
    let lanes = u32::MAX >> (32 - 8 * count);
    check_shared::<Plain>(context, &Access { lanes, ..Access::shared_load(warp, inst.pc, 16, &rows) })?;
    for index in 0..count as usize {
        let words: [u64; 32] = std::array::from_fn(|lane| given[8 * index + lane / 4] + 4 * (lane as u64 % 4));
        show(context, &Access::shared_load(warp, inst.pc, 4, &words));
        let word = |row: usize, at: usize| context.shared[(given[8 * index + row] / 4) as usize + at];
        let out: [u32; 32] = std::array::from_fn(|lane| {
            if !exchanged {
                return word(lane / 4, lane % 4);
            }
            let (column, row) = (lane / 4, 2 * (lane % 4));
            let half = |row| word(row, column / 2) >> (16 * (column % 2)) & 0xffff;
            half(row) | half(row + 1) << 16
        });
        r.write(matrix.registers[index], u32::MAX, &out);
    }
    Ok(())
}
