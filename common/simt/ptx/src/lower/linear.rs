//! Splits addresses into a base and a constant, as the assembler does, and finds the power of two that each base is certainly
//! a multiple of.

use super::inst::{Detail, Function, Inst, NONE, Op, Preset};
use super::raw::{Decoded, Raw};
use std::collections::HashMap;

/// A value as the sum of a base and a constant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Sum {
    pub base: u32,
    pub offset: i64,
}

/// Alignments are only followed up to this many bits, because no access is wider than 16 bytes.
const MOST: u8 = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Base {
    /// Zero. The sum is a constant.
    Zero,
    /// A shared array, by its number.
    Array(u32),
    /// A register's value when a block starts. If it is set only once, the value is the same in every block.
    Register { value: u32, block: u32 },
    /// The result of an instruction that is not analysed further.
    Result(u32),
    /// The sum of two bases.
    Sum(u32, u32),
    /// The result of an operation that gives the same result for the same one or two operands.
    Same(Op, Sum, Sum),
}

/// The sums of registers, while instructions are processed in order.
pub(super) struct Sums<'a> {
    decoded: &'a Decoded,
    /// For each value, how many zeros its binary form ends with at least, up to [`MOST`].
    zeros: Vec<u8>,
    /// For each value, how many instructions set it, up to two.
    setters: Vec<u8>,
    /// For each value, its current sum and the block in which it holds, or [`NONE`] if it holds in all.
    now: Vec<Option<(Sum, u32)>>,
    /// The current block. When it changes, what is known of registers with several setters becomes invalid.
    pub block: u32,
    numbers: HashMap<Base, u32>,
    /// For each base, the same as `zeros`.
    base_zeros: Vec<u8>,
}

impl<'a> Sums<'a> {
    pub fn new(decoded: &'a Decoded) -> Self {
        let mut setters = vec![0_u8; decoded.values.len()];
        for raw in &decoded.raws {
            // Under a guard, the register keeps its old value in some lanes, so it has two values.
            let times = if raw.guard.is_some() { 2 } else { 1 };
            set(&raw.inst).for_each(|value| setters[value as usize] = (setters[value as usize] + times).min(2));
        }
        Self {
            zeros: zeros(decoded),
            decoded,
            now: vec![None; setters.len()],
            setters,
            block: 0,
            numbers: HashMap::new(),
            base_zeros: vec![],
        }
    }

    /// Returns the alignment of a sum's base in bytes: a power of two up to 16.
    pub fn alignment(&self, sum: Sum) -> u32 {
        1 << self.base_zeros[sum.base as usize]
    }

    fn base(&mut self, base: Base, zeros: u8) -> u32 {
        let next = self.base_zeros.len() as u32;
        let number = *self.numbers.entry(base).or_insert(next);
        if number == next {
            self.base_zeros.push(zeros.min(MOST));
        }
        number
    }

    /// Returns a base that a value equals, as a sum.
    fn alone(&mut self, base: Base, value: u32) -> Sum {
        let zeros = self.zeros[value as usize];
        Sum { base: self.base(base, zeros), offset: 0 }
    }

    pub fn of(&mut self, value: u32) -> Sum {
        let once = Base::Register { value, block: NONE };
        if let Some(preset) = self.decoded.values[value as usize].preset {
            return match preset {
                Preset::Constant(constant) => Sum { base: self.base(Base::Zero, MOST), offset: constant as i64 },
                Preset::Shared { array, address } => {
                    let start = u64::from(self.decoded.code.shared_arrays[array as usize].offset);
                    let base = self.base(Base::Array(array), trailing(start));
                    Sum { base, offset: address.wrapping_sub(start) as i64 }
                }
                _ => self.alone(once, value),
            };
        }
        match self.now[value as usize] {
            Some((sum, block)) if block == NONE || block == self.block => sum,
            _ if self.setters[value as usize] == 1 => self.alone(once, value),
            _ => self.alone(Base::Register { value, block: self.block }, value),
        }
    }

    /// Processes an instruction: updates the sums of the values that it sets.
    pub fn pass(&mut self, number: u32, raw: &Raw) {
        let sum = if raw.guard.is_none() { self.result(&raw.inst) } else { None };
        for value in set(&raw.inst) {
            let (base, block) = if self.setters[value as usize] > 1 {
                // The elements of a vector are different values, so they need different bases.
                (Base::Result(number << 3 | u32::from(value == raw.inst.d)), self.block)
            } else {
                (Base::Register { value, block: NONE }, NONE)
            };
            self.now[value as usize] = Some((sum.unwrap_or_else(|| self.alone(base, value)), block));
        }
    }

