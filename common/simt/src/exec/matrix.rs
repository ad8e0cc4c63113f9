//! Products of matrices in the registers of a warp, and how tensor cores add up products of small floating-point numbers.
//!
//! Tensor cores do not add one product after the other. In one step they take several exact products and the element of C, shift
//! all of them to the largest exponent among them, cut off what lies below the last place that they keep, and add the rest as
//! integers. The sum is rounded once: towards zero to `float`, to nearest to `f16`. So the order within a step does not matter, but
//! the largest number decides how much of the others counts.
//!
//! The exponent of a product is the sum of its operands' exponents, even if its leading digit is one place higher. The exponent of
//! a subnormal number is the smallest of its format.
//!
//! The model of Hopper follows an H200 (`tests/instructions/ask_tensor_cores.py`). It agrees in every bit of every product that the
//! H200 was asked for, by `mma.sync` and by `wgmma`. For Ampere and earlier GPUs, the places kept and the length of a step are from
//! the literature (Fasi, Higham, Mikaitis and Pranesh, *Numerical behavior of NVIDIA tensor cores*, 2021; Li and others, *FTTN*,
//! 2024). They were not compared with a GPU here.

use super::access::At;
use super::context::{Checked, Context};
use super::real::{Format, Real, canonical64};
use super::registers::Registers;
use ptx::ast::Type;
use ptx::error::FaultKind;
use ptx::lower::inst::Rounding;
use ptx::lower::matrix::Fragment;

/// Returns the bits of the elements of A·B + C, in row order.
pub(super) fn multiplied(core: TensorCore, product: &Product<'_>) -> Vec<u64> {
    if covers(product.kinds[1]) { on_tensor_cores(core, product) } else { in_order(product) }
}

/// Returns the bits of A·B + C, added one after the other: in double precision, or as integers, whose sums are exact.
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

/// Returns the number that an element's bits stand for. The integers are small enough for double precision.
fn number(bits: u64, kind: Type) -> f64 {
    match kind {
        Type::S32 => f64::from(bits as i32),
        Type::S8 => f64::from(bits as i8),
        Type::U8 => f64::from(bits as u8),
        _ => f64::from_bits(bits),
    }
}

fn bits(value: f64, kind: Type) -> u64 {
    // Sums of integers wrap.
    if kind == Type::S32 { u64::from(value as i64 as u32) } else { canonical64(value) }
}

/// Returns the bits of a fragment's elements, in row order.
pub(super) fn gather(fragment: &Fragment, registers: &[u32], r: Registers) -> Vec<u64> {
    let mut out = vec![0; (fragment.rows * fragment.columns) as usize];
    let bytes = fragment.kind.bytes() as usize;
    for (lane, register, part, at) in fragment.places() {
        out[at] = r.bits(registers[register], bytes == 8, lane) >> (8 * bytes * part);
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

/// Checks that all lanes of a warp take part, as instructions on matrices need them.
pub(super) fn whole(context: &Context, At { inst, warp, lanes, .. }: At) -> Checked<()> {
    if lanes == u32::MAX {
        return Ok(());
    }
    let kind = FaultKind::MissingLanes { named: u32::MAX, present: lanes };
    Err(context.fault(kind, inst.pc, warp, Some((!lanes).trailing_zeros())))
}

/// Computes D = A·B + C on the tensor cores of a target. The fragments are those of D, A, B and C.
#[inline(never)]
pub(super) fn multiply(target: u32, r: Registers, fragments: &[Fragment; 4], saturates: bool, registers: &[u32]) {
    let mut rest = registers;
    let registers = fragments.each_ref().map(|fragment| {
        let (own, others) = rest.split_at(fragment.registers as usize);
        rest = others;
        own
    });
    let [a, b, c] = [1, 2, 3].map(|index| gather(&fragments[index], registers[index], r));
    let [columns, length] = [0, 1].map(|index| fragments[index].columns as usize);
    let kinds = fragments.map(|fragment| fragment.kind);
    let product = Product { a: &a, b: &b, c: &c, kinds, length, columns, saturates };
    scatter(&fragments[0], registers[0], r, &multiplied(TensorCore::of(target), &product));
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TensorCore {
    /// Binary places that a sum keeps below those of a `float`.
    pub places: i32,
    /// Bytes of a row of A that one step takes. The next step starts from the rounded sum of the one before.
    pub step: u32,
}

impl TensorCore {
    pub const VOLTA: Self = Self { places: 0, step: 8 };
    pub const AMPERE: Self = Self { places: 1, step: 16 };
    /// One step takes the longest row of any instruction.
    pub const HOPPER: Self = Self { places: 2, step: 32 };

    pub const fn of(target: u32) -> Self {
        match target {
            0..80 => Self::VOLTA,
            80..90 => Self::AMPERE,
            _ => Self::HOPPER,
        }
    }
}

/// Matrices, in row order, as the bits of their elements.
pub(crate) struct Product<'a> {
    pub a: &'a [u64],
    pub b: &'a [u64],
    pub c: &'a [u64],
    /// The types of D, A, B and C.
    pub kinds: [Type; 4],
    /// Columns of A, and of B.
    pub length: usize,
    pub columns: usize,
    /// Whether sums of integers stop at the ends of their type, instead of wrapping.
    pub saturates: bool,
}

/// A number, exactly. If it is subnormal, its exponent is that of the format's smallest normal number. If it is zero, its exponent
/// is less than that of any number.
#[derive(Debug, Clone, Copy)]
struct Term {
    value: f64,
    exponent: i32,
}

/// The exponent of zero, far below those of products.
const OF_ZERO: i32 = -1 << 20;

/// Whether tensor cores add up products of this type.
pub(crate) const fn covers(kind: Type) -> bool {
    matches!(kind, Type::F16 | Type::Bf16 | Type::Tf32)
}

/// Returns the bits of a register that belong to a number, as its format lays them out.
const fn trimmed(bits: u64, kind: Type) -> u64 {
    match kind {
        Type::Tf32 => bits >> 13 & 0x7_ffff,
        Type::F32 => bits & 0xffff_ffff,
        _ => bits & 0xffff,
    }
}

/// Returns the number, or `None` if it is not finite.
fn term(bits: u64, kind: Type) -> Option<Term> {
    let format = Format::of(kind);
    let Real::Finite { negative, bits, exponent } = Real::read(trimmed(bits, kind), format, false) else { return None };
    if bits == 0 {
        return Some(Term { value: 0.0, exponent: OF_ZERO });
    }
    let size = bits as f64 * power_of_two(exponent);
    Some(Term { value: if negative { -size } else { size }, exponent: exponent + format.places() })
}

/// Returns 2^`exponent`, for what single precision has, its squares and the inverses of those.
fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((1023 + exponent.clamp(-1022, 1023)) as u64) << 52)
}

