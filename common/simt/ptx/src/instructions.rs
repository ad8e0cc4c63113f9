//! The table of plain instructions, with one row for each form. A plain instruction computes one result from its operands
//! and does nothing else. The decoder's rows, the operation codes and the evaluation are all made from this table, so a
//! new plain instruction is one line here and one test.
//!
//! A row reads `Name: syntax, types, result(operands) => operation, flops;`
//!
//! - *Name* is what the instruction is called inside the simulator.
//! - *Syntax* is written as in the PTX manual: words in braces may be left out, `{.rnd}` is one of `.rn`, `.rz`, `.rm`
//!   and `.rp`, `{.type}` a second type, and `fma|mad` are two names for the same thing. If several rows fit, the
//!   first one is used.
//! - *Types*: see [`types`].
//! - *Result and operands*: see [`slots`]; `T` is the instruction's own type.
//! - *Operation* is a closure. The types of its arguments say how it sees the operands: see `simt::exec::alu` for the rows
//!   under `vector`, `simt::exec::lane` for those under `lane`. The rows under `half` see one half-precision number at a
//!   time; those under `predicate` see the bits of all 32 lanes.
//! - *Flops* is the number of floating-point operations that the instruction counts as; 0 if left out.
//!
//! Rows under `vector` are compiled for all lanes at once and for each instruction set of the host; they are for the
//! instructions that kernels execute most. Rows under `lane` and `half` compute lane by lane.

use crate::ast::Type;

/// The type that an operand must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slot {
    /// The instruction's own type.
    Own,
    Of(Type),
    /// A constant, known when the kernel is decoded.
    Number,
}

impl Slot {
    /// The name of the operand's type in an instruction of the given type.
    pub const fn word(self, own: &'static str) -> &'static str {
        match self {
            Self::Own => own,
            Self::Of(Type::Pred) => "pred",
            Self::Of(Type::U32) => "u32",
            Self::Of(Type::S32) => "s32",
            Self::Of(Type::B32) => "b32",
            Self::Of(_) => "b64",
            Self::Number => "number",
        }
    }
}

/// Sets of types, with one bit for each type.
pub mod types {
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

    pub const fn contains(types: u32, kind: Type) -> bool {
        types >> kind as u32 & 1 == 1
    }

    pub const PRED: u32 = set(&[Type::Pred]);
    pub const U32: u32 = set(&[Type::U32]);
    pub const S32: u32 = set(&[Type::S32]);
    pub const U16: u32 = set(&[Type::U16]);
    pub const S16: u32 = set(&[Type::S16]);
    pub const INT16: u32 = U16 | S16;
    pub const INT32: u32 = U32 | S32;
    pub const INT64: u32 = set(&[Type::U64, Type::S64]);
    pub const U64: u32 = set(&[Type::U64]);
    pub const S64: u32 = set(&[Type::S64]);
    pub const INT: u32 = INT16 | INT32 | INT64;
    pub const SIGNED: u32 = S16 | S32 | S64;
    pub const F32: u32 = set(&[Type::F32]);
    pub const F64: u32 = set(&[Type::F64]);
    pub const FLOAT: u32 = F32 | F64;
    /// Half precision, one number or two packed in a word.
    pub const F16: u32 = set(&[Type::F16, Type::F16x2]);
    pub const BF16: u32 = set(&[Type::Bf16, Type::Bf16x2]);
    pub const HALF: u32 = F16 | BF16;
    /// Untyped bits.
    pub const B16: u32 = set(&[Type::B16]);
    pub const B32: u32 = set(&[Type::B32]);
    pub const B64: u32 = set(&[Type::B64]);
    pub const BITS: u32 = B16 | B32 | B64;
}

/// The names of the slots in the table.
pub mod slots {
    use super::Slot;
    use crate::ast::Type;

