//! The tokens of a kernel in CUDA C or Rust: what an edit replaces. Nothing here knows statements or types.

use std::ops::Range;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A name or a keyword.
    Word,
    /// A number.
    Number,
    /// A string or a character, in quotes.
    Text,
    /// An operator, or a bracket.
    Sign,
}

/// A token and where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: Kind,
    /// Its bytes in the source.
    pub span: Range<usize>,
    /// Its line, counted from 1.
    pub line: usize,
    /// Whether it belongs to a line that begins with `#`.
    pub directive: bool,
}

/// Operators of more than one character, the longest first.
const SIGNS: [&str; 26] = [
    "<<=", ">>=", "...", "..=", "::", "->", "=>", "++", "--", "<=", ">=", "==", "!=", "&&", "||", "+=", "-=", "*=",
    "/=", "%=", "&=", "|=", "^=", "<<", ">>", "..",
];

/// A source and its tokens, without comments.
#[derive(Clone, Debug, Default)]
pub struct Tokens {
    /// The source.
    pub text: String,
    /// The tokens in order.
    pub all: Vec<Token>,
}

impl Tokens {
    /// Reads a source. What is no token, such as a quote that nothing closes, is a sign of one character.
    pub fn read(text: &str) -> Self {
        let (mut all, mut at, mut line, mut directive) = (vec![], 0, 1, false);
        let mut fresh = true;
        while let Some(first) = text[at..].chars().next() {
            let rest = &text[at..];
            let (kind, length) = match first {
                '\n' => {
                    // A directive goes on in the next line if this one ends with a backslash.
                    directive &= text[..at].trim_end_matches('\r').ends_with('\\');
                    (line, fresh, at) = (line + 1, true, at + 1);
                    continue;
                }
                _ if first.is_whitespace() || first == '\\' => {
                    at += first.len_utf8();
                    continue;
                }
                _ if rest.starts_with("//") => {
                    at += rest.find('\n').unwrap_or(rest.len());
                    continue;
                }
                _ if rest.starts_with("/*") => {
                    let length = rest.find("*/").map_or(rest.len(), |end| end + 2);
                    line += rest[..length].matches('\n').count();
                    at += length;
                    continue;
                }
                _ if first.is_alphabetic() || first == '_' => (Kind::Word, length_of(rest, is_of_word)),
                _ if first.is_ascii_digit() || first == '.' && rest[1..].starts_with(|c: char| c.is_ascii_digit()) => {
                    (Kind::Number, number(rest))
                }
                '"' | '\'' => quoted(rest, first).map_or((Kind::Sign, 1), |length| (Kind::Text, length)),
                _ => {
                    let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign));
                    (Kind::Sign, sign.map_or(first.len_utf8(), |sign| sign.len()))
                }
            };
            directive |= fresh && first == '#' && !rest.starts_with("#[") && !rest.starts_with("#![");
            fresh = false;
            all.push(Token { kind, span: at..at + length, line, directive });
            at += length;
        }
        Self { text: text.to_owned(), all }
    }

    /// The text of a token; empty beyond the end.
    pub fn of(&self, at: usize) -> &str {
        self.all.get(at).map_or("", |token| &self.text[token.span.clone()])
    }

    /// The text of a token counted from the one at `at`; empty outside of the source.
    pub fn near(&self, at: usize, by: isize) -> &str {
        at.checked_add_signed(by).map_or("", |at| self.of(at))
    }

    /// Whether the token is a name or a keyword.
    pub fn is_word(&self, at: usize) -> bool {
        self.all.get(at).is_some_and(|token| token.kind == Kind::Word)
    }

    /// The bracket that closes the one at `open`; the last token if none does.
    pub fn closing(&self, open: usize) -> usize {
        let mut depth = 0_i32;
        for at in open..self.all.len() {
            match self.of(at) {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return at;
            }
        }
        self.all.len().saturating_sub(1)
    }

    /// The bytes from one token to another; nothing beyond the end.
    pub fn span(&self, first: usize, last: usize) -> Range<usize> {
        let end = self.all.get(last).or(self.all.last()).map_or(0, |token| token.span.end);
        self.start(first).min(end)..end
    }

    /// The first byte of a token; the end of the source beyond it.
    pub fn start(&self, at: usize) -> usize {
        self.all.get(at).map_or(self.text.len(), |token| token.span.start)
    }

    /// What is written from one token to another.
    pub fn written(&self, first: usize, last: usize) -> &str {
        &self.text[self.span(first, last)]
    }
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn length_of(text: &str, is_part: fn(char) -> bool) -> usize {
    text.find(|c| !is_part(c)).unwrap_or(text.len())
}

/// The length of a number: digits, letters, and a sign behind an exponent. Two dots are the operator of a range.
fn number(text: &str) -> usize {
    let mut before = ' ';
    let is_hex = text.starts_with("0x") || text.starts_with("0X");
    for (at, c) in text.char_indices() {
        let exponent = matches!(before, 'e' | 'E') && !is_hex && matches!(c, '+' | '-');
        let point = c == '.' && !text[at + 1..].starts_with('.');
        if !(is_of_word(c) || point || exponent) {
            return at;
        }
        before = c;
    }
    text.len()
}

/// The length of a string or of a character; none if it does not end on its line. A lifetime in Rust is none.
fn quoted(text: &str, quote: char) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            '\n' => return None,
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return Some(at + 1),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_cut_into_tokens_with_their_lines() {
        let tokens =
            Tokens::read("#define T 16 \\\n + 1\nfloat a = .5e-3f; // b\n/* c\n*/ x <<= 'y' >= 0..=n[\"s\\\"\"];");
        let words: Vec<&str> = (0..tokens.all.len()).map(|at| tokens.of(at)).collect();
        let expected = "# define T 16 + 1 float a = .5e-3f ; x <<= 'y' >= 0 ..= n [ \"s\\\"\" ] ;";
        assert_eq!(words.join(" "), expected);
        let directive: Vec<&str> =
            (0..tokens.all.len()).filter(|&at| tokens.all[at].directive).map(|at| tokens.of(at)).collect();
        assert_eq!(directive.join(" "), "# define T 16 + 1");
        let line = |text: &str| tokens.all[words.iter().position(|word| *word == text).unwrap()].line;
        assert_eq!([line("float"), line("x")], [3, 5]);
        assert_eq!(tokens.closing(words.iter().position(|word| *word == "[").unwrap()), words.len() - 2);
    }
}
