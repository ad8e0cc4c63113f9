//! `mov` in all its forms: registers, predicates, clocks, vectors packed and unpacked.

use super::decoder::{Decoder, Words};
use crate::Error;
use crate::ast::{Operand, Statement, Type};
use crate::lower::inst::{Detail, Function, Inst, NONE, Op};

/// The move of a value of the type.
pub(super) const fn mov(kind: Type) -> Op {
    match kind.bytes() {
        0 => Op::PredMov,
        8 => Op::Mov64,
        _ => Op::Mov32,
    }
}

impl Decoder<'_> {
    pub(super) fn mov(&mut self, statement: &Statement, mut words: Words<'_>) -> Result<(), Error> {
        let elements = words.one_of(&[("v2", 2), ("v4", 4)]);
        let kind = self.last_kind(words)?;
        self.malformed_if(kind.is_half() || kind == Type::Tf32, "a type this instruction does not have")?;
        self.count(statement, 2)?;
        let (to, from) = (&statement.operands[0], &statement.operands[1]);
        match (to, from) {
            _ if elements.is_some() => return self.move_vector(to, from, kind),
            (Operand::Vector(parts), _) => return self.unpack(parts, from, kind),
            (_, Operand::Vector(parts)) => return self.pack(to, parts, kind),
            _ => {}
        }
        if kind == Type::Pred {
            let (a, negated) = self.condition(from)?;
            let d = self.destination(to, kind)?;
            return self.finish(Inst { d, a, ..Inst::new(if negated { Op::PredNot } else { Op::PredMov }) });
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
                return self.finish(Inst { sub, d, imm, ..Inst::new(Op::Clock) });
            }
        }
        self.refuse_if(!matches!(kind.bytes(), 2 | 4 | 8), "this type")?;
        self.compute(Inst::new(mov(kind)), (to, kind), &[(from, kind)])
    }

    /// Hands a value to or from a function that is called.
    pub(super) fn pass(&mut self, to: &(usize, Operand), from: &(usize, Operand)) -> Result<(), Error> {
        if let (Operand::Vector(parts), Operand::Vector(values)) = (&to.1, &from.1)
            && parts.len() == values.len()
        {
            let pairs = parts.iter().zip(values);
            return pairs
                .into_iter()
                .try_for_each(|(to_part, part)| self.pass(&(to.0, to_part.clone()), &(from.0, part.clone())));
        }
        // The function, whose frame is the later one, declares the type.
        let own = if to.0 > from.0 { to } else { from };
        let kind = self.declared(own).ok_or_else(|| self.refuse("this parameter of a call"))?;
        self.frame = from.0;
        let value = match &from.1 {
            Operand::Local { .. } => {
                let value = self.unnamed(kind);
                let address = Operand::Address { base: Box::new(from.1.clone()), offset: 0 };
                self.parameter(Op::LdLocal, value, kind, &address)?;
                value
            }
            operand if kind == Type::Pred => {
                let (a, negated) = self.condition(operand)?;
                let op = if negated { Op::PredNot } else { Op::PredMov };
                let d = self.unnamed(kind);
                self.push(Inst { d, a, ..Inst::new(op) });
                d
            }
            operand => self.source(operand, kind)?,
        };
        self.frame = to.0;
        if let Operand::Local { .. } = &to.1 {
            let address = Operand::Address { base: Box::new(to.1.clone()), offset: 0 };
            return self.parameter(Op::StLocal, value, kind, &address);
        }
        let d = self.destination(&to.1, kind)?;
        self.finish(Inst { d, a: value, ..Inst::new(mov(kind)) })
    }

    /// The declared type of a register or variable.
    fn declared(&self, (frame, operand): &(usize, Operand)) -> Option<Type> {
        let function = &self.layout.inner.program.functions[self.layout.frames[*frame].function];
        match operand {
            Operand::Register { id, .. } => Some(function.registers[*id as usize].kind),
            Operand::Local { id, .. } => Some(function.variables[*id as usize].kind),
            _ => None,
        }
    }

    /// `mov.v2.f32 {%f1, %f2}, {%f3, %f4}`: element by element, as if all were read before the first is written.
    fn move_vector(&mut self, to: &Operand, from: &Operand, kind: Type) -> Result<(), Error> {
        // `%tid` is a vector, too.
        let parts = |name| ["x", "y", "z", "w"].map(|axis| Operand::Special(format!("{name}.{axis}")));
        let whole = if let Operand::Special(name) = from { &Operand::Vector(parts(name).into()) } else { from };
        let (Operand::Vector(to), Operand::Vector(from)) = (to, whole) else {
            return Err(self.malformed("an operand that is no vector"));
        };
        self.malformed_if(to.len() != from.len(), "a vector of another length")?;
        let op = mov(kind);
        let values = from.iter().map(|part| self.source(part, kind)).collect::<Result<Vec<_>, _>>()?;
        let read = values.into_iter().map(|a| self.temporary(kind, Inst { a, ..Inst::new(op) })).collect::<Vec<_>>();
        for (part, a) in to.iter().zip(read) {
            let d = self.result(part, kind)?;
            if d != NONE {
                self.push(Inst { d, a, ..Inst::new(op) });
            }
        }
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
