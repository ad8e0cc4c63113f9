//! Products of matrices in the registers of a warp. How small floating-point numbers are added up is in `sums`.

use super::context::{Checked, Context};
use super::real::canonical64;
use super::registers::Registers;
use super::sums::{self, Product, TensorCore, covers};
use crate::ast::Type;
use crate::error::FaultKind;
use crate::lower::inst::Inst;
use crate::lower::matrix::{Fragment, MatrixOp};

/// The bits of the elements of A·B + C, in row order.
pub(super) fn multiplied(core: TensorCore, product: &Product<'_>) -> Vec<u64> {
    if covers(product.kinds[1]) { sums::product(core, product) } else { in_order(product) }
}

/// The bits of A·B + C whose numbers are added one after the other: in double precision, or integers, whose sums are exact.
fn in_order(product: &Product<'_>) -> Vec<u64> {
    let Product { a, b, c, kinds: [result, left, right, before], length, columns, saturates } = *product;
    let read = |elements: &[u64], kind: Type| elements.iter().map(|&bits| number(bits, kind)).collect::<Vec<_>>();
    let (a, b, mut c) = (read(a, left), read(b, right), read(c, before));
    for (sums, row) in c.chunks_exact_mut(columns).zip(a.chunks_exact(length)) {
        for (&left, others) in row.iter().zip(b.chunks_exact(columns)) {
            for (sum, &right) in sums.iter_mut().zip(others) {
                *sum = left.mul_add(right, *sum);
            }
        }
    }
    let end = |value: f64| if saturates { value.clamp(i32::MIN.into(), i32::MAX.into()) } else { value };
    c.iter().map(|&value| bits(end(value), result)).collect()
}

/// What an element's bits stand for. The integers are small enough for double precision.
fn number(bits: u64, kind: Type) -> f64 {
    match kind {
        Type::S32 => f64::from(bits as i32),
        Type::S8 => f64::from(bits as i8),
        Type::U8 => f64::from(bits as u8),
        _ => f64::from_bits(bits),
    }
}

fn bits(value: f64, kind: Type) -> u64 {
    match kind {
        // Sums wrap.
        Type::S32 => u64::from(value as i64 as u32),
        _ => canonical64(value),
    }
}

/// The bits of a fragment's elements, in row order.
pub(super) fn gather(fragment: &Fragment, registers: &[u32], r: Registers) -> Vec<u64> {
    let mut out = vec![0; (fragment.rows * fragment.columns) as usize];
    let bytes = fragment.kind.bytes() as usize;
    for (lane, register, part, at) in fragment.places() {
        let from = registers[register];
        let shifted = |word: u32| u64::from(word >> (8 * bytes * part));
        out[at] = if bytes == 8 { r.lane::<u64>(from, lane) } else { shifted(r.lane::<u32>(from, lane)) };
    }
    out
}

/// Puts elements, in row order, into the registers of a fragment.
pub(super) fn scatter(fragment: &Fragment, registers: &[u32], r: Registers, elements: &[u64]) {
    let bytes = fragment.kind.bytes() as usize;
    let mask = u64::MAX >> (64 - 8 * bytes);
    for (lane, register, part, at) in fragment.places() {
        let (to, value) = (registers[register], elements[at] & mask);
        if bytes == 8 {
            r.set(to, lane, value);
        } else {
            let rest = if part == 0 { 0 } else { r.lane::<u32>(to, lane) };
            r.set(to, lane, rest | (value as u32) << (8 * bytes * part));
        }
    }
}

/// A warp works on matrices with all its lanes.
pub(super) fn whole(context: &Context, inst: &Inst, warp: u32, mask: u32) -> Checked<()> {
    if mask == u32::MAX {
        return Ok(());
    }
    let kind = FaultKind::MissingLanes { named: u32::MAX, present: mask };
    Err(context.fault(kind, inst.pc, warp, Some((!mask).trailing_zeros())))
}

/// D = A·B + C.
#[inline(never)]
pub(super) fn multiply(context: &Context, inst: &Inst, r: Registers, warp: u32, mask: u32) -> Checked<()> {
    whole(context, inst, warp, mask)?;
    let matrix = &context.code.matrices[inst.imm as usize];
    let MatrixOp::Multiply(fragments, saturates) = &matrix.op else { return Ok(()) };
    let mut rest = &matrix.registers[..];
    let registers = fragments.each_ref().map(|fragment| {
        let (own, others) = rest.split_at(fragment.registers as usize);
        rest = others;
        own
    });
    let [a, b, c] = [1, 2, 3].map(|index| gather(&fragments[index], registers[index], r));
    let [columns, length] = [0, 1].map(|index| fragments[index].columns as usize);
    let (kinds, saturates) = (fragments.map(|fragment| fragment.kind), *saturates);
    let product = Product { a: &a, b: &b, c: &c, kinds, length, columns, saturates };
    let results = multiplied(TensorCore::of(context.code.target), &product);
    scatter(&fragments[0], registers[0], r, &results);
    Ok(())
}
