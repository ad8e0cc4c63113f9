//! The table of instructions: a row for each form of a plain instruction, one that computes one result from its
//! operands and nothing else. The decoder's rows, the operation codes and the evaluation are all made from it, so a new
//! plain instruction is one line here and one test.
//!
//! A row reads `Name: syntax, types, result(operands) => operation, flops;`
//!
//! - *Name* is what the instruction is called inside the simulator.
//! - *Syntax* is written as in the PTX manual: words in braces may be left out, `{.rnd}` is one of `.rn`, `.rz`, `.rm`
//!   and `.rp`, `{.type}` a second type, and `fma|mad` are two names for the same thing. Of several rows that fit, the
//!   first counts.
//! - *Types*: see [`types`].
//! - *Result and operands*: see [`slots`]; `T` is the instruction's own type.
//! - *Operation* is a closure. The types of its arguments say how it sees the operands: see `exec::vector` for the rows
//!   under `vector`, `exec::lane` for those under `lane`. The rows under `half` see numbers of half precision as `f64`,
//!   one after the other; those under `predicate` see the bits of all 32 lanes.
//! - *Flops* are the floating-point operations it counts as, none if left out.
//!
//! Rows under `vector` are compiled for all lanes at once and for each instruction set of the host; they are for what
//! kernels do all the time. Rows under `lane` and `half` compute lane by lane.

use crate::ast::Type;

/// What an operand must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Slot {
    /// Of the instruction's own type.
    Own,
    Of(Type),
    /// A number that is known when the kernel is decoded.
    Number,
}

/// Sets of types: a bit for each.
pub(crate) mod types {
    use crate::ast::Type;

    const fn set(types: &[Type]) -> u32 {
        let mut bits = 0;
        let mut index = 0;
        while index < types.len() {
            bits |= 1 << types[index] as u32;
            index += 1;
        }
        bits
    }

    pub(crate) const fn contains(types: u32, kind: Type) -> bool {
        types >> kind as u32 & 1 == 1
    }

    pub(crate) const PRED: u32 = set(&[Type::Pred]);
    pub(crate) const U32: u32 = set(&[Type::U32]);
    pub(crate) const S32: u32 = set(&[Type::S32]);
    pub(crate) const INT16: u32 = set(&[Type::U16, Type::S16]);
    pub(crate) const INT32: u32 = U32 | S32;
    pub(crate) const INT64: u32 = set(&[Type::U64, Type::S64]);
    pub(crate) const INT: u32 = INT16 | INT32 | INT64;
    /// Integers of 32 and of 64 bits, and untyped bits, of which `shr` must know whether they carry a sign.
    pub(crate) const SHIFT_U32: u32 = set(&[Type::B32, Type::U32]);
    pub(crate) const SHIFT_S64: u32 = set(&[Type::S64]);
    pub(crate) const SHIFT_U64: u32 = set(&[Type::B64, Type::U64]);
    pub(crate) const F32: u32 = set(&[Type::F32]);
    pub(crate) const F64: u32 = set(&[Type::F64]);
    pub(crate) const FLOAT: u32 = F32 | F64;
    pub(crate) const HALF: u32 = set(&[Type::F16, Type::F16x2, Type::Bf16, Type::Bf16x2]);
    /// Untyped bits that PTX has for every instruction on bits.
    pub(crate) const BITS: u32 = set(&[Type::B16, Type::B32, Type::B64]);
    /// Whatever has 16, 32 or 64 bits.
    pub(crate) const ANY16: u32 = INT16 | set(&[Type::B16, Type::F16, Type::Bf16]);
    pub(crate) const ANY32: u32 = INT32 | set(&[Type::B32, Type::F32, Type::F16x2, Type::Bf16x2]);
    pub(crate) const ANY64: u32 = INT64 | set(&[Type::B64, Type::F64]);
}

/// The names of the slots in the table.
pub(crate) mod slots {
    use super::Slot;
    use crate::ast::Type;

