//! Branches, exits, and calls of functions that the device provides: `printf`, and what a failed `assert` calls.

use super::decoder::{Decoder, Words, add};
use crate::Error;
use crate::ast::{Item, Operand, Statement, Type};
use crate::lower::inst::{Inst, Op, System, SystemCall};
use crate::lower::layout::{Address, parts_of_call};

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

    /// `call (result), vprintf, (format, arguments);`
    pub(super) fn system_call(&mut self, statement: &Statement) -> Result<(), Error> {
        let called = parts_of_call(statement).and_then(|(to, name, from)| Some((to, SystemCall::named(name)?, from)));
        let Some((results, call, arguments)) = called else { return Err(self.refuse("an indirect call")) };
        let (results, arguments) = (self.parameters(results)?, self.parameters(arguments)?);
        let (takes, gives) = match call {
            SystemCall::Print => (2, 1),
            SystemCall::Assert => (5, 0),
        };
        let fits = arguments.len() == takes && results.len() <= gives;
        self.malformed_if(!fits, "a call with other parameters than the function has")?;
        let imm = add(&mut self.code.systems, System { call, result: results.first().copied(), arguments });
        self.finish(Inst { imm, ..Inst::new(Op::System) })
    }

    /// Returns the places of a call's parameters, which are variables in local memory.
    fn parameters(&self, list: &[Operand]) -> Result<Vec<u32>, Error> {
        let place = |operand: &Operand| match operand {
            Operand::Local { id, offset: 0 } => match self.layout.frames[self.frame].places[*id as usize] {
                Address::Local(offset) => Ok(offset),
                _ => Err(self.malformed("an operand that cannot stand here")),
            },
            _ => Err(self.refuse("parameters of a call that are not `.param` variables")),
        };
        list.iter().map(place).collect()
    }
}
