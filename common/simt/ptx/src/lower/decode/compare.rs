//! Comparisons, and instructions that choose by a comparison's result: `setp`, `set`, `selp`, `slct`.

use super::decoder::{Decoder, Words, pair};
use super::moves::mov;
use crate::Error;
use crate::ast::{Operand, Statement, Type};
use crate::lower::inst::{Combine, Compare, Detail, Function, Inst, NONE, Op};

impl Decoder<'_> {
    /// Returns the relation that `setp` or `set` tests. The type of the operands must have it.
    fn relation(&self, words: &mut Words<'_>, kind: Type, ftz: bool) -> Result<Compare, Error> {
        let unsigned = words.left().any(|word| matches!(word, "lo" | "ls" | "hi" | "hs"));
        let relation = words.pick(Compare::named).ok_or_else(|| self.malformed("no comparison"))?;
        let (simple, ordered) = (relation <= Compare::Ne, relation <= Compare::Ge);
        let fits = match kind {
            Type::B16 | Type::B32 | Type::B64 => simple,
            Type::U16 | Type::U32 | Type::U64 => ordered,
            Type::S16 | Type::S32 | Type::S64 => ordered && !unsigned,
            kind => (kind.is_float() || kind.is_half()) && !unsigned,
        };
        let flushes = !ftz || matches!(kind, Type::F32 | Type::F16 | Type::F16x2);
        self.malformed_if(!(fits && flushes), "a comparison this type does not have")?;
        Ok(relation)
    }

    /// Reads the words of `setp` or `set`. `result` says whether the result has a type of its own; otherwise it is a predicate.
    fn compared(&self, statement: &Statement, mut words: Words<'_>, result: bool) -> Result<Detail, Error> {
        let (combination, ftz) = (words.pick(Combine::named), words.take("ftz"));
        let kind = self.kind(&mut words)?;
        let source = if result { self.kind(&mut words)? } else { kind };
        let compare = self.relation(&mut words, source, ftz)?;
        self.done(&words)?;
        self.count(statement, if combination.is_some() { 4 } else { 3 })?;
        let combine = combination.unwrap_or(Combine::None);
        Ok(Detail { source, ftz, compare, combine, ..Detail::new(Function::Set, kind) })
    }

    pub(super) fn setp(&mut self, statement: &Statement, words: Words<'_>) -> Result<(), Error> {
        let mut detail = self.compared(statement, words, false)?;
        let kind = detail.kind;
        let mut inst = Inst::new(Op::Setp);
        let (first, second) = pair(&statement.operands[0]);
        let first = self.result(first, Type::Pred)?;
        let second = second.map_or(Ok(NONE), |second| self.result(second, Type::Pred))?;
        inst.a = self.source(&statement.operands[1], kind)?;
        inst.b = self.source(&statement.operands[2], kind)?;
        if let Some(operand) = statement.operands.get(3) {
            (inst.c, detail.negate) = self.condition(operand)?;
        }
        if !kind.is_packed() {
            let imm = self.detail(detail);
            return self.finish(Inst { d: first, e: second, imm, ..inst });
        }
        // Packed numbers are compared half by half. A predicate that the second comparison still reads is set last.
        let mut halves = [(first, 0), (second, 1)];
        if first == inst.c {
            halves.reverse();
        }
        for (d, half) in halves.into_iter().filter(|&(d, _)| d != NONE) {
            let imm = self.detail(Detail { lut: half, ..detail });
            self.push(Inst { d, imm, ..inst });
        }
        Ok(())
    }

    pub(super) fn selp(&mut self, statement: &Statement, words: Words<'_>) -> Result<(), Error> {
        let operands = &statement.operands;
        let kind = self.last_kind(words)?;
        self.count(statement, 4)?;
        self.malformed_if(!is_choice(kind), "a type this instruction does not have")?;
        if let Operand::Integer(condition) = operands[3] {
            let chosen = &operands[if condition != 0 { 1 } else { 2 }];
            return self.compute(Inst::new(mov(kind)), (&operands[0], kind), &[(chosen, kind)]);
        }
        let (condition, negated) = self.condition(&operands[3])?;
        let (yes, no) = if negated { (2, 1) } else { (1, 2) };
        let inst = Inst { c: condition, ..Inst::new(if kind.bytes() == 8 { Op::Selp64 } else { Op::Selp32 }) };
        self.compute(inst, (&operands[0], kind), &[(&operands[yes], kind), (&operands[no], kind)])
    }

    pub(super) fn slct(&mut self, statement: &Statement, mut words: Words<'_>) -> Result<(), Error> {
        let operands = &statement.operands;
        let ftz = words.take("ftz");
        let kind = self.kind(&mut words)?;
        let source = self.kind(&mut words)?;
        self.done(&words)?;
        self.count(statement, 4)?;
        let decides = source == Type::F32 || source == Type::S32 && !ftz;
        self.malformed_if(!decides || !is_choice(kind), "a type this instruction does not have")?;
        let detail = Detail { source, ftz, ..Detail::new(Function::Slct, kind) };
        let from = [(&operands[1], kind), (&operands[2], kind), (&operands[3], source)];
        self.generic(detail, (&operands[0], kind), &from)
    }

    pub(super) fn set(&mut self, statement: &Statement, words: Words<'_>) -> Result<(), Error> {
        let operands = &statement.operands;
        let detail = self.compared(statement, words, true)?;
        let Detail { kind, source, ftz, .. } = detail;
        let packed = source.is_packed();
        let fits = match kind {
            Type::U32 | Type::S32 => true,
            Type::F32 => !source.is_half(),
            Type::U16 | Type::S16 => matches!(source, Type::F16 | Type::Bf16),
            Type::F16 => !packed && source != Type::Bf16,
            Type::Bf16 => !packed && !ftz,
            Type::F16x2 | Type::Bf16x2 => source == kind,
            _ => false,
        };
        self.malformed_if(!fits, "a type this instruction does not have")?;
        // Each half of a packed result is a separate number.
        let function = if packed { Function::SetPacked } else { Function::Set };
        let result = match kind {
            Type::U32 | Type::S32 if packed => Type::U16,
            kind => kind,
        };
        let from = operands[1..].iter().zip([source, source, Type::Pred]).collect::<Vec<_>>();
        self.generic(Detail { function, kind: result, ..detail }, (&operands[0], kind), &from)
    }
}

/// Whether `selp` and `slct` can choose between values of this type.
const fn is_choice(kind: Type) -> bool {
    matches!(kind.bytes(), 2 | 4 | 8) && !kind.is_half() && !matches!(kind, Type::Tf32)
}
