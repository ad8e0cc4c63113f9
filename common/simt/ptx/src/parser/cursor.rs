//! A cursor over the tokens: looks at the next ones, and checks that required ones come.

use std::collections::HashMap;
use std::iter::successors;

use crate::Error;
use crate::lexer::{Kind, Token};

/// File, line and column.
type Loc = (u32, u32, u32);
/// At most this many nested calls are followed outwards.
const CALLS: usize = 64;
/// At most this many nested calls are kept for an instruction.
const SHOWN: usize = 4;

/// A position among the tokens.
pub(super) struct Cursor<'a> {
    tokens: &'a [Token<'a>],
    /// The number of the next one.
    pub at: usize,
    /// The place of the latest `.loc` in the kernel's own file. What a header's function does counts for the line that calls it.
    pub location: Loc,
    /// From each place in an inlined function, where that function is called.
    calls: HashMap<Loc, Loc>,
    /// For each `.loc`, the lines and columns of the calls in the kernel's own file that lead to it. The latest `.loc` is last.
    pub inlined: Vec<Box<[(u32, u32)]>>,
}

pub(super) fn unsupported(token: Token<'_>, reason: &str) -> Error {
    Error::unsupported(token.line, token.text, reason)
}

pub(super) fn wrong(token: Token<'_>, expected: &str) -> Error {
    let found = match token.kind {
        Kind::End => "the end of the text".to_string(),
        _ => format!("`{}`", token.text),
    };
    Error::parse(token.line, format!("expected {expected}, found {found}"))
}

impl<'a> Cursor<'a> {
    /// Starts at the first token. The last one must be the end.
    pub(super) fn new(tokens: &'a [Token<'a>]) -> Self {
        Self { tokens, at: 0, location: (0, 0, 0), calls: HashMap::new(), inlined: vec![Box::default()] }
    }

    pub(super) fn peek(&self) -> Token<'a> {
        self.tokens[self.at]
    }

    /// Whether the token after the next one is this mark.
    pub(super) fn second_is(&self, mark: u8) -> bool {
        self.tokens.get(self.at + 1).is_some_and(|token| token.kind == Kind::Mark(mark))
    }

    /// Whether the token after the next one is a number, or can begin an expression.
    pub(super) fn expression_follows(&self) -> bool {
        self.tokens.get(self.at + 1).is_some_and(|token| {
            matches!(token.kind, Kind::Number | Kind::Mark(b'-' | b'+' | b'~' | b'(' | b'!'))
                || matches!(token.text, "WARP_SZ" | ".s64" | ".u64")
        })
    }

    pub(super) fn next(&mut self) -> Token<'a> {
        let token = self.tokens[self.at];
        // The last token is the end, and the cursor never passes it.
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
        wrong(self.peek(), expected)
    }

    /// Parses a list with at least one item, separated by commas, and passes the mark at its end.
    pub(super) fn list<T>(
        &mut self,
        end: u8,
        mut one: impl FnMut(&mut Self) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        let mut all = vec![one(self)?];
        while !self.eat(end) {
            self.expect(b',')?;
            all.push(one(self)?);
        }
        Ok(all)
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

    /// Parses `+4`, `-4` or nothing after a name.
    pub(super) fn displacement(&mut self) -> Result<i64, Error> {
        let mut offset = 0i64;
        loop {
            let Some(sign) = [b'+', b'-'].into_iter().find(|&sign| self.eat(sign)) else { return Ok(offset) };
            let negative = (sign == b'-') ^ self.eat(b'-');
            let value = self.unsigned("an offset")? as i64;
            offset = if negative { offset.wrapping_sub(value) } else { offset.wrapping_add(value) };
        }
    }

    /// Skips the rest of a statement, including the semicolon.
    pub(super) fn skip_statement(&mut self) {
        while !self.eat(b';') && self.next().kind != Kind::End {}
    }

    /// Skips tokens up to a mark, and the mark.
    pub(super) fn skip_to(&mut self, mark: u8) -> Result<(), Error> {
        while !self.eat(mark) {
            if self.next().kind == Kind::End {
                return self.expect(mark);
            }
        }
        Ok(())
    }

    /// Goes past the brace that closes the one just before the next token.
    pub(super) fn skip_braces(&mut self) -> Result<(), Error> {
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

    /// Parses `.loc file line column [, function_name label [+ n], inlined_at file line column]`.
    pub(super) fn loc(&mut self) -> Result<(), Error> {
        let place = self.loc_place()?;
        self.calls.remove(&place);
        while self.eat(b',') {
            if self.eat_word("function_name") {
                self.word("a label")?;
                if self.eat(b'+') {
                    self.unsigned("an offset")?;
                }
            } else if self.eat_word("inlined_at") {
                let call = self.loc_place()?;
                self.calls.insert(place, call);
            } else {
                return Err(self.wrong("`function_name` or `inlined_at`"));
            }
        }
        // The outermost call is in the kernel's own file.
        let outwards = || successors(Some(place), |place| self.calls.get(place).copied()).take(CALLS);
        let own = outwards().last().map_or(place.0, |(file, ..)| file);
        let mut in_own = outwards().filter(|(file, ..)| *file == own);
        self.location = in_own.next().unwrap_or(place);
        let calls: Box<[(u32, u32)]> = in_own.take(SHOWN).map(|(_, line, column)| (line, column)).collect();
        if self.inlined.last() != Some(&calls) {
            self.inlined.push(calls);
        }
        Ok(())
    }

    fn loc_place(&mut self) -> Result<Loc, Error> {
        Ok((self.small("the number of a file")?, self.small("a line")?, self.small("a column")?))
    }
}

pub(super) fn integer(text: &str) -> Option<u64> {
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
