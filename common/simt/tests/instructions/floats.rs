//! The model of floating-point instructions, in LLVM's software arithmetic.

use super::Expected;
use super::cases::{Case, format};
use super::integers;
use rustc_apfloat::ieee::{BFloat, Double, Half, IeeeFloat, Quad, Semantics, Single};
use rustc_apfloat::{Float, FloatConvert, Round, Status};
use std::cmp::Ordering;

/// What any format of the model can do.
trait Number: Float + FloatConvert<Quad> {}
impl<F: Float + FloatConvert<Quad>> Number for F {}

/// A format of this number of bits with the exponents of `Quad`: its numbers do not run out of them.
struct Wide<const BITS: usize>;
impl<const BITS: usize> Semantics for Wide<BITS> {
    const BITS: usize = BITS;
    const EXP_BITS: usize = 15;
}
/// The digits of `Half`.
type WideHalf = IeeeFloat<Wide<{ 1 + 15 + 10 }>>;
/// The digits of `Single`.
type WideSingle = IeeeFloat<Wide<{ 1 + 15 + 23 }>>;

/// A statement's words.
struct Words<'a>(Vec<&'a str>);

impl Words<'_> {
    fn has(&self, word: &str) -> bool {
        self.0[1..].contains(&word)
    }

    fn round(&self) -> Round {
        match () {
            () if self.has("rz") || self.has("rzi") => Round::TowardZero,
            () if self.has("rm") || self.has("rmi") => Round::TowardNegative,
            () if self.has("rp") || self.has("rpi") => Round::TowardPositive,
            () => Round::NearestTiesToEven,
        }
    }

    /// What the modifiers make of a result.
    fn finish<F: Number>(&self, value: F) -> F {
        let value = if self.has("relu") && value.is_negative() && !value.is_nan() { F::ZERO } else { value };
        let one = F::from_u128(1).value;
        match value {
            _ if !self.has("sat") => value,
            value if value.is_nan() || value.is_negative() => F::ZERO,
            value if value > one => one,
            value => value,
        }
    }
}

fn flush<F: Number>(value: F) -> F {
    if value.is_denormal() { F::ZERO.copy_sign(value) } else { value }
}

/// The number in a format of as many digits and fewer exponents; those that it has only as subnormal ones are flushed.
fn flushed<W: Number + FloatConvert<F>, F: Number>(value: W, round: Round) -> F {
    match value {
        value if quad(value.abs()) >= quad(F::smallest_normalized()) || value.is_nan() => {
            value.convert_r(round, &mut false).value
        }
        value if value.is_negative() => -F::ZERO,
        _ => F::ZERO,
    }
}

/// The bits of a result; there is one NaN.
fn bits<F: Number>(value: F, kind: &str) -> u64 {
    match kind {
        _ if !value.is_nan() => value.to_bits() as u64,
        "f64" => 0xfff8 << 48,
        "f32" => 0x7fff_ffff,
        _ => 0x7fff,
    }
}

fn quad<F: Number>(value: F) -> Quad {
    value.convert(&mut false).value
}

/// The root, rounded: the largest number whose square is not above, or its neighbour.
fn root<F: Number>(value: F, guess: F, round: Round) -> F {
    if value.is_nan() || value.is_zero() || value.is_pos_infinity() {
        return value;
    }
    if value.is_negative() {
        return F::qnan(None);
    }
    let square = |x: Quad| (x * x).value;
    let target = quad(value);
    let mut low = guess;
    while square(quad(low)) > target {
        low = low.next_down().value;
    }
    while square(quad(low.next_up().value)) <= target {
        low = low.next_up().value;
    }
    if square(quad(low)) == target {
        return low;
    }
    let high = low.next_up().value;
    let middle = ((quad(low) + quad(high)).value / Quad::from_u128(2).value).value;
    match round {
        Round::TowardPositive => high,
        // A root is never a tie.
        Round::NearestTiesToEven if square(middle) < target => high,
        _ => low,
    }
}

/// What rounds; none if it is something else.
fn arithmetic<F: Number>(words: &Words<'_>, [x, y, z]: [F; 3]) -> Option<F> {
    let round = words.round();
    let result = match words.0[0] {
        "add" => x.add_r(y, round),
        "sub" => x.sub_r(y, round),
        "mul" => x.mul_r(y, round),
        "fma" | "mad" => x.mul_add_r(y, z, round),
        "div" => x.div_r(y, round),
        "rcp" => F::from_u128(1).value.div_r(x, round),
        _ => return None,
    };
    Some(result.value)
}