    /// Returns the sum of a result if it follows from the sums of the operands.
    fn result(&mut self, inst: &Inst) -> Option<Sum> {
        Some(match inst.op {
            Op::Mov32 | Op::Mov64 => self.of(inst.a),
            Op::Add32 | Op::Add64 | Op::Sub32 | Op::Sub64 | Op::Or32 | Op::Or64 => {
                let (a, b) = (self.of(inst.a), self.of(inst.b));
                let constant = self.base(Base::Zero, MOST) == b.base;
                match inst.op {
                    Op::Add32 | Op::Add64 => self.sum(a, b),
                    Op::Sub32 | Op::Sub64 if constant => Sum { offset: a.offset.wrapping_sub(b.offset), ..a },
                    // An `or` with bits that are zero in the other operand is a sum.
                    Op::Or32 | Op::Or64 if constant && (0..1_i64 << self.sum_zeros(a)).contains(&b.offset) => {
                        Sum { offset: a.offset.wrapping_add(b.offset), ..a }
                    }
                    _ => return None,
                }
            }
            Op::Shl32 | Op::Shl64 | Op::Mul32 | Op::Mul64 | Op::MulWideS32 | Op::MulWideU32 => {
                let (a, b) = (self.of(inst.a), self.of(inst.b));
                self.alone(Base::Same(inst.op, a, b), inst.d)
            }
            Op::SignExtend | Op::ZeroExtend | Op::Truncate => {
                let a = self.of(inst.a);
                self.alone(Base::Same(inst.op, a, a), inst.d)
            }
            Op::Mad32 | Op::Mad64 | Op::MadWideS32 | Op::MadWideU32 => {
                let (a, b, c) = (self.of(inst.a), self.of(inst.b), self.of(inst.c));
                let zeros = self.sum_zeros(a) + self.sum_zeros(b);
                let product = Sum { base: self.base(Base::Same(inst.op, a, b), zeros), offset: 0 };
                self.sum(product, c)
            }
            Op::Generic => match self.decoded.code.details[inst.imm as usize] {
                Detail { function: Function::Offset, constant, .. } => {
                    let a = self.of(inst.a);
                    Sum { offset: a.offset.wrapping_add(constant as i64), ..a }
                }
                _ => return None,
            },
            _ => return None,
        })
    }

    fn sum(&mut self, a: Sum, b: Sum) -> Sum {
        let zero = self.base(Base::Zero, MOST);
        let offset = a.offset.wrapping_add(b.offset);
        let base = match (a.base == zero, b.base == zero) {
            (true, _) => b.base,
            (_, true) => a.base,
            _ => {
                let zeros = self.base_zeros[a.base as usize].min(self.base_zeros[b.base as usize]);
                self.base(Base::Sum(a.base.min(b.base), a.base.max(b.base)), zeros)
            }
        };
        Sum { base, offset }
    }

    fn sum_zeros(&self, sum: Sum) -> u8 {
        self.base_zeros[sum.base as usize].min(trailing(sum.offset as u64))
    }
}

fn set(inst: &Inst) -> impl Iterator<Item = u32> + use<> {
    inst.values().filter(|&(_, written)| written).map(|(value, _)| value)
}

fn trailing(constant: u64) -> u8 {
    constant.trailing_zeros().min(u32::from(MOST)) as u8
}

/// Returns for each value how many zeros it ends with on every path. The search starts from the most, and lowers the number of a
/// value when an instruction that sets it guarantees fewer. Then it processes the instructions that use this value again.
fn zeros(decoded: &Decoded) -> Vec<u8> {
    let start = |value: &super::raw::Value| match value.preset {
        None => MOST,
        Some(Preset::Constant(constant)) => trailing(constant),
        Some(Preset::Shared { address, .. }) => trailing(address),
        Some(_) => 0,
    };
    let mut zeros: Vec<u8> = decoded.values.iter().map(start).collect();
    let mut users: Vec<Vec<u32>> = vec![vec![]; zeros.len()];
    for (number, raw) in (0u32..).zip(&decoded.raws) {
        let Inst { a, b, c, .. } = raw.inst;
        [a, b, c].into_iter().filter(|&v| v != NONE).for_each(|v| users[v as usize].push(number));
    }
    let mut waiting: Vec<u32> = (0..decoded.raws.len() as u32).rev().collect();
    while let Some(number) = waiting.pop() {
        let inst = &decoded.raws[number as usize].inst;
        let found = zeros_of(decoded, inst, &zeros);
        for value in set(inst) {
            if found < zeros[value as usize] {
                zeros[value as usize] = found;
                waiting.extend(&users[value as usize]);
            }
        }
    }
    zeros
}

/// Returns how many zeros an instruction's result ends with, given those of its operands.
fn zeros_of(decoded: &Decoded, inst: &Inst, zeros: &[u8]) -> u8 {
    let of = |value: u32| zeros[value as usize];
    let found = match inst.op {
        Op::Mov32 | Op::Mov64 | Op::SignExtend | Op::ZeroExtend | Op::Truncate | Op::Neg32 => of(inst.a),
        Op::Add32
        | Op::Add64
        | Op::Sub32
        | Op::Sub64
        | Op::Or32
        | Op::Or64
        | Op::Xor32
        | Op::Xor64
        | Op::Selp32
        | Op::Selp64
        | Op::MinS32
        | Op::MaxS32
        | Op::MinU32
        | Op::MaxU32 => of(inst.a).min(of(inst.b)),
        Op::And32 | Op::And64 => of(inst.a).max(of(inst.b)),
        Op::Mul32 | Op::Mul64 | Op::MulWideS32 | Op::MulWideU32 => of(inst.a) + of(inst.b),
        Op::Mad32 | Op::Mad64 | Op::MadWideS32 | Op::MadWideU32 => (of(inst.a) + of(inst.b)).min(of(inst.c)),
        Op::Shl32 | Op::Shl64 => match decoded.values[inst.b as usize].preset {
            Some(Preset::Constant(by)) => of(inst.a).saturating_add(by.min(u64::from(MOST)) as u8),
            _ => of(inst.a),
        },
        Op::Generic => match decoded.code.details[inst.imm as usize] {
            Detail { function: Function::Offset, constant, .. } => of(inst.a).min(trailing(constant)),
            _ => 0,
        },
        _ => 0,
    };
    found.min(MOST)
}
