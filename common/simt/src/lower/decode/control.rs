//! Branches, and the ends of functions and threads.

use super::decoder::Decoder;
use super::words::Words;
use crate::Error;
use crate::ast::{Item, Operand, Statement, Type};
use crate::lower::inst::{Inst, Op};

impl Decoder<'_> {
    pub(super) fn control(&mut self, statement: &Statement, mut words: Words<'_>) -> Result<(), Error> {
        words.hints();
        let name = statement.words[0].as_str();
        if name == "brx" {
            return self.indexed_branch(statement, &mut words);
        }
        self.done(&words)?;
        match name {
            "bra" => {
                let [Operand::Name { name, offset: 0 }] = self.operands::<1>(statement)? else {
                    return Err(self.malformed("a target that is no label"));
                };
                self.branches.push((self.raws.len(), self.frame, name));
                self.finish(Inst::new(Op::Bra))
            }
            "ret" => match self.layout.frames[self.frame].back.clone() {
                Some(back) => {
                    self.branches.push((self.raws.len(), usize::MAX, back));
                    self.finish(Inst::new(Op::Bra))
                }
                None => self.finish(Inst::new(Op::Exit)),
            },
            "exit" => self.finish(Inst::new(Op::Exit)),
            _ => self.finish(Inst::new(Op::Trap)),
        }
    }

    /// `brx.idx %r1, table;`
    fn indexed_branch(&mut self, statement: &Statement, words: &mut Words<'_>) -> Result<(), Error> {
        let _ = words.take("idx");
        self.done(words)?;
        let [index, Operand::Name { name, offset: 0 }] = self.operands::<2>(statement)? else {
            return Err(self.malformed("a table of targets that is no label"));
        };
        self.refuse_if(self.guard.is_some(), "an indexed branch under a predicate")?;
        let body = &self.layout.inner.program.functions[self.layout.frames[self.frame].function].body;
        let targets = body.iter().find_map(|item| match item {
            Item::Targets(table, targets) if *table == name => Some(targets.clone()),
            _ => None,
        });
        let Some(targets) = targets else { return Err(self.malformed("a table of targets that is not declared")) };
        let a = self.source(&index, Type::U32)?;
        for target in targets {
            self.branches.push((self.raws.len(), self.frame, target));
        }
        self.finish(Inst { a, ..Inst::new(Op::Brx) })
    }
}
