//! Runs of shared loads and multiply-adds in portable code.

use super::pattern::{Arrangement, Pattern};
use super::registers::Registers;
use super::vector::Operation;
use crate::lower::inst::{BASES, Inst, Micro, NONE, Op};

/// The run in portable code, vectorised by the compiler for the instruction set it is inlined into.
#[inline(always)]
pub(super) fn run(steps: &[Micro], bases: &[Pattern; BASES], words: &[u32], registers: Registers) {
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
