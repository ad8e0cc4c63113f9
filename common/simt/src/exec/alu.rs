//! Everything that computes from registers to registers: 32 lanes at once, written so that the compiler makes vector
//! code of it. The same function is instantiated for each instruction set; the results are the same in each.

use super::eval::{NAN, eval, holds, maximum, minimum};
use super::registers::Registers;
use crate::ast::Type;
use crate::lower::inst::{BASES, Combine, Compare, Detail, Inst, Micro, NONE, Op};

/// The instruction sets a warp can be run with.
pub(crate) trait Isa {
    /// Executes an instruction that only computes.
    ///
    /// # Safety
    /// The processor must have the instruction set.
    unsafe fn alu(inst: &Inst, registers: Registers, predicates: &mut [u32], details: &[Detail], mask: u32);
    /// Executes a run on all lanes. `bases` are the checked bases of the run.
    ///
    /// # Safety
    /// The processor must have the instruction set, and every load of the run must lie inside `words`.
    unsafe fn run(steps: &[Micro], bases: &[Pattern; BASES], words: &[u32], registers: Registers);

    /// Looks at the addresses of a request.
    fn summary(addresses: &[u64; 32]) -> Summary {
        let mut summary = Summary { low: u64::MAX, high: 0, bits: 0, same: true, next: true };
        let mut expected = addresses[0];
        for &address in addresses {
            summary.low = summary.low.min(address);
            summary.high = summary.high.max(address);
            summary.bits |= address;
            summary.same &= address == addresses[0];
            summary.next &= address == expected;
            expected = expected.wrapping_add(4);
        }
        summary
    }
}

/// What the addresses of 32 lanes have in common.
#[derive(Clone, Copy)]
pub(crate) struct Summary {
    pub low: u64,
    pub high: u64,
    /// All bits that are set in any of them.
    pub bits: u64,
    /// All the same.
    pub same: bool,
    /// Each 4 above the one before.
    pub next: bool,
}

/// Where the lanes' addresses of a base lie, in words.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct Pattern {
    pub index: [u32; 32],
    pub kind: Arrangement,
}

/// The frequent arrangements of 32 addresses.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arrangement {
    /// All the same.
    Broadcast,
    /// One word after the other.
    Contiguous,
    Scattered,
}

/// What every processor has.
pub(crate) struct Plain;

impl Isa for Plain {
    unsafe fn alu(inst: &Inst, registers: Registers, predicates: &mut [u32], details: &[Detail], mask: u32) {
        body(inst, registers, predicates, details, mask);
    }
    unsafe fn run(steps: &[Micro], bases: &[Pattern; BASES], words: &[u32], registers: Registers) {
        plain_run(steps, bases, words, registers);
    }
}

/// AVX2 with fused multiply-add.
#[cfg(target_arch = "x86_64")]
pub(crate) struct Avx2;

#[cfg(target_arch = "x86_64")]
impl Isa for Avx2 {
    #[target_feature(enable = "avx2,fma")]
    unsafe fn alu(inst: &Inst, registers: Registers, predicates: &mut [u32], details: &[Detail], mask: u32) {
        body(inst, registers, predicates, details, mask);
    }
    #[target_feature(enable = "avx2,fma")]
    unsafe fn run(steps: &[Micro], bases: &[Pattern; BASES], words: &[u32], registers: Registers) {
        plain_run(steps, bases, words, registers);
    }
}

/// AVX-512: a register is two vectors.
#[cfg(target_arch = "x86_64")]
pub(crate) struct Avx512;

#[cfg(target_arch = "x86_64")]
impl Isa for Avx512 {
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
    unsafe fn alu(inst: &Inst, registers: Registers, predicates: &mut [u32], details: &[Detail], mask: u32) {
        body(inst, registers, predicates, details, mask);
    }
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
    unsafe fn run(steps: &[Micro], bases: &[Pattern; BASES], words: &[u32], registers: Registers) {
        // SAFETY: the caller vouches for the instruction set and the loads.
        unsafe { super::avx512::run(steps, bases, words, registers) };
    }
    #[inline(always)]
    fn summary(addresses: &[u64; 32]) -> Summary {
        // SAFETY: this type is only used where `Level::detect` found AVX-512.
        unsafe { super::avx512::summary(addresses) }
    }
}

