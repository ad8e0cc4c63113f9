//! How tensor cores add up products of small floating-point numbers.
//!
//! They do not add one product after the other. In one step they take several exact products and the element of C, shift all
//! of them to the largest exponent among them, cut off what lies below the last place that they keep, and add the rest
//! as integers. The sum is rounded once: to `float` by cutting, to `f16` to nearest. So the order inside a step does
//! not matter, but the largest number decides how much of the others counts.
//!
//! The exponent of a product is the sum of its operands' exponents, although its leading digit may be one place higher; that
//! of a subnormal number is the smallest of its format.
//!
//! What Hopper does was read from an H200 (`tests/instructions/ask_tensor_cores.py`): this model agrees with it in every bit of
//! every product that was asked for, by `mma.sync` and by `wgmma`. Ampere and what came before follow the literature (Fasi,
//! Higham, Mikaitis and Pranesh, *Numerical behavior of NVIDIA tensor cores*, 2021; Li and others, *FTTN*, 2024), which
//! tells the places kept and the length of a step, and nobody has compared them here.

use super::real::{Format, Real};
use crate::ast::Type;
use crate::lower::inst::Rounding;

/// The tensor cores of a generation.
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
    /// As much as any instruction has.
    pub const HOPPER: Self = Self { places: 2, step: 32 };

    /// Those of a compute capability.
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
}

/// A number as an integer and the exponent of its first digit: that of a format's smallest normal number if it is below.
#[derive(Debug, Clone, Copy, Default)]
struct Term {
    digits: i64,
    exponent: i32,
}

/// Whether products of the type are added up in this way.
pub(crate) const fn covers(kind: Type) -> bool {
    matches!(kind, Type::F16 | Type::Bf16 | Type::Tf32)
}

/// What a register holds of a number, as its format has it.
const fn trimmed(bits: u64, kind: Type) -> u64 {
    match kind {
        Type::Tf32 => bits >> 13 & 0x7_ffff,
        Type::F32 => bits & 0xffff_ffff,
        _ => bits & 0xffff,
    }
}

/// None if it is no finite number.
fn term(bits: u64, kind: Type) -> Option<Term> {
    let format = Format::of(kind);
    let Real::Finite { negative, bits, exponent } = Real::read(trimmed(bits, kind), format, false) else { return None };
    let digits = bits as i64;
    Some(Term { digits: if negative { -digits } else { digits }, exponent: exponent + format.places() })
}

/// The bits of the elements of A·B + C, in row order.
pub(crate) fn product(core: TensorCore, product: &Product<'_>) -> Vec<u64> {
    let Product { a, b, c, kinds: [result, kind, _, before], length, columns } = *product;
    let read = |bits: &[u64], kind: Type| bits.iter().map(|&bits| term(bits, kind)).collect::<Vec<_>>();
    let (left, right) = (read(a, kind), read(b, kind));
    // Two elements' exponents, and the places of both behind the first digit.
    let below = 2 * Format::of(kind).places();
    let step = ((core.step / kind.bytes()) as usize).max(1);
    let mut terms = vec![Term::default(); length];
    let mut out = Vec::with_capacity(c.len());
    for (at, &c) in c.iter().enumerate() {
        let (row, column) = (at / columns, at % columns);
        let mut finite = true;
        for (k, product) in terms.iter_mut().enumerate() {
            match (left[row * length + k], right[k * columns + column]) {
                (Some(x), Some(y)) => {
                    *product = Term { digits: x.digits * y.digits, exponent: x.exponent + y.exponent };
                }
                _ => finite = false,
            }
        }
        let mut sum = c;
        let mut kind_of_sum = before;
        for (number, terms) in terms.chunks(step).enumerate() {
            let first = term(sum, kind_of_sum).filter(|_| finite);
            sum = match first {
                Some(first) => {
                    let places = Format::of(kind_of_sum).places();
                    add(core, (first, places), (terms, below)).round(result)
                }
                None => {
                    let range = number * step..number * step + terms.len();
                    special(kind, range.map(|k| (a[row * length + k], b[k * columns + column])), (sum, kind_of_sum))
                        .round(Format::of(result), Rounding::Nearest)
                }
            };
            kind_of_sum = result;
        }
        out.push(sum);
    }
    out
}

/// A sum: `digits` · 2^`exponent`.
struct Sum {
    digits: i64,
    exponent: i32,
}

/// One step: the sum before, with as many places behind its first digit, and products.
fn add(core: TensorCore, (first, places): (Term, i32), (products, below): (&[Term], i32)) -> Sum {
    let all = || products.iter().chain(std::iter::once(&first));
    let Some(largest) = all().filter(|term| term.digits != 0).map(|term| term.exponent).max() else {
        return Sum { digits: 0, exponent: 0 };
    };
    let last = largest - Format::of(Type::F32).places() - core.places;
    let aligned = |term: &Term, places: i32| {
        // To the left by few places, as many as a sum has more than a product.
        let by = term.exponent - places - last;
        match by {
            0.. => term.digits << by,
            // Cut towards zero.
            -63..0 => term.digits.signum() * (term.digits.abs() >> -by),
            _ => 0,
        }
    };
    let aligned = |term: &Term, places: i32| if term.digits == 0 { 0 } else { aligned(term, places) };
    let digits = products.iter().map(|term| aligned(term, below)).sum::<i64>() + aligned(&first, places);
    Sum { digits, exponent: last }
}

impl Sum {
    fn round(&self, kind: Type) -> u64 {
        let (negative, bits) = (self.digits < 0, self.digits.unsigned_abs());
        let exact = Real::Finite { negative, bits: bits.into(), exponent: self.exponent };
        let format = Format::of(kind);
        let too_large = self.digits != 0 && bits.ilog2() as i32 + self.exponent > format.largest();
        let rounded = match kind {
            _ if too_large => Real::Infinite { negative }.round(format, Rounding::Zero),
            Type::F32 => exact.round(format, Rounding::Zero),
            _ => exact.round(format, Rounding::Nearest),
        };
        // Nothing is left: a positive zero.
        if rounded & format.magnitude() == 0 { 0 } else { rounded }
    }
}

/// A sum in which not all is finite: the finite numbers do not matter.
fn special(kind: Type, products: impl Iterator<Item = (u64, u64)>, (first, before): (u64, Type)) -> Real {
    let read = |bits: u64, kind: Type| Real::read(trimmed(bits, kind), Format::of(kind), false);
    products.fold(read(first, before), |sum, (x, y)| sum.plus(read(x, kind).times(read(y, kind)), Rounding::Nearest))
}

#[cfg(test)]
pub(super) mod tests;
