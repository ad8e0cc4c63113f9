//! Conversions between types, and between addresses: `cvt`, `cvta`, `isspacep`.

use super::decoder::Decoder;
use super::words::{Words, space};
use crate::Error;
use crate::ast::{Operand, Space, Statement, Type};
use crate::lower::inst::{Detail, Function, Op, Rounding};
use crate::lower::preset::{LOCAL_WINDOW, SHARED_WINDOW};

impl Decoder<'_> {
    pub(super) fn cvt(&mut self, statement: &Statement, mut words: Words<'_>) -> Result<(), Error> {
        let round = words.pick(Rounding::named);
        let ftz = words.take("ftz");
        let sat = words.take("sat");
        let relu = words.take("relu");
        let pack = words.take("pack");
        let to = self.kind(&mut words)?;
        let from = self.kind(&mut words)?;
        self.done(&words)?;
        if pack || matches!(to, Type::Pred | Type::B128) || matches!(from, Type::Pred | Type::B128) {
            return Err(self.refuse("this conversion"));
        }
        let mut detail = Detail::new(Function::Cvt, to);
        (detail.source, detail.ftz, detail.sat, detail.relu) = (from, ftz, sat, relu);
        let to_float = to.is_float() || to.is_half();
        let from_float = from.is_float() || from.is_half();
        let usual = if from_float && !to_float { Rounding::IntZero } else { Rounding::Nearest };
        detail.rounding = round.unwrap_or(usual);
        if to == Type::F16x2 || to == Type::Bf16x2 {
            let [d, a, b] = self.operands::<3>(statement)?;
            detail.function = Function::CvtPack;
            return self.generic(detail, (&d, Type::B32), &[(&a, from), (&b, from)]);
        }
        if from == Type::F16x2 || from == Type::Bf16x2 {
            return Err(self.refuse("this conversion"));
        }
        self.count(statement, 2)?;
        let (d, a) = (&statement.operands[0], &statement.operands[1]);
        // A register may be wider than the type says: the rest is ignored on the way in, extended on the way out.
        let register = |operand: &Operand, kind: Type| {
            let declared = self.register_of(operand).map(|value| self.values[value as usize].kind);
            let fits = |declared: &Type| declared.bytes() >= kind.bytes() || kind.bytes() == 1;
            declared.filter(|&declared| declared != Type::Pred).filter(fits).unwrap_or(kind)
        };
        let (to_register, from_register) = (register(d, to), register(a, from));
        let exact = !ftz && !sat && !relu;
        let (to_bytes, from_bytes) = (to_register.bytes(), from_register.bytes());
        let op = match (to, from) {
            (Type::S64 | Type::U64 | Type::B64, Type::S32) if from_bytes == 4 => Some(Op::SignExtend),
            (Type::S64 | Type::U64 | Type::B64, Type::U32 | Type::B32) if from_bytes == 4 => Some(Op::ZeroExtend),
            (Type::S32 | Type::U32 | Type::B32, Type::S64 | Type::U64 | Type::B64) if to_bytes == 4 => {
                Some(Op::Truncate)
            }
            (Type::F32, Type::S32) if detail.rounding == Rounding::Nearest && from_bytes == 4 => Some(Op::CvtF32S32),
            (Type::F32, Type::U32) if detail.rounding == Rounding::Nearest && from_bytes == 4 => Some(Op::CvtF32U32),
            _ => None,
        };
        if let (Some(op), true) = (op, exact) {
            return self.compute(op, (d, to_register), &[(a, from_register)]);
        }
        self.generic(detail, (d, to_register), &[(a, from_register)])
    }

    pub(super) fn cvta(&mut self, statement: &Statement, mut words: Words<'_>) -> Result<(), Error> {
        let to = words.take("to");
        let from = words.pick(space).ok_or_else(|| self.malformed("no memory space"))?;
        let kind = self.kind(&mut words)?;
        self.done(&words)?;
        if kind.bytes() != 8 {
            return Err(self.refuse("32-bit addresses"));
        }
        let [d, a] = self.operands::<2>(statement)?;
        let window = match from {
            Space::Shared => SHARED_WINDOW,
            Space::Local => LOCAL_WINDOW,
            Space::Param => return Err(self.refuse("generic addresses of parameters")),
            _ => 0,
        };
        let mut detail = Detail::new(Function::Offset, Type::U64);
        detail.constant = if to { window.wrapping_neg() } else { window };
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