/// The run in portable code, vectorised by the compiler for the instruction set it is inlined into.
#[inline(always)]
fn plain_run(steps: &[Micro], bases: &[Pattern; BASES], words: &[u32], registers: Registers) {
    for step in steps {
        match *step {
            Micro::Fma([d, a, b, c]) => {
                let (a, b, c) = (registers.get(a), registers.get(b), registers.get(c));
                let mut out = [0; 32];
                for (lane, out) in out.iter_mut().enumerate() {
                    // SAFETY: a register has 32 lanes; `out` is a local, so nothing overlaps.
                    *out = unsafe { fma((*a)[lane], (*b)[lane], (*c)[lane]) };
                }
                registers.write(d, u32::MAX, &out);
            }
            Micro::Mad([d, a, b, c]) => {
                let inst = Inst { d, a, b, c, ..Inst::new(Op::Mad32) };
                three(&inst, registers, u32::MAX, |a, b, c| a.wrapping_mul(b).wrapping_add(c));
            }
            Micro::Load1 { to, base, offset } => {
                plain_load(to, &bases[base as usize % BASES], offset, words, registers);
            }
            Micro::LoadN { to, base, offset } => {
                for (to, part) in to.into_iter().zip(0..) {
                    if to != NONE {
                        plain_load(to, &bases[base as usize % BASES], offset + part, words, registers);
                    }
                }
            }
        }
    }
}

#[inline(always)]
fn plain_load(to: u32, base: &Pattern, offset: i32, words: &[u32], registers: Registers) {
    let at = |lane: usize| base.index[lane].wrapping_add_signed(offset) as usize;
    if base.kind == Arrangement::Broadcast {
        registers.write(to, u32::MAX, &[words[at(0)]; 32]);
        return;
    }
    let mut out = [0; 32];
    if base.kind == Arrangement::Contiguous {
        out.copy_from_slice(&words[at(0)..at(0) + 32]);
    } else {
        for (lane, out) in out.iter_mut().enumerate() {
            *out = words[at(lane)];
        }
    }
    registers.write(to, u32::MAX, &out);
}

#[inline(always)]
fn canonical(value: f32) -> u32 {
    if value.is_nan() { NAN } else { value.to_bits() }
}

#[inline(always)]
fn fma(a: u32, b: u32, c: u32) -> u32 {
    canonical(f32::from_bits(a).mul_add(f32::from_bits(b), f32::from_bits(c)))
}

#[inline(always)]
fn one(inst: &Inst, r: Registers, mask: u32, f: impl Fn(u32) -> u32) {
    let a = r.get(inst.a);
    let mut out = [0; 32];
    for (lane, out) in out.iter_mut().enumerate() {
        // SAFETY: a register has 32 lanes; `out` is a local, so nothing overlaps.
        *out = f(unsafe { (*a)[lane] });
    }
    r.write(inst.d, mask, &out);
}

#[inline(always)]
fn two(inst: &Inst, r: Registers, mask: u32, f: impl Fn(u32, u32) -> u32) {
    let (a, b) = (r.get(inst.a), r.get(inst.b));
    let mut out = [0; 32];
    for (lane, out) in out.iter_mut().enumerate() {
        // SAFETY: as above.
        *out = unsafe { f((*a)[lane], (*b)[lane]) };
    }
    r.write(inst.d, mask, &out);
}

#[inline(always)]
fn three(inst: &Inst, r: Registers, mask: u32, f: impl Fn(u32, u32, u32) -> u32) {
    let (a, b, c) = (r.get(inst.a), r.get(inst.b), r.get(inst.c));
    let mut out = [0; 32];
    for (lane, out) in out.iter_mut().enumerate() {
        // SAFETY: as above.
        *out = unsafe { f((*a)[lane], (*b)[lane], (*c)[lane]) };
    }
    r.write(inst.d, mask, &out);
}

#[inline(always)]
fn float(inst: &Inst, r: Registers, mask: u32, f: impl Fn(f32, f32) -> f32) {
    two(inst, r, mask, |a, b| canonical(f(f32::from_bits(a), f32::from_bits(b))));
}

#[inline(always)]
fn one64(inst: &Inst, r: Registers, mask: u32, f: impl Fn(u64) -> u64) {
    let a = r.get64(inst.a);
    let mut out = [0; 32];
    for (lane, out) in out.iter_mut().enumerate() {
        // SAFETY: as above.
        *out = f(unsafe { (*a)[lane] });
    }
    r.write64(inst.d, mask, &out);
}

