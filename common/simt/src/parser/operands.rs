//! Operands of instructions.

use super::cursor::Cursor;
use super::scope::{Body, register};
use crate::Error;
use crate::ast::Operand;
use crate::lexer::Kind;
use std::sync::Arc;

impl Cursor<'_> {
    pub(super) fn operand(&mut self, body: &mut Body) -> Result<Operand, Error> {
        let first = self.single(body)?;
        if self.eat(b'|') {
            let second = self.single(body)?;
            return Ok(Operand::Pair(Box::new(first), Box::new(second)));
        }
        if let (Operand::Register { negated: false, .. }, true) = (&first, self.is(b'+') || self.is(b'-')) {
            return Ok(Operand::Sum { register: Box::new(first), addend: self.displacement()? });
        }
        Ok(first)
    }

    /// An operand of a call, where parentheses are always a list and never an expression.
    pub(super) fn call_operand(&mut self, body: &mut Body) -> Result<Operand, Error> {
        if self.eat(b'(') { Ok(Operand::List(self.list(body, b')')?)) } else { self.operand(body) }
    }

    fn list(&mut self, body: &mut Body, end: u8) -> Result<Vec<Operand>, Error> {
        let mut operands = vec![];
        if self.eat(end) {
            return Ok(operands);
        }
        loop {
            // No operand nests further, and unlimited nesting would overflow the stack.
            if matches!(self.peek().kind, Kind::Mark(b'{' | b'(' | b'[')) {
                return Err(self.wrong("an operand"));
            }
            operands.push(self.single(body)?);
            if self.eat(end) {
                return Ok(operands);
            }
            self.expect(b',')?;
        }
    }

    fn single(&mut self, body: &mut Body) -> Result<Operand, Error> {
        let token = self.peek();
        match token.kind {
            Kind::Mark(b'{') => {
                self.next();
                Ok(Operand::Vector(self.list(body, b'}')?))
            }
            Kind::Mark(b'(') if !self.expression_follows() => {
                self.next();
                let list = self.list(body, b')')?;
                Ok(Operand::List(list))
            }
            Kind::Mark(b'[') => {
                self.next();
                if !matches!(self.peek().kind, Kind::Word | Kind::Number) {
                    return Err(self.wrong("an address"));
                }
                let base = self.single(body)?;
                let offset = self.displacement()?;
                if self.is(b',') {
                    // Coordinates of a texture or a tensor.
                    while !self.is(b']') && !self.is(b';') && self.peek().kind != Kind::End {
                        self.next();
                    }
                    self.expect(b']')?;
                    return Ok(Operand::Opaque);
                }
                self.expect(b']')?;
                Ok(Operand::Address { base: Box::new(base), offset })
            }
            Kind::Mark(b'!') if !self.expression_follows() => {
                self.next();
                match self.word("a predicate").map(|name| body.register(name.text))? {
                    Some(id) => Ok(Operand::Register { id, negated: true }),
                    None => Err(self.wrong("a declared predicate before this")),
                }
            }
            Kind::Word if token.text != "WARP_SZ" => {
                self.next();
                if token.text == "_" {
                    return Ok(Operand::Sink);
                }
                if let Some(id) = body.register(token.text) {
                    return Ok(register(id));
                }
                if let Some(elements) = body.vector(token.text) {
                    return Ok(Operand::Vector(elements.into_iter().map(register).collect()));
                }
                if let Some(id) = body.variable(token.text) {
                    return Ok(Operand::Local { id, offset: self.displacement()? });
                }
                if let Some(name) = token.text.strip_prefix('%') {
                    return Ok(Operand::Special(name.into()));
                }
                Ok(Operand::Name { name: Arc::from(token.text), offset: self.displacement()? })
            }
            _ => self.number(),
        }
    }
}
