//! One operation on one lane, for every operation that is not frequent enough for a vector form. Operands and results
//! are bit patterns in 64 bits.

use crate::ast::Type;
use crate::lower::inst::{Combine, Compare, Detail, Function, Rounding};
use crate::lower::{LOCAL_WINDOW, SHARED_WINDOW};

/// The only NaN a GPU's single-precision arithmetic produces.
pub(crate) const NAN: u32 = 0x7fff_ffff;

/// Bits of the type, sign-extended when it is signed.
fn extend(value: u64, kind: Type) -> i128 {
    let bits = kind.bytes() * 8;
    if bits == 0 || bits > 64 {
        return i128::from(value);
    }
    let shift = 64 - bits;
    if kind.is_signed() { i128::from((value << shift) as i64 >> shift) } else { i128::from(value << shift >> shift) }
}

/// Cuts a result to the type's bits.
fn cut(value: i128, kind: Type) -> u64 {
    let bits = kind.bytes() * 8;
    let value = value as u64;
    if bits >= 64 { value } else { value & ((1 << bits) - 1) }
}

fn range(kind: Type) -> (i128, i128) {
    let bits = kind.bytes() * 8;
    if kind.is_signed() { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) }
}

fn flush(value: f32, ftz: bool) -> f32 {
    if ftz && value.is_subnormal() { 0.0f32.copysign(value) } else { value }
}

fn single(value: f32) -> u64 {
    u64::from(if value.is_nan() { NAN } else { value.to_bits() })
}

/// Moves a correctly rounded (to nearest) result to the neighbour that directed rounding asks for. `error` is the sign
/// of exact − rounded.
fn direct32(value: f32, error: f64, rounding: Rounding) -> f32 {
    if error == 0.0 || error.is_nan() || value.is_nan() {
        return value;
    }
    match rounding {
        Rounding::Zero if (error < 0.0) == (value > 0.0) && value != 0.0 => {
            if value > 0.0 {
                value.next_down()
            } else {
                value.next_up()
            }
        }
        Rounding::Down if error < 0.0 => value.next_down(),
        Rounding::Up if error > 0.0 => value.next_up(),
        _ => value,
    }
}

fn direct64(value: f64, error: f64, rounding: Rounding) -> f64 {
    if error == 0.0 || error.is_nan() || value.is_nan() {
        return value;
    }
    match rounding {
        Rounding::Zero if (error < 0.0) == (value > 0.0) && value != 0.0 => {
            if value > 0.0 {
                value.next_down()
            } else {
                value.next_up()
            }
        }
        Rounding::Down if error < 0.0 => value.next_down(),
        Rounding::Up if error > 0.0 => value.next_up(),
        _ => value,
    }
}

/// Rounds a double, whose own error has sign `tail`, to single.
fn narrow(exact: f64, tail: f64, rounding: Rounding) -> f32 {
    let near = exact as f32;
    if rounding == Rounding::Nearest {
        return near;
    }
    let error = exact - f64::from(near);
    // An overflow to infinity is undone by rounding towards zero.
    if near.is_infinite() && exact.is_finite() {
        return match rounding {
            Rounding::Zero => f32::MAX.copysign(near),
            Rounding::Down if near > 0.0 => f32::MAX,
            Rounding::Up if near < 0.0 => f32::MIN,
            _ => near,
        };
    }
    direct32(near, if error == 0.0 { tail } else { error }, rounding)
}

