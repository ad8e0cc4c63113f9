//! Everything that computes from registers to registers, for all 32 lanes of a warp. The function is compiled once for each
//! instruction set, and the results are the same in each.
//!
//! The rows of the table under `vector` are written so that the compiler vectorises them: each is an operation on all 32 lanes,
//! inlined into the function of each instruction set.

use super::convert::holds;
use super::lane::eval;
use super::real::{canonical, canonical64, maximum, minimum};
use super::registers::{Registers, Word};
use crate::lanes::each;
use ptx::ast::Type;
use ptx::lower::inst::{Combine, Compare, Detail, Inst, NONE, Op};

/// A type that a lane's operand or result can be seen as.
pub(super) trait Lane: Copy {
    /// What the register holds for a lane.
    type Word: Word;
    fn see(word: Self::Word) -> Self;
    fn word(self) -> Self::Word;
}

macro_rules! lane {
    ($($kind:ty as $word:ty: |$bits:ident| $from:expr, |$value:ident| $to:expr;)*) => {
        $(impl Lane for $kind {
            type Word = $word;
            #[inline(always)]
            fn see($bits: $word) -> Self {
                $from
            }
            #[inline(always)]
            fn word(self) -> $word {
                let $value = self;
                $to
            }
        })*
    };
}
lane! {
    u32 as u32: |bits| bits, |value| value;
    i32 as u32: |bits| bits as i32, |value| value as u32;
    f32 as u32: |bits| f32::from_bits(bits), |value| canonical(value);
    u64 as u64: |bits| bits, |value| value;
    i64 as u64: |bits| bits as i64, |value| value as u64;
    f64 as u64: |bits| f64::from_bits(bits), |value| canonical64(value);
}

/// An operation on all lanes: a closure with one argument for each operand.
pub(super) trait Operation<Arguments> {
    fn apply(self, inst: &Inst, r: Registers, mask: u32);
}

macro_rules! operation {
    ($($argument:ident $operand:ident)*) => {
        impl<F: Fn($($argument),*) -> R, R: Lane, $($argument: Lane),*> Operation<($($argument,)*)> for F {
            #[inline(always)]
            fn apply(self, inst: &Inst, r: Registers, mask: u32) {
                $(let $operand = r.read::<$argument::Word>(inst.$operand);)*
                let mut out = [R::Word::default(); 32];
                for (lane, out) in out.iter_mut().enumerate() {
                    *out = self($($argument::see($operand[lane])),*).word();
                }
                r.write(inst.d, mask, &out);
            }
        }
    };
}
operation!(A a);
operation!(A a B b);
operation!(A a B b C c);

/// Returns the bits of the lanes for which something holds.
#[inline(always)]
fn lanes(mut f: impl FnMut(usize) -> bool) -> u32 {
    let mut bits = 0;
    for lane in 0..32 {
        bits |= u32::from(f(lane)) << lane;
    }
    bits
}

#[inline(always)]
fn ordered<T: Lane + PartialOrd>(compare: Compare, inst: &Inst, r: Registers) -> u32 {
    let [a, b] = [inst.a, inst.b].map(|at| r.read::<T::Word>(at).map(T::see));
    match compare {
        Compare::Eq => lanes(|lane| a[lane] == b[lane]),
        Compare::Ne => lanes(|lane| a[lane] != b[lane]),
        Compare::Lt => lanes(|lane| a[lane] < b[lane]),
        Compare::Le => lanes(|lane| a[lane] <= b[lane]),
        Compare::Gt => lanes(|lane| a[lane] > b[lane]),
        _ => lanes(|lane| a[lane] >= b[lane]),
    }
}

#[inline(always)]
fn compare(inst: &Inst, r: Registers, detail: &Detail) -> u32 {
    let simple = detail.compare <= Compare::Ge;
    match detail.kind {
        Type::S32 if simple => ordered::<i32>(detail.compare, inst, r),
        Type::U32 | Type::B32 if simple => ordered::<u32>(detail.compare, inst, r),
        Type::S64 if simple => ordered::<i64>(detail.compare, inst, r),
        Type::U64 | Type::B64 if simple => ordered::<u64>(detail.compare, inst, r),
        Type::F32 if simple && !detail.ftz && detail.compare != Compare::Ne => ordered::<f32>(detail.compare, inst, r),
        kind if kind.bytes() == 8 => {
            let (a, b): ([u64; 32], [u64; 32]) = (r.read(inst.a), r.read(inst.b));
            lanes(|lane| holds(detail, kind, a[lane], b[lane]))
        }
        kind => {
            let (a, b): ([u32; 32], [u32; 32]) = (r.read(inst.a), r.read(inst.b));
            let part = 16 * u32::from(detail.lut);
            lanes(|lane| holds(detail, kind, u64::from(a[lane] >> part), u64::from(b[lane] >> part)))
        }
    }
}

/// Computes lane by lane.
#[inline(never)]
fn generic(inst: &Inst, r: Registers, predicates: &mut [u32], detail: &Detail, mask: u32) {
    let offsets = [inst.d, inst.a, inst.b, inst.c, inst.e];
    let mut bits = 0u32;
    let mut out = [0u64; 32];
    for lane in each(mask) {
        let mut values = [0u64; 4];
        for (value, index) in values.iter_mut().zip(1..) {
            let offset = offsets[index];
            if offset == NONE {
                continue;
            }
            *value = if detail.predicate[index] {
                u64::from(predicates[offset as usize] >> lane & 1)
            } else {
                r.bits(offset, detail.wide[index], lane)
            };
        }
        let value = eval(detail, values);
        out[lane] = value;
        bits |= ((value & 1) as u32) << lane;
    }
    if detail.predicate[0] {
        set(predicates, inst.d, mask, bits);
    } else {
        r.write_bits(inst.d, detail.wide[0], mask, &out);
    }
}