/// One operation in one format, and in the wide format of as many digits if it is flushed; none if this model does not know it.
fn compute<F: Number + FloatConvert<W>, W: Number + FloatConvert<F>>(
    words: &Words<'_>,
    operands: [u64; 3],
    guess: impl Fn(u64) -> u64,
) -> Option<F> {
    let [a, b, c] = operands.map(|bits| F::from_bits(bits.into()));
    let [x, y, z] = if words.has("ftz") { [a, b, c].map(flush) } else { [a, b, c] };
    let round = words.round();
    let lesser = |x: F, y: F| match x.partial_cmp(&y) {
        None if words.has("NaN") => F::qnan(None),
        None if x.is_nan() => y,
        None | Some(Ordering::Less) => x,
        Some(Ordering::Equal) if x.is_negative() => x,
        Some(_) => y,
    };
    let result = if words.has("ftz") {
        let wide = [x, y, z].map(|operand| operand.convert(&mut false).value);
        arithmetic::<W>(words, wide).map(|value| flushed(value, round))
    } else {
        arithmetic(words, [x, y, z])
    };
    let value = match words.0[0] {
        _ if result.is_some() => result?,
        "sqrt" => root(x, F::from_bits(guess(x.to_bits() as u64).into()), round),
        "min" => lesser(x, y),
        "max" => -lesser(-x, -y),
        "neg" => -x,
        "abs" => x.abs(),
        _ => return None,
    };
    Some(words.finish(value))
}

/// A number of single or half precision as a double.
pub fn number(bits: u64, kind: &str) -> f64 {
    let quad = to_quad(bits, kind);
    let double: Double = quad.convert(&mut false).value;
    f64::from_bits(double.to_bits() as u64)
}

fn to_quad(bits: u64, kind: &str) -> Quad {
    match kind {
        "f16" => quad(Half::from_bits((bits & 0xffff).into())),
        "bf16" => quad(BFloat::from_bits((bits & 0xffff).into())),
        "f32" => quad(Single::from_bits((bits & 0xffff_ffff).into())),
        _ => quad(Double::from_bits(bits.into())),
    }
}

/// One unit in the last place of an approximation.
pub fn unit(value: f64, kind: &str) -> f64 {
    let (fraction, exponent) = format(kind).unwrap_or((52, 11));
    let least: i32 = 2 - (1 << (exponent - 1));
    let power = if value == 0.0 { least } else { (value.abs().log2().floor() as i32).max(least) };
    2f64.powi(power - fraction as i32)
}

pub fn model(case: &Case, operands: [u64; 4]) -> Option<Expected> {
    let words = Words(case.opcode.split('.').collect());
    let [a, b, c, _] = operands;
    let from = case.types.get(1)?.as_str();
    let real = case.types.iter().any(|kind| format(kind).is_some()) || words.has("tf32");
    if !real {
        return None;
    }
    match words.0[0] {
        "setp" | "set" if format(from).is_some() => return Some(Expected::Bits(compare(case, &words, [a, b, c]))),
        "slct" if case.types[3] == "f32" => {
            let c = Single::from_bits(c.into());
            let c = if words.has("ftz") { flush(c) } else { c };
            return Some(Expected::Bits(if c >= Single::ZERO { a } else { b }));
        }
        "mov" | "selp" | "slct" | "setp" | "set" => return None,
        "cvt" => return Some(Expected::Bits(convert(&words, a, b))),
        "copysign" => {
            let sign = 1 << if from == "f64" { 63 } else { 31 };
            return Some(Expected::Bits(a & sign | b & !sign));
        }
        "testp" => return Some(Expected::Bits(test(words.0[1], to_quad(a, from), a, from).into())),
        _ => {}
    }
    if let Some(kind) = from.strip_suffix("x2") {
        let single = Case { types: vec![kind.into(); case.types.len()], ..case.clone() };
        let half = |part: u32| match model(&single, operands.map(|bits| bits >> (16 * part) & 0xffff))? {
            Expected::Bits(bits) => Some(bits),
            Expected::Near(value) => Some(nearest(value, kind)),
        };
        return Some(Expected::Bits(half(1)? << 16 | half(0)?));
    }
    if words.has("approx") && from != "f64" || words.0[0] == "rsqrt" || words.0[0] == "rcp" && words.has("approx") {
        return approximation(&words, a, b, from);
    }
    let operands = [a, b, c];
    let root32 = |bits: u64| u64::from(f32::from_bits(bits as u32).sqrt().to_bits());
    Some(Expected::Bits(match from {
        "f16" => bits(compute::<Half, WideHalf>(&words, operands, |bits| bits)?, from),
        "bf16" => bits(compute::<BFloat, BFloat>(&words, operands, |bits| bits)?, from),
        // Only the bits change; the manual leaves open what becomes of a NaN.
        "f64" if words.0[0] == "neg" => a ^ 1 << 63,
        "f64" if words.0[0] == "abs" => a & !(1 << 63),
        "f32" => bits(compute::<Single, WideSingle>(&words, operands, root32)?, from),
        _ => bits(compute::<Double, Double>(&words, operands, |bits| f64::from_bits(bits).sqrt().to_bits())?, from),
    }))
}

