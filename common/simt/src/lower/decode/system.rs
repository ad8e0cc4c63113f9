//! Calls of functions that the device's system has: `printf`, and an `assert` that does not hold.

use super::decoder::Decoder;
use crate::Error;
use crate::ast::{Operand, Statement};
use crate::lower::inst::{Inst, Op, System, SystemCall};
use crate::lower::layout::Address;

impl Decoder<'_> {
    /// `call (result), vprintf, (format, arguments);`
    pub(super) fn system_call(&mut self, statement: &Statement) -> Result<(), Error> {
        let (mut call, mut results, mut arguments) = (None, vec![], vec![]);
        for operand in &statement.operands {
            match operand {
                Operand::List(list) if call.is_none() => results = self.parameters(list)?,
                Operand::List(list) => arguments = self.parameters(list)?,
                Operand::Name { name, .. } => call = SystemCall::named(name),
                _ => return Err(self.refuse("an indirect call")),
            }
        }
        let (takes, gives) = match call {
            Some(SystemCall::Print) => (2, 1),
            _ => (5, 0),
        };
        let (Some(call), true) = (call, arguments.len() == takes && results.len() <= gives) else {
            return Err(self.malformed("a call with other parameters than the function has"));
        };
        let imm = self.code.systems.len() as i32;
        self.code.systems.push(System { call, result: results.first().copied(), arguments });
        self.push(Inst { imm, ..Inst::new(Op::System) });
        Ok(())
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