#[inline(always)]
fn two64(inst: &Inst, r: Registers, mask: u32, f: impl Fn(u64, u64) -> u64) {
    let (a, b) = (r.get64(inst.a), r.get64(inst.b));
    let mut out = [0; 32];
    for (lane, out) in out.iter_mut().enumerate() {
        // SAFETY: as above.
        *out = unsafe { f((*a)[lane], (*b)[lane]) };
    }
    r.write64(inst.d, mask, &out);
}

#[inline(always)]
fn three64(inst: &Inst, r: Registers, mask: u32, f: impl Fn(u64, u64, u64) -> u64) {
    let (a, b, c) = (r.get64(inst.a), r.get64(inst.b), r.get64(inst.c));
    let mut out = [0; 32];
    for (lane, out) in out.iter_mut().enumerate() {
        // SAFETY: as above.
        *out = unsafe { f((*a)[lane], (*b)[lane], (*c)[lane]) };
    }
    r.write64(inst.d, mask, &out);
}

/// A 64-bit register shifted by a 32-bit one.
#[inline(always)]
fn shift64(inst: &Inst, r: Registers, mask: u32, f: impl Fn(u64, u32) -> u64) {
    let (a, b) = (r.get64(inst.a), r.get(inst.b));
    let mut out = [0; 32];
    for (lane, out) in out.iter_mut().enumerate() {
        // SAFETY: as above.
        *out = unsafe { f((*a)[lane], (*b)[lane]) };
    }
    r.write64(inst.d, mask, &out);
}

/// 32 bits to 64.
#[inline(always)]
fn widen(inst: &Inst, r: Registers, mask: u32, f: impl Fn(u32) -> u64) {
    let a = r.get(inst.a);
    let mut out = [0; 32];
    for (lane, out) in out.iter_mut().enumerate() {
        // SAFETY: as above.
        *out = f(unsafe { (*a)[lane] });
    }
    r.write64(inst.d, mask, &out);
}

#[inline(always)]
fn multiply_wide(inst: &Inst, r: Registers, mask: u32, f: impl Fn(u32, u32) -> u64) {
    let (a, b) = (r.get(inst.a), r.get(inst.b));
    let mut out = [0; 32];
    for (lane, out) in out.iter_mut().enumerate() {
        // SAFETY: as above.
        *out = unsafe { f((*a)[lane], (*b)[lane]) };
    }
    if inst.c != NONE {
        let c = r.get64(inst.c);
        for (lane, out) in out.iter_mut().enumerate() {
            // SAFETY: as above.
            *out = out.wrapping_add(unsafe { (*c)[lane] });
        }
    }
    r.write64(inst.d, mask, &out);
}

#[inline(always)]
fn lanes(f: impl Fn(usize) -> bool) -> u32 {
    let mut bits = 0;
    for lane in 0..32 {
        bits |= u32::from(f(lane)) << lane;
    }
    bits
}

