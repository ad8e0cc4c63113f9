//! Walks over the tokens: what comes next, what must come next, and numbers.

use crate::Error;
use crate::ast::Operand;
use crate::lexer::{Kind, Token};

/// What an operator does with two numbers; none where the result has no meaning.
type Apply = fn(i64, i64) -> Option<i64>;

/// A place among the tokens.
pub(super) struct Cursor<'a> {
    tokens: &'a [Token<'a>],
    at: usize,
    /// File, line and column of the latest `.loc`.
    pub location: (u32, u32, u32),
}

pub(super) fn unsupported(token: Token<'_>, reason: &str) -> Error {
    Error::unsupported(token.line, token.text, reason)
}

impl<'a> Cursor<'a> {
    /// At the first of the tokens, of which the last is the end.
    pub(super) fn new(tokens: &'a [Token<'a>]) -> Self {
        Self { tokens, at: 0, location: (0, 0, 0) }
    }

    pub(super) fn peek(&self) -> Token<'a> {
        self.tokens[self.at]
    }

    /// Whether the token after the next is this mark.
    pub(super) fn second_is(&self, mark: u8) -> bool {
        self.tokens.get(self.at + 1).is_some_and(|token| token.kind == Kind::Mark(mark))
    }

    /// Whether a number comes after the next token, or a sign before one.
    pub(super) fn expression_follows(&self) -> bool {
        self.tokens.get(self.at + 1).is_some_and(|token| {
            matches!(token.kind, Kind::Number | Kind::Mark(b'-' | b'~' | b'(' | b'!')) || token.text == "WARP_SZ"
        })
    }

    pub(super) fn next(&mut self) -> Token<'a> {
        let token = self.tokens[self.at];
        // The last token is the end, which is never passed.
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    pub(super) fn is(&self, mark: u8) -> bool {
        self.peek().kind == Kind::Mark(mark)
    }

    pub(super) fn eat(&mut self, mark: u8) -> bool {
        let found = self.is(mark);
        if found {
            self.next();
        }
        found
    }

    pub(super) fn eat_word(&mut self, word: &str) -> bool {
        let token = self.peek();
        let found = token.kind == Kind::Word && token.text == word;
        if found {
            self.next();
        }
        found
    }

    pub(super) fn expect(&mut self, mark: u8) -> Result<(), Error> {
        if self.eat(mark) { Ok(()) } else { Err(self.wrong(&format!("`{}`", char::from(mark)))) }
    }

    pub(super) fn wrong(&self, expected: &str) -> Error {
        let token = self.peek();
        let found = match token.kind {
            Kind::End => "the end of the text".to_string(),
            _ => format!("`{}`", token.text),
        };
        Error::parse(token.line, format!("expected {expected}, found {found}"))
    }

    pub(super) fn word(&mut self, expected: &str) -> Result<Token<'a>, Error> {
        if self.peek().kind == Kind::Word { Ok(self.next()) } else { Err(self.wrong(expected)) }
    }

    pub(super) fn unsigned(&mut self, expected: &str) -> Result<u64, Error> {
        let token = self.peek();
        match integer(token.text) {
            Some(value) if token.kind == Kind::Number => {
                self.next();
                Ok(value)
            }
            _ => Err(self.wrong(expected)),
        }
    }

    pub(super) fn small(&mut self, expected: &str) -> Result<u32, Error> {
        let line = self.peek().line;
        let value = self.unsigned(expected)?;
        u32::try_from(value).map_err(|_| Error::parse(line, format!("{value} is too large")))
    }

    /// A number: a literal, or an expression of integer constants.
    pub(super) fn number(&mut self) -> Result<Operand, Error> {
        let first = self.term(0)?;
        let Operand::Integer(value) = first else { return Ok(first) };
        self.expression(value, 0, 0).map(Operand::Integer)
    }

    /// Goes on with an expression after its first term, as long as operators bind more tightly than `least`.
    fn expression(&mut self, first: i64, least: u8, depth: u32) -> Result<i64, Error> {
        let mut value = first;
        while let Some((rank, length, apply)) = self.operator().filter(|operator| operator.0 > least) {
            for _ in 0..length {
                self.next();
            }
            let Operand::Integer(next) = self.term(depth + 1)? else { return Err(self.wrong("an integer")) };
            let next = self.expression(next, rank, depth + 1)?;
            value =
                apply(value, next).ok_or_else(|| self.wrong("a constant other than a quotient by zero before this"))?;
        }
        Ok(value)
    }

    /// The operator of two numbers that comes next: how tightly it binds, how many marks it has, what it does.
    fn operator(&self) -> Option<(u8, u8, Apply)> {
        let Kind::Mark(mark) = self.peek().kind else { return None };
        let operators: [(u8, Apply); 8] = [
            (b'|', |a, b| Some(a | b)),
            (b'^', |a, b| Some(a ^ b)),
            (b'&', |a, b| Some(a & b)),
            (b'+', |a, b| Some(a.wrapping_add(b))),
            (b'-', |a, b| Some(a.wrapping_sub(b))),
            (b'*', |a, b| Some(a.wrapping_mul(b))),
            (b'/', i64::checked_div),
            (b'%', i64::checked_rem),
        ];
        match mark {
            b'<' if self.second_is(b'<') => Some((4, 2, |a, b| Some(a.checked_shl(b.min(64) as u32).unwrap_or(0)))),
            b'>' if self.second_is(b'>') => Some((4, 2, |a, b| Some(a >> b.clamp(0, 63)))),
            mark => {
                let at = operators.iter().position(|operator| operator.0 == mark)?;
                let rank = match at {
                    0..=2 => at as u8 + 1,
                    3 | 4 => 5,
                    _ => 6,
                };
                Some((rank, 1, operators[at].1))
            }
        }
    }

    /// A literal, `WARP_SZ`, or an expression in parentheses, with its signs.
    fn term(&mut self, depth: u32) -> Result<Operand, Error> {
        // Unlimited nesting would overflow the stack.
        if depth > 64 {
            return Err(self.wrong("an expression that is less deep"));
        }
        if self.eat(b'(') {
            let Operand::Integer(first) = self.term(depth + 1)? else { return Err(self.wrong("an integer")) };
            let value = self.expression(first, 0, depth + 1)?;
            self.expect(b')')?;
            return Ok(Operand::Integer(value));
        }
        if self.eat_word("WARP_SZ") {
            return Ok(Operand::Integer(32));
        }
        let signs = [b'-', b'~', b'!', b'+'];
        let Some(sign) = signs.into_iter().find(|&sign| self.eat(sign)) else { return self.unsigned_number() };
        match (sign, self.term(depth + 1)?) {
            (b'+', number) => Ok(number),
            (b'-', Operand::Integer(value)) => Ok(Operand::Integer(value.wrapping_neg())),
            (b'-', Operand::Float { single, double }) => {
                Ok(Operand::Float { single: single ^ 1 << 31, double: double ^ 1 << 63 })
            }
            (b'~', Operand::Integer(value)) => Ok(Operand::Integer(!value)),
            (b'!', Operand::Integer(value)) => Ok(Operand::Integer(i64::from(value == 0))),
            _ => Err(self.wrong("an integer after this sign")),
        }
    }

    fn unsigned_number(&mut self) -> Result<Operand, Error> {
        let token = self.peek();
        if token.kind == Kind::Number
            && let Some(value) = literal(token.text)
        {
            self.next();
            return Ok(value);
        }
        Err(self.wrong("a number"))
    }

    /// `+4`, `-4` or nothing after a name.
    pub(super) fn displacement(&mut self) -> Result<i64, Error> {
        let mut offset = 0i64;
        loop {
            let negative = if self.eat(b'+') {
                false
            } else if self.eat(b'-') {
                true
            } else {
                return Ok(offset);
            };
            let negative = negative ^ self.eat(b'-');
            let value = self.unsigned("an offset")? as i64;
            offset = if negative { offset.wrapping_sub(value) } else { offset.wrapping_add(value) };
        }
    }

    /// Skips what is left up to a semicolon.
    pub(super) fn skip_statement(&mut self) {
        while !self.eat(b';') && self.next().kind != Kind::End {}
    }

    /// Where it is, for [`Cursor::skip_braces`].
    pub(super) const fn place(&self) -> usize {
        self.at
    }

    /// Goes behind the brace that closes the one just before a place.
    pub(super) fn skip_braces(&mut self, place: usize) -> Result<(), Error> {
        self.at = place;
        let mut depth = 1u32;
        while depth > 0 {
            match self.next().kind {
                Kind::Mark(b'{') => depth += 1,
                Kind::Mark(b'}') => depth -= 1,
                Kind::End => return Err(self.wrong("`}`")),
                _ => {}
            }
        }
        Ok(())
    }

    /// `.loc file line column [, function_name label [+ n], inlined_at file line column]`
    pub(super) fn loc(&mut self) -> Result<(), Error> {
        let file = self.small("the number of a file")?;
        let line = self.small("a line")?;
        let column = self.small("a column")?;
        self.location = (file, line, column);
        while self.eat(b',') {
            if self.eat_word("function_name") {
                self.word("a label")?;
                if self.eat(b'+') {
                    self.unsigned("an offset")?;
                }
            } else if self.eat_word("inlined_at") {
                for _ in 0..3 {
                    self.unsigned("a number")?;
                }
            } else {
                return Err(self.wrong("`function_name` or `inlined_at`"));
            }
        }
        Ok(())
    }
}

