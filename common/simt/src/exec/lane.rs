//! One operation on one lane: the rows of the table under `lane` and `half`, and what the other families compute. Operands and
//! results are bit patterns in 64 bits. The types of a closure's arguments say how to read them.

use super::convert::{
    Types, convert, convert_pair, cut, distances, dot2, dot4, extend, extract, find_nth_set, highest, holds, insert,
    lookup, ones, pair, permute, range, resize, select_bytes,
};
use super::real::{Format, Real, canonical, flush, maximum, minimum, signed};
use ptx::ast::Type;
use ptx::lower::inst::{Combine, Detail, Function, Rounding};
use ptx::lower::{LOCAL_WINDOW, SHARED_WINDOW};
use std::num::FpCategory;

/// An integer operand or result of the instruction's type. An operand is extended as its sign says. A result is clamped under
/// `.sat`, and cut to the type's bits.
type Int = i128;

/// The lowest 24 bits of an integer operand.
struct Int24(i128);

/// The number that is encoded in the instruction.
struct Number(u8);

fn width(kind: Type) -> u32 {
    kind.bytes() * 8
}

/// Where a closure's arguments come from: the operands, one after the other, and the instruction's modifiers.
struct Source<'a> {
    detail: &'a Detail,
    values: [u64; 4],
    next: usize,
}

impl Source<'_> {
    #[inline(always)]
    fn next(&mut self) -> u64 {
        let value = self.values[self.next];
        self.next += 1;
        value
    }
}

