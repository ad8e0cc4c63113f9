//! Atomic operations: `atom`, `red`.

use super::decoder::Decoder;
use super::words::{Words, space};
use crate::Error;
use crate::ast::{Operand, Space, Statement, Type};
use crate::lower::inst::{Atomic, AtomicOp, Inst, Op};

impl Decoder<'_> {
    pub(super) fn atomic(&mut self, statement: &Statement, mut words: Words<'_>) -> Result<(), Error> {
        words.hints();
        let _ = words.take("noftz");
        let place = words.pick(space).unwrap_or(Space::Generic);
        let op = words.pick(AtomicOp::named).ok_or_else(|| self.refuse("this atomic operation"))?;
        let kind = self.last_kind(words)?;
        let returns = statement.words[0] == "atom";
        let inputs = if op == AtomicOp::Cas { 2 } else { 1 };
        self.count(statement, inputs + 1 + usize::from(returns))?;
        self.refuse_if(!matches!(place, Space::Global | Space::Shared | Space::Generic), "this memory space")?;
        // What PTX has of each operation, but for the types of 128 bits.
        let fits = match op {
            AtomicOp::Add => {
                matches!(kind, Type::U32 | Type::S32 | Type::U64 | Type::F32 | Type::F64) || kind.is_half()
            }
            AtomicOp::Min | AtomicOp::Max => kind.is_integer() && kind.bytes() >= 4,
            AtomicOp::Inc | AtomicOp::Dec => kind == Type::U32,
            AtomicOp::Cas if kind == Type::B16 => true,
            _ => matches!(kind, Type::B32 | Type::B64),
        };
        self.refuse_if(kind == Type::B128, "an atomic operation on 128 bits")?;
        self.malformed_if(!fits, "a type this instruction does not have")?;
        let operands = &statement.operands[usize::from(returns)..];
        let (address, offset, wide) = self.address(&operands[0], place)?;
        let address = if wide { address } else { self.widened(address) };
        let mut inst = Inst::new(Op::Atom);
        if returns {
            inst.d = self.result(&statement.operands[0], kind)?;
        }
        inst.a = address;
        inst.b = self.source(&operands[1], kind)?;
        if inputs == 2 {
            inst.c = self.source(&operands[2], kind)?;
        }
        inst.imm = self.code.atomics.len() as i32;
        let zero = matches!(operands[1], Operand::Integer(0));
        let leaves = zero && matches!(op, AtomicOp::Add | AtomicOp::Or | AtomicOp::Xor);
        self.code.atomics.push(Atomic { op, kind, space: place, offset, leaves });
        self.finish(inst)
    }
}
