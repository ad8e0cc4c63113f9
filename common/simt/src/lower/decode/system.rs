//! Calls of functions that the device's system has: `printf`, and an `assert` that does not hold.

use super::decoder::Decoder;
use crate::Error;
use crate::ast::{Operand, Statement};
use crate::lower::inst::{Inst, Op, System, SystemCall};
use crate::lower::layout::{Address, parts_of_call};

impl Decoder<'_> {
    /// `call (result), vprintf, (format, arguments);`
    pub(super) fn system_call(&mut self, statement: &Statement) -> Result<(), Error> {
        let called = parts_of_call(statement).and_then(|(to, name, from)| Some((to, SystemCall::named(name)?, from)));
        let Some((results, call, arguments)) = called else { return Err(self.refuse("an indirect call")) };
        let (results, arguments) = (self.parameters(results)?, self.parameters(arguments)?);
        let (takes, gives) = match call {
            SystemCall::Print => (2, 1),
            SystemCall::Assert => (5, 0),
        };
        self.malformed_if(
            arguments.len() != takes || results.len() > gives,
            "a call with other parameters than the function has",
        )?;
        let imm = self.code.systems.len() as i32;
        self.code.systems.push(System { call, result: results.first().copied(), arguments });
        self.finish(Inst { imm, ..Inst::new(Op::System) })
    }

    /// The places of a call's parameters, which are variables in local memory.
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
