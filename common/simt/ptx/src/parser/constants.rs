//! Constants: literals, and integer expressions with PTX's types.
//!
//! An integer has 64 bits and is signed or unsigned. How operators treat their operands, and which type the result has, follows the
//! PTX manual's section on constant expressions. Where the manual is silent, it follows experiments with `ptxas` 12.1.

use super::cursor::{Cursor, integer};
use crate::Error;
use crate::ast::Operand;
use crate::lexer::Kind;

/// The deepest nesting. Without a limit, the stack could overflow.
const DEEPEST: u32 = 64;

#[derive(Clone, Copy)]
struct Constant {
    bits: u64,
    unsigned: bool,
}

impl Constant {
    const fn signed(value: i64) -> Self {
        Self { bits: value as u64, unsigned: false }
    }

    const fn truth(holds: bool) -> Self {
        Self::signed(holds as i64)
    }
}

enum Term {
    /// An integer expression.
    Integer(Constant),
    /// A floating-point literal with its signs. Operators do not accept it.
    Float { single: u32, double: u64 },
}

/// The operators of two integers, by how tightly they bind. An operator comes before those it begins with.
const OPERATORS: [(u8, &[&str]); 10] = [
    (1, &["||"]),
    (2, &["&&"]),
    (3, &["|"]),
    (4, &["^"]),
    (5, &["&"]),
    (6, &["==", "!="]),
    (8, &["<<", ">>"]),
    (7, &["<=", ">=", "<", ">"]),
    (9, &["+", "-"]),
    (10, &["*", "/", "%"]),
];

/// Returns the result of an operator, or `None` for a division that is not defined.
fn apply(operator: &str, a: Constant, b: Constant) -> Option<Constant> {
    let unsigned = a.unsigned || b.unsigned;
    let integer = |bits| Constant { bits, unsigned };
    let order = if unsigned { a.bits.cmp(&b.bits) } else { (a.bits as i64).cmp(&(b.bits as i64)) };
    Some(match operator {
        "||" => Constant::truth(a.bits != 0 || b.bits != 0),
        "&&" => Constant::truth(a.bits != 0 && b.bits != 0),
        "==" => Constant::truth(order.is_eq()),
        "!=" => Constant::truth(order.is_ne()),
        "<" => Constant::truth(order.is_lt()),
        ">" => Constant::truth(order.is_gt()),
        "<=" => Constant::truth(order.is_le()),
        ">=" => Constant::truth(order.is_ge()),
        "|" => integer(a.bits | b.bits),
        "^" => integer(a.bits ^ b.bits),
        "&" => integer(a.bits & b.bits),
        "+" => integer(a.bits.wrapping_add(b.bits)),
        "-" => integer(a.bits.wrapping_sub(b.bits)),
        "*" => integer(a.bits.wrapping_mul(b.bits)),
        "/" if unsigned => integer(a.bits.checked_div(b.bits)?),
        "/" => Constant::signed((a.bits as i64).checked_div(b.bits as i64)?),
        // The remainder is always unsigned.
        "%" => Constant { bits: a.bits.checked_rem(b.bits)?, unsigned: true },
        // Only the low six bits of the distance count.
        "<<" => Constant { bits: a.bits.wrapping_shl(b.bits as u32), ..a },
        _ if a.unsigned => Constant { bits: a.bits.wrapping_shr(b.bits as u32), ..a },
        _ => Constant::signed((a.bits as i64).wrapping_shr(b.bits as u32)),
    })
}