fn float32(detail: &Detail, a: u64, b: u64, c: u64) -> u64 {
    let ftz = detail.ftz;
    let [x, y, z] = [a, b, c].map(|bits| flush(f32::from_bits(bits as u32), ftz));
    let (dx, dy, dz) = (f64::from(x), f64::from(y), f64::from(z));
    let nearest = detail.rounding == Rounding::Nearest;
    let value = match detail.function {
        Function::Add | Function::Sub => {
            let dy = if detail.function == Function::Sub { -dy } else { dy };
            if nearest {
                (x as f64 + dy) as f32
            } else {
                let sum = dx + dy;
                // Error of the double sum (two-sum), in case 53 bits were not enough.
                let part = sum - dx;
                narrow(sum, (dx - (sum - part)) + (dy - part), detail.rounding)
            }
        }
        Function::MulLo if nearest => x * y,
        Function::MulLo => narrow(dx * dy, 0.0, detail.rounding),
        Function::Fma if nearest => x.mul_add(y, z),
        Function::Fma => {
            let product = dx * dy;
            let sum = product + dz;
            let part = sum - product;
            narrow(sum, (product - (sum - part)) + (dz - part), detail.rounding)
        }
        Function::Div if nearest => x / y,
        Function::Div => {
            let near = x / y;
            let error = (-f64::from(near)).mul_add(dy, dx) * dy.signum();
            direct32(near, error, detail.rounding)
        }
        Function::Rcp if nearest => 1.0 / x,
        Function::Rcp => direct32(1.0 / x, (-f64::from(1.0 / x)).mul_add(dx, 1.0) * dx.signum(), detail.rounding),
        Function::Sqrt if nearest => x.sqrt(),
        Function::Sqrt => direct32(x.sqrt(), (-f64::from(x.sqrt())).mul_add(f64::from(x.sqrt()), dx), detail.rounding),
        Function::Rsqrt => (1.0 / dx.sqrt()) as f32,
        Function::Sin => dx.sin() as f32,
        Function::Cos => dx.cos() as f32,
        Function::Lg2 => dx.log2() as f32,
        Function::Ex2 => dx.exp2() as f32,
        Function::Tanh => dx.tanh() as f32,
        Function::Min | Function::MinNan | Function::Max | Function::MaxNan => {
            let nan = matches!(detail.function, Function::MinNan | Function::MaxNan);
            if nan && (x.is_nan() || y.is_nan()) {
                f32::NAN
            } else if matches!(detail.function, Function::Min | Function::MinNan) {
                minimum(x, y)
            } else {
                maximum(x, y)
            }
        }
        Function::Neg => return u64::from(flush(f32::from_bits(a as u32), ftz).to_bits() ^ 1 << 31),
        Function::Abs => return u64::from(flush(f32::from_bits(a as u32), ftz).to_bits() & !(1 << 31)),
        // The sign is that of the first operand.
        Function::Copysign => return u64::from(a as u32 & 1 << 31 | b as u32 & !(1 << 31)),
        Function::TestpFinite => return u64::from(x.is_finite()),
        Function::TestpInfinite => return u64::from(x.is_infinite()),
        Function::TestpNumber => return u64::from(!x.is_nan()),
        Function::TestpNan => return u64::from(x.is_nan()),
        Function::TestpNormal => return u64::from(x.is_normal()),
        Function::TestpSubnormal => return u64::from(x.is_subnormal()),
        _ => f32::NAN,
    };
    let value = flush(value, ftz);
    // Saturation turns a NaN into zero.
    single(if detail.sat { if value > 0.0 { value.min(1.0) } else { 0.0 } } else { value })
}

/// IEEE 754-2008 minNum, with −0 below +0.
pub(crate) fn minimum(x: f32, y: f32) -> f32 {
    if x.is_nan() {
        y
    } else if y.is_nan() {
        x
    } else if x == y {
        f32::from_bits(x.to_bits() | y.to_bits())
    } else if x < y {
        x
    } else {
        y
    }
}

/// IEEE 754-2008 maxNum, with +0 above −0.
pub(crate) fn maximum(x: f32, y: f32) -> f32 {
    if x.is_nan() {
        y
    } else if y.is_nan() {
        x
    } else if x == y {
        f32::from_bits(x.to_bits() & y.to_bits())
    } else if x > y {
        x
    } else {
        y
    }
}

