//! Comparisons, and choices by their result: `setp`, `set`, `selp`, `slct`.

use super::decoder::{Decoder, pair};
use super::words::Words;
use crate::Error;
use crate::ast::{Operand, Statement, Type};
use crate::lower::inst::{Combine, Compare, Detail, Function, Inst, NONE, Op};

impl Decoder<'_> {
    pub(super) fn setp(&mut self, statement: &Statement, mut words: Words<'_>) -> Result<(), Error> {
        let relation = words.pick(Compare::named).ok_or_else(|| self.malformed("no comparison"))?;
        let combination = words.pick(Combine::named);
        let ftz = words.take("ftz");
        let kind = self.kind(&mut words)?;
        self.done(&words)?;
        if matches!(kind, Type::Pred | Type::B8 | Type::U8 | Type::S8 | Type::B128 | Type::F16x2 | Type::Bf16x2) {
            return Err(self.refuse("this type"));
        }
        self.count(statement, if combination.is_some() { 4 } else { 3 })?;
        let mut detail = Detail::new(Function::Set, kind);
        (detail.compare, detail.ftz) = (relation, ftz);
        let mut inst = Inst::new(Op::Setp);
        let (first, second) = pair(&statement.operands[0]);
        inst.d = self.result(first, Type::Pred)?;
        inst.e = second.map_or(Ok(NONE), |second| self.result(second, Type::Pred))?;
        inst.a = self.source(&statement.operands[1], kind)?;
        inst.b = self.source(&statement.operands[2], kind)?;
        if let Some(combination) = combination {
            let (value, negated) = self.condition(&statement.operands[3])?;
            (inst.c, detail.combine, detail.negate) = (value, combination, negated);
        }
        inst.imm = self.detail(detail);
        self.push(inst);
        Ok(())
    }

    pub(super) fn selp(&mut self, statement: &Statement, mut words: Words<'_>) -> Result<(), Error> {
        let operands = &statement.operands;
        let _ = words.take("ftz");
        let kind = self.kind(&mut words)?;
        self.done(&words)?;
        self.count(statement, 4)?;
        if kind == Type::Pred || matches!(kind.bytes(), 1 | 16) {
            return Err(self.refuse("this type"));
        }
        if let Operand::Integer(condition) = operands[3] {
            let chosen = &operands[if condition != 0 { 1 } else { 2 }];
            let mov = if kind.bytes() == 8 { Op::Mov64 } else { Op::Mov32 };
            return self.compute(mov, (&operands[0], kind), &[(chosen, kind)]);
        }
        let (condition, negated) = self.condition(&operands[3])?;
        let mut inst = Inst::new(if kind.bytes() == 8 { Op::Selp64 } else { Op::Selp32 });
        inst.d = self.destination(&operands[0], kind)?;
        let (yes, no) = if negated { (2, 1) } else { (1, 2) };
        inst.a = self.source(&operands[yes], kind)?;
        inst.b = self.source(&operands[no], kind)?;
        inst.c = condition;
        self.push(inst);
        Ok(())
    }

    pub(super) fn slct(&mut self, statement: &Statement, mut words: Words<'_>) -> Result<(), Error> {
        let operands = &statement.operands;
        let ftz = words.take("ftz");
        let kind = self.kind(&mut words)?;
        let source = self.kind(&mut words)?;
        self.done(&words)?;
        self.count(statement, 4)?;
        let mut detail = Detail::new(Function::Slct, kind);
        (detail.source, detail.ftz) = (source, ftz);
        let from = [(&operands[1], kind), (&operands[2], kind), (&operands[3], source)];
        self.generic(detail, (&operands[0], kind), &from)
    }

    pub(super) fn set(&mut self, statement: &Statement, mut words: Words<'_>) -> Result<(), Error> {
        let operands = &statement.operands;
        let ftz = words.take("ftz");
        let relation = words.pick(Compare::named).ok_or_else(|| self.malformed("no comparison"))?;
        let combination = words.pick(Combine::named);
        let kind = self.kind(&mut words)?;
        let source = self.kind(&mut words)?;
        self.done(&words)?;
        self.count(statement, if combination.is_some() { 4 } else { 3 })?;
        let mut detail = Detail::new(Function::Set, kind);
        (detail.source, detail.ftz, detail.compare) = (source, ftz, relation);
        detail.combine = combination.unwrap_or(Combine::None);
        let mut from = vec![(&operands[1], source), (&operands[2], source)];
        if combination.is_some() {
            from.push((&operands[3], Type::Pred));
        }
        self.generic(detail, (&operands[0], kind), &from)
    }
}
