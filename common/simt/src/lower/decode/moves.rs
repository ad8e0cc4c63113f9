//! `mov` in all its forms: registers, predicates, clocks, vectors packed and unpacked.

use super::decoder::Decoder;
use super::words::Words;
use crate::Error;
use crate::ast::{Operand, Statement, Type};
use crate::lower::inst::{Compare, Detail, Function, Inst, Op};
use crate::lower::preset::Preset;

impl Decoder<'_> {
    pub(super) fn mov(&mut self, statement: &Statement, mut words: Words<'_>) -> Result<(), Error> {
        let kind = self.kind(&mut words)?;
        self.done(&words)?;
        if kind.is_half() || kind == Type::Tf32 {
            return Err(self.malformed("a type this instruction does not have"));
        }
        self.count(statement, 2)?;
        let (to, from) = (&statement.operands[0], &statement.operands[1]);
        match (to, from) {
            (Operand::Vector(parts), _) => return self.unpack(parts, from, kind),
            (_, Operand::Vector(parts)) => return self.pack(to, parts, kind),
            _ => {}
        }
        if let (Type::Pred, Operand::Integer(value)) = (kind, from) {
            return self.constant_predicate(to, *value != 0);
        }
        if kind == Type::Pred {
            let (a, negated) = self.condition(from)?;
            let d = self.destination(to, kind)?;
            self.push(Inst { d, a, ..Inst::new(if negated { Op::PredNot } else { Op::PredMov }) });
            return Ok(());
        }
        if let Operand::Special(name) = from {
            let sub = match name.as_str() {
                "clock" | "clock64" => Some(0),
                "clock_hi" => Some(1),
                "globaltimer" | "globaltimer_lo" => Some(2),
                "globaltimer_hi" => Some(3),
                _ => None,
            };
            if let Some(sub) = sub {
                let (d, imm) = (self.destination(to, kind)?, i32::from(kind.bytes() == 8));
                self.push(Inst { sub, d, imm, ..Inst::new(Op::Clock) });
                return Ok(());
            }
        }
        match kind.bytes() {
            8 => self.compute(Op::Mov64, (to, kind), &[(from, kind)]),
            2 | 4 => self.compute(Op::Mov32, (to, kind), &[(from, kind)]),
            _ => Err(self.refuse("this type")),
        }
    }

    /// `mov.pred %p1, 0`, of which the compiler makes the start of a flag.
    fn constant_predicate(&mut self, to: &Operand, value: bool) -> Result<(), Error> {
        let mut detail = Detail::new(Function::Set, Type::U32);
        detail.compare = Compare::Ne;
        let d = self.destination(to, Type::Pred)?;
        let [a, b] = [u64::from(value), 0].map(|bits| self.preset(Preset::Constant(bits), false));
        let imm = self.detail(detail);
        self.push(Inst { d, a, b, imm, ..Inst::new(Op::Setp) });
        Ok(())
    }

    /// `mov.b64 {%r1, %r2}, %rd1`
    fn unpack(&mut self, parts: &[Operand], from: &Operand, kind: Type) -> Result<(), Error> {
        let element = self.part(kind, parts.len())?;
        // The source may be one of the parts: then its turn comes last.
        let value = self.register_of(from);
        let order = (0..parts.len()).filter(|&index| self.register_of(&parts[index]) != value);
        let last = (0..parts.len()).filter(|&index| self.register_of(&parts[index]) == value);
        for index in order.chain(last).collect::<Vec<_>>() {
            if parts[index] == Operand::Sink {
                continue;
            }
            let mut detail = Detail::new(Function::Unpack, element);
            detail.lut = index as u8;
            self.generic(detail, (&parts[index], element), &[(from, kind)])?;
        }
        Ok(())
    }

    fn pack(&mut self, to: &Operand, parts: &[Operand], kind: Type) -> Result<(), Error> {
        let element = self.part(kind, parts.len())?;
        let from: Vec<_> = parts.iter().map(|part| (part, element)).collect();
        self.generic(Detail::new(Function::Pack, element), (to, kind), &from)
    }

    fn part(&self, kind: Type, count: usize) -> Result<Type, Error> {
        match (kind.bytes(), count) {
            (4, 2) | (8, 4) => Ok(Type::B16),
            (8, 2) => Ok(Type::B32),
            (4, 4) | (2, 2) => Ok(Type::B8),
            _ => Err(self.refuse("a vector of this shape")),
        }
    }
}
