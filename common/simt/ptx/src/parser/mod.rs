//! Parses tokens to a program. Names of registers and variables are resolved here, because braces are their scopes in PTX.

mod constants;
mod cursor;
mod functions;
mod operands;
mod scope;
mod variables;

use crate::Error;
use crate::ast::{Operand, Program};
use crate::lexer::{Kind, Token, tokens};
use cursor::{Cursor, unsupported, wrong};
use variables::DECLARATIONS;

pub fn parse(source: &str) -> Result<Program, Error> {
    if u32::try_from(source.len()).is_err() {
        return Err(Error::parse(1, "the text is larger than 4 GiB"));
    }
    let tokens = tokens(source)?;
    let mut parser = Parser { cursor: Cursor::new(&tokens), program: Program::default() };
    parser.file()?;
    Ok(Program { calls: parser.cursor.inlined, ..parser.program })
}

/// Returns the value of an integer expression, or `None` if the text is anything else.
pub fn constant(text: &str) -> Option<i64> {
    let tokens = tokens(text).ok()?;
    let mut cursor = Cursor::new(&tokens);
    match cursor.number().ok()? {
        Operand::Integer(value) if cursor.peek().kind == Kind::End => Some(value),
        _ => None,
    }
}

/// A parser, and the program as far as it has been read.
struct Parser<'a> {
    cursor: Cursor<'a>,
    program: Program,
}

impl<'a> Parser<'a> {
    fn file(&mut self) -> Result<(), Error> {
        let mut seen_version = false;
        loop {
            let token = self.cursor.next();
            match (token.kind, token.text) {
                (Kind::End, _) => break,
                (Kind::Word, ".version") => {
                    let number = self.cursor.next();
                    let mut parts = number.text.split('.').map(str::parse::<u32>);
                    match (parts.next(), parts.next()) {
                        (Some(Ok(_)), Some(Ok(_))) => {}
                        _ => return Err(Error::parse(number.line, "`.version` needs a number such as 8.1")),
                    }
                    if std::mem::replace(&mut seen_version, true) {
                        return Err(Error::parse(token.line, "a second `.version`: a file is one module"));
                    }
                }
                (Kind::Word, _) if DECLARATIONS.contains(&token.text) => self.declaration(token)?,
                (Kind::Word, ".target") => self.target()?,
                (Kind::Word, ".address_size") => {
                    if self.cursor.unsigned("32 or 64")? != 64 {
                        return Err(unsupported(token, "only 64-bit addresses"));
                    }
                }
                (Kind::Word, ".file") => self.source_file()?,
                (Kind::Word, ".section") => {
                    self.cursor.skip_to(b'{')?;
                    self.cursor.skip_braces()?;
                }
                (Kind::Word, ".loc") => self.cursor.loc()?,
                // `.alias` gives a function another name, which may never be used.
                (Kind::Word, ".pragma" | ".alias") => self.cursor.skip_statement(),
                (Kind::Mark(b';'), _) => {}
                (Kind::Word, _) if token.text.starts_with('.') && seen_version => {
                    return Err(unsupported(token, "this directive is not known"));
                }
                _ => {
                    let found = token.text.chars().take(40).collect::<String>();
                    let message = format!("expected a directive such as `.version`, found `{found}`");
                    return Err(Error::parse(token.line, message));
                }
            }
        }
        if !seen_version {
            return Err(Error::parse(1, "no `.version` directive: is this PTX?"));
        }
        Ok(())
    }

    fn target(&mut self) -> Result<(), Error> {
        loop {
            let token = self.cursor.word("a target such as sm_80")?;
            if let Some(rest) = token.text.strip_prefix("sm_") {
                let digits = rest.trim_end_matches(|c: char| c.is_ascii_alphabetic());
                self.program.target =
                    digits.parse().map_err(|_| Error::parse(token.line, format!("unknown target `{}`", token.text)))?;
                self.program.target_name = token.text.into();
            }
            if !self.cursor.eat(b',') {
                return Ok(());
            }
        }
    }

    fn source_file(&mut self) -> Result<(), Error> {
        let number = self.cursor.small("the number of a file")?;
        let name = self.cursor.next();
        if name.kind != Kind::Text {
            return Err(Error::parse(name.line, "`.file` needs a name in quotes"));
        }
        self.program.files.push((number, name.text.into()));
        while self.cursor.eat(b',') {
            self.cursor.unsigned("a number")?;
        }
        Ok(())
    }

    /// Parses a variable of the module, a kernel or a function. `token` is its first word.
    fn declaration(&mut self, mut token: Token<'a>) -> Result<(), Error> {
        let mut external = false;
        loop {
            match token.text {
                ".visible" | ".weak" | ".common" => {}
                ".extern" => external = true,
                ".entry" | ".func" => {
                    let function = self.cursor.function(token.text == ".entry")?;
                    self.program.functions.push(function);
                    return Ok(());
                }
                ".global" | ".const" | ".shared" | ".local" => {
                    let variables = self.cursor.variables(token, external)?;
                    self.program.variables.extend(variables);
                    return Ok(());
                }
                _ => return Err(wrong(token, "`.entry`, `.func` or a variable")),
            }
            token = self.cursor.next();
        }
    }
}
