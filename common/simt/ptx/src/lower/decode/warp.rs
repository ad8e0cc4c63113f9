//! Barriers of a block and of a warp, and operations across the lanes of a warp: `shfl`, `vote`, `match`, `redux`, `elect`,
//! `activemask`.

use super::decoder::{Decoder, Words, pair};
use crate::Error;
use crate::ast::{Operand, Statement, Type};
use crate::lower::inst::{Inst, NONE, Op, sub};

impl Decoder<'_> {
    pub(super) fn barrier(&mut self, statement: &Statement, mut words: Words<'_>) -> Result<(), Error> {
        let cluster = words.take("cluster");
        words.hints();
        let operands = &statement.operands;
        if words.take("warp") {
            let _ = words.take("sync");
            self.done(&words)?;
            self.count(statement, 1)?;
            let a = self.source(&operands[0], Type::B32)?;
            return self.finish(Inst { a, ..Inst::new(Op::WarpSync) });
        }
        // `bar` is short for `barrier.aligned`.
        let aligned = words.take("aligned") || statement.words[0] == "bar";
        let arrive = words.take("arrive");
        let sync = words.take("sync");
        let reduce = words.take("red");
        let kind = words.one_of(&[("popc", sub::POPC), ("and", sub::AND), ("or", sub::OR)]);
        let result = words.pick(Type::named);
        self.done(&words)?;
        self.refuse_if(cluster || usize::from(arrive) + usize::from(sync) + usize::from(reduce) != 1, "this barrier")?;
        if reduce {
            let (Some(kind), Some(result)) = (kind, result) else { return Err(self.malformed("no reduction")) };
            let fits = result == if kind == sub::POPC { Type::U32 } else { Type::Pred };
            self.malformed_if(!fits, "a type this reduction does not have (.popc has .u32, .and and .or .pred)")?;
            self.malformed_if(!matches!(operands.len(), 3 | 4), "3 or 4 operands are needed")?;
            let mut inst = Inst { sub: kind, ..Inst::new(Op::BarRed) };
            inst.d = self.destination(&operands[0], result)?;
            inst.a = self.source(&operands[1], Type::U32)?;
            if operands.len() == 4 {
                inst.b = self.source(&operands[2], Type::U32)?;
            }
            let (value, negated) = self.condition(&operands[operands.len() - 1])?;
            (inst.c, inst.imm) = (value, i32::from(negated));
            return self.finish(inst);
        }
        self.malformed_if(kind.is_some() || result.is_some(), "a reduction without .red")?;
        self.malformed_if(!matches!(operands.len(), 1 | 2), "1 or 2 operands are needed")?;
        // `imm` says whether the lanes of a warp may arrive one by one.
        let mut inst = Inst { sub: arrive.into(), imm: (!(aligned || arrive)).into(), ..Inst::new(Op::Bar) };
        inst.a = self.source(&operands[0], Type::U32)?;
        if operands.len() == 2 {
            inst.b = self.source(&operands[1], Type::U32)?;
        } else if arrive {
            return Err(self.malformed("no number of threads"));
        }
        self.finish(inst)
    }

    pub(super) fn warp(&mut self, statement: &Statement, mut words: Words<'_>) -> Result<(), Error> {
        let name = statement.words[0].as_str();
        // Before Volta, no mask is given, and the active lanes take part.
        let sync = words.take("sync") || name == "activemask";
        let needs_mask = self.layout.inner.program.target >= 70 || !matches!(name, "vote" | "shfl");
        self.refuse_if(!sync && needs_mask, "warp-wide instructions without .sync")?;
        let mode = words.one_of(&[("up", sub::UP), ("down", sub::DOWN), ("bfly", sub::BFLY), ("idx", sub::IDX)]);
        let vote = words.one_of(&[("all", sub::ALL), ("any", sub::ANY), ("uni", sub::UNI), ("ballot", sub::BALLOT)]);
        let reduction = words.one_of(&[
            ("add", sub::ADD),
            ("min", sub::MIN_S),
            ("max", sub::MAX_S),
            ("and", sub::AND),
            ("or", sub::OR),
            ("xor", sub::XOR),
        ]);
        let kind = if name == "elect" { Type::B32 } else { self.kind(&mut words)? };
        self.done(&words)?;
        let operands = &statement.operands;
        let Some(first) = operands.first() else { return Err(self.malformed("no operands")) };
        let (first, second) = pair(first);
        // Execution derives only from an instruction's name which of its registers are predicates.
        let fits = match (name, vote) {
            ("vote", Some(sub::BALLOT)) | ("activemask" | "shfl" | "elect", _) => kind == Type::B32,
            ("vote", _) => kind == Type::Pred,
            ("match", _) => matches!(kind, Type::B32 | Type::B64),
            _ if matches!(reduction, Some(sub::AND | sub::OR | sub::XOR)) => kind == Type::B32,
            _ => matches!(kind, Type::U32 | Type::S32),
        };
        self.malformed_if(!fits, "a type this instruction does not have")?;
        let has_two = matches!((name, vote), ("shfl" | "elect", _) | ("match", Some(sub::ALL)));
        let surplus = second.is_some() && !has_two;
        self.malformed_if(surplus, "a second destination, which this instruction does not have,")?;
        match (name, mode, vote, reduction) {
            ("activemask", ..) => {
                self.count(statement, 1)?;
                self.compute(Inst::new(Op::ActiveMask), (first, Type::B32), &[])
            }
            ("elect", ..) => {
                self.needs_target(90, "elect.sync", "it needs")?;
                self.count(statement, 2)?;
                let d = self.result(first, Type::B32)?;
                let e = second.map_or(Ok(NONE), |second| self.result(second, Type::Pred))?;
                let a = self.source(&operands[1], Type::B32)?;
                self.finish(Inst { sub: sub::ELECT, d, a, b: a, e, ..Inst::new(Op::Match) })
            }
            ("shfl", Some(mode), ..) => {
                self.count(statement, 4 + usize::from(sync))?;
                let mut inst = Inst { sub: mode, ..Inst::new(Op::Shfl) };
                inst.d = self.result(first, Type::B32)?;
                inst.a = self.source(&operands[1], Type::B32)?;
                inst.b = self.source(&operands[2], Type::U32)?;
                inst.c = self.source(&operands[3], Type::U32)?;
                inst.e = second.map_or(Ok(NONE), |second| self.result(second, Type::Pred))?;
                // A separate instruction checks the mask.
                let a = self.members(operands.get(4))?;
                self.push(Inst { a, imm: 1, ..Inst::new(Op::WarpSync) });
                self.finish(inst)
            }
            ("vote", _, Some(mode), _) => {
                self.count(statement, 2 + usize::from(sync))?;
                let d = self.destination(first, if mode == sub::BALLOT { Type::B32 } else { Type::Pred })?;
                let (a, negated) = self.condition(&operands[1])?;
                let (b, imm) = (self.members(operands.get(2))?, i32::from(negated));
                self.finish(Inst { sub: mode, d, a, b, imm, ..Inst::new(Op::Vote) })
            }
            ("match", _, vote, _) => {
                self.count(statement, 3)?;
                let Some(mode @ (sub::ALL | sub::ANY)) = vote else { return Err(self.malformed("no .all or .any")) };
                let d = self.destination(first, Type::B32)?;
                let e = second.map_or(Ok(NONE), |second| self.destination(second, Type::Pred))?;
                let (a, b) = (self.source(&operands[1], kind)?, self.source(&operands[2], Type::B32)?);
                self.finish(Inst { sub: mode, imm: i32::from(kind.bytes() == 8), d, a, b, e, ..Inst::new(Op::Match) })
            }
            ("redux", _, _, Some(reduction)) => {
                self.count(statement, 3)?;
                let sub = match (reduction, kind) {
                    (sub::MIN_S, Type::U32) => sub::MIN_U,
                    (sub::MAX_S, Type::U32) => sub::MAX_U,
                    (reduction, _) => reduction,
                };
                let from = [(&operands[1], kind), (&operands[2], Type::B32)];
                self.compute(Inst { sub, ..Inst::new(Op::Redux) }, (first, kind), &from)
            }
            _ => Err(self.malformed("a mode this instruction does not have")),
        }
    }

    /// Returns the mask that an instruction names. If it names none, these are the active lanes.
    fn members(&mut self, mask: Option<&Operand>) -> Result<u32, Error> {
        let Some(mask) = mask else {
            let d = self.unnamed(Type::B32);
            self.push(Inst { d, ..Inst::new(Op::ActiveMask) });
            return Ok(d);
        };
        self.source(mask, Type::B32)
    }
}
