//! Instructions that compute one result: the operation, and each operand with its type.

use super::decoder::Decoder;
use crate::Error;
use crate::ast::{Operand, Type};
use crate::lower::inst::{Detail, Inst, Op};

impl Decoder<'_> {
    /// An instruction with an operation of its own.
    pub(super) fn compute(&mut self, op: Op, to: (&Operand, Type), from: &[(&Operand, Type)]) -> Result<(), Error> {
        let mut inst = Inst::new(op);
        inst.d = self.destination(to.0, to.1)?;
        for (index, &(operand, kind)) in from.iter().enumerate() {
            *input(&mut inst, index) = self.source(operand, kind)?;
        }
        self.push(inst);
        Ok(())
    }

    /// An [`Op::Generic`].
    pub(super) fn generic(
        &mut self,
        mut detail: Detail,
        to: (&Operand, Type),
        from: &[(&Operand, Type)],
    ) -> Result<(), Error> {
        let mut inst = Inst::new(Op::Generic);
        inst.d = self.destination(to.0, to.1)?;
        detail.wide[0] = to.1.bytes() == 8;
        detail.predicate[0] = to.1 == Type::Pred;
        for (index, &(operand, kind)) in from.iter().enumerate() {
            *input(&mut inst, index) = if kind == Type::Pred {
                let (value, negated) = self.condition(operand)?;
                detail.negate |= negated;
                value
            } else {
                self.source(operand, kind)?
            };
            detail.wide[index + 1] = kind.bytes() == 8;
            detail.predicate[index + 1] = kind == Type::Pred;
        }
        inst.imm = self.detail(detail);
        self.push(inst);
        Ok(())
    }

    /// An instruction on predicates.
    pub(super) fn predicate(&mut self, op: Op, to: &Operand, from: &[Operand]) -> Result<(), Error> {
        let mut inst = Inst::new(op);
        inst.d = self.destination(to, Type::Pred)?;
        for (index, operand) in from.iter().enumerate() {
            let (value, negated) = self.condition(operand)?;
            self.refuse_if(negated, "a negated operand here")?;
            *input(&mut inst, index) = value;
        }
        self.push(inst);
        Ok(())
    }
}

fn input(inst: &mut Inst, index: usize) -> &mut u32 {
    match index {
        0 => &mut inst.a,
        1 => &mut inst.b,
        2 => &mut inst.c,
        _ => &mut inst.e,
    }
}
