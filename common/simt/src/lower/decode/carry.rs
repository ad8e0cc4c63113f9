//! Sums with a carry: `add.cc`, `addc`, `sub.cc`, `subc`, `mad.lo.cc`, `madc.hi` and their kin.

use super::decoder::{Decoder, Words};
use crate::Error;
use crate::ast::Statement;
use crate::lower::inst::{Detail, Function, Inst, NONE, Op};

/// Whether a statement reads or writes the carry.
pub(super) fn carries(statement: &Statement) -> bool {
    let name = statement.words[0].as_str();
    matches!(name, "addc" | "subc" | "madc")
        || matches!(name, "add" | "sub" | "mad") && statement.words.iter().any(|word| word == "cc")
}

impl Decoder<'_> {
    pub(super) fn carry(&mut self, statement: &Statement, mut words: Words<'_>) -> Result<(), Error> {
        let name = statement.words[0].as_str();
        let product = words.one_of(&[("lo", Function::MulLo), ("hi", Function::MulHi)]);
        let (reads, writes) = (name.ends_with('c'), words.take("cc"));
        let kind = self.last_kind(words)?;
        self.refuse_if(kind.bytes() == 2, "a carry of 16 bits")?;
        if product.is_some() != name.starts_with("mad") || !kind.is_integer() || kind.bytes() < 4 {
            return Err(self.malformed("a form this instruction does not have"));
        }
        self.count(statement, if product.is_some() { 4 } else { 3 })?;
        let operands = &statement.operands;
        let mut inst = Inst::new(Op::Carry);
        inst.a = self.source(&operands[1], kind)?;
        inst.b = self.source(&operands[2], kind)?;
        let mut detail = Detail::new(product.unwrap_or(Function::AddInt), kind);
        detail.wide = [kind.bytes() == 8; 5];
        if product.is_some() {
            let imm = self.detail(detail);
            inst.a = self.temporary(kind, Inst { a: inst.a, b: inst.b, imm, ..Inst::new(Op::Generic) });
            inst.b = self.source(&operands[3], kind)?;
        }
        inst.d = self.destination(&operands[0], kind)?;
        let carry = self.carry_flag();
        (inst.c, inst.e) = (if reads { carry } else { NONE }, if writes { carry } else { NONE });
        detail.negate = name.starts_with("sub");
        inst.imm = self.detail(detail);
        self.finish(inst)
    }
}