    pub const T: Slot = Slot::Own;
    pub const PRED: Slot = Slot::Of(Type::Pred);
    pub const U32: Slot = Slot::Of(Type::U32);
    pub const S32: Slot = Slot::Of(Type::S32);
    pub const B32: Slot = Slot::Of(Type::B32);
    pub const B64: Slot = Slot::Of(Type::B64);
    pub const NUMBER: Slot = Slot::Number;
}

/// Passes the table to the named macro.
#[macro_export]
macro_rules! instructions {
    ($expand:ident) => {
        $expand! {
vector {
    // 32-bit integers.
    Add32: "add", INT32, T(T, T) => |a: u32, b: u32| a.wrapping_add(b);
    Sub32: "sub", INT32, T(T, T) => |a: u32, b: u32| a.wrapping_sub(b);
    Mul32: "mul.lo", INT32, T(T, T) => |a: u32, b: u32| a.wrapping_mul(b);
    Mad32: "mad.lo", INT32, T(T, T, T) => |a: u32, b: u32, c: u32| a.wrapping_mul(b).wrapping_add(c);
    And32: "and", B32, T(T, T) => |a: u32, b: u32| a & b;
    Or32: "or", B32, T(T, T) => |a: u32, b: u32| a | b;
    Xor32: "xor", B32, T(T, T) => |a: u32, b: u32| a ^ b;
    Not32: "not", B32, T(T) => |a: u32| !a;
    Neg32: "neg", S32, T(T) => |a: u32| a.wrapping_neg();
    Shl32: "shl", B32, T(T, U32) => |a: u32, b: u32| if b > 31 { 0 } else { a << (b & 31) };
    ShrU32: "shr", B32 | U32, T(T, U32) => |a: u32, b: u32| if b > 31 { 0 } else { a >> (b & 31) };
    ShrS32: "shr", S32, T(T, U32) => |a: i32, b: u32| a >> b.min(31);
    MinS32: "min", S32, T(T, T) => |a: i32, b: i32| a.min(b);
    MaxS32: "max", S32, T(T, T) => |a: i32, b: i32| a.max(b);
    MinU32: "min", U32, T(T, T) => |a: u32, b: u32| a.min(b);
    MaxU32: "max", U32, T(T, T) => |a: u32, b: u32| a.max(b);
    DivU32: "div", U32, T(T, T) => |a: u32, b: u32| a.checked_div(b).unwrap_or(u32::MAX);
    DivS32: "div", S32, T(T, T) => |a: i32, b: i32| if b == 0 { -1 } else { a.wrapping_div(b) };
    RemU32: "rem", U32, T(T, T) => |a: u32, b: u32| a.checked_rem(b).unwrap_or(u32::MAX);
    RemS32: "rem", S32, T(T, T) => |a: i32, b: i32| if b == 0 { -1 } else { a.wrapping_rem(b) };
    // 64-bit integers.
    Add64: "add", INT64, T(T, T) => |a: u64, b: u64| a.wrapping_add(b);
    Sub64: "sub", INT64, T(T, T) => |a: u64, b: u64| a.wrapping_sub(b);
    Mul64: "mul.lo", INT64, T(T, T) => |a: u64, b: u64| a.wrapping_mul(b);
    Mad64: "mad.lo", INT64, T(T, T, T) => |a: u64, b: u64, c: u64| a.wrapping_mul(b).wrapping_add(c);
    And64: "and", B64, T(T, T) => |a: u64, b: u64| a & b;
    Or64: "or", B64, T(T, T) => |a: u64, b: u64| a | b;
    Xor64: "xor", B64, T(T, T) => |a: u64, b: u64| a ^ b;
    Shl64: "shl", B64, T(T, U32) => |a: u64, b: u32| if b > 63 { 0 } else { a << (b & 63) };
    ShrU64: "shr", B64 | U64, T(T, U32) => |a: u64, b: u32| if b > 63 { 0 } else { a >> (b & 63) };
    ShrS64: "shr", S64, T(T, U32) => |a: i64, b: u32| a >> b.min(63);
    DivU64: "div", U64, T(T, T) => |a: u64, b: u64| a.checked_div(b).unwrap_or(u64::MAX);
    DivS64: "div", S64, T(T, T) => |a: i64, b: i64| if b == 0 { -1 } else { a.wrapping_div(b) };
    RemU64: "rem", U64, T(T, T) => |a: u64, b: u64| a.checked_rem(b).unwrap_or(u64::MAX);
    RemS64: "rem", S64, T(T, T) => |a: i64, b: i64| if b == 0 { -1 } else { a.wrapping_rem(b) };
    MulWideS32: "mul.wide", S32, B64(T, T) => |a: i32, b: i32| i64::from(a) * i64::from(b);
    MulWideU32: "mul.wide", U32, B64(T, T) => |a: u32, b: u32| u64::from(a) * u64::from(b);
    MadWideS32: "mad.wide", S32, B64(T, T, B64) => |a: i32, b: i32, c: i64| (i64::from(a) * i64::from(b)).wrapping_add(c);
    MadWideU32: "mad.wide", U32, B64(T, T, B64) => |a: u32, b: u32, c: u64| (u64::from(a) * u64::from(b)).wrapping_add(c);
    // Floating point.
    AddF32: "add{.rn}", F32, T(T, T) => |a: f32, b: f32| a + b, 1;
    SubF32: "sub{.rn}", F32, T(T, T) => |a: f32, b: f32| a - b, 1;
    MulF32: "mul{.rn}", F32, T(T, T) => |a: f32, b: f32| a * b, 1;
    FmaF32: "fma|mad.rn", F32, T(T, T, T) => |a: f32, b: f32, c: f32| a.mul_add(b, c), 2;
    NegF32: "neg", F32, T(T) => |a: f32| -a;
    AbsF32: "abs", F32, T(T) => |a: f32| a.abs();
    DivF32: "div.rn", F32, T(T, T) => |a: f32, b: f32| a / b;
    SqrtF32: "sqrt.rn", F32, T(T) => |a: f32| a.sqrt();
    MinF32: "min", F32, T(T, T) => |a: f32, b: f32| minimum(a, b);
    MaxF32: "max", F32, T(T, T) => |a: f32, b: f32| maximum(a, b);
    AddF64: "add{.rn}", F64, T(T, T) => |a: f64, b: f64| a + b, 1;
    MulF64: "mul{.rn}", F64, T(T, T) => |a: f64, b: f64| a * b, 1;
    SubF64: "sub{.rn}", F64, T(T, T) => |a: f64, b: f64| a - b, 1;
    FmaF64: "fma|mad.rn", F64, T(T, T, T) => |a: f64, b: f64, c: f64| a.mul_add(b, c), 2;
    DivF64: "div.rn", F64, T(T, T) => |a: f64, b: f64| a / b;
    SqrtF64: "sqrt.rn", F64, T(T) => |a: f64| a.sqrt();
}
predicate {
    PredAnd: "and", PRED, T(T, T) => |a: u32, b: u32| a & b;
    PredOr: "or", PRED, T(T, T) => |a: u32, b: u32| a | b;
    PredXor: "xor", PRED, T(T, T) => |a: u32, b: u32| a ^ b;
    PredNot: "not", PRED, T(T) => |a: u32, _: u32| !a;
}
lane {
    // Integers of every width.
    AddInt: "add", INT16, T(T, T) => |x: Int, y: Int| x + y;
    SubInt: "sub", INT16, T(T, T) => |x: Int, y: Int| x - y;
    AddSat: "add.sat", S32, T(T, T) => |x: Int, y: Int| x + y;
    SubSat: "sub.sat", S32, T(T, T) => |x: Int, y: Int| x - y;
    MulLo: "mul.lo", INT, T(T, T) => |x: Int, y: Int| x.wrapping_mul(y);
    MulHi: "mul.hi", INT, T(T, T) => |k: Type, x: Int, y: Int| x.wrapping_mul(y) >> width(k);
    MulWide: "mul.wide", INT16, B32(T, T) => |x: Int, y: Int| (x * y) as u32;
    MadLo: "mad.lo", INT, T(T, T, T) => |x: Int, y: Int, z: Int| x.wrapping_mul(y).wrapping_add(z);
    MadHi: "mad.hi", INT, T(T, T, T) => |k: Type, x: Int, y: Int, z: Int| (x.wrapping_mul(y) >> width(k)) + z;
    MadHiSat: "mad.hi.sat", S32, T(T, T, T) => |x: Int, y: Int, z: Int| ((x * y) >> 32) + z;
    MadWide: "mad.wide", INT16, B32(T, T, B32) => |x: Int, y: Int, c: u32| ((x * y) as u32).wrapping_add(c);
    Mul24Lo: "mul24.lo", INT32, T(T, T) => |x: Int24, y: Int24| x.0 * y.0;
    Mul24Hi: "mul24.hi", INT32, T(T, T) => |x: Int24, y: Int24| (x.0 * y.0) >> 16;
    Mad24Lo: "mad24.lo", INT32, T(T, T, T) => |x: Int24, y: Int24, z: Int| x.0 * y.0 + z;
    Mad24Hi: "mad24.hi", INT32, T(T, T, T) => |x: Int24, y: Int24, z: Int| ((x.0 * y.0) >> 16) + z;
    Mad24HiSat: "mad24.hi.sat", S32, T(T, T, T) => |x: Int24, y: Int24, z: Int| ((x.0 * y.0) >> 16) + z;
    Sad: "sad", INT, T(T, T, T) => |x: Int, y: Int, z: Int| z + (x - y).abs();
    // PTX does not define division by zero. The hardware returns all ones, also for the remainder.
    DivInt: "div", INT, T(T, T) => |x: Int, y: Int| if y == 0 { -1 } else { x / y };
    RemInt: "rem", INT, T(T, T) => |x: Int, y: Int| if y == 0 { -1 } else { x % y };
    AbsInt: "abs", SIGNED, T(T) => |x: Int| x.abs();
    NegInt: "neg", SIGNED, T(T) => |x: Int| -x;
    MinInt: "min", INT, T(T, T) => |x: Int, y: Int| x.min(y);
    MaxInt: "max", INT, T(T, T) => |x: Int, y: Int| x.max(y);
    // Bits.
    And: "and", B16, T(T, T) => |a: u64, b: u64| a & b;
    Or: "or", B16, T(T, T) => |a: u64, b: u64| a | b;
    Xor: "xor", B16, T(T, T) => |a: u64, b: u64| a ^ b;
    Not: "not", B16 | B64, T(T) => |a: u64| !a;
    Cnot: "cnot", BITS, T(T) => |a: u64| a == 0;
    Shl: "shl", B16, T(T, U32) => |a: u64, b: u32| a.checked_shl(b).unwrap_or(0);
    Shr: "shr", B16 | INT16, T(T, U32) => |k: Type, x: Int, b: u32| x >> b.min(width(k));
    Lop3: "lop3", B32, T(T, T, T, NUMBER) => |table: Number, a: u32, b: u32, c: u32| lookup(table.0, a, b, c);
    ShfLWrap: "shf.l.wrap", B32, T(T, T, U32) => |a: u32, b: u32, c: u32| (pair(a, b) << (c & 31) >> 32) as u32;
    ShfLClamp: "shf.l.clamp", B32, T(T, T, U32) => |a: u32, b: u32, c: u32| (pair(a, b) << c.min(32) >> 32) as u32;
    ShfRWrap: "shf.r.wrap", B32, T(T, T, U32) => |a: u32, b: u32, c: u32| (pair(a, b) >> (c & 31)) as u32;
    ShfRClamp: "shf.r.clamp", B32, T(T, T, U32) => |a: u32, b: u32, c: u32| (pair(a, b) >> c.min(32)) as u32;
    Popc: "popc", B32 | B64, U32(T) => |a: u64| a.count_ones();
    Clz: "clz", B32 | B64, U32(T) => |k: Type, a: u64| a.leading_zeros() - (64 - width(k));
    Bfind: "bfind", INT32 | INT64, U32(T) => |x: Int| highest(x).unwrap_or(u32::MAX);
    BfindShift: "bfind.shiftamt", INT32 | INT64, U32(T) => |k: Type, x: Int| highest(x).map_or(u32::MAX, |at| width(k) - 1 - at);
    Brev: "brev", B32 | B64, T(T) => |k: Type, a: u64| a.reverse_bits() >> (64 - width(k));
    Bfe: "bfe", INT32 | INT64, T(T, U32, U32) => |k: Type, a: u64, start: u32, length: u32| extract(k, a, start, length);
    Bfi: "bfi", B32 | B64, T(T, T, U32, U32) => |k: Type, a: u64, b: u64, start: u32, length: u32| insert(k, a, b, start, length);
    BmskWrap: "bmsk.wrap", B32, T(U32, U32) => |start: u32, length: u32| ones(length & 31) << (start & 31);
    BmskClamp: "bmsk.clamp", B32, T(U32, U32) => |start: u32, length: u32| ones(length.min(32)) << start.min(32);
    SzextWrap: "szext.wrap", INT32, T(T, U32) => |k: Type, a: u32, width: u32| resize(k, a, width & 31);
    SzextClamp: "szext.clamp", INT32, T(T, U32) => |k: Type, a: u32, width: u32| resize(k, a, width.min(32));
    Fns: "fns", B32, U32(U32, U32, S32) => |mask: u32, base: u32, offset: i32| find_nth_set(mask, base, offset);
    Prmt: "prmt", B32, T(T, T, T) => |a: u32, b: u32, c: u32| select_bytes(a, b, c);
    PrmtF4e: "prmt.f4e", B32, T(T, T, T) => |a: u32, b: u32, c: u32| permute(a, b, |at| (c & 3) + at);
    PrmtB4e: "prmt.b4e", B32, T(T, T, T) => |a: u32, b: u32, c: u32| permute(a, b, |at| (c & 3).wrapping_sub(at));
    PrmtRc8: "prmt.rc8", B32, T(T, T, T) => |a: u32, b: u32, c: u32| permute(a, b, |_| c & 3);
    PrmtEcl: "prmt.ecl", B32, T(T, T, T) => |a: u32, b: u32, c: u32| permute(a, b, |at| (c & 3).max(at));
    PrmtEcr: "prmt.ecr", B32, T(T, T, T) => |a: u32, b: u32, c: u32| permute(a, b, |at| (c & 3).min(at));
    PrmtRc16: "prmt.rc16", B32, T(T, T, T) => |a: u32, b: u32, c: u32| permute(a, b, |at| (c & 1) * 2 + (at & 1));
    Dp4a: "dp4a.type", INT32, T(U32, U32, T) => |k: Types, a: u32, b: u32, c: u32| dot4(k, a, b).wrapping_add(c);
    Dp2aLo: "dp2a.lo.type", INT32, T(U32, U32, T) => |k: Types, a: u32, b: u32, c: u32| dot2(k, a, b).wrapping_add(c);
    Dp2aHi: "dp2a.hi.type", INT32, T(U32, U32, T) => |k: Types, a: u32, b: u32, c: u32| dot2(k, a, b >> 16).wrapping_add(c);
    Vabsdiff4Add: "vabsdiff4.add.u32.u32", U32, T(T, T, T) => |a: u32, b: u32, c: u32| distances(a, b).iter().sum::<u32>().wrapping_add(c);
    Vabsdiff4: "vabsdiff4.u32.u32", U32, T(T, T, T) => |a: u32, b: u32, _c: u32| u32::from_le_bytes(distances(a, b).map(|byte| byte as u8));
    // Single precision, rounded to nearest, with every modifier.
    AddSingle: "add{.rn}{.ftz}{.sat}", F32, T(T, T) => |x: f32, y: f32| x + y, 1;
    SubSingle: "sub{.rn}{.ftz}{.sat}", F32, T(T, T) => |x: f32, y: f32| x - y, 1;
    MulSingle: "mul{.rn}{.ftz}{.sat}", F32, T(T, T) => |x: f32, y: f32| Host(x * y, move || exact(x).times(exact(y))), 1;
    FmaSingle: "fma|mad.rn{.ftz}{.sat}", F32, T(T, T, T) => |x: f32, y: f32, z: f32|
        Host(x.mul_add(y, z), move || exact(x).times(exact(y)).plus(exact(z), Rounding::Nearest)), 2;
    MinSingle: "min{.ftz}", F32, T(T, T) => |x: f32, y: f32| minimum(x, y);
    MaxSingle: "max{.ftz}", F32, T(T, T) => |x: f32, y: f32| maximum(x, y);
    MinXorsign: "min.xorsign.abs{.ftz}", F32, T(T, T) => |x: f32, y: f32| signed(minimum(x.abs(), y.abs()), x, y);
    MaxXorsign: "max.xorsign.abs{.ftz}", F32, T(T, T) => |x: f32, y: f32| signed(maximum(x.abs(), y.abs()), x, y);
    MinNan: "min.NaN{.ftz}", F32, T(T, T) => |x: f32, y: f32| if x.is_nan() || y.is_nan() { f32::NAN } else { minimum(x, y) };
    MaxNan: "max.NaN{.ftz}", F32, T(T, T) => |x: f32, y: f32| if x.is_nan() || y.is_nan() { f32::NAN } else { maximum(x, y) };
    NegSingle: "neg.ftz", F32, T(T) => |x: f32| -x;
    AbsSingle: "abs.ftz", F32, T(T) => |x: f32| x.abs();
    // Single and double precision, rounded in any direction.
    AddFloat: "add{.rnd}{.ftz}{.sat}", F32, T(T, T) => |r: Rounding, x: Real, y: Real| x.plus(y, r), 1;
    SubFloat: "sub{.rnd}{.ftz}{.sat}", F32, T(T, T) => |r: Rounding, x: Real, y: Real| x.minus(y, r), 1;
    MulFloat: "mul{.rnd}{.ftz}{.sat}", F32, T(T, T) => |x: Real, y: Real| x.times(y), 1;
    FmaFloat: "fma|mad.rnd{.ftz}{.sat}", F32, T(T, T, T) => |r: Rounding, x: Real, y: Real, z: Real| x.times(y).plus(z, r), 2;
    DivFloat: "div.rnd{.ftz}", F32, T(T, T) => |x: Real, y: Real| x.over(y);
    RcpFloat: "rcp.rnd{.ftz}", F32, T(T) => |x: Real| Real::integer(1).over(x);
    SqrtFloat: "sqrt.rnd{.ftz}", F32, T(T) => |x: Real| x.root();
    AddDouble: "add{.rnd}", F64, T(T, T) => |r: Rounding, x: Real, y: Real| x.plus(y, r), 1;
    SubDouble: "sub{.rnd}", F64, T(T, T) => |r: Rounding, x: Real, y: Real| x.minus(y, r), 1;
    MulDouble: "mul{.rnd}", F64, T(T, T) => |x: Real, y: Real| x.times(y), 1;
    FmaDouble: "fma|mad.rnd", F64, T(T, T, T) => |r: Rounding, x: Real, y: Real, z: Real| x.times(y).plus(z, r), 2;
    DivDouble: "div.rnd", F64, T(T, T) => |x: Real, y: Real| x.over(y);
    RcpDouble: "rcp.rnd", F64, T(T) => |x: Real| Real::integer(1).over(x);
    SqrtDouble: "sqrt.rnd", F64, T(T) => |x: Real| x.root();
    MinDouble: "min", F64, T(T, T) => |x: Real, y: Real| x.minimum(y);
    MaxDouble: "max", F64, T(T, T) => |x: Real, y: Real| x.maximum(y);
    NegDouble: "neg", F64, T(T) => |a: u64| a ^ 1 << 63;
    AbsDouble: "abs", F64, T(T) => |a: u64| a & !(1 << 63);
    // A GPU only approximates these; here the exact result is rounded to nearest. A GPU's results differ from it by at most
    // the error that the PTX manual states.
    DivApprox: "div.approx{.ftz}", F32, T(T, T) => |x: Real, y: Real| x.over(y);
    DivFull: "div.full{.ftz}", F32, T(T, T) => |x: Real, y: Real| x.over(y);
    RcpApprox: "rcp.approx{.ftz}", F32, T(T) => |x: Real| Real::integer(1).over(x);
    SqrtApprox: "sqrt.approx{.ftz}", F32, T(T) => |x: Real| x.root();
    RsqrtApprox: "rsqrt.approx{.ftz}", F32, T(T) => |x: Real| x.approximately(|x| 1.0 / x.sqrt());
    Sin: "sin.approx{.ftz}", F32, T(T) => |x: Real| x.approximately(f64::sin);
    Cos: "cos.approx{.ftz}", F32, T(T) => |x: Real| x.approximately(f64::cos);
    Lg2: "lg2.approx{.ftz}", F32, T(T) => |x: Real| x.approximately(f64::log2);
    Ex2: "ex2.approx{.ftz}", F32, T(T) => |x: Real| x.approximately(f64::exp2);
    Tanh: "tanh.approx", F32, T(T) => |x: Real| x.approximately(f64::tanh);
    // These two neither read nor write the lower half of a number.
    RcpGross: "rcp.approx.ftz", F64, T(T) => |a: u64| gross(a, |x| 1.0 / x);
    RsqrtGross: "rsqrt.approx.ftz", F64, T(T) => |a: u64| gross(a, |x| 1.0 / x.sqrt());
    RsqrtDouble: "rsqrt.approx", F64, T(T) => |x: Real| x.approximately(|x| 1.0 / x.sqrt());
    // The sign comes from the first operand.
    CopysignSingle: "copysign", F32, T(T, T) => |a: u32, b: u32| a & 1 << 31 | b & !(1 << 31);
    CopysignDouble: "copysign", F64, T(T, T) => |a: u64, b: u64| a & 1 << 63 | b & !(1 << 63);
    TestpFinite: "testp.finite", FLOAT, PRED(T) => |x: FpCategory| !matches!(x, FpCategory::Nan | FpCategory::Infinite);
    TestpInfinite: "testp.infinite", FLOAT, PRED(T) => |x: FpCategory| x == FpCategory::Infinite;
    TestpNumber: "testp.number", FLOAT, PRED(T) => |x: FpCategory| x != FpCategory::Nan;
    TestpNan: "testp.notanumber", FLOAT, PRED(T) => |x: FpCategory| x == FpCategory::Nan;
    // The manual counts zeros among the normal numbers.
    TestpNormal: "testp.normal", FLOAT, PRED(T) => |x: FpCategory| matches!(x, FpCategory::Normal | FpCategory::Zero);
    TestpSubnormal: "testp.subnormal", FLOAT, PRED(T) => |x: FpCategory| x == FpCategory::Subnormal;
}
half {
    AddF16: "add{.rn}{.ftz}{.sat}", F16, T(T, T) => |r: Rounding, x: Real, y: Real| x.plus(y, r), 1;
    SubF16: "sub{.rn}{.ftz}{.sat}", F16, T(T, T) => |r: Rounding, x: Real, y: Real| x.minus(y, r), 1;
    MulF16: "mul{.rn}{.ftz}{.sat}", F16, T(T, T) => |x: Real, y: Real| x.times(y), 1;
    FmaF16: "fma.rn{.ftz}{.sat}", F16, T(T, T, T) => |r: Rounding, x: Real, y: Real, z: Real| x.times(y).plus(z, r), 2;
    FmaReluF16: "fma.rn{.ftz}.relu", F16, T(T, T, T) => |r: Rounding, x: Real, y: Real, z: Real| x.times(y).plus(z, r), 2;
    AddBf16: "add{.rn}", BF16, T(T, T) => |r: Rounding, x: Real, y: Real| x.plus(y, r), 1;
    SubBf16: "sub{.rn}", BF16, T(T, T) => |r: Rounding, x: Real, y: Real| x.minus(y, r), 1;
    MulBf16: "mul{.rn}", BF16, T(T, T) => |x: Real, y: Real| x.times(y), 1;
    FmaBf16: "fma.rn{.relu}", BF16, T(T, T, T) => |r: Rounding, x: Real, y: Real, z: Real| x.times(y).plus(z, r), 2;
    NegF16: "neg{.ftz}", F16, T(T) => |x: Real| x.negated();
    AbsF16: "abs{.ftz}", F16, T(T) => |x: Real| x.abs();
    MinF16: "min{.ftz}", F16, T(T, T) => |x: Real, y: Real| x.minimum(y);
    MaxF16: "max{.ftz}", F16, T(T, T) => |x: Real, y: Real| x.maximum(y);
    MinNanF16: "min.NaN{.ftz}", F16, T(T, T) => |x: Real, y: Real| x.minimum(y).unless_nan(x).unless_nan(y);
    MaxNanF16: "max.NaN{.ftz}", F16, T(T, T) => |x: Real, y: Real| x.maximum(y).unless_nan(x).unless_nan(y);
    NegBf16: "neg", BF16, T(T) => |x: Real| x.negated();
    AbsBf16: "abs", BF16, T(T) => |x: Real| x.abs();
    MinBf16: "min", BF16, T(T, T) => |x: Real, y: Real| x.minimum(y);
    MaxBf16: "max", BF16, T(T, T) => |x: Real, y: Real| x.maximum(y);
    MinNanBf16: "min.NaN", BF16, T(T, T) => |x: Real, y: Real| x.minimum(y).unless_nan(x).unless_nan(y);
    MaxNanBf16: "max.NaN", BF16, T(T, T) => |x: Real, y: Real| x.maximum(y).unless_nan(x).unless_nan(y);
    TanhHalf: "tanh.approx", HALF, T(T) => |x: Real| x.approximately(f64::tanh);
    Ex2F16: "ex2.approx", F16, T(T) => |x: Real| x.approximately(f64::exp2);
    Ex2Bf16: "ex2.approx.ftz", BF16, T(T) => |x: Real| x.approximately(f64::exp2);
}
        }
    };
}
