//! Splits text into tokens. A token is a slice of the text, with its line; nothing is copied.

use crate::Error;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A name, an opcode with its modifiers, a directive, a register: `ld.global.f32`, `.reg`, `%r1`, `$L__BB0_2`.
    Word,
    /// A number as written: `12`, `0x1F`, `0f3F800000`, `8.1`, `.5e-3`.
    Number,
    /// A string without its quotes.
    Text,
    /// Anything else, one character.
    Mark(u8),
    /// The end of the text.
    End,
}

#[derive(Debug, Clone, Copy)]
pub struct Token<'a> {
    pub kind: Kind,
    pub text: &'a str,
    pub line: u32,
    /// Where it starts in the text, in bytes.
    pub start: usize,
}

pub fn tokens(source: &str) -> Result<Vec<Token<'_>>, Error> {
    let bytes = source.as_bytes();
    let mut tokens = Vec::with_capacity(bytes.len() / 4);
    let (mut at, mut line) = (0, 1u32);
    while at < bytes.len() {
        let start = at;
        let kind = match bytes[at] {
            // NVRTC ends its text with a zero byte, and callers may pass it on.
            byte @ (b'\n' | b' ' | b'\t' | b'\r' | 0) => {
                line += u32::from(byte == b'\n');
                at += 1;
                continue;
            }
            b'/' if bytes.get(at + 1) == Some(&b'/') => {
                at += bytes[at..].iter().position(|&byte| byte == b'\n').unwrap_or(bytes.len() - at);
                continue;
            }
            b'/' if bytes.get(at + 1) == Some(&b'*') => {
                let end = source.get(at + 2..).and_then(|rest| rest.find("*/"));
                let Some(length) = end else { return Err(Error::parse(line, "comment never ends")) };
                line += source[at..at + 2 + length].matches('\n').count() as u32;
                at += length + 4;
                continue;
            }
            b'"' => {
                let length = bytes[at + 1..].iter().position(|&byte| byte == b'"' || byte == b'\n');
                let Some(length) = length.filter(|length| bytes[at + 1 + length] == b'"') else {
                    return Err(Error::parse(line, "string never ends"));
                };
                tokens.push(Token { kind: Kind::Text, text: &source[at + 1..at + 1 + length], line, start });
                at += length + 2;
                continue;
            }
            first if first.is_ascii_digit() || fraction(bytes, at) => {
                while at < bytes.len()
                    && (bytes[at].is_ascii_alphanumeric() || bytes[at] == b'.' || exponent_sign(bytes, start, at))
                {
                    at += 1;
                }
                Kind::Number
            }
            first if word_start(first) => {
                at += 1;
                // `.reg.b16` is two directives, `add.u16` one opcode.
                while at < bytes.len()
                    && !(first == b'.' && bytes[at] == b'.')
                    && (word_start(bytes[at]) || bytes[at].is_ascii_digit() || double_colon(bytes, at))
                {
                    at += if bytes[at] == b':' { 2 } else { 1 };
                }
                Kind::Word
            }
            mark if mark.is_ascii() && !mark.is_ascii_control() => {
                at += 1;
                Kind::Mark(mark)
            }
            _ => return Err(Error::parse(line, "a character that PTX does not use")),
        };
        tokens.push(Token { kind, text: &source[start..at], line, start });
    }
    tokens.push(Token { kind: Kind::End, text: "", line, start: bytes.len() });
    Ok(tokens)
}

const fn word_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'$' | b'%' | b'.')
}

/// Whether there are two colons, which join words as in `L1::no_allocate`; a single colon ends a label.
fn double_colon(bytes: &[u8], at: usize) -> bool {
    bytes[at] == b':' && bytes.get(at + 1) == Some(&b':') && bytes.get(at + 2).is_some_and(u8::is_ascii_alphanumeric)
}

/// Whether a number starts with its point, as in `.5`; such a word is not a directive.
fn fraction(bytes: &[u8], at: usize) -> bool {
    bytes[at] == b'.' && bytes.get(at + 1).is_some_and(u8::is_ascii_digit)
}

/// Whether this is the sign of an exponent, as in `1.5e-3` and `1e-3`. In `0x1e-3` the sign is an operator.
fn exponent_sign(bytes: &[u8], start: usize, at: usize) -> bool {
    matches!(bytes[at], b'+' | b'-')
        && matches!(bytes[at - 1], b'e' | b'E')
        && bytes[start..at - 1].iter().all(|&byte| byte.is_ascii_digit() || byte == b'.')
        && bytes.get(at + 1).is_some_and(u8::is_ascii_digit)
}