/// Adds with a carry, which may come in, go out, or both. A difference is the sum of a, the complement of b, and the carry, which
/// is one if none comes in. So one flag serves both, as in the hardware.
#[inline(never)]
fn carry(inst: &Inst, r: Registers, predicates: &mut [u32], detail: &Detail, mask: u32) {
    let (wide, flip) = (detail.wide[0], if detail.negate { u64::MAX } else { 0 });
    let before = if inst.c == NONE { flip as u32 } else { predicates[inst.c as usize] };
    let bits = if wide { 64 } else { 32 };
    let mut out = [0u64; 32];
    let after = lanes(|lane| {
        let (a, b) = (r.bits(inst.a, wide, lane), (r.bits(inst.b, wide, lane) ^ flip) & (u64::MAX >> (64 - bits)));
        let sum = u128::from(a) + u128::from(b) + u128::from(before >> lane & 1);
        out[lane] = sum as u64;
        sum >> bits != 0
    });
    r.write_bits(inst.d, wide, mask, &out);
    set(predicates, inst.e, mask, after);
}

/// Returns a predicate in all lanes.
#[inline(always)]
pub(super) fn get(predicates: &[u32], at: u32, negated: bool) -> u32 {
    predicates[at as usize] ^ if negated { u32::MAX } else { 0 }
}

/// Writes the lanes of `mask` of a predicate, if there is one.
pub(super) fn set(predicates: &mut [u32], at: u32, mask: u32, bits: u32) {
    if at != NONE {
        let to = &mut predicates[at as usize];
        *to = *to & !mask | bits & mask;
    }
}

/// `d = c ? a : b`
#[inline(always)]
fn select<W: Word>(inst: &Inst, r: Registers, predicates: &[u32], mask: u32) {
    let bits = predicates[inst.c as usize];
    let (a, b): ([W; 32], [W; 32]) = (r.read(inst.a), r.read(inst.b));
    let mut out = [W::default(); 32];
    for lane in 0..32 {
        out[lane] = if bits >> lane & 1 != 0 { a[lane] } else { b[lane] };
    }
    r.write(inst.d, mask, &out);
}

#[inline(always)]
fn setp(inst: &Inst, r: Registers, predicates: &mut [u32], detail: &Detail, mask: u32) {
    let bits = compare(inst, r, detail);
    let other = if detail.combine == Combine::None { 0 } else { get(predicates, inst.c, detail.negate) };
    let apply = |bits: u32| match detail.combine {
        Combine::None => bits,
        Combine::And => bits & other,
        Combine::Or => bits | other,
        Combine::Xor => bits ^ other,
    };
    set(predicates, inst.d, mask, apply(bits));
    set(predicates, inst.e, mask, apply(!bits));
}

#[inline(always)]
pub(super) fn alu(inst: &Inst, r: Registers, predicates: &mut [u32], details: &[Detail], mask: u32) {
    macro_rules! execute {
        (
            vector { $($vector:ident: $_1:literal, $_2:expr, $_3:ident($($_4:ident),*) => $on_lanes:expr $(, $_5:literal)?;)* }
            predicate { $($predicate:ident: $_6:literal, $_7:expr, $_8:ident($($_9:ident),*) => $on_bits:expr;)* }
            $($rest:tt)*
        ) => {
            match inst.op {
                $(Op::$vector => Operation::apply($on_lanes, inst, r, mask),)*
                // Predicates hold a bit for each lane, so the operation works on all of them without a loop.
                $(Op::$predicate => {
                    let operation: fn(u32, u32) -> u32 = $on_bits;
                    let [a, b] = [inst.a, inst.b].map(|at| predicates.get(at as usize).copied().unwrap_or(0));
                    set(predicates, inst.d, mask, operation(a, b));
                })*
                Op::Mov32 => Operation::apply(|a: u32| a, inst, r, mask),
                Op::Mov64 => Operation::apply(|a: u64| a, inst, r, mask),
                Op::SignExtend => Operation::apply(|a: i32| i64::from(a), inst, r, mask),
                Op::ZeroExtend => Operation::apply(|a: u32| u64::from(a), inst, r, mask),
                Op::Truncate => Operation::apply(|a: u64| a as u32, inst, r, mask),
                Op::CvtF32S32 => Operation::apply(|a: i32| (a as f32).to_bits(), inst, r, mask),
                Op::CvtF32U32 => Operation::apply(|a: u32| (a as f32).to_bits(), inst, r, mask),
                Op::PredMov => set(predicates, inst.d, mask, predicates[inst.a as usize]),
                Op::Selp32 => select::<u32>(inst, r, predicates, mask),
                Op::Selp64 => select::<u64>(inst, r, predicates, mask),
                Op::Setp => setp(inst, r, predicates, &details[inst.imm as usize], mask),
                Op::Carry => carry(inst, r, predicates, &details[inst.imm as usize], mask),
                Op::Generic => generic(inst, r, predicates, &details[inst.imm as usize], mask),
                // The others are not arithmetic and never come here.
                _ => {}
            }
        };
    }
    ptx::instructions!(execute);
}
