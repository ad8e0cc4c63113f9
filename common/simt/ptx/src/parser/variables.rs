//! Parses declarations of variables, with their types and initial values.

use super::cursor::{Cursor, unsupported};
use crate::Error;
use crate::ast::{Operand, Symbol, Type, Variable};
use crate::lexer::{Kind, Token};
use crate::place::Space;

/// The first words of declarations in a file.
pub(super) const DECLARATIONS: [&str; 10] =
    [".visible", ".extern", ".weak", ".common", ".entry", ".func", ".global", ".const", ".shared", ".local"];

/// Larger variables are refused, because no device has such memory and the host's memory must not run out.
const LARGEST_VARIABLE: u64 = 1 << 40;
/// Longer initialisers are refused.
const LARGEST_INITIALISER: u64 = 1 << 26;

impl Cursor<'_> {
    /// Parses `.space .align n .type name[dims] = init, ... ;`.
    pub(super) fn variables(&mut self, token: Token<'_>, external: bool) -> Result<Vec<Variable>, Error> {
        let Some(space) = token.text.strip_prefix('.').and_then(Space::named) else {
            return Err(Error::parse(token.line, format!("`{}` is not a memory space", token.text)));
        };
        let of = self.declared_type("variable")?;
        self.list(b';', |cursor| cursor.variable(space, external, of))
    }

    /// Parses `[.align n] [.v4] .type` of a variable or register. Returns the alignment (0 if not given), the type, and the number of
    /// elements.
    pub(super) fn declared_type(&mut self, of: &str) -> Result<(u32, Type, u32), Error> {
        let (mut align, mut lanes) = (0, 1);
        loop {
            let token = self.word("a type")?;
            match token.text {
                ".align" => {
                    align = self.small("an alignment")?;
                    if !align.is_power_of_two() || align > 1 << 16 {
                        return Err(Error::parse(token.line, format!("{align} is not an alignment")));
                    }
                }
                ".v2" => lanes = 2,
                ".v4" => lanes = 4,
                ".attribute" => {
                    self.expect(b'(')?;
                    self.skip_to(b')')?;
                }
                // Only unsupported instructions use these handles of textures.
                ".texref" | ".samplerref" | ".surfref" if of == "variable" => return Ok((align, Type::B64, lanes)),
                name => match name.strip_prefix('.').and_then(Type::named) {
                    Some(kind) if kind != Type::Pred || of == "register" => return Ok((align, kind, lanes)),
                    _ => return Err(Error::parse(token.line, format!("`{name}` is not the type of a {of}"))),
                },
            }
        }
    }

    /// Parses `.ptr ... name[dims] = init`, which follows the type.
    pub(super) fn variable(&mut self, space: Space, external: bool, of: (u32, Type, u32)) -> Result<Variable, Error> {
        let (align, kind, lanes) = of;
        // `.param .u64 .ptr .global .align 4 name`
        let mut token = self.word("a name")?;
        while token.text.starts_with('.') {
            if token.text == ".align" {
                self.unsigned("an alignment")?;
            }
            token = self.word("a name")?;
        }
        let element_bytes = kind.bytes() * lanes;
        let mut count = 1u64;
        let mut unsized_array = false;
        while self.eat(b'[') {
            if self.eat(b']') {
                unsized_array = true;
                continue;
            }
            count = count.saturating_mul(self.unsigned("the size of an array")?);
            self.expect(b']')?;
        }
        let mut bytes = count.saturating_mul(u64::from(element_bytes));
        let (mut init, mut init_symbols) = (vec![], vec![]);
        if self.eat(b'=') {
            (init, init_symbols) = self.initialiser(kind)?;
            if unsized_array {
                bytes = init.len() as u64;
                unsized_array = false;
            }
            if init.len() as u64 > bytes {
                return Err(Error::parse(token.line, format!("the initialiser of {} is too long", token.text)));
            }
        }
        if bytes > LARGEST_VARIABLE {
            return Err(Error::parse(token.line, format!("{} is too large: {bytes} bytes", token.text)));
        }
        if unsized_array {
            bytes = 0;
        }
        let align = if align == 0 { element_bytes.max(1) } else { align };
        // Compilers declare arrays of any type as bytes, but with the alignment of the real elements.
        let as_bytes = element_bytes == 1 && matches!(align, 2 | 4 | 8) && bytes.is_multiple_of(align.into());
        let element_bytes = if as_bytes { align } else { element_bytes };
        let (name, line) = (token.text.into(), token.line);
        Ok(Variable { name, space, align, kind, element_bytes, bytes, external, init, init_symbols, line })
    }

    /// Parses an initial value. Returns what [`Variable`] calls `init` and `init_symbols`.
    fn initialiser(&mut self, kind: Type) -> Result<(Vec<u8>, Vec<Symbol>), Error> {
        let (mut bytes, mut symbols) = (vec![], vec![]);
        let mut depth = 0u32;
        loop {
            let token = self.peek();
            let line = token.line;
            if self.eat(b'{') {
                depth += 1;
                continue;
            }
            if self.eat(b'}') {
                depth = depth.saturating_sub(1);
            } else {
                let size = kind.bytes() as usize;
                let mut mask = u64::MAX;
                let value = match self.constant()? {
                    // `0xFF00(name)` selects these bits of an address.
                    Operand::Integer(bits) if self.eat(b'(') => {
                        mask = bits as u64;
                        let name = self.constant()?;
                        self.expect(b')')?;
                        name
                    }
                    value => value,
                };
                match value {
                    Operand::Integer(_) if kind.is_float() || kind.is_half() => {
                        return Err(Error::parse(line, "an integer in a floating-point variable (one is written 1.0)"));
                    }
                    Operand::Float { .. } if kind.is_integer() => {
                        let message = "a floating-point number in an integer variable (one is written 1)";
                        return Err(Error::parse(line, message));
                    }
                    Operand::Integer(value) => bytes.extend(&value.to_le_bytes().repeat(2)[..size]),
                    Operand::Float { double, .. } if size == 8 => bytes.extend(double.to_le_bytes()),
                    Operand::Float { single, .. } if size == 4 => bytes.extend(single.to_le_bytes()),
                    Operand::Float { .. } if !kind.is_half() => {
                        let reason = "a floating-point number as the initial value of such a variable";
                        return Err(unsupported(token, reason));
                    }
                    Operand::Name { name, offset } if size == 8 || mask != u64::MAX => {
                        symbols.push((bytes.len(), name.to_string(), offset, mask));
                        bytes.resize(bytes.len() + size, 0);
                    }
                    _ => return Err(Error::parse(line, "this initial value does not fit the type")),
                }
                if bytes.len() as u64 > LARGEST_INITIALISER {
                    return Err(Error::parse(line, "the initialiser is too long"));
                }
            }
            if depth == 0 {
                return Ok((bytes, symbols));
            }
            if !self.eat(b',') && !self.is(b'}') {
                return Err(self.wrong("`,` or `}`"));
            }
        }
    }

    /// Parses a number, or the address of a variable.
    fn constant(&mut self) -> Result<Operand, Error> {
        let token = self.peek();
        if token.kind == Kind::Word && !token.text.starts_with('.') {
            self.next();
            let mut name = token.text;
            if name == "generic" && self.eat(b'(') {
                name = self.word("a variable")?.text;
                self.expect(b')')?;
            }
            let offset = self.displacement()?;
            return Ok(Operand::Name { name: name.into(), offset });
        }
        self.number()
    }
}
