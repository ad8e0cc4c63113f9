//! The instruction sets of the host that can run a warp.

use super::access::{Arrangement, Pattern};
use super::alu::{Operation, alu};
#[cfg(target_arch = "x86_64")]
use super::avx512;
use super::registers::Registers;
use ptx::lower::inst::{BASES, Detail, Inst, Micro, NONE, Op};

/// An instruction set that can run a warp. All of them share the code, which the compiler vectorises; only AVX-512 loads the words
/// of runs in its own way.
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

    /// Loads consecutive words for each lane, without those that are not wanted. The first one is `offset` words from the base.
    ///
    /// # Safety
    /// The processor must have the instruction set, and the words must lie inside `words`.
    #[inline(always)]
    unsafe fn load(to: &[u32], base: &Pattern, offset: i32, words: &[u32], registers: Registers) {
        for (&to, part) in to.iter().zip(0..).filter(|(to, _)| **to != NONE) {
            load(to, base, offset + part, words, registers);
        }
    }
}

macro_rules! isa {
    ($(#[$doc:meta])* $name:ident $(, $feature:literal)? $(; $($own:item)*)?) => {
        $(#[$doc])*
        pub(crate) struct $name;

        impl Isa for $name {
            $(#[target_feature(enable = $feature)])?
            unsafe fn alu(inst: &Inst, registers: Registers, predicates: &mut [u32], details: &[Detail], mask: u32) {
                alu(inst, registers, predicates, details, mask);
            }
            $(#[target_feature(enable = $feature)])?
            unsafe fn run(steps: &[Micro], bases: &[Pattern; BASES], words: &[u32], registers: Registers) {
                // SAFETY: the caller vouches for the instruction set and the loads.
                unsafe { run::<Self>(steps, bases, words, registers) };
            }
            $($($own)*)?
        }
    };
}
isa! {
    /// The instructions that every processor has.
    Plain
}
#[cfg(target_arch = "x86_64")]
isa! {
    /// AVX2 with fused multiply-add.
    Avx2, "avx2,fma"
}
#[cfg(target_arch = "x86_64")]
isa! {
    /// AVX-512: a register is two vectors.
    Avx512, "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma";
    #[inline(always)]
    unsafe fn load(to: &[u32], base: &Pattern, offset: i32, words: &[u32], registers: Registers) {
        // SAFETY: the caller vouches for the instruction set and the words.
        unsafe { avx512::load(to, base, offset, words, registers) };
    }
}

/// Executes a run. The compiler vectorises it for the instruction set that it is inlined into.
///
/// # Safety
/// See [`Isa::run`].
#[inline(always)]
unsafe fn run<I: Isa>(steps: &[Micro], bases: &[Pattern; BASES], words: &[u32], registers: Registers) {
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
            // SAFETY: the caller vouches for the instruction set and the loads.
            Micro::Load1 { to, base, offset } => unsafe {
                I::load(&[to], &bases[base as usize % BASES], offset, words, registers);
            },
            // SAFETY: as above.
            Micro::LoadN { to, base, offset } => unsafe {
                I::load(&to, &bases[base as usize % BASES], offset, words, registers);
            },
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