/// Returns the bits of the elements of A·B + C, in row order, as tensor cores compute them.
fn on_tensor_cores(core: TensorCore, product: &Product<'_>) -> Vec<u64> {
    let Product { a, b, c, kinds: [result, kind, _, before], length, columns, .. } = *product;
    let by_column: Vec<u64> = (0..b.len()).map(|at| b[at % length * columns + at / length]).collect();
    let lines = |elements: &[u64]| -> Vec<Option<Vec<Term>>> {
        elements.chunks(length).map(|line| line.iter().map(|&bits| term(bits, kind)).collect()).collect()
    };
    let (rows_of_a, columns_of_b) = (lines(a), lines(&by_column));
    let step = ((core.step / kind.bytes()) as usize).max(1);
    let element = |at: usize| {
        let (row, column) = (at / columns, at % columns);
        let mut sum = (c[at], before);
        for from in (0..length).step_by(step) {
            let own = from..length.min(from + step);
            let operands = (term(sum.0, sum.1), &rows_of_a[row], &columns_of_b[column]);
            let bits = if let (Some(first), Some(x), Some(y)) = operands {
                add(core, first, &x[own.clone()], &y[own], result)
            } else {
                let pairs = own.map(|k| (a[row * length + k], b[k * columns + column]));
                special(kind, pairs, sum).round(Format::of(result), Rounding::Nearest)
            };
            sum = (bits, result);
        }
        sum.0
    };
    (0..c.len()).map(element).collect()
}

/// Executes one step: adds the products of two lines to the sum before, and returns the bits of the new sum.
fn add(core: TensorCore, first: Term, x: &[Term], y: &[Term], kind: Type) -> u64 {
    let pairs = || x.iter().zip(y);
    let largest = pairs().fold(first.exponent, |largest, (x, y)| largest.max(x.exponent + y.exponent));
    let last = largest - Format::of(Type::F32).places() - core.places;
    // Double precision holds the products and their multiples by a power of two. The conversion cuts them off towards zero.
    let scale = power_of_two(-last);
    let aligned = |value: f64| (value * scale) as i64;
    let digits = pairs().fold(aligned(first.value), |sum, (x, y)| sum + aligned(x.value * y.value));
    let (negative, bits) = (digits < 0, digits.unsigned_abs());
    let exact = Real::Finite { negative, bits: bits.into(), exponent: last };
    let format = Format::of(kind);
    let too_large = digits != 0 && bits.ilog2() as i32 + last > format.largest();
    let rounded = match kind {
        _ if too_large => Real::Infinite { negative }.round(format, Rounding::Zero),
        Type::F32 => exact.round(format, Rounding::Zero),
        _ => exact.round(format, Rounding::Nearest),
    };
    // If nothing is left, the result is a positive zero.
    if rounded & format.magnitude() == 0 { 0 } else { rounded }
}

/// Returns a sum in which not all numbers are finite. The finite ones do not matter.
fn special(kind: Type, products: impl Iterator<Item = (u64, u64)>, (first, before): (u64, Type)) -> Real {
    let read = |bits: u64, kind: Type| Real::read(trimmed(bits, kind), Format::of(kind), false);
    products.fold(read(first, before), |sum, (x, y)| sum.plus(read(x, kind).times(read(y, kind)), Rounding::Nearest))
}

#[cfg(test)]
pub(super) mod tests;