#[inline(always)]
fn ordered<T: PartialOrd + Copy>(compare: Compare, a: &[T; 32], b: &[T; 32]) -> u32 {
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
fn compare(inst: &Inst, r: Registers, predicates: &[u32], detail: &Detail) -> u32 {
    let simple =
        matches!(detail.compare, Compare::Eq | Compare::Ne | Compare::Lt | Compare::Le | Compare::Gt | Compare::Ge);
    let _ = predicates;
    match detail.kind {
        Type::S32 if simple => {
            ordered(detail.compare, &r.read(inst.a).map(|x| x as i32), &r.read(inst.b).map(|x| x as i32))
        }
        Type::U32 | Type::B32 if simple => ordered(detail.compare, &r.read(inst.a), &r.read(inst.b)),
        Type::S64 if simple => {
            ordered(detail.compare, &r.read64(inst.a).map(|x| x as i64), &r.read64(inst.b).map(|x| x as i64))
        }
        Type::U64 | Type::B64 if simple => ordered(detail.compare, &r.read64(inst.a), &r.read64(inst.b)),
        kind if kind.bytes() == 8 => {
            let (a, b) = (r.read64(inst.a), r.read64(inst.b));
            lanes(|lane| holds(detail, kind, a[lane], b[lane]))
        }
        kind => {
            let (a, b) = (r.read(inst.a), r.read(inst.b));
            lanes(|lane| holds(detail, kind, u64::from(a[lane]), u64::from(b[lane])))
        }
    }
}

#[inline(never)]
fn generic(inst: &Inst, r: Registers, predicates: &mut [u32], detail: &Detail, mask: u32) {
    let offsets = [inst.d, inst.a, inst.b, inst.c, inst.e];
    let mut rest = mask;
    let mut bits = 0u32;
    let mut out = [0u64; 32];
    while rest != 0 {
        let lane = rest.trailing_zeros() as usize;
        rest &= rest - 1;
        let mut values = [0u64; 4];
        for (value, index) in values.iter_mut().zip(1..) {
            let offset = offsets[index];
            if offset == NONE {
                continue;
            }
            *value = if detail.predicate[index] {
                u64::from(predicates[offset as usize] >> lane & 1)
            } else if detail.wide[index] {
                r.lane64(offset, lane)
            } else {
                u64::from(r.lane(offset, lane))
            };
        }
        let value = eval(detail, values[0], values[1], values[2], values[3]);
        out[lane] = value;
        bits |= ((value & 1) as u32) << lane;
    }
    if detail.predicate[0] {
        let to = &mut predicates[inst.d as usize];
        *to = *to & !mask | bits & mask;
    } else if detail.wide[0] {
        r.write64(inst.d, mask, &out);
    } else {
        r.write(inst.d, mask, &out.map(|value| value as u32));
    }
}

fn set(predicates: &mut [u32], at: u32, mask: u32, bits: u32) {
    if at != NONE {
        let to = &mut predicates[at as usize];
        *to = *to & !mask | bits & mask;
    }
}

#[inline(always)]
fn body(inst: &Inst, r: Registers, predicates: &mut [u32], details: &[Detail], mask: u32) {
    match inst.op {
        Op::Mov32 => one(inst, r, mask, |a| a),
        Op::Add32 => two(inst, r, mask, u32::wrapping_add),
        Op::Sub32 => two(inst, r, mask, u32::wrapping_sub),
        Op::Mul32 => two(inst, r, mask, u32::wrapping_mul),
        Op::Mad32 => three(inst, r, mask, |a, b, c| a.wrapping_mul(b).wrapping_add(c)),
        Op::And32 => two(inst, r, mask, |a, b| a & b),
        Op::Or32 => two(inst, r, mask, |a, b| a | b),
        Op::Xor32 => two(inst, r, mask, |a, b| a ^ b),
        Op::Not32 => one(inst, r, mask, |a| !a),
        Op::Neg32 => one(inst, r, mask, u32::wrapping_neg),
        Op::Shl32 => two(inst, r, mask, |a, b| if b > 31 { 0 } else { a << (b & 31) }),
        Op::ShrU32 => two(inst, r, mask, |a, b| if b > 31 { 0 } else { a >> (b & 31) }),
        Op::ShrS32 => two(inst, r, mask, |a, b| (a as i32 >> b.min(31)) as u32),
        Op::MinS32 => two(inst, r, mask, |a, b| (a as i32).min(b as i32) as u32),
        Op::MaxS32 => two(inst, r, mask, |a, b| (a as i32).max(b as i32) as u32),
        Op::MinU32 => two(inst, r, mask, u32::min),
        Op::MaxU32 => two(inst, r, mask, u32::max),
        Op::Selp32 => {
            let bits = predicates[inst.c as usize];
            let (a, b) = (r.read(inst.a), r.read(inst.b));
            let mut out = [0; 32];
            for lane in 0..32 {
                out[lane] = if bits >> lane & 1 != 0 { a[lane] } else { b[lane] };
            }
            r.write(inst.d, mask, &out);
        }
        Op::Mov64 => one64(inst, r, mask, |a| a),
        Op::Add64 => two64(inst, r, mask, u64::wrapping_add),
        Op::Sub64 => two64(inst, r, mask, u64::wrapping_sub),
        Op::Mul64 => two64(inst, r, mask, u64::wrapping_mul),
        Op::Mad64 => three64(inst, r, mask, |a, b, c| a.wrapping_mul(b).wrapping_add(c)),
        Op::And64 => two64(inst, r, mask, |a, b| a & b),
        Op::Or64 => two64(inst, r, mask, |a, b| a | b),
        Op::Xor64 => two64(inst, r, mask, |a, b| a ^ b),
        Op::Shl64 => shift64(inst, r, mask, |a, b| if b > 63 { 0 } else { a << (b & 63) }),
        Op::ShrU64 => shift64(inst, r, mask, |a, b| if b > 63 { 0 } else { a >> (b & 63) }),
        Op::ShrS64 => shift64(inst, r, mask, |a, b| (a as i64 >> b.min(63)) as u64),
        Op::Selp64 => {
            let bits = predicates[inst.c as usize];
            let (a, b) = (r.read64(inst.a), r.read64(inst.b));
            let mut out = [0; 32];
            for lane in 0..32 {
                out[lane] = if bits >> lane & 1 != 0 { a[lane] } else { b[lane] };
            }
            r.write64(inst.d, mask, &out);
        }
        Op::MulWideS32 | Op::MadWideS32 => {
            multiply_wide(inst, r, mask, |a, b| (i64::from(a as i32) * i64::from(b as i32)) as u64);
        }
        Op::MulWideU32 | Op::MadWideU32 => multiply_wide(inst, r, mask, |a, b| u64::from(a) * u64::from(b)),
        Op::SignExtend => widen(inst, r, mask, |a| i64::from(a as i32) as u64),
        Op::ZeroExtend => widen(inst, r, mask, u64::from),
        Op::Truncate => {
            let a = r.get64(inst.a);
            let mut out = [0; 32];
            for (lane, out) in out.iter_mut().enumerate() {
                // SAFETY: a register has 32 lanes; `out` is a local, so nothing overlaps.
                *out = unsafe { (*a)[lane] } as u32;
            }
            r.write(inst.d, mask, &out);
        }
        Op::AddF32 => float(inst, r, mask, |a, b| a + b),
        Op::SubF32 => float(inst, r, mask, |a, b| a - b),
        Op::MulF32 => float(inst, r, mask, |a, b| a * b),
        Op::FmaF32 => three(inst, r, mask, fma),
        Op::NegF32 => one(inst, r, mask, |a| a ^ 1 << 31),
        Op::AbsF32 => one(inst, r, mask, |a| a & !(1 << 31)),
        Op::DivF32 => float(inst, r, mask, |a, b| a / b),
        Op::MinF32 => float(inst, r, mask, minimum),
        Op::MaxF32 => float(inst, r, mask, maximum),
        Op::CvtF32S32 => one(inst, r, mask, |a| (a as i32 as f32).to_bits()),
        Op::CvtF32U32 => one(inst, r, mask, |a| (a as f32).to_bits()),
        Op::AddF64 => two64(inst, r, mask, |a, b| (f64::from_bits(a) + f64::from_bits(b)).to_bits()),
        Op::MulF64 => two64(inst, r, mask, |a, b| (f64::from_bits(a) * f64::from_bits(b)).to_bits()),
        Op::FmaF64 => {
            three64(inst, r, mask, |a, b, c| f64::from_bits(a).mul_add(f64::from_bits(b), f64::from_bits(c)).to_bits());
        }
        Op::Setp => {
            let detail = &details[inst.imm as usize];
            let mut bits = compare(inst, r, predicates, detail);
            let mut opposite = !bits;
            if detail.combine != Combine::None {
                let mut other = predicates[inst.c as usize];
                if detail.negate {
                    other = !other;
                }
                let apply = |bits: u32| match detail.combine {
                    Combine::And => bits & other,
                    Combine::Or => bits | other,
                    _ => bits ^ other,
                };
                (bits, opposite) = (apply(bits), apply(opposite));
            }
            set(predicates, inst.d, mask, bits);
            set(predicates, inst.e, mask, opposite);
        }
        Op::PredMov => set(predicates, inst.d, mask, predicates[inst.a as usize]),
        Op::PredNot => set(predicates, inst.d, mask, !predicates[inst.a as usize]),
        Op::PredAnd => set(predicates, inst.d, mask, predicates[inst.a as usize] & predicates[inst.b as usize]),
        Op::PredOr => set(predicates, inst.d, mask, predicates[inst.a as usize] | predicates[inst.b as usize]),
        Op::PredXor => set(predicates, inst.d, mask, predicates[inst.a as usize] ^ predicates[inst.b as usize]),
        Op::Generic => generic(inst, r, predicates, &details[inst.imm as usize], mask),
        // The others are not arithmetic and never come here.
        _ => {}
    }
}