/// A double rounded to half precision.
fn nearest(value: f64, kind: &str) -> u64 {
    let value = Double::from_bits(value.to_bits().into());
    if kind == "f16" {
        let value: Half = value.convert(&mut false).value;
        bits(value, kind)
    } else {
        let value: BFloat = value.convert(&mut false).value;
        bits(value, kind)
    }
}

/// What a GPU computes approximately.
fn approximation(words: &Words<'_>, a: u64, b: u64, kind: &str) -> Option<Expected> {
    // In double precision only the upper half counts where `.ftz` is given.
    let gross = kind == "f64" && words.has("ftz");
    let read = |bits: u64| {
        let bits = if gross { bits >> 32 << 32 } else { bits };
        let number = number(bits, kind);
        let (_, exponent) = format(kind).unwrap_or_default();
        let least = if kind == "f64" { f64::MIN_POSITIVE } else { 2f64.powi(2 - (1 << (exponent - 1))) };
        if words.has("ftz") && number.abs() < least { 0f64.copysign(number) } else { number }
    };
    let (x, y) = (read(a), read(b));
    let value = match words.0[0] {
        "div" => x / y,
        "rcp" => 1.0 / x,
        "sqrt" => x.sqrt(),
        "rsqrt" => 1.0 / x.sqrt(),
        "sin" => x.sin(),
        "cos" => x.cos(),
        "lg2" => x.log2(),
        "ex2" => x.exp2(),
        "tanh" => x.tanh(),
        _ => return None,
    };
    if gross {
        let value = if value.is_subnormal() { 0f64.copysign(value) } else { value };
        return Some(Expected::Bits(if value.is_nan() { 0xfff8 << 48 } else { value.to_bits() >> 32 << 32 }));
    }
    if format(kind)?.0 == 10 || kind == "bf16" {
        let bits = nearest(value, kind);
        let tiny = words.has("ftz") && bits & 0x7fff < 0x80;
        return Some(Expected::Bits(if tiny { bits & 0x8000 } else { bits }));
    }
    if kind == "f32" {
        let value = value as f32;
        let value = if words.has("ftz") && value.is_subnormal() { 0f32.copysign(value) } else { value };
        return Some(Expected::Near(value.into()));
    }
    Some(Expected::Near(value))
}

fn compare(case: &Case, words: &Words<'_>, [a, b, c]: [u64; 3]) -> u64 {
    let kind = case.types[1].as_str();
    let one = |a: u64, b: u64, kind: &str| {
        let [x, y] = [a, b].map(|bits| {
            let subnormal =
                format(kind).is_some_and(|(fraction, exponent)| bits >> fraction & ((1 << exponent) - 1) == 0);
            let quad = to_quad(bits, kind);
            if words.has("ftz") && subnormal { Quad::ZERO } else { quad }
        });
        let name = words.0[1];
        let holds = match (name, x.partial_cmp(&y)) {
            ("num", order) => order.is_some(),
            ("nan", order) => order.is_none(),
            (name, None) => matches!(name, "equ" | "neu" | "ltu" | "leu" | "gtu" | "geu"),
            (name, Some(order)) => integers::relation(&name[..2], order).unwrap_or(false),
        };
        integers::combined(&words.0, holds, c)
    };
    if let Some(kind) = kind.strip_suffix("x2") {
        let halves = [one(a & 0xffff, b & 0xffff, kind), one(a >> 16, b >> 16, kind)];
        if words.0[0] == "setp" {
            return u64::from(halves[0]) | u64::from(halves[1]) << 1;
        }
        let single = match case.types[0].as_str() {
            "u32" | "s32" => "u16",
            packed => &packed[..packed.len() - 2],
        };
        let case = Case { types: vec![single.into()], ..case.clone() };
        return truth(&case, halves[0]) | truth(&case, halves[1]) << 16;
    }
    truth(case, one(a, b, kind))
}