fn float64(detail: &Detail, a: u64, b: u64, c: u64) -> u64 {
    let [x, y, z] = [a, b, c].map(f64::from_bits);
    let round = |value, error| direct64(value, error, detail.rounding);
    let value = match detail.function {
        Function::Add | Function::Sub => {
            let y = if detail.function == Function::Sub { -y } else { y };
            let sum = x + y;
            let part = sum - x;
            round(sum, (x - (sum - part)) + (y - part))
        }
        Function::MulLo => round(x * y, x.mul_add(y, -(x * y))),
        Function::Fma => x.mul_add(y, z),
        Function::Div => round(x / y, (-(x / y)).mul_add(y, x) * y.signum()),
        Function::Rcp => round(1.0 / x, (-(1.0 / x)).mul_add(x, 1.0) * x.signum()),
        Function::Sqrt => round(x.sqrt(), (-x.sqrt()).mul_add(x.sqrt(), x)),
        Function::Rsqrt => 1.0 / x.sqrt(),
        Function::Min | Function::MinNan if y.is_nan() || x < y || x == y && x.is_sign_negative() => x,
        Function::Max | Function::MaxNan if y.is_nan() || x > y || x == y && x.is_sign_positive() => x,
        Function::Min | Function::MinNan | Function::Max | Function::MaxNan => y,
        Function::Neg => return a ^ 1 << 63,
        Function::Abs => return a & !(1 << 63),
        Function::Copysign => return a & 1 << 63 | b & !(1 << 63),
        Function::TestpFinite => return u64::from(x.is_finite()),
        Function::TestpInfinite => return u64::from(x.is_infinite()),
        Function::TestpNumber => return u64::from(!x.is_nan()),
        Function::TestpNan => return u64::from(x.is_nan()),
        Function::TestpNormal => return u64::from(x.is_normal()),
        Function::TestpSubnormal => return u64::from(x.is_subnormal()),
        _ => f64::NAN,
    };
    value.to_bits()
}

/// Half precision to double, exactly.
fn from_half(bits: u16, brain: bool) -> f64 {
    if brain {
        return f64::from(f32::from_bits(u32::from(bits) << 16));
    }
    let (sign, exponent, fraction) = (bits >> 15, i32::from(bits >> 10 & 31), f64::from(bits & 1023));
    let value = match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + fraction) * 2f64.powi(exponent - 25),
    };
    if sign == 1 { -value } else { value }
}

/// Double to half precision, rounded once.
fn to_half(value: f64, brain: bool, rounding: Rounding) -> u16 {
    if value.is_nan() {
        return 0x7fff;
    }
    let (fraction_bits, smallest, largest) = if brain { (7, -126, 127) } else { (10, -14, 15) };
    let sign = u16::from(value.is_sign_negative()) << 15;
    let magnitude = value.abs();
    let infinity = if brain { 0x7f80 } else { 0x7c00 };
    if magnitude == 0.0 {
        return sign;
    }
    if magnitude.is_infinite() {
        return sign | infinity;
    }
    let exponent = ((magnitude.to_bits() >> 52) as i32 - 1023).max(smallest);
    // In units of the last place this is exact: only the exponent changes.
    let scaled = magnitude * 2f64.powi(fraction_bits - exponent);
    let whole = match rounding {
        Rounding::Zero => scaled.floor(),
        Rounding::Down if sign == 0 => scaled.floor(),
        Rounding::Up if sign != 0 => scaled.floor(),
        Rounding::Down | Rounding::Up => scaled.ceil(),
        _ => scaled.round_ties_even(),
    };
    // Adding lets a carry run into the exponent, which is what rounding up to the next power of two means.
    let base = ((exponent - smallest) as i64) << fraction_bits;
    let bits = base + whole as i64;
    let limit = i64::from(infinity);
    if bits >= limit || exponent > largest {
        let stay = rounding == Rounding::Zero
            || rounding == Rounding::Down && sign == 0
            || rounding == Rounding::Up && sign != 0;
        return sign | if stay { infinity - 1 } else { infinity };
    }
    sign | bits as u16
}

fn half(detail: &Detail, a: u64, b: u64, c: u64) -> u64 {
    let brain = matches!(detail.kind, Type::Bf16 | Type::Bf16x2);
    let lanes = if matches!(detail.kind, Type::F16x2 | Type::Bf16x2) { 2 } else { 1 };
    (0..lanes).fold(0, |sum, lane| {
        let [x, y, z] = [a, b, c].map(|bits| from_half((bits >> (16 * lane)) as u16, brain));
        // Products of half-precision numbers are exact in double; sums are, or round the same way.
        let value = match detail.function {
            Function::Add => x + y,
            Function::Sub => x - y,
            Function::MulLo => x * y,
            Function::Fma => x.mul_add(y, z),
            Function::Neg => -x,
            Function::Abs => x.abs(),
            Function::Min | Function::MinNan => f64::from(minimum(x as f32, y as f32)),
            Function::Max | Function::MaxNan => f64::from(maximum(x as f32, y as f32)),
            _ => f64::NAN,
        };
        let value = if detail.sat { if value > 0.0 { value.min(1.0) } else { 0.0 } } else { value };
        sum | u64::from(to_half(value, brain, Rounding::Nearest)) << (16 * lane)
    })
}

