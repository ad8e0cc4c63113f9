//! All forms of `mov` (registers, predicates, clocks, packing and unpacking of vectors), and conversions between types and between
//! addresses: `cvt`, `cvta`, `isspacep`.

use super::decoder::{Decoder, Words, space};
use crate::Error;
use crate::ast::{Operand, Statement, Type};
use crate::lower::inst::{Detail, Function, Inst, LOCAL_WINDOW, NONE, Op, Rounding, SHARED_WINDOW};
use crate::place::Space;
use std::cmp::Ordering;

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
            let inst = self.predicate(from)?;
            let d = self.destination(to, kind)?;
            return self.finish(Inst { d, ..inst });
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

    /// Returns the move of a predicate, perhaps negated, without its destination.
    fn predicate(&mut self, from: &Operand) -> Result<Inst, Error> {
        let (a, negated) = self.condition(from)?;
        Ok(Inst { a, ..Inst::new(if negated { Op::PredNot } else { Op::PredMov }) })
    }

    /// Passes a value to or from an inlined function.
    pub(super) fn pass(&mut self, to: &(usize, Operand), from: &(usize, Operand)) -> Result<(), Error> {
        if let (Operand::Vector(parts), Operand::Vector(values)) = (&to.1, &from.1)
            && parts.len() == values.len()
        {
            let pairs = parts.iter().zip(values);
            return pairs
                .into_iter()
                .try_for_each(|(to_part, part)| self.pass(&(to.0, to_part.clone()), &(from.0, part.clone())));
        }
        // The type is declared in the called function, which has the later frame.
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
                let inst = self.predicate(operand)?;
                self.temporary(kind, inst)
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

    fn declared(&self, (frame, operand): &(usize, Operand)) -> Option<Type> {
        let function = &self.layout.inner.program.functions[self.layout.frames[*frame].function];
        match operand {
            Operand::Register { id, .. } => Some(function.registers[*id as usize].kind),
            Operand::Local { id, .. } => Some(function.variables[*id as usize].kind),
            _ => None,
        }
    }

    /// `mov.v2.f32 {%f1, %f2}, {%f3, %f4}`: moves each element, but reads all of them before it writes any.
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
        // If the source is also one of the parts, that part is written last.
        let value = self.register_of(from);
        let order = (0..parts.len()).filter(|&index| self.register_of(&parts[index]) != value);
        let last = (0..parts.len()).filter(|&index| self.register_of(&parts[index]) == value);
        for index in order.chain(last).collect::<Vec<_>>() {
            if parts[index] == Operand::Sink {
                continue;
            }
            let detail = Detail { lut: index as u8, ..Detail::new(Function::Unpack, element) };
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

    pub(super) fn cvt(&mut self, statement: &Statement, mut words: Words<'_>) -> Result<(), Error> {
        if words.take("pack") {
            return self.cvt_pack(statement, words);
        }
        let round = words.pick(Rounding::named);
        let ftz = words.take("ftz");
        let finite = words.take("satfinite");
        let sat = words.take("sat") || finite;
        let relu = words.take("relu");
        let to = self.kind(&mut words)?;
        let from = self.kind(&mut words)?;
        self.done(&words)?;
        let rounding = round.unwrap_or(Rounding::Nearest);
        let mut detail = Detail { source: from, ftz, sat, relu, rounding, ..Detail::new(Function::Cvt, to) };
        let between = matches!((to, from), (Type::F16, Type::Bf16) | (Type::Bf16, Type::F16));
        self.refuse_if(between && round.is_none(), "a conversion that does not say how it rounds")?;
        self.refuse_if(finite && (to.is_half() || to == Type::Tf32), ".satfinite with this type")?;
        self.malformed_if(finite != to.is_brief() || !exists(&detail, round), "a conversion that does not exist")?;
        if to.is_packed() || to.is_brief() {
            if to.is_brief() || from.is_brief() {
                self.needs_target(89, "a number of eight bits", "it needs")?;
            }
            detail.function = Function::CvtPack;
            let together = from.is_packed() || from.is_brief();
            let bits = |kind: Type| if kind.bytes() == 2 { Type::B16 } else { Type::B32 };
            let from = if together { bits(from) } else { from };
            let operands = &statement.operands;
            self.count(statement, if together { 2 } else { 3 })?;
            let last = operands.len() - 1;
            return self.generic(detail, (&operands[0], bits(to)), &[(&operands[1], from), (&operands[last], from)]);
        }
        self.count(statement, 2)?;
        let (d, a) = (&statement.operands[0], &statement.operands[1]);
        // A register may be wider than the type. Then the other bits of a source are ignored, and a result is extended.
        let register = |operand: &Operand, kind: Type| {
            let declared = self.register_of(operand).map(|value| self.values[value as usize].kind);
            let fits = |declared: &Type| declared.bytes() >= kind.bytes() || kind.bytes() == 1;
            declared.filter(|&declared| declared != Type::Pred).filter(fits).unwrap_or(kind)
        };
        let (to_register, from_register) = (register(d, to), register(a, from));
        let exact = !ftz && !sat && !relu;
        let (to_bytes, from_bytes) = (to_register.bytes(), from_register.bytes());
        let op = match (to, from) {
            (Type::S64 | Type::U64, Type::S32) if from_bytes == 4 => Some(Op::SignExtend),
            (Type::S64 | Type::U64, Type::U32) if from_bytes == 4 => Some(Op::ZeroExtend),
            (Type::S32 | Type::U32, Type::S64 | Type::U64) if to_bytes == 4 => Some(Op::Truncate),
            (Type::F32, Type::S32) if detail.rounding == Rounding::Nearest && from_bytes == 4 => Some(Op::CvtF32S32),
            (Type::F32, Type::U32) if detail.rounding == Rounding::Nearest && from_bytes == 4 => Some(Op::CvtF32U32),
            _ => None,
        };
        if let (Some(op), true) = (op, exact) {
            return self.compute(Inst::new(op), (d, to_register), &[(a, from_register)]);
        }
        self.generic(detail, (d, to_register), &[(a, from_register)])
    }

    /// `cvt.pack.sat.u8.s32.b32 d, a, b, c`: clamps two integers to their range, and places them below the bits of a third.
    fn cvt_pack(&mut self, statement: &Statement, mut words: Words<'_>) -> Result<(), Error> {
        let sat = words.take("sat");
        let (to, from) = (self.kind(&mut words)?, self.kind(&mut words)?);
        let third = words.left().next().is_some();
        self.malformed_if(third && self.kind(&mut words)? != Type::B32, "a type this instruction does not have")?;
        self.done(&words)?;
        let fits = if third { to.bytes() == 1 } else { to.bytes() == 2 };
        self.malformed_if(!sat || !to.is_integer() || from != Type::S32 || !fits, "a conversion that does not exist")?;
        self.count(statement, if third { 4 } else { 3 })?;
        let detail = Detail { source: from, sat, ..Detail::new(Function::CvtPack, to) };
        let operands: Vec<_> = statement.operands[1..].iter().map(|operand| (operand, Type::B32)).collect();
        self.generic(detail, (&statement.operands[0], Type::B32), &operands)
    }

    pub(super) fn cvta(&mut self, statement: &Statement, mut words: Words<'_>) -> Result<(), Error> {
        let to = words.take("to");
        let from = words.pick(space).ok_or_else(|| self.malformed("no memory space"))?;
        let kind = self.last_kind(words)?;
        self.refuse_if(kind.bytes() != 8, "32-bit addresses")?;
        let [d, a] = self.operands::<2>(statement)?;
        let window = match from {
            Space::Shared => SHARED_WINDOW,
            Space::Local => LOCAL_WINDOW,
            Space::Parameter => return Err(self.refuse("generic addresses of parameters")),
            _ => 0,
        };
        let constant = if to { window.wrapping_neg() } else { window };
        let detail = Detail { constant, ..Detail::new(Function::Offset, Type::U64) };
        self.generic(detail, (&d, Type::U64), &[(&a, Type::U64)])
    }

    pub(super) fn isspacep(&mut self, statement: &Statement, mut words: Words<'_>) -> Result<(), Error> {
        let function = match words.pick(space) {
            Some(Space::Shared) => Function::IsShared,
            Some(Space::Local) => Function::IsLocal,
            Some(Space::Global) => Function::IsGlobal,
            _ => return Err(self.refuse("this memory space")),
        };
        self.done(&words)?;
        let [d, a] = self.operands::<2>(statement)?;
        self.generic(Detail::new(function, Type::U64), (&d, Type::Pred), &[(&a, Type::U64)])
    }
}

/// Whether PTX has the conversion with this rounding.
fn exists(cvt: &Detail, round: Option<Rounding>) -> bool {
    let (to, from) = (cvt.kind, cvt.source);
    let integer = Type::is_integer;
    let whole = matches!(round, Some(Rounding::IntNearest | Rounding::IntZero | Rounding::IntDown | Rounding::IntUp));
    let direction = matches!(round, Some(Rounding::Nearest | Rounding::Zero | Rounding::Down | Rounding::Up));
    let nearest = matches!(round, Some(Rounding::Nearest | Rounding::Zero));
    let float = |kind: Type| matches!(kind, Type::F16 | Type::Bf16 | Type::F32 | Type::F64);
    // There are fewer conversions for bfloat16.
    let brief = matches!(to, Type::Bf16) || matches!(from, Type::Bf16);
    let fits = !brief || !cvt.sat && to.bytes() > 1 && from.bytes() > 1;
    let flushes = !cvt.ftz || to == Type::F32 || from == Type::F32;
    match (to, from) {
        (Type::Tf32, Type::F32) => {
            let away = matches!(round, Some(Rounding::Away)) && !cvt.relu;
            (away || nearest) && !cvt.ftz && !cvt.sat
        }
        (Type::F16x2 | Type::Bf16x2, Type::F32) => nearest && !cvt.ftz && !cvt.sat,
        _ if to.is_brief() || from.is_brief() => {
            let pairs = matches!((to, from), (_, Type::F32 | Type::F16x2) | (Type::F16x2, _));
            pairs && matches!(round, Some(Rounding::Nearest)) && !cvt.ftz && cvt.sat == to.is_brief()
        }
        (Type::F16 | Type::Bf16, Type::F32) if cvt.relu => nearest && !cvt.ftz && !cvt.sat,
        _ if cvt.relu => false,
        (to, from) if integer(to) && integer(from) => round.is_none() && !cvt.ftz && !(cvt.sat && covers(to, from)),
        (to, from) if integer(to) && float(from) => whole && flushes && fits,
        (to, from) if float(to) && integer(from) => direction && flushes && fits,
        (to, from) if float(to) && float(from) => {
            let rounded = match to.bytes().cmp(&from.bytes()) {
                Ordering::Less => direction,
                Ordering::Equal if to != from => direction,
                Ordering::Equal => whole || round.is_none(),
                Ordering::Greater => round.is_none() || brief && direction,
            };
            rounded && flushes && fits
        }
        _ => false,
    }
}

/// Whether every number of integer type `from` is also one of type `to`.
fn covers(to: Type, from: Type) -> bool {
    let more = if to.is_signed() && !from.is_signed() { from.bytes() + 1 } else { from.bytes() };
    to.bytes() >= more && (to.is_signed() || !from.is_signed())
}
