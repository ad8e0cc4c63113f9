//! The instruction sets of the host that a warp can be run with.

use super::alu::alu;
#[cfg(target_arch = "x86_64")]
use super::avx512;
use super::pattern::{Pattern, Summary};
use super::registers::Registers;
use super::runs;
use crate::lower::inst::{BASES, Detail, Inst, Micro};

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

/// What every processor has.
pub(crate) struct Plain;

impl Isa for Plain {
    unsafe fn alu(inst: &Inst, registers: Registers, predicates: &mut [u32], details: &[Detail], mask: u32) {
        alu(inst, registers, predicates, details, mask);
    }
    unsafe fn run(steps: &[Micro], bases: &[Pattern; BASES], words: &[u32], registers: Registers) {
        runs::run(steps, bases, words, registers);
    }
}

/// AVX2 with fused multiply-add.
#[cfg(target_arch = "x86_64")]
pub(crate) struct Avx2;

#[cfg(target_arch = "x86_64")]
impl Isa for Avx2 {
    #[target_feature(enable = "avx2,fma")]
    unsafe fn alu(inst: &Inst, registers: Registers, predicates: &mut [u32], details: &[Detail], mask: u32) {
        alu(inst, registers, predicates, details, mask);
    }
    #[target_feature(enable = "avx2,fma")]
    unsafe fn run(steps: &[Micro], bases: &[Pattern; BASES], words: &[u32], registers: Registers) {
        runs::run(steps, bases, words, registers);
    }
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