/// An unsigned integer as PTX writes it.
fn integer(text: &str) -> Option<u64> {
    let text = text.strip_suffix('U').unwrap_or(text);
    let (digits, radix) = match text.as_bytes() {
        [b'0', b'x' | b'X', ..] => (&text[2..], 16),
        [b'0', b'b' | b'B', ..] => (&text[2..], 2),
        [b'0', b'0'..=b'7', ..] => (&text[1..], 8),
        _ => (text, 10),
    };
    if digits.starts_with('+') {
        return None;
    }
    u64::from_str_radix(digits, radix).ok()
}

/// A number of any sort.
fn literal(text: &str) -> Option<Operand> {
    let bits = |prefix: [&str; 2], length: usize| {
        let digits = text.strip_prefix(prefix[0]).or_else(|| text.strip_prefix(prefix[1]))?;
        (digits.len() == length).then(|| u64::from_str_radix(digits, 16).ok()).flatten()
    };
    if let Some(bits) = bits(["0f", "0F"], 8) {
        let single = f32::from_bits(bits as u32);
        return Some(Operand::Float { single: bits as u32, double: f64::from(single).to_bits() });
    }
    if let Some(bits) = bits(["0d", "0D"], 16) {
        return Some(Operand::Float { single: (f64::from_bits(bits) as f32).to_bits(), double: bits });
    }
    if let Some(value) = integer(text) {
        return Some(Operand::Integer(value as i64));
    }
    if text.contains('.')
        && let Ok(value) = text.parse::<f64>()
    {
        return Some(Operand::Float { single: (value as f32).to_bits(), double: value.to_bits() });
    }
    None
}
