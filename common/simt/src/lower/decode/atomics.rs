//! Atomic operations: `atom`, `red`.

use super::decoder::{A, B, C, D, Decoder};
use super::words::{Words, space};
use crate::Error;
use crate::ast::{Operand, Space, Statement};
use crate::lower::inst::{Atomic, AtomicOp, Inst, Op};

impl Decoder<'_> {
    pub(super) fn atomic(&mut self, statement: &Statement, mut words: Words<'_>) -> Result<(), Error> {
        words.hints();
        let _ = words.take("noftz");
        let place = words.pick(space).unwrap_or(Space::Generic);
        let op = words
            .pick(|word| {
                Some(match word {
                    "add" => AtomicOp::Add,
                    "min" => AtomicOp::Min,
                    "max" => AtomicOp::Max,
                    "exch" => AtomicOp::Exch,
                    "cas" => AtomicOp::Cas,
                    "and" => AtomicOp::And,
                    "or" => AtomicOp::Or,
                    "xor" => AtomicOp::Xor,
                    "inc" => AtomicOp::Inc,
                    "dec" => AtomicOp::Dec,
                    _ => return None,
                })
            })
            .ok_or_else(|| self.refuse("this atomic operation"))?;
        let kind = self.kind(&mut words)?;
        self.done(&words)?;
        let returns = statement.words[0] == "atom";
        let inputs = if op == AtomicOp::Cas { 2 } else { 1 };
        self.count(statement, inputs + 1 + usize::from(returns))?;
        if !matches!(kind.bytes(), 4 | 8)
            || kind.is_half()
            || !matches!(place, Space::Global | Space::Shared | Space::Generic)
        {
            return Err(self.refuse("this type or memory space"));
        }
        if kind.is_float() && !matches!(op, AtomicOp::Add | AtomicOp::Exch) {
            return Err(self.malformed("a type this instruction does not have"));
        }
        let operands = &statement.operands[usize::from(returns)..];
        let (address, offset, wide) = self.address(&operands[0], place)?;
        let address = if wide { address } else { self.temporary(Op::ZeroExtend, address) };
        let mut inst = Inst::new(Op::Atom);
        let (mut fields, mut defs) = (A | B, 0);
        if returns && statement.operands[0] != Operand::Sink {
            inst.d = self.destination(&statement.operands[0], kind)?;
            fields |= D;
            defs |= D;
        }
        inst.a = address;
        inst.b = self.source(&operands[1], kind)?;
        if inputs == 2 {
            inst.c = self.source(&operands[2], kind)?;
            fields |= C;
        }
        inst.imm = self.atomics.len() as i32;
        self.atomics.push(Atomic { op, kind, space: place, offset });
        self.push(inst, fields, defs);
        Ok(())
    }
}
