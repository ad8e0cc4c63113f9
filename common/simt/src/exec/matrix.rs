//! Products of matrices in the registers of a warp.
//!
//! The manual leaves open in which order a GPU adds up, and how it rounds on the way. Here products are exact and added in
//! double precision, in order, after the element of C; the sum is rounded once, to nearest.

use super::context::{Checked, Context};
use super::float::{canonical, canonical64};
use super::real::{Format, Real};
use super::registers::Registers;
use crate::ast::Type;
use crate::error::FaultKind;
use crate::lower::fragment::{Fragment, MatrixOp};
use crate::lower::inst::{Inst, Rounding};

/// A matrix in row order.
pub(super) struct Elements {
    pub columns: usize,
    pub values: Vec<f64>,
}

impl Elements {
    /// The elements of a fragment.
    pub fn gather(fragment: &Fragment, registers: &[u32], r: Registers) -> Self {
        let values = gather(fragment, registers, r).into_iter().map(|bits| number(bits, fragment.kind)).collect();
        Self { columns: fragment.columns as usize, values }
    }

    /// The bits of the elements of A·B + C.
    pub fn times(&self, b: &Self, mut sum: Self, kind: Type) -> Vec<u64> {
        for (row, sums) in sum.values.chunks_exact_mut(sum.columns).enumerate() {
            for (k, &left) in self.values[row * self.columns..(row + 1) * self.columns].iter().enumerate() {
                for (sum, &right) in sums.iter_mut().zip(&b.values[k * b.columns..]) {
                    *sum = left.mul_add(right, *sum);
                }
            }
        }
        sum.values.iter().map(|&value| bits(value, kind)).collect()
    }
}

/// What an element's bits stand for. The integers are small enough for double precision.
pub(super) fn number(bits: u64, kind: Type) -> f64 {
    match kind {
        Type::F64 => f64::from_bits(bits),
        Type::F32 => f64::from(f32::from_bits(bits as u32)),
        // What a register holds beyond the format does not count.
        Type::Tf32 => f64::from(f32::from_bits(bits as u32 & !0x1fff)),
        Type::S32 => f64::from(bits as i32),
        Type::S8 => f64::from(bits as i8),
        Type::U8 => f64::from(bits as u8),
        half => {
            let value = Real::read(bits, Format::of(half), false).round(Format::of(Type::F64), Rounding::Nearest);
            f64::from_bits(value)
        }
    }
}

fn bits(value: f64, kind: Type) -> u64 {
    match kind {
        Type::F64 => canonical64(value),
        Type::F32 => canonical(value as f32).into(),
        // Sums wrap.
        Type::S32 => u64::from(value as i64 as u32),
        half => Real::read(value.to_bits(), Format::of(Type::F64), false).round(Format::of(half), Rounding::Nearest),
    }
}

/// All of a fragment's places: lane, register, position of the bits in it, element.
fn places(fragment: &Fragment) -> impl Iterator<Item = (usize, usize, u32, usize)> {
    let width = 8 * fragment.kind.bytes();
    (0..32).flat_map(move |lane| {
        (0..fragment.registers).flat_map(move |register| {
            (0..fragment.parts()).map(move |part| {
                let (row, column) = fragment.element(lane, register, part);
                (lane as usize, register as usize, part * width, (row * fragment.columns + column) as usize)
            })
        })
    })
}

/// The bits of a fragment's elements, in row order.
pub(super) fn gather(fragment: &Fragment, registers: &[u32], r: Registers) -> Vec<u64> {
    let mut out = vec![0; (fragment.rows * fragment.columns) as usize];
    let wide = fragment.kind.bytes() == 8;
    for (lane, register, shift, at) in places(fragment) {
        let from = registers[register];
        out[at] = if wide { r.lane::<u64>(from, lane) } else { u64::from(r.lane::<u32>(from, lane) >> shift) };
    }
    out
}

/// Puts elements, in row order, into the registers of a fragment.
pub(super) fn scatter(fragment: &Fragment, registers: &[u32], r: Registers, elements: &[u64]) {
    let mask = u64::MAX >> (64 - 8 * fragment.kind.bytes());
    for (lane, register, shift, at) in places(fragment) {
        let (to, value) = (registers[register], elements[at] & mask);
        if fragment.kind.bytes() == 8 {
            r.set(to, lane, value);
        } else {
            let rest = if shift == 0 { 0 } else { r.lane::<u32>(to, lane) };
            r.set(to, lane, rest | (value as u32) << shift);
        }
    }
}

/// A warp works on matrices with all its lanes.
pub(super) fn whole<O>(context: &Context<'_, '_, O>, inst: &Inst, warp: u32, mask: u32) -> Checked<()> {
    if mask == u32::MAX {
        return Ok(());
    }
    let kind = FaultKind::MissingLanes { named: u32::MAX, present: mask };
    Err(context.fault(kind, inst.pc, warp, Some((!mask).trailing_zeros())))
}

/// D = A·B + C.
#[inline(never)]
pub(super) fn multiply<O>(
    context: &Context<'_, '_, O>,
    inst: &Inst,
    r: Registers,
    warp: u32,
    mask: u32,
) -> Checked<()> {
    whole(context, inst, warp, mask)?;
    let matrix = &context.code.matrices[inst.imm as usize];
    let MatrixOp::Multiply(fragments) = &matrix.op else { return Ok(()) };
    let mut rest = &matrix.registers[..];
    let registers = fragments.each_ref().map(|fragment| {
        let (own, others) = rest.split_at(fragment.registers as usize);
        rest = others;
        own
    });
    let [a, b, sum] = [1, 2, 3].map(|index| Elements::gather(&fragments[index], registers[index], r));
    let results = a.times(&b, sum, fragments[0].kind);
    scatter(&fragments[0], registers[0], r, &results);
    Ok(())
}