fn to_double(bits: u64, kind: Type, ftz: bool) -> f64 {
    match kind {
        Type::F32 => f64::from(flush(f32::from_bits(bits as u32), ftz)),
        Type::F64 => f64::from_bits(bits),
        Type::F16 => from_half(bits as u16, false),
        Type::Bf16 => from_half(bits as u16, true),
        _ => extend(bits, kind) as f64,
    }
}

fn from_double(value: f64, kind: Type, rounding: Rounding) -> u64 {
    match kind {
        Type::F32 => single(narrow(value, 0.0, rounding)),
        Type::F64 => value.to_bits(),
        Type::F16 => u64::from(to_half(value, false, rounding)),
        _ => u64::from(to_half(value, true, rounding)),
    }
}

fn convert(detail: &Detail, a: u64) -> u64 {
    let (to, from) = (detail.kind, detail.source);
    let to_float = to.is_float() || to.is_half();
    let from_float = from.is_float() || from.is_half();
    match (from_float, to_float) {
        (false, false) => {
            let value = extend(a, from);
            let value = if detail.sat { value.clamp(range(to).0, range(to).1) } else { value };
            // A wider register takes the value extended as its type says.
            if to.is_signed() { extend(value as u64, to) as u64 } else { cut(value, to) }
        }
        (true, false) => {
            let value = to_double(a, from, detail.ftz);
            let value = match detail.rounding {
                Rounding::IntNearest | Rounding::Nearest => value.round_ties_even(),
                Rounding::IntDown | Rounding::Down => value.floor(),
                Rounding::IntUp | Rounding::Up => value.ceil(),
                _ => value.trunc(),
            };
            if value.is_nan() {
                // What the hardware gives: zero for narrow results, the top bit for 64-bit ones.
                return if to.bytes() == 8 { 1 << 63 } else { 0 };
            }
            let (low, high) = range(to);
            let value = (value as i128).clamp(low, high);
            value as u64
        }
        (false, true) => {
            let value = extend(a, from);
            if to == Type::F32 {
                let near = value as f32;
                return single(direct32(near, (value - near as i128) as f64, detail.rounding));
            }
            if to == Type::F64 {
                let near = value as f64;
                return direct64(near, (value - near as i128) as f64, detail.rounding).to_bits();
            }
            from_double(value as f64, to, detail.rounding)
        }
        (true, true) => {
            let mut value = to_double(a, from, detail.ftz);
            value = match detail.rounding {
                Rounding::IntNearest => value.round_ties_even(),
                Rounding::IntZero => value.trunc(),
                Rounding::IntDown => value.floor(),
                Rounding::IntUp => value.ceil(),
                _ => value,
            };
            if detail.sat {
                value = if value > 0.0 { value.min(1.0) } else { 0.0 };
            }
            if detail.relu && value < 0.0 {
                value = 0.0;
            }
            if to == Type::F32 && from == Type::F64 && detail.ftz {
                let narrow = narrow(value, 0.0, detail.rounding);
                return single(flush(narrow, true));
            }
            from_double(value, to, detail.rounding)
        }
    }
}

/// Whether a comparison holds.
pub(crate) fn holds(detail: &Detail, kind: Type, a: u64, b: u64) -> bool {
    use std::cmp::Ordering::{Equal, Greater, Less};
    let order = if kind.is_float() || kind.is_half() {
        to_double(a, kind, detail.ftz).partial_cmp(&to_double(b, kind, detail.ftz))
    } else {
        Some(extend(a, kind).cmp(&extend(b, kind)))
    };
    let float = kind.is_float() || kind.is_half();
    let Some(order) = order else {
        return matches!(
            detail.compare,
            Compare::Equ | Compare::Neu | Compare::Ltu | Compare::Leu | Compare::Gtu | Compare::Geu | Compare::Nan
        );
    };
    match detail.compare {
        Compare::Eq | Compare::Equ => order == Equal,
        Compare::Ne | Compare::Neu => order != Equal,
        Compare::Lt | Compare::Ltu => order == Less,
        Compare::Le | Compare::Leu => order != Greater,
        Compare::Gt | Compare::Gtu => order == Greater,
        Compare::Ge | Compare::Geu => order != Less,
        Compare::Num => float,
        Compare::Nan => false,
    }
}

