//! Parses operands of instructions.

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

    /// Parses an operand of a call. Parentheses are a list here, never an expression.
    pub(super) fn call_operand(&mut self, body: &mut Body) -> Result<Operand, Error> {
        if self.eat(b'(') { Ok(Operand::List(self.inner(body, b')')?)) } else { self.operand(body) }
    }

    fn inner(&mut self, body: &mut Body, end: u8) -> Result<Vec<Operand>, Error> {
        if self.eat(end) {
            return Ok(vec![]);
        }
        self.list(end, |cursor| match cursor.peek().kind {
            // Operands are not nested more deeply. Without a limit, the stack could overflow.
            Kind::Mark(b'{' | b'(' | b'[') => Err(cursor.wrong("an operand")),
            _ => cursor.single(body),
        })
    }

    fn single(&mut self, body: &mut Body) -> Result<Operand, Error> {
        let is_expression = self.expression_follows();
        if self.eat(b'{') {
            return Ok(Operand::Vector(self.inner(body, b'}')?));
        }
        if !is_expression && self.eat(b'(') {
            return Ok(Operand::List(self.inner(body, b')')?));
        }
        if self.eat(b'[') {
            return self.address(body);
        }
        if !is_expression && self.eat(b'!') {
            let name = self.word("a predicate")?;
            let id = body.register(name.text).ok_or_else(|| self.wrong("a declared predicate before this"))?;
            return Ok(Operand::Register { id, negated: true });
        }
        let token = self.peek();
        if token.kind != Kind::Word || token.text == "WARP_SZ" {
            return self.number();
        }
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
            let bytes = body.function.variables[id as usize].kind.bytes();
            return Ok(Operand::Local { id, offset: self.element(Some(bytes))?.wrapping_add(self.displacement()?) });
        }
        if let Some(name) = token.text.strip_prefix('%') {
            return Ok(Operand::Special(name.into()));
        }
        let offset = self.element(None)?.wrapping_add(self.displacement()?);
        Ok(Operand::Name { name: Arc::from(token.text), offset })
    }

    /// Parses the index of an element, `[3]`, if one follows the name of an array. Returns the distance of the element from the start
    /// of the array, whose elements have this many bytes. It may be unknown for an array that is declared elsewhere.
    fn element(&mut self, bytes: Option<u32>) -> Result<i64, Error> {
        if !self.eat(b'[') {
            return Ok(0);
        }
        let number = self.number()?;
        self.expect(b']')?;
        match (number, bytes) {
            (Operand::Integer(0), _) => Ok(0),
            (Operand::Integer(index), Some(bytes)) => Ok(index.wrapping_mul(bytes.into())),
            _ => Err(self.wrong("the index 0, or an array that is declared in the function, before this")),
        }
    }

    /// Parses `base + offset]`, the rest of an address.
    fn address(&mut self, body: &mut Body) -> Result<Operand, Error> {
        if !matches!(self.peek().kind, Kind::Word | Kind::Number) {
            return Err(self.wrong("an address"));
        }
        let base = Box::new(self.single(body)?);
        let offset = self.displacement()?;
        if self.is(b',') {
            // These are the coordinates of a texture or a tensor.
            while !self.is(b']') && !self.is(b';') && self.peek().kind != Kind::End {
                self.next();
            }
            self.expect(b']')?;
            return Ok(Operand::Opaque);
        }
        self.expect(b']')?;
        Ok(Operand::Address { base, offset })
    }
}
