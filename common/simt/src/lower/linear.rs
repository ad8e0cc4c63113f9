//! Addresses as the assembler sees them: a base that it does not know, a constant added to it, and what power of two the base
//! is a multiple of for certain.

use super::inst::{Function, Inst, NONE, Op, Preset};
use super::raw::{Decoded, Raw};
use std::collections::HashMap;

/// A value as a base and a constant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Sum {
    pub base: u32,
    pub offset: i64,
}

/// Bits of an alignment that matter: nothing is wider than 16 bytes.
const MOST: u8 = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Base {
    /// None: the sum is a constant.
    Zero,
    /// A shared array, by number.
    Array(u32),
    /// A register as it is when a block starts; one that is set once is the same everywhere.
    Register { value: u32, block: u32 },
    /// What an instruction computes in some way that is not followed.
    Result(u32),
    /// The sum of two bases.
    Sum(u32, u32),
    /// An operation of one or two operands that gives the same for the same.
    Same(Op, Sum, Sum),
}

/// The sums of registers while the instructions are walked through in order.
pub(super) struct Sums<'a> {
    decoded: &'a Decoded,
    /// By value: zeros that its binary sum ends with at least, up to [`MOST`].
    zeros: Vec<u8>,
    /// By value: how many instructions set it, up to two.
    setters: Vec<u8>,
    /// By value: its sum now, and the block in which that holds; [`NONE`] if it holds everywhere.
    now: Vec<Option<(Sum, u32)>>,
    block: u32,
    numbers: HashMap<Base, u32>,
    /// By base: as in `zeros`.
    base_zeros: Vec<u8>,
}

