//! Barriers of a block and of a warp.

use super::decoder::Decoder;
use super::words::Words;
use crate::Error;
use crate::ast::{Statement, Type};
use crate::lower::inst::{Inst, Op, sub};

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
            if result != if kind == sub::POPC { Type::U32 } else { Type::Pred } {
                return Err(self.malformed("a type this reduction does not have (.popc has .u32, .and and .or .pred)"));
            }
            self.malformed_if(!matches!(operands.len(), 3 | 4), "3 or 4 operands are needed")?;
            let mut inst = Inst::new(Op::BarRed);
            inst.sub = kind;
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
        let mut inst = Inst::new(Op::Bar);
        inst.sub = u8::from(arrive);
        // Whether the lanes of a warp may come one by one.
        inst.imm = i32::from(!(aligned || arrive));
        inst.a = self.source(&operands[0], Type::U32)?;
        if operands.len() == 2 {
            inst.b = self.source(&operands[1], Type::U32)?;
        } else if arrive {
            return Err(self.malformed("no number of threads"));
        }
        self.finish(inst)
    }
}