    pub(crate) const T: Slot = Slot::Own;
    pub(crate) const PRED: Slot = Slot::Of(Type::Pred);
    pub(crate) const U32: Slot = Slot::Of(Type::U32);
    pub(crate) const S32: Slot = Slot::Of(Type::S32);
    pub(crate) const B32: Slot = Slot::Of(Type::B32);
    pub(crate) const B64: Slot = Slot::Of(Type::B64);
    pub(crate) const NUMBER: Slot = Slot::Number;
}

/// Hands the table to the macro that is named.
macro_rules! instructions {
    ($expand:ident) => {
        $expand! {
vector {
    // 32-bit integers.
    Add32: "add", INT32, T(T, T) => |a: u32, b: u32| a.wrapping_add(b);
    Sub32: "sub", INT32, T(T, T) => |a: u32, b: u32| a.wrapping_sub(b);
    Mul32: "mul.lo", INT32, T(T, T) => |a: u32, b: u32| a.wrapping_mul(b);
    Mad32: "mad.lo", INT32, T(T, T, T) => |a: u32, b: u32, c: u32| a.wrapping_mul(b).wrapping_add(c);
    And32: "and", ANY32, T(T, T) => |a: u32, b: u32| a & b;
    Or32: "or", ANY32, T(T, T) => |a: u32, b: u32| a | b;
    Xor32: "xor", ANY32, T(T, T) => |a: u32, b: u32| a ^ b;
    Not32: "not", ANY32, T(T) => |a: u32| !a;
    Neg32: "neg", S32, T(T) => |a: u32| a.wrapping_neg();
    Shl32: "shl", SHIFT_U32 | S32, T(T, U32) => |a: u32, b: u32| if b > 31 { 0 } else { a << (b & 31) };
    ShrU32: "shr", SHIFT_U32, T(T, U32) => |a: u32, b: u32| if b > 31 { 0 } else { a >> (b & 31) };
    ShrS32: "shr", S32, T(T, U32) => |a: i32, b: u32| a >> b.min(31);
    MinS32: "min", S32, T(T, T) => |a: i32, b: i32| a.min(b);
    MaxS32: "max", S32, T(T, T) => |a: i32, b: i32| a.max(b);
    MinU32: "min", U32, T(T, T) => |a: u32, b: u32| a.min(b);
    MaxU32: "max", U32, T(T, T) => |a: u32, b: u32| a.max(b);
    // 64-bit integers.
    Add64: "add", INT64, T(T, T) => |a: u64, b: u64| a.wrapping_add(b);
    Sub64: "sub", INT64, T(T, T) => |a: u64, b: u64| a.wrapping_sub(b);
    Mul64: "mul.lo", INT64, T(T, T) => |a: u64, b: u64| a.wrapping_mul(b);
    Mad64: "mad.lo", INT64, T(T, T, T) => |a: u64, b: u64, c: u64| a.wrapping_mul(b).wrapping_add(c);
    And64: "and", ANY64, T(T, T) => |a: u64, b: u64| a & b;
    Or64: "or", ANY64, T(T, T) => |a: u64, b: u64| a | b;
    Xor64: "xor", ANY64, T(T, T) => |a: u64, b: u64| a ^ b;
    Shl64: "shl", SHIFT_U64 | SHIFT_S64, T(T, U32) => |a: u64, b: u32| if b > 63 { 0 } else { a << (b & 63) };
    ShrU64: "shr", SHIFT_U64, T(T, U32) => |a: u64, b: u32| if b > 63 { 0 } else { a >> (b & 63) };
    ShrS64: "shr", SHIFT_S64, T(T, U32) => |a: i64, b: u32| a >> b.min(63);
    MulWideS32: "mul.wide", S32, B64(T, T) => |a: i32, b: i32| i64::from(a) * i64::from(b);
    MulWideU32: "mul.wide", U32, B64(T, T) => |a: u32, b: u32| u64::from(a) * u64::from(b);
    MadWideS32: "mad.wide", S32, B64(T, T, B64) => |a: i32, b: i32, c: i64| (i64::from(a) * i64::from(b)).wrapping_add(c);
    MadWideU32: "mad.wide", U32, B64(T, T, B64) => |a: u32, b: u32, c: u64| (u64::from(a) * u64::from(b)).wrapping_add(c);
    // Floating point.
    AddF32: "add{.rn}", F32, T(T, T) => |a: f32, b: f32| a + b, 1;
    SubF32: "sub{.rn}", F32, T(T, T) => |a: f32, b: f32| a - b, 1;
    MulF32: "mul{.rn}", F32, T(T, T) => |a: f32, b: f32| a * b, 1;
    FmaF32: "fma|mad{.rn}", F32, T(T, T, T) => |a: f32, b: f32, c: f32| a.mul_add(b, c), 2;
    NegF32: "neg", F32, T(T) => |a: u32| a ^ 1 << 31;
    AbsF32: "abs", F32, T(T) => |a: u32| a & !(1 << 31);
    DivF32: "div{.rn}{.full}{.approx}", F32, T(T, T) => |a: f32, b: f32| a / b;
    MinF32: "min", F32, T(T, T) => |a: f32, b: f32| minimum(a, b);
    MaxF32: "max", F32, T(T, T) => |a: f32, b: f32| maximum(a, b);
    AddF64: "add{.rn}", F64, T(T, T) => |a: f64, b: f64| a + b, 1;
    MulF64: "mul{.rn}", F64, T(T, T) => |a: f64, b: f64| a * b, 1;
    FmaF64: "fma|mad{.rn}", F64, T(T, T, T) => |a: f64, b: f64, c: f64| a.mul_add(b, c), 2;
}
predicate {
    PredAnd: "and", PRED, T(T, T) => |a: u32, b: u32| a & b;
    PredOr: "or", PRED, T(T, T) => |a: u32, b: u32| a | b;
    PredXor: "xor", PRED, T(T, T) => |a: u32, b: u32| a ^ b;
    PredNot: "not", PRED, T(T) => |a: u32| !a;
}
lane {
    // Integers of every width.
    AddInt: "add{.sat}", INT, T(T, T) => |x: Int, y: Int| x + y;
    SubInt: "sub{.sat}", INT, T(T, T) => |x: Int, y: Int| x - y;
    MulLo: "mul.lo", INT, T(T, T) => |x: Int, y: Int| x.wrapping_mul(y);
    MulHi: "mul.hi", INT, T(T, T) => |k: Type, x: Int, y: Int| x.wrapping_mul(y) >> width(k);
    MulWide: "mul.wide", INT16, B32(T, T) => |x: Int, y: Int| (x * y) as u32;
    MadLo: "mad.lo", INT, T(T, T, T) => |x: Int, y: Int, z: Int| x.wrapping_mul(y).wrapping_add(z);
    MadHi: "mad.hi{.sat}", INT, T(T, T, T) => |k: Type, x: Int, y: Int, z: Int| (x.wrapping_mul(y) >> width(k)) + z;
    MadWide: "mad.wide", INT16, B32(T, T, B32) => |x: Int, y: Int, c: u32| ((x * y) as u32).wrapping_add(c);
    Mul24Lo: "mul24.lo", INT, T(T, T) => |x: Int24, y: Int24| x.0 * y.0;
    Mul24Hi: "mul24.hi", INT, T(T, T) => |x: Int24, y: Int24| (x.0 * y.0) >> 16;
    Mad24Lo: "mad24.lo", INT, T(T, T, T) => |x: Int24, y: Int24, z: Int| x.0 * y.0 + z;
    Mad24Hi: "mad24.hi{.sat}", INT, T(T, T, T) => |x: Int24, y: Int24, z: Int| ((x.0 * y.0) >> 16) + z;
    Sad: "sad", INT, T(T, T, T) => |x: Int, y: Int, z: Int| z + (x - y).abs();
    // Division by zero has no defined result; the hardware gives all ones.
    DivInt: "div", INT, T(T, T) => |x: Int, y: Int| if y == 0 { -1 } else { x / y };
    RemInt: "rem", INT, T(T, T) => |x: Int, y: Int| if y == 0 { x } else { x % y };
    AbsInt: "abs", INT, T(T) => |x: Int| x.abs();
    NegInt: "neg", INT, T(T) => |x: Int| -x;
    MinInt: "min", INT, T(T, T) => |x: Int, y: Int| x.min(y);
    MaxInt: "max", INT, T(T, T) => |x: Int, y: Int| x.max(y);
    // Bits.
    And: "and", ANY16, T(T, T) => |a: u64, b: u64| a & b;
    Or: "or", ANY16, T(T, T) => |a: u64, b: u64| a | b;
    Xor: "xor", ANY16, T(T, T) => |a: u64, b: u64| a ^ b;
    Not: "not", ANY16 | ANY64, T(T) => |a: u64| !a;
    Cnot: "cnot", ANY16 | ANY32 | ANY64, T(T) => |a: u64| a == 0;
    Shl: "shl", ANY16, T(T, U32) => |a: u64, b: u32| a.checked_shl(b).unwrap_or(0);
    Shr: "shr", ANY16, T(T, U32) => |k: Type, x: Int, b: u32| x >> b.min(width(k));
    Lop3: "lop3", ANY32, T(T, T, T, NUMBER) => |table: Number, a: u32, b: u32, c: u32| lookup(table.0, a, b, c);
    ShfLWrap: "shf.l.wrap", ANY32, T(T, T, U32) => |a: u32, b: u32, c: u32| (pair(a, b) << (c & 31) >> 32) as u32;
    ShfLClamp: "shf.l.clamp", ANY32, T(T, T, U32) => |a: u32, b: u32, c: u32| (pair(a, b) << c.min(32) >> 32) as u32;
    ShfRWrap: "shf.r.wrap", ANY32, T(T, T, U32) => |a: u32, b: u32, c: u32| (pair(a, b) >> (c & 31)) as u32;
    ShfRClamp: "shf.r.clamp", ANY32, T(T, T, U32) => |a: u32, b: u32, c: u32| (pair(a, b) >> c.min(32)) as u32;
    Popc: "popc", ANY32 | ANY64, U32(T) => |a: u64| a.count_ones();
    Clz: "clz", ANY32 | ANY64, U32(T) => |k: Type, a: u64| a.leading_zeros() - (64 - width(k));
    Bfind: "bfind", ANY32 | ANY64, U32(T) => |x: Int| highest(x).unwrap_or(u32::MAX);
    BfindShift: "bfind.shiftamt", ANY32 | ANY64, U32(T) => |k: Type, x: Int| highest(x).map_or(u32::MAX, |at| width(k) - 1 - at);
    Brev: "brev", ANY16 | ANY32 | ANY64, T(T) => |k: Type, a: u64| a.reverse_bits() >> (64 - width(k));
    Bfe: "bfe", ANY32 | ANY64, T(T, U32, U32) => |k: Type, a: u64, start: u32, length: u32| extract(k, a, start, length);
    Bfi: "bfi", ANY32 | ANY64, T(T, T, U32, U32) => |k: Type, a: u64, b: u64, start: u32, length: u32| insert(k, a, b, start, length);
    BmskWrap: "bmsk.wrap", ANY32, T(U32, U32) => |start: u32, length: u32| ones(length & 31) << (start & 31);
    BmskClamp: "bmsk.clamp", ANY32, T(U32, U32) => |start: u32, length: u32| ones(length.min(32)) << start.min(32);
    SzextWrap: "szext.wrap", ANY32, T(T, U32) => |k: Type, a: u32, width: u32| resize(k, a, width & 31);
    SzextClamp: "szext.clamp", ANY32, T(T, U32) => |k: Type, a: u32, width: u32| resize(k, a, width.min(32));
    Fns: "fns", ANY32, U32(U32, U32, S32) => |mask: u32, base: u32, offset: i32| find_nth_set(mask, base, offset);
    Prmt: "prmt", ANY32, T(T, T, T) => |a: u32, b: u32, c: u32| select_bytes(a, b, c);
    PrmtF4e: "prmt.f4e", ANY32, T(T, T, T) => |a: u32, b: u32, c: u32| permute(a, b, |at| (c & 3) + at);
    PrmtB4e: "prmt.b4e", ANY32, T(T, T, T) => |a: u32, b: u32, c: u32| permute(a, b, |at| (c & 3).wrapping_sub(at));
    PrmtRc8: "prmt.rc8", ANY32, T(T, T, T) => |a: u32, b: u32, c: u32| permute(a, b, |_| c & 3);
    PrmtEcl: "prmt.ecl", ANY32, T(T, T, T) => |a: u32, b: u32, c: u32| permute(a, b, |at| (c & 3).max(at));
    PrmtEcr: "prmt.ecr", ANY32, T(T, T, T) => |a: u32, b: u32, c: u32| permute(a, b, |at| (c & 3).min(at));
    PrmtRc16: "prmt.rc16", ANY32, T(T, T, T) => |a: u32, b: u32, c: u32| permute(a, b, |at| (c & 1) * 2 + (at & 1));
    Dp4a: "dp4a{.type}", ANY32, T(U32, U32, T) => |k: Types, a: u32, b: u32, c: u32| dot4(k, a, b).wrapping_add(c);
    Dp2aLo: "dp2a.lo{.type}", ANY32, T(U32, U32, T) => |k: Types, a: u32, b: u32, c: u32| dot2(k, a, b).wrapping_add(c);
    Dp2aHi: "dp2a.hi{.type}", ANY32, T(U32, U32, T) => |k: Types, a: u32, b: u32, c: u32| dot2(k, a, b >> 16).wrapping_add(c);
    // Single precision, with every modifier.
    AddSingle: "add{.rnd}{.ftz}{.sat}", F32, T(T, T) => |r: Rounding, x: f32, y: f32| sum32(x, y, r), 1;
    SubSingle: "sub{.rnd}{.ftz}{.sat}", F32, T(T, T) => |r: Rounding, x: f32, y: f32| sum32(x, -y, r), 1;
    MulSingle: "mul{.rnd}{.ftz}{.sat}", F32, T(T, T) => |r: Rounding, x: f32, y: f32| product32(x, y, r), 1;
    FmaSingle: "fma|mad{.rnd}{.ftz}{.sat}", F32, T(T, T, T) => |r: Rounding, x: f32, y: f32, z: f32| fused32(x, y, z, r), 2;
    DivSingle: "div{.rnd}{.full}{.approx}{.ftz}", F32, T(T, T) => |r: Rounding, x: f32, y: f32| quotient32(x, y, r);
    MinSingle: "min{.ftz}", F32, T(T, T) => |x: f32, y: f32| minimum(x, y);
    MaxSingle: "max{.ftz}", F32, T(T, T) => |x: f32, y: f32| maximum(x, y);
    MinNan: "min.NaN{.ftz}", F32, T(T, T) => |x: f32, y: f32| if x.is_nan() || y.is_nan() { f32::NAN } else { minimum(x, y) };
    MaxNan: "max.NaN{.ftz}", F32, T(T, T) => |x: f32, y: f32| if x.is_nan() || y.is_nan() { f32::NAN } else { maximum(x, y) };
    NegSingle: "neg{.ftz}", F32, T(T) => |x: f32| (-x).to_bits();
    AbsSingle: "abs{.ftz}", F32, T(T) => |x: f32| x.abs().to_bits();
    RcpSingle: "rcp{.rnd}{.approx}{.ftz}", F32, T(T) => |r: Rounding, x: f32| quotient32(1.0, x, r);
    SqrtSingle: "sqrt{.rnd}{.approx}{.ftz}", F32, T(T) => |r: Rounding, x: f32| root32(x, r);
    RsqrtSingle: "rsqrt{.approx}{.ftz}", F32, T(T) => |x: f32| (1.0 / f64::from(x).sqrt()) as f32;
    Sin: "sin{.approx}{.ftz}", F32, T(T) => |x: f32| f64::from(x).sin() as f32;
    Cos: "cos{.approx}{.ftz}", F32, T(T) => |x: f32| f64::from(x).cos() as f32;
    Lg2: "lg2{.approx}{.ftz}", F32, T(T) => |x: f32| f64::from(x).log2() as f32;
    Ex2: "ex2{.approx}{.ftz}", F32, T(T) => |x: f32| f64::from(x).exp2() as f32;
    Tanh: "tanh{.approx}{.ftz}", F32, T(T) => |x: f32| f64::from(x).tanh() as f32;
    // The sign is that of the first operand.
    CopysignSingle: "copysign", F32, T(T, T) => |a: u32, b: u32| a & 1 << 31 | b & !(1 << 31);
    CopysignDouble: "copysign", F64, T(T, T) => |a: u64, b: u64| a & 1 << 63 | b & !(1 << 63);
    TestpFinite: "testp.finite", FLOAT, PRED(T) => |x: FpCategory| !matches!(x, FpCategory::Nan | FpCategory::Infinite);
    TestpInfinite: "testp.infinite", FLOAT, PRED(T) => |x: FpCategory| x == FpCategory::Infinite;
    TestpNumber: "testp.number", FLOAT, PRED(T) => |x: FpCategory| x != FpCategory::Nan;
    TestpNan: "testp.notanumber", FLOAT, PRED(T) => |x: FpCategory| x == FpCategory::Nan;
    TestpNormal: "testp.normal", FLOAT, PRED(T) => |x: FpCategory| x == FpCategory::Normal;
    TestpSubnormal: "testp.subnormal", FLOAT, PRED(T) => |x: FpCategory| x == FpCategory::Subnormal;
    // Double precision.
    AddDouble: "add{.rnd}", F64, T(T, T) => |r: Rounding, x: f64, y: f64| sum64(x, y, r), 1;
    SubDouble: "sub{.rnd}", F64, T(T, T) => |r: Rounding, x: f64, y: f64| sum64(x, -y, r), 1;
    MulDouble: "mul{.rnd}", F64, T(T, T) => |r: Rounding, x: f64, y: f64| product64(x, y, r), 1;
    FmaDouble: "fma|mad{.rnd}", F64, T(T, T, T) => |x: f64, y: f64, z: f64| x.mul_add(y, z), 2;
    DivDouble: "div{.rnd}", F64, T(T, T) => |r: Rounding, x: f64, y: f64| quotient64(x, y, r);
    MinDouble: "min", F64, T(T, T) => |x: f64, y: f64| if y.is_nan() || x < y || x == y && x.is_sign_negative() { x } else { y };
    MaxDouble: "max", F64, T(T, T) => |x: f64, y: f64| if y.is_nan() || x > y || x == y && x.is_sign_positive() { x } else { y };
    NegDouble: "neg", F64, T(T) => |x: f64| -x;
    AbsDouble: "abs", F64, T(T) => |x: f64| x.abs();
    RcpDouble: "rcp{.rnd}{.approx}{.ftz}", F64, T(T) => |r: Rounding, x: f64| quotient64(1.0, x, r);
    SqrtDouble: "sqrt{.rnd}", F64, T(T) => |r: Rounding, x: f64| root64(x, r);
    RsqrtDouble: "rsqrt{.approx}{.ftz}", F64, T(T) => |x: f64| 1.0 / x.sqrt();
}
half {
    // Products of half-precision numbers are exact in double; sums are, or round the same way.
    AddHalf: "add{.rn}{.ftz}{.sat}", HALF, T(T, T) => |x: f64, y: f64| x + y;
    SubHalf: "sub{.rn}{.ftz}{.sat}", HALF, T(T, T) => |x: f64, y: f64| x - y;
    MulHalf: "mul{.rn}{.ftz}{.sat}", HALF, T(T, T) => |x: f64, y: f64| x * y;
    FmaHalf: "fma{.rn}{.ftz}{.sat}", HALF, T(T, T, T) => |x: f64, y: f64, z: f64| x.mul_add(y, z), 2;
    NegHalf: "neg{.ftz}", HALF, T(T) => |x: f64| -x;
    AbsHalf: "abs{.ftz}", HALF, T(T) => |x: f64| x.abs();
    MinHalf: "min{.NaN}{.ftz}", HALF, T(T, T) => |x: f64, y: f64| f64::from(minimum(x as f32, y as f32));
    MaxHalf: "max{.NaN}{.ftz}", HALF, T(T, T) => |x: f64, y: f64| f64::from(maximum(x as f32, y as f32));
    TanhHalf: "tanh.approx", HALF, T(T) => |x: f64| x.tanh();
}
        }
    };
}
pub(crate) use instructions;