impl<'a> Sums<'a> {
    pub fn new(decoded: &'a Decoded) -> Self {
        let mut setters = vec![0_u8; decoded.values.len()];
        for raw in &decoded.raws {
            // Under a guard the register keeps its old value in some lanes.
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

    /// A block starts: what is known of registers that are set in several places is forgotten.
    pub fn enter(&mut self, block: u32) {
        self.block = block;
    }

    /// The alignment of a sum's base in bytes: a power of two up to 16.
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

    pub fn of(&mut self, value: u32) -> Sum {
        if let Some(preset) = self.decoded.values[value as usize].preset {
            return match preset {
                Preset::Constant(constant) => Sum { base: self.base(Base::Zero, MOST), offset: constant as i64 },
                Preset::Shared { array, address } => {
                    let start = u64::from(self.decoded.code.shared_arrays[array as usize].offset);
                    let base = self.base(Base::Array(array), trailing(start));
                    Sum { base, offset: address.wrapping_sub(start) as i64 }
                }
                _ => self.register(value, NONE),
            };
        }
        match self.now[value as usize] {
            Some((sum, block)) if block == NONE || block == self.block => sum,
            _ if self.setters[value as usize] == 1 => self.register(value, NONE),
            _ => self.register(value, self.block),
        }
    }

    fn register(&mut self, value: u32, block: u32) -> Sum {
        let zeros = self.zeros[value as usize];
        Sum { base: self.base(Base::Register { value, block }, zeros), offset: 0 }
    }

    /// An instruction is passed: the sums of what it sets.
    pub fn pass(&mut self, number: u32, raw: &Raw) {
        let sum = if raw.guard.is_none() { self.result(&raw.inst) } else { None };
        for value in set(&raw.inst) {
            let unknown = |sums: &mut Self| {
                // The elements of a vector are different values.
                let base = Base::Result(number << 3 | u32::from(value == raw.inst.d));
                let zeros = sums.zeros[value as usize];
                Sum { base: sums.base(base, zeros), offset: 0 }
            };
            let several = self.setters[value as usize] > 1;
            let sum = sum.unwrap_or_else(|| if several { unknown(self) } else { self.register(value, NONE) });
            self.now[value as usize] = Some((sum, if several { self.block } else { NONE }));
        }
    }

    /// The sum of a result that follows from those of the operands.
    fn result(&mut self, inst: &Inst) -> Option<Sum> {
        Some(match inst.op {
            Op::Mov32 | Op::Mov64 => self.of(inst.a),
            Op::Add32 | Op::Add64 => {
                let (a, b) = (self.of(inst.a), self.of(inst.b));
                self.sum(a, b)
            }
            Op::Sub32 | Op::Sub64 => {
                let (a, b) = (self.of(inst.a), self.of(inst.b));
                if self.base(Base::Zero, MOST) != b.base {
                    return None;
                }
                Sum { offset: a.offset.wrapping_sub(b.offset), ..a }
            }
            // Bits that are zero in the one: a sum.
            Op::Or32 | Op::Or64 => {
                let (a, b) = (self.of(inst.a), self.of(inst.b));
                let free = 1_i64 << self.sum_zeros(a);
                if self.base(Base::Zero, MOST) != b.base || !(0..free).contains(&b.offset) {
                    return None;
                }
                Sum { offset: a.offset.wrapping_add(b.offset), ..a }
            }
            Op::Shl32 | Op::Shl64 | Op::Mul32 | Op::Mul64 | Op::MulWideS32 | Op::MulWideU32 => {
                let (a, b) = (self.of(inst.a), self.of(inst.b));
                self.same(inst, a, b)
            }
            Op::SignExtend | Op::ZeroExtend | Op::Truncate => {
                let a = self.of(inst.a);
                self.same(inst, a, a)
            }
            Op::Mad32 | Op::Mad64 | Op::MadWideS32 | Op::MadWideU32 => {
                let (a, b, c) = (self.of(inst.a), self.of(inst.b), self.of(inst.c));
                let zeros = self.sum_zeros(a) + self.sum_zeros(b);
                let product = Sum { base: self.base(Base::Same(inst.op, a, b), zeros), offset: 0 };
                self.sum(product, c)
            }
            Op::Generic => {
                let detail = &self.decoded.code.details[inst.imm as usize];
                if detail.function != Function::Offset {
                    return None;
                }
                let a = self.of(inst.a);
                Sum { offset: a.offset.wrapping_add(detail.constant as i64), ..a }
            }
            _ => return None,
        })
    }

    fn same(&mut self, inst: &Inst, a: Sum, b: Sum) -> Sum {
        let zeros = self.zeros[inst.d as usize];
        Sum { base: self.base(Base::Same(inst.op, a, b), zeros), offset: 0 }
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

/// The values that an instruction sets.
fn set(inst: &Inst) -> impl Iterator<Item = u32> + use<> {
    inst.values().filter(|&(_, written)| written).map(|(value, _)| value)
}

fn trailing(constant: u64) -> u8 {
    constant.trailing_zeros().min(u32::from(MOST)) as u8
}

/// By value: the zeros that it ends with whatever path the kernel takes. It starts from the most, and each instruction that
/// sets a value leaves it as many as its operands warrant; a value that loses some is looked at again by those that use it.
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

/// The zeros that what an instruction sets ends with, given those of its operands.
fn zeros_of(decoded: &Decoded, inst: &Inst, zeros: &[u8]) -> u8 {
    let of = |value: u32| zeros[value as usize];
    let found = match inst.op {
        Op::Mov32 | Op::Mov64 | Op::SignExtend | Op::ZeroExtend | Op::Truncate | Op::Neg32 => of(inst.a),
        Op::Add32 | Op::Add64 | Op::Sub32 | Op::Sub64 | Op::Or32 | Op::Or64 | Op::Xor32 | Op::Xor64 => {
            of(inst.a).min(of(inst.b))
        }
        Op::Selp32 | Op::Selp64 | Op::MinS32 | Op::MaxS32 | Op::MinU32 | Op::MaxU32 => of(inst.a).min(of(inst.b)),
        Op::And32 | Op::And64 => of(inst.a).max(of(inst.b)),
        Op::Mul32 | Op::Mul64 | Op::MulWideS32 | Op::MulWideU32 => of(inst.a) + of(inst.b),
        Op::Mad32 | Op::Mad64 | Op::MadWideS32 | Op::MadWideU32 => (of(inst.a) + of(inst.b)).min(of(inst.c)),
        Op::Shl32 | Op::Shl64 => match decoded.values[inst.b as usize].preset {
            Some(Preset::Constant(by)) => of(inst.a).saturating_add(by.min(u64::from(MOST)) as u8),
            _ => of(inst.a),
        },
        Op::Generic => {
            let detail = &decoded.code.details[inst.imm as usize];
            match detail.function {
                Function::Offset => of(inst.a).min(trailing(detail.constant)),
                _ => 0,
            }
        }
        _ => 0,
    };
    found.min(MOST)
}