impl Cursor<'_> {
    /// Parses a number: a literal, or an integer expression.
    pub(super) fn number(&mut self) -> Result<Operand, Error> {
        Ok(match self.term(0)? {
            Term::Float { single, double } => Operand::Float { single, double },
            Term::Integer(first) => Operand::Integer(self.conditional(first, 0)?.bits as i64),
        })
    }

    /// Continues an expression after its first term, including `? a : b`.
    fn conditional(&mut self, first: Constant, depth: u32) -> Result<Constant, Error> {
        let value = self.expression(first, 0, depth)?;
        if !self.eat(b'?') {
            return Ok(value);
        }
        let then = self.integer(depth + 1)?;
        let then = self.conditional(then, depth + 1)?;
        self.expect(b':')?;
        let otherwise = self.integer(depth + 1)?;
        let otherwise = self.conditional(otherwise, depth + 1)?;
        Ok(if value.bits != 0 { then } else { otherwise })
    }

    /// Continues an expression after its first term, for as long as operators bind more tightly than `least`.
    fn expression(&mut self, first: Constant, least: u8, depth: u32) -> Result<Constant, Error> {
        let mut value = first;
        while let Some((operator, rank)) = self.operator().filter(|(_, rank)| *rank > least) {
            for _ in operator.bytes() {
                self.next();
            }
            let next = self.integer(depth + 1)?;
            let next = self.expression(next, rank, depth + 1)?;
            value = apply(operator, value, next)
                .ok_or_else(|| self.wrong("a constant other than a quotient by zero before this"))?;
        }
        Ok(value)
    }

    /// Returns the binary operator that comes next, and how tightly it binds.
    fn operator(&self) -> Option<(&'static str, u8)> {
        // A `%` is lexed as a word, because it can begin a register's name.
        let follows = |operator: &str| match operator.as_bytes() {
            [mark] => self.is(*mark) || (*mark == b'%' && self.peek().text == operator),
            marks => self.is(marks[0]) && self.second_is(marks[1]),
        };
        let found = |operators: &[&'static str]| operators.iter().copied().find(|operator| follows(operator));
        OPERATORS.iter().find_map(|&(rank, operators)| Some((found(operators)?, rank)))
    }

    fn integer(&mut self, depth: u32) -> Result<Constant, Error> {
        match self.term(depth)? {
            Term::Integer(value) => Ok(value),
            Term::Float { .. } => Err(self.wrong("an integer before this")),
        }
    }

    /// Parses a literal, `WARP_SZ`, or an expression in parentheses, with its signs and casts.
    fn term(&mut self, depth: u32) -> Result<Term, Error> {
        if depth > DEEPEST {
            return Err(self.wrong("an expression that is less deep"));
        }
        if self.eat(b'(') {
            let cast = [(".s64", false), (".u64", true)].into_iter().find(|(name, _)| self.eat_word(name));
            if let Some((_, unsigned)) = cast {
                self.expect(b')')?;
                let Constant { bits, .. } = self.integer(depth + 1)?;
                return Ok(Term::Integer(Constant { bits, unsigned }));
            }
            let first = self.integer(depth + 1)?;
            let value = self.conditional(first, depth + 1)?;
            self.expect(b')')?;
            return Ok(Term::Integer(value));
        }
        if self.eat_word("WARP_SZ") {
            return Ok(Term::Integer(Constant::signed(32)));
        }
        let signs = [b'-', b'~', b'!', b'+'];
        let Some(sign) = signs.into_iter().find(|&sign| self.eat(sign)) else { return self.literal() };
        match (sign, self.term(depth + 1)?) {
            (b'+', term) => Ok(term),
            (b'-', Term::Float { single, double }) => {
                Ok(Term::Float { single: single ^ 1 << 31, double: double ^ 1 << 63 })
            }
            (b'-', Term::Integer(value)) => Ok(Term::Integer(Constant { bits: value.bits.wrapping_neg(), ..value })),
            (b'~', Term::Integer(value)) => Ok(Term::Integer(Constant { bits: !value.bits, unsigned: true })),
            (_, Term::Integer(value)) => Ok(Term::Integer(Constant::truth(value.bits == 0))),
            (_, Term::Float { .. }) => Err(self.wrong("an integer after this sign")),
        }
    }

    fn literal(&mut self) -> Result<Term, Error> {
        let token = Some(self.peek()).filter(|token| token.kind == Kind::Number);
        let term = token.and_then(|token| literal(token.text)).ok_or_else(|| self.wrong("a number"))?;
        self.next();
        Ok(term)
    }
}

/// Returns the value of a literal without a sign.
fn literal(text: &str) -> Option<Term> {
    let bits = |prefix: [&str; 2], length: usize| {
        let digits = text.strip_prefix(prefix[0]).or_else(|| text.strip_prefix(prefix[1]))?;
        (digits.len() == length).then(|| u64::from_str_radix(digits, 16).ok()).flatten()
    };
    if let Some(bits) = bits(["0f", "0F"], 8) {
        let single = f32::from_bits(bits as u32);
        return Some(Term::Float { single: bits as u32, double: f64::from(single).to_bits() });
    }
    if let Some(bits) = bits(["0d", "0D"], 16) {
        return Some(Term::Float { single: (f64::from_bits(bits) as f32).to_bits(), double: bits });
    }
    if let Some(bits) = integer(text) {
        return Some(Term::Integer(Constant { bits, unsigned: text.ends_with('U') || bits > i64::MAX as u64 }));
    }
    if text.contains(['.', 'e', 'E'])
        && let Ok(value) = text.parse::<f64>()
    {
        return Some(Term::Float { single: (value as f32).to_bits(), double: value.to_bits() });
    }
    None
}
