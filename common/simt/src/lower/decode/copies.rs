//! Asynchronous copies from global to shared memory: `cp.async` and `cp.async.bulk`.

use super::decoder::Decoder;
use super::words::{Words, space};
use crate::Error;
use crate::ast::{Operand, Space, Statement, Type};
use crate::lower::inst::{BarrierPlace, Copy, CopyCount, Inst, Op};

impl Decoder<'_> {
    pub(super) fn copy(&mut self, statement: &Statement, mut words: Words<'_>) -> Result<(), Error> {
        self.refuse_if(!words.take("async"), "this copy")?;
        self.needs_target(80, "cp.async", "asynchronous copies need")?;
        if words.take("bulk") {
            return self.bulk_copy(statement, words);
        }
        if words.take("mbarrier") && words.take("arrive") {
            return self.copies_arrive(statement, words);
        }
        for (word, op) in [("commit_group", Op::CopyCommit), ("wait_all", Op::CopyWaitAll)] {
            if words.take(word) {
                self.done(&words)?;
                return self.finish(Inst::new(op));
            }
        }
        if words.take("wait_group") {
            self.done(&words)?;
            let [Operand::Integer(count)] = self.operands::<1>(statement)? else {
                return Err(self.malformed("a number of groups that is no number"));
            };
            let imm = count.clamp(0, i64::from(i32::MAX)) as i32;
            return self.finish(Inst { imm, ..Inst::new(Op::CopyWait) });
        }
        let level = words.one_of(&[("ca", true), ("cg", false)]);
        words.hints();
        let (to, from) = (words.pick(space), words.pick(space));
        self.done(&words)?;
        let (Some(any_size), Some(Space::Shared), Some(Space::Global)) = (level, to, from) else {
            return Err(self.refuse("this copy"));
        };
        self.malformed_if(!matches!(statement.operands.len(), 3 | 4), "3 or 4 operands are needed")?;
        let (to, to_offset, wide_to) = self.address(&statement.operands[0], Space::Shared)?;
        let (from, from_offset, _) = self.address(&statement.operands[1], Space::Global)?;
        let Operand::Integer(bytes) = statement.operands[2] else {
            return Err(self.malformed("a size that is no number"));
        };
        self.malformed_if(!(bytes == 16 || any_size && matches!(bytes, 4 | 8)), "a size this copy does not have")?;
        let mut inst = Inst::new(Op::CopyAsync);
        (inst.a, inst.b) = (to, from);
        let bytes = bytes as u32;
        let mut copy =
            Copy { bytes, to_offset, from_offset, wide_to, bypass: !any_size, count: CopyCount::Bytes, bulk: None };
        if let Some(operand) = statement.operands.get(3) {
            let value = self.register_of(operand);
            if let Some(value) = value
                && self.values[value as usize].kind == Type::Pred
            {
                copy.count = CopyCount::Ignore;
                inst.c = value;
            } else {
                let kind = value.map_or(Type::U32, |value| self.values[value as usize].kind);
                copy.count = match kind.bytes() {
                    4 => CopyCount::Bytes,
                    8 => CopyCount::WideBytes,
                    _ => return Err(self.refuse("a size in a register of this width")),
                };
                inst.c = self.source(operand, kind)?;
            }
        }
        inst.imm = self.code.copies.len() as i32;
        self.code.copies.push(copy);
        self.finish(inst)
    }

    /// `cp.async.bulk`: a thread copies a piece of any size, whose bytes arrive at a barrier.
    fn bulk_copy(&mut self, statement: &Statement, mut words: Words<'_>) -> Result<(), Error> {
        self.needs_target(90, "cp.async.bulk", "bulk copies need")?;
        if words.take("prefetch") {
            return self.finish(Inst::new(Op::Nop));
        }
        let arrives = words.take("mbarrier::complete_tx::bytes");
        words.hints();
        let (to, from) = (words.pick(space), words.pick(space));
        self.done(&words)?;
        let (Some(Space::Shared), Some(Space::Global), true) = (to, from, arrives) else {
            return Err(self.refuse("this bulk copy"));
        };
        let [to, from, bytes, barrier] = &self.operands::<4>(statement)?;
        let (a, to_offset, wide_to) = self.address(to, Space::Shared)?;
        let (b, from_offset, _) = self.address(from, Space::Global)?;
        let (e, offset, wide) = self.address(barrier, Space::Shared)?;
        let bulk = Some(BarrierPlace { offset, wide });
        let copy = Copy { bytes: 16, to_offset, from_offset, wide_to, bypass: true, count: CopyCount::Bytes, bulk };
        let inst = Inst { a, b, c: self.source(bytes, Type::U32)?, e, ..Inst::new(Op::CopyAsync) };
        self.push(Inst { imm: self.code.copies.len() as i32, ..inst });
        self.code.copies.push(copy);
        Ok(())
    }
}