/// Combines with the third predicate.
pub(crate) fn combined(combine: Combine, value: bool, other: bool) -> bool {
    match combine {
        Combine::None => value,
        Combine::And => value && other,
        Combine::Or => value || other,
        Combine::Xor => value ^ other,
    }
}

fn permute(mode: u8, a: u32, b: u32, c: u32) -> u32 {
    let bytes = (u64::from(b) << 32 | u64::from(a)).to_le_bytes();
    let select = |index: u32| u32::from(bytes[(index & 7) as usize]);
    let start = c & 3;
    (0..4).fold(0, |sum, at| {
        let index = match mode {
            0 => {
                let nibble = c >> (4 * at) & 15;
                let byte = select(nibble);
                // The top bit asks for the byte's sign instead of the byte.
                let byte = if nibble & 8 != 0 { if byte & 0x80 != 0 { 0xff } else { 0 } } else { byte };
                return sum | byte << (8 * at);
            }
            1 => start + at,
            2 => start.wrapping_sub(at),
            3 => start,
            4 => start.max(at),
            5 => start.min(at),
            _ => (start & 1) * 2 + (at & 1),
        };
        sum | select(index) << (8 * at)
    })
}

fn find_nth_set(mask: u32, base: u32, offset: i32) -> u32 {
    let step = if offset >= 0 { 1i64 } else { -1 };
    let mut wanted = if offset == 0 { 1 } else { offset.unsigned_abs() };
    let mut at = i64::from(base);
    while (0..32).contains(&at) {
        if mask >> at & 1 == 1 {
            wanted -= 1;
            if wanted == 0 {
                return at as u32;
            }
        } else if offset == 0 {
            break;
        }
        at += step;
    }
    u32::MAX
}

fn dot(detail: &Detail, a: u64, b: u64, c: u64) -> u64 {
    let byte = |bits: u64, at: u32, signed: bool| {
        let byte = (bits >> (8 * at)) as u8;
        if signed { i64::from(byte as i8) } else { i64::from(byte) }
    };
    let (signed_a, signed_b) = (detail.kind.is_signed(), detail.source.is_signed());
    let sum = if detail.function == Function::Dp4a {
        (0..4).map(|at| byte(a, at, signed_a) * byte(b, at, signed_b)).sum::<i64>()
    } else {
        let first = if detail.function == Function::Dp2aHi { 2 } else { 0 };
        (0..2)
            .map(|at| {
                let word = (a >> (16 * at)) as u16;
                let word = if signed_a { i64::from(word as i16) } else { i64::from(word) };
                word * byte(b, first + at, signed_b)
            })
            .sum()
    };
    u64::from((sum as u32).wrapping_add(c as u32))
}

