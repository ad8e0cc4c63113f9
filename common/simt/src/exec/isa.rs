//! The instruction sets of the host that a warp can be run with.

use super::alu::{Operation, alu};
#[cfg(target_arch = "x86_64")]
use super::avx512;
use super::pattern::{Arrangement, Pattern, Summary};
use super::registers::Registers;
use crate::lower::inst::{BASES, Detail, Inst, Micro, NONE, Op};

/// The instruction sets a warp can be run with. But for runs with AVX-512 it is the same code, which the compiler makes vector code of.
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

macro_rules! isa {
    ($(#[$doc:meta])* $name:ident $(, $feature:literal)?) => {
        $(#[$doc])*
        pub(crate) struct $name;

        impl Isa for $name {
            $(#[target_feature(enable = $feature)])?
            unsafe fn alu(inst: &Inst, registers: Registers, predicates: &mut [u32], details: &[Detail], mask: u32) {
                alu(inst, registers, predicates, details, mask);
            }
            $(#[target_feature(enable = $feature)])?
            unsafe fn run(steps: &[Micro], bases: &[Pattern; BASES], words: &[u32], registers: Registers) {
                run(steps, bases, words, registers);
            }
        }
    };
}
isa! {
    /// What every processor has.
    Plain
}
#[cfg(target_arch = "x86_64")]
isa! {
    /// AVX2 with fused multiply-add.
    Avx2, "avx2,fma"
}
/// AVX-512: a register is two vectors.
#[cfg(target_arch = "x86_64")]
pub(crate) struct Avx512;

#[cfg(target_arch = "x86_64")]
impl Isa for Avx512 {
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
    unsafe fn alu(inst: &Inst, registers: Registers, predicates: &mut [u32], details: &[Detail], mask: u32) {
        alu(inst, registers, predicates, details, mask);
    }
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
    unsafe fn run(steps: &[Micro], bases: &[Pattern; BASES], words: &[u32], registers: Registers) {
        // SAFETY: the caller vouches for the instruction set and the loads.
        unsafe { avx512::run(steps, bases, words, registers) };
    }
    #[inline(always)]
    fn summary(addresses: &[u64; 32]) -> Summary {
        // SAFETY: this type is only used where `Level::detect` found AVX-512.
        unsafe { avx512::summary(addresses) }
    }
}

/// A run, vectorised by the compiler for the instruction set it is inlined into.
#[inline(always)]
fn run(steps: &[Micro], bases: &[Pattern; BASES], words: &[u32], registers: Registers) {
    for step in steps {
        match *step {
            Micro::Fma([d, a, b, c]) => {
                let inst = Inst { d, a, b, c, ..Inst::new(Op::FmaF32) };
                Operation::apply(|a: f32, b: f32, c: f32| a.mul_add(b, c), &inst, registers, u32::MAX);
            }
            Micro::Mad([d, a, b, c]) => {
                let inst = Inst { d, a, b, c, ..Inst::new(Op::Mad32) };
                let operation = |a: u32, b: u32, c: u32| a.wrapping_mul(b).wrapping_add(c);
                Operation::apply(operation, &inst, registers, u32::MAX);
            }
            Micro::Load1 { to, base, offset } => {
                load(to, &bases[base as usize % BASES], offset, words, registers);
            }
            Micro::LoadN { to, base, offset } => {
                for (to, part) in to.into_iter().zip(0..) {
                    if to != NONE {
                        load(to, &bases[base as usize % BASES], offset + part, words, registers);
                    }
                }
            }
        }
    }
}

#[inline(always)]
fn load(to: u32, base: &Pattern, offset: i32, words: &[u32], registers: Registers) {
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