trait Take {
    fn take(from: &mut Source<'_>) -> Self;
}

macro_rules! take {
    ($($kind:ty: |$from:ident| $value:expr;)*) => {
        $(impl Take for $kind {
            #[inline(always)]
            fn take($from: &mut Source<'_>) -> Self {
                $value
            }
        })*
    };
}
take! {
    // Operands.
    Int: |from| extend(from.next(), from.detail.kind);
    Int24: |from| {
        let word = from.next() as i32;
        Self(if from.detail.kind.is_signed() { i128::from(word << 8 >> 8) } else { i128::from(word & 0xff_ffff) })
    };
    i32: |from| from.next() as i32;
    u32: |from| from.next() as u32;
    // As many bits as the type has.
    u64: |from| from.next() & ones(width(from.detail.kind));
    f32: |from| flush(f32::from_bits(from.next() as u32), from.detail.ftz);
    Real: |from| Self::read(from.next(), Format::of(from.detail.kind), from.detail.ftz);
    FpCategory: |from| match from.detail.kind {
        Type::F64 => f64::from_bits(from.next()).classify(),
        _ => f32::take(from).classify(),
    };
    // Modifiers.
    Type: |from| from.detail.kind;
    Types: |from| (from.detail.kind, from.detail.source);
    Rounding: |from| from.detail.rounding;
    Number: |from| Self(from.detail.lut);
}

trait Give {
    fn give(self, detail: &Detail) -> u64;
}

macro_rules! give {
    ($($kind:ty: |$value:ident, $detail:ident| $bits:expr;)*) => {
        $(impl Give for $kind {
            #[inline(always)]
            fn give(self, $detail: &Detail) -> u64 {
                let $value = self;
                $bits
            }
        })*
    };
}
give! {
    Int: |value, detail| {
        let value = if detail.sat { value.clamp(range(detail.kind).0, range(detail.kind).1) } else { value };
        cut(value, detail.kind)
    };
    bool: |value, _detail| u64::from(value);
    u32: |value, _detail| u64::from(value);
    u64: |value, detail| value & ones(width(detail.kind));
    f32: |value, detail| modified(u64::from(canonical(value)), Format::of(Type::F32), detail);
    Real: |value, detail| {
        let format = Format::of(detail.kind);
        let value = if detail.ftz { value.flushed(format, detail.rounding) } else { value };
        modified(value.round(format, detail.rounding), format, detail)
    };
}

/// A product as the host rounded it, and how to get it exactly. If the host's is the smallest normal number, the exact one may be
/// one that `.ftz` flushes.
struct Host<Exact>(f32, Exact);

impl<Exact: Fn() -> Real> Give for Host<Exact> {
    #[inline(always)]
    fn give(self, detail: &Detail) -> u64 {
        if detail.ftz && self.0.abs() == f32::MIN_POSITIVE { self.1().give(detail) } else { self.0.give(detail) }
    }
}

fn exact(value: f32) -> Real {
    Real::read(value.to_bits().into(), Format::of(Type::F32), false)
}

/// An operation on one lane: a closure with any number of arguments.
trait Operation<Arguments> {
    fn call(&self, detail: &Detail, values: [u64; 4]) -> u64;
}

macro_rules! operation {
    ($($argument:ident)*) => {
        impl<F: Fn($($argument),*) -> R, R: Give, $($argument: Take),*> Operation<($($argument,)*)> for F {
            #[inline(always)]
            fn call(&self, detail: &Detail, values: [u64; 4]) -> u64 {
                let mut from = Source { detail, values, next: 0 };
                self($($argument::take(&mut from)),*).give(detail)
            }
        }
    };
}
operation!(A);
operation!(A B);
operation!(A B C);
operation!(A B C D);
operation!(A B C D E);

/// Applies `.ftz`, `.sat` and `.relu` to the bits of a floating-point result.
#[inline(always)]
pub(super) fn modified(bits: u64, format: Format, detail: &Detail) -> u64 {
    let bits = if detail.ftz { format.flush(bits) } else { bits };
    let bits = if detail.relu { format.rectify(bits) } else { bits };
    if detail.sat { format.saturate(bits) } else { bits }
}

/// Applies an operation to each half-precision number of the operands.
fn halves<Arguments>(operation: &impl Operation<Arguments>, detail: &Detail, values: [u64; 4]) -> u64 {
    let half = |part: u32| operation.call(detail, values.map(|bits| bits >> (16 * part) & 0xffff));
    if detail.kind.is_packed() { half(1) << 16 | half(0) } else { half(0) }
}

/// Computes one lane. Predicates are 0 or 1.
pub(crate) fn eval(detail: &Detail, values: [u64; 4]) -> u64 {
    macro_rules! evaluate {
        (
            vector $vector:tt
            predicate $predicate:tt
            lane { $($lane:ident: $_1:literal, $_2:expr, $_3:ident($($_4:ident),*) => $by_lane:expr $(, $_5:literal)?;)* }
            half { $($half:ident: $_6:literal, $_7:expr, $_8:ident($($_9:ident),*) => $by_half:expr $(, $_10:literal)?;)* }
        ) => {
            match detail.function {
                $(Function::$lane => Operation::call(&$by_lane, detail, values),)*
                $(Function::$half => halves(&$by_half, detail, values),)*
                Function::Cvt => convert(detail, values[0]),
                Function::CvtPack => convert_pair(detail, values),
                Function::Slct => slct(detail, values),
                Function::Set => set(detail, values),
                Function::SetPacked => {
                    let [a, b, c, _] = values;
                    set(detail, [a >> 16, b >> 16, c, 0]) << 16 | set(detail, values)
                }
                Function::Pack => pack(detail, values),
                Function::Unpack => {
                    let bits = width(detail.kind);
                    values[0] >> (u32::from(detail.lut) * bits).min(63) & ones(bits)
                }
                Function::IsShared => u64::from((SHARED_WINDOW..SHARED_WINDOW + (1 << 32)).contains(&values[0])),
                Function::IsLocal => u64::from((LOCAL_WINDOW..LOCAL_WINDOW + (1 << 32)).contains(&values[0])),
                Function::IsGlobal => u64::from(values[0] < SHARED_WINDOW),
                Function::Offset => values[0].wrapping_add(detail.constant),
            }
        };
    }
    ptx::instructions!(evaluate)
}

/// Computes an approximation in double precision. Only the upper half of the operand counts, and of the result.
fn gross(bits: u64, function: impl Fn(f64) -> f64) -> u64 {
    let format = Format::of(Type::F64);
    let result = function(f64::from_bits(format.flush(bits) & !ones(32)));
    if result.is_nan() { format.nan() } else { format.flush(result.to_bits()) & !ones(32) }
}

fn slct(detail: &Detail, [a, b, c, _]: [u64; 4]) -> u64 {
    let first = match detail.source {
        Type::F32 => flush(f32::from_bits(c as u32), detail.ftz) >= 0.0,
        _ => c as u32 >> 31 == 0,
    };
    if first { a } else { b }
}

fn set(detail: &Detail, [a, b, c, _]: [u64; 4]) -> u64 {
    let (value, other) = (holds(detail, detail.source, a, b), (c & 1 == 1) ^ detail.negate);
    let value = match detail.combine {
        Combine::None => value,
        Combine::And => value && other,
        Combine::Or => value || other,
        Combine::Xor => value ^ other,
    };
    match detail.kind {
        _ if !value => 0,
        kind if kind.is_float() || kind.is_half() => Real::integer(1).round(Format::of(kind), Rounding::Nearest),
        kind => ones(width(kind)),
    }
}

/// Puts the elements side by side, the first one lowest.
fn pack(detail: &Detail, values: [u64; 4]) -> u64 {
    let bits = width(detail.kind);
    let elements = if bits < 32 { 4 } else { 2 };
    values[..elements].iter().rev().fold(0, |sum, value| sum << bits | value & ones(bits))
}