/// Computes one lane. Predicates are 0 or 1.
pub(crate) fn eval(detail: &Detail, a: u64, b: u64, c: u64, e: u64) -> u64 {
    let kind = detail.kind;
    let bits = kind.bytes() * 8;
    let arithmetic = matches!(
        detail.function,
        Function::Add
            | Function::Sub
            | Function::MulLo
            | Function::Fma
            | Function::Div
            | Function::Rcp
            | Function::Sqrt
            | Function::Rsqrt
            | Function::Sin
            | Function::Cos
            | Function::Lg2
            | Function::Ex2
            | Function::Tanh
            | Function::Min
            | Function::MinNan
            | Function::Max
            | Function::MaxNan
            | Function::Neg
            | Function::Abs
            | Function::Copysign
            | Function::TestpFinite
            | Function::TestpInfinite
            | Function::TestpNumber
            | Function::TestpNan
            | Function::TestpNormal
            | Function::TestpSubnormal
    );
    if arithmetic {
        match kind {
            Type::F32 => return float32(detail, a, b, c),
            Type::F64 => return float64(detail, a, b, c),
            kind if kind.is_half() => return half(detail, a, b, c),
            _ => {}
        }
    }
    let (x, y, z) = (extend(a, kind), extend(b, kind), extend(c, kind));
    let clamp = |value: i128| if detail.sat { value.clamp(range(kind).0, range(kind).1) } else { value };
    let signed24 = |value: u64| {
        if kind.is_signed() { i128::from((value as i32) << 8 >> 8) } else { i128::from(value & 0xff_ffff) }
    };
    let wide_kind = |signed: bool| match (bits, signed) {
        (16, true) => Type::S32,
        (16, false) => Type::U32,
        (_, true) => Type::S64,
        _ => Type::U64,
    };
    let ones = if bits >= 64 { u64::MAX } else { (1u64 << bits) - 1 };
    let (plain_a, plain_b) = (a & ones, b & ones);
    match detail.function {
        Function::Add => cut(clamp(x + y), kind),
        Function::Sub => cut(clamp(x - y), kind),
        Function::MulLo => cut(x.wrapping_mul(y), kind),
        Function::MulHi => cut(x.wrapping_mul(y) >> bits, kind),
        Function::MulWide => cut(x * y, wide_kind(kind.is_signed())),
        Function::MadLo => cut(x.wrapping_mul(y).wrapping_add(z), kind),
        Function::MadHi => cut(clamp((x.wrapping_mul(y) >> bits) + z), kind),
        Function::MadWide => cut((x * y).wrapping_add(i128::from(c)), wide_kind(kind.is_signed())),
        Function::Mul24Lo => cut(signed24(a) * signed24(b), kind),
        Function::Mul24Hi => cut((signed24(a) * signed24(b)) >> 16, kind),
        Function::Mad24Lo => cut(signed24(a) * signed24(b) + z, kind),
        Function::Mad24Hi => cut(clamp(((signed24(a) * signed24(b)) >> 16) + z), kind),
        Function::Sad => cut(z + (x - y).abs(), kind),
        // Division by zero has no defined result; the hardware gives all ones.
        Function::Div => {
            if y == 0 {
                ones
            } else {
                cut(x / y, kind)
            }
        }
        Function::Rem => {
            if y == 0 {
                plain_a
            } else {
                cut(x % y, kind)
            }
        }
        Function::Abs => cut(x.abs(), kind),
        Function::Neg => cut(-x, kind),
        Function::Min | Function::MinNan => cut(x.min(y), kind),
        Function::Max | Function::MaxNan => cut(x.max(y), kind),
        Function::And => plain_a & plain_b,
        Function::Or => plain_a | plain_b,
        Function::Xor => plain_a ^ plain_b,
        Function::Not => !a & ones,
        Function::Cnot => u64::from(plain_a == 0),
        Function::Shl => {
            if b as u32 >= bits {
                0
            } else {
                a << (b as u32) & ones
            }
        }
        Function::Shr => cut(x >> (b as u32).min(if kind.is_signed() { bits - 1 } else { bits }), kind),
        Function::Lop3 => {
            (0..8u32).fold(0, |sum, index| {
                let term = |bits: u64, bit: u32| if index >> bit & 1 == 1 { bits } else { !bits };
                if detail.lut >> index & 1 == 1 { sum | term(a, 2) & term(b, 1) & term(c, 0) } else { sum }
            }) & ones
        }
        Function::ShfL | Function::ShfLClamp | Function::ShfR | Function::ShfRClamp => {
            let clamp = matches!(detail.function, Function::ShfLClamp | Function::ShfRClamp);
            let shift = if clamp { (c as u32).min(32) } else { c as u32 & 31 };
            let pair = u128::from(b as u32) << 32 | u128::from(a as u32);
            if matches!(detail.function, Function::ShfL | Function::ShfLClamp) {
                (pair << shift >> 32) as u64 & 0xffff_ffff
            } else {
                (pair >> shift) as u64 & 0xffff_ffff
            }
        }
        Function::Popc => u64::from(plain_a.count_ones()),
        Function::Clz => u64::from(plain_a.leading_zeros() - (64 - bits)),
        Function::Bfind | Function::BfindShift => {
            let value = if kind.is_signed() && x < 0 { !a & ones } else { plain_a };
            if value == 0 {
                return 0xffff_ffff;
            }
            let at = value.ilog2();
            u64::from(if detail.function == Function::Bfind { at } else { bits - 1 - at })
        }
        Function::Brev => plain_a.reverse_bits() >> (64 - bits),
        Function::Bfe => {
            let (start, length) = (b as u32 & 255, c as u32 & 255);
            if length == 0 {
                return 0;
            }
            let sign_at = (start + length - 1).min(bits - 1);
            let sign = kind.is_signed() && plain_a >> sign_at & 1 == 1;
            let field = if start >= bits { 0 } else { plain_a >> start };
            let kept = length.min(bits.saturating_sub(start)).min(64);
            let low = if kept >= 64 { u64::MAX } else { (1u64 << kept) - 1 };
            (field & low | if sign { !low } else { 0 }) & ones
        }
        Function::Bfi => {
            let (start, length) = (c as u32 & 255, e as u32 & 255);
            if start >= bits || length == 0 {
                return plain_b;
            }
            let length = length.min(bits - start);
            let field = (if length >= 64 { u64::MAX } else { (1u64 << length) - 1 }) << start;
            (plain_b & !field | plain_a << start & field) & ones
        }
        Function::Bmsk => {
            let (start, length) = (a as u32, b as u32);
            let (start, length) = if detail.sat { (start.min(32), length.min(32)) } else { (start & 31, length & 31) };
            let field = if length >= 32 { 0xffff_ffffu64 } else { (1 << length) - 1 };
            field << start & 0xffff_ffff
        }
        Function::Szext => {
            let width = if detail.sat { (b as u32).min(32) } else { b as u32 & 31 };
            if width == 0 {
                return 0;
            }
            let shift = 64 - width;
            let value = if kind.is_signed() { ((a << shift) as i64 >> shift) as u64 } else { a << shift >> shift };
            value & 0xffff_ffff
        }
        Function::Fns => u64::from(find_nth_set(a as u32, b as u32, c as i32)),
        Function::Prmt => u64::from(permute(detail.lut, a as u32, b as u32, c as u32)),
        Function::Dp4a | Function::Dp2aLo | Function::Dp2aHi => dot(detail, a, b, c),
        Function::Cvt => convert(detail, a),
        Function::CvtPack => {
            let brain = detail.kind == Type::Bf16x2;
            let one = |bits| {
                let value = to_double(bits, detail.source, detail.ftz);
                let value = if detail.relu && value < 0.0 { 0.0 } else { value };
                u64::from(to_half(value, brain, detail.rounding))
            };
            one(a) << 16 | one(b)
        }
        Function::Slct => {
            let first = match detail.source {
                Type::F32 => flush(f32::from_bits(c as u32), detail.ftz) >= 0.0,
                _ => c as u32 >> 31 == 0,
            };
            if first { a } else { b }
        }
        Function::Set => {
            let value = holds(detail, detail.source, a, b);
            let value = combined(detail.combine, value, (c & 1 == 1) ^ detail.negate);
            match (value, kind) {
                (false, _) => 0,
                (true, Type::F32) => u64::from(1.0f32.to_bits()),
                (true, _) => ones,
            }
        }
        Function::Pack => {
            a & ones
                | (b & ones) << bits
                | if bits < 32 { (c & ones) << (2 * bits) | (e & ones) << (3 * bits) } else { 0 }
        }
        Function::Unpack => a >> (u32::from(detail.lut) * bits).min(63) & ones,
        Function::IsShared => u64::from((SHARED_WINDOW..SHARED_WINDOW + (1 << 32)).contains(&a)),
        Function::IsLocal => u64::from((LOCAL_WINDOW..LOCAL_WINDOW + (1 << 32)).contains(&a)),
        Function::IsGlobal => u64::from(a < SHARED_WINDOW),
        Function::Offset => a.wrapping_add(detail.constant),
        // The floating-point functions were dealt with above; their integer forms do not pass the decoder.
        _ => 0,
    }
}