/// What a comparison that holds gives: all ones, or the number one.
pub fn truth(case: &Case, holds: bool) -> u64 {
    match case.types[0].as_str() {
        _ if !holds => 0,
        "pred" => 1,
        "f16" => 0x3c00,
        "bf16" => 0x3f80,
        "f32" => 0x3f80_0000,
        "u16" | "s16" => 0xffff,
        _ => 0xffff_ffff,
    }
}

fn test(class: &str, value: Quad, bits: u64, kind: &str) -> bool {
    let (fraction, exponent) = format(kind).unwrap_or((52, 11));
    let subnormal = bits >> fraction & ((1 << exponent) - 1) == 0 && !value.is_zero();
    match class {
        "finite" => value.is_finite(),
        "infinite" => value.is_infinite(),
        "number" => !value.is_nan(),
        "notanumber" => value.is_nan(),
        "subnormal" => subnormal,
        _ => value.is_finite() && !subnormal,
    }
}

fn convert(words: &Words<'_>, a: u64, b: u64) -> u64 {
    let (to, from) = (words.0[words.0.len() - 2], words.0[words.0.len() - 1]);
    if let Some(half) = to.strip_suffix("x2") {
        return convert_one(words, half, from, a) << 16 | convert_one(words, half, from, b);
    }
    convert_one(words, to, from, a)
}

fn convert_one(words: &Words<'_>, to: &str, from: &str, a: u64) -> u64 {
    if to == "tf32" {
        // Half a unit, or a little less, is added and the rest cut off.
        let number = f32::from_bits(a as u32);
        let half = match () {
            () if words.has("rna") => 0x1000,
            () if words.has("rz") => 0,
            () => 0xfff + (a >> 13 & 1),
        };
        return match number {
            number if number.is_nan() && words.has("rna") => a & 0xffff_e000,
            number if number.is_nan() => 0x7fff_e000,
            number if words.has("relu") && number.is_sign_negative() => 0,
            number if number.is_infinite() => a,
            _ => (a + half) & 0xffff_e000,
        };
    }
    if format(from).is_none() && format(to).is_none() {
        return integers::model(
            &Case { opcode: words.0.join("."), types: vec![to.into(), from.into()], registers: vec![], number: None },
            [a, 0, 0, 0],
        )
        .unwrap_or(0);
    }
    let whole = ["rni", "rzi", "rmi", "rpi"].iter().any(|word| words.has(word));
    // The bits move.
    if to == "f32" && matches!(from, "f32" | "bf16") && !(whole || words.has("ftz") || words.has("sat")) {
        return if from == "bf16" { a << 16 } else { a };
    }
    let round = words.round();
    let value = if format(from).is_some() {
        let value = to_quad(a, from);
        let subnormal = from == "f32" && to != "f16" && a & 0x7f80_0000 == 0;
        let value = if words.has("ftz") && subnormal { Quad::ZERO.copy_sign(value) } else { value };
        if whole { value.round_to_integral(round).value } else { value }
    } else {
        Quad::from_i128(integers::number(a, from)).value
    };
    macro_rules! number {
        ($format:ty) => {{
            let value: $format = value.convert_r(round, &mut false).value;
            bits(words.finish(value), to)
        }};
    }
    match to {
        "f16" => number!(Half),
        "bf16" => number!(BFloat),
        // Of a double's NaN the sign stays, and as much of its fraction as there is room for.
        "f32" if from == "f64" && value.is_nan() && !words.has("sat") => {
            a >> 63 << 31 | 0x7fc0_0000 | a >> 29 & 0x3f_ffff
        }
        "f32" if words.has("ftz") => {
            let wide: WideSingle = value.convert_r(round, &mut false).value;
            bits(words.finish(flushed::<_, Single>(wide, round)), to)
        }
        "f32" => number!(Single),
        "f64" => number!(Double),
        _ => {
            let (low, high) = integers::limits(to);
            if value.is_nan() {
                let bits: u32 = to[1..].parse().unwrap_or(32);
                let top = 1 << (bits - 1);
                return if from == "f64" || bits == 64 { integers::number(top, to) as u64 } else { 0 };
            }
            let exact = value.to_i128_r(127, round, &mut false);
            let number = match exact.status {
                status if status.contains(Status::INVALID_OP) => {
                    if value.is_negative() {
                        low
                    } else {
                        high
                    }
                }
                _ => exact.value,
            };
            number.clamp(low, high) as u64
        }
    }
}
