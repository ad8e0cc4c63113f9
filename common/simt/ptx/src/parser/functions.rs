//! Parses kernels and functions: parameters, directives, labels, instructions.

use super::cursor::{Cursor, unsupported, wrong};
use super::scope::{Body, Scope};
use super::variables::DECLARATIONS;
use crate::Error;
use crate::ast::{Function, Guard, Item, Operand, Position, Statement};
use crate::lexer::{Kind, Token};
use crate::place::Space;
use std::sync::Arc;

/// The deepest nesting of braces.
const DEEPEST: usize = 256;

impl Cursor<'_> {
    /// Parses a kernel or function after `.entry` or `.func`.
    pub(super) fn function(&mut self, entry: bool) -> Result<Function, Error> {
        let mut body = Body {
            function: Function { entry, line: self.peek().line, ..Function::default() },
            scopes: vec![Scope::default()],
        };
        if !entry && self.is(b'(') {
            body.function.results = self.parameters(&mut body)?;
        }
        body.function.name = self.word("a function's name")?.text.into();
        if self.is(b'(') {
            body.function.params = self.parameters(&mut body)?;
        }
        // A prototype does not need a semicolon.
        let begins = |token: Token<'_>| DECLARATIONS.contains(&token.text) || token.text == ".version";
        while self.peek().kind != Kind::End && !begins(self.peek()) {
            let token = self.next();
            match (token.kind, token.text) {
                (Kind::Mark(b';'), _) => break,
                (Kind::Mark(b'{'), _) => {
                    body.function.defined = true;
                    self.location = (0, 0, 0);
                    self.inlined.push(Box::default());
                    let start = self.at;
                    match self.statements(&mut body) {
                        // This affects only this function. The others of the file can still run.
                        Err(refused @ Error::Unsupported { .. }) => {
                            body.function.refused.get_or_insert(refused);
                            self.at = start;
                            self.skip_braces()?;
                        }
                        other => other?,
                    }
                    break;
                }
                (Kind::Word, ".maxntid" | ".reqntid") => {
                    let mut sizes = [self.small("a number of threads")?, 1, 1];
                    for size in &mut sizes[1..] {
                        if self.eat(b',') {
                            *size = self.small("a number of threads")?;
                        }
                    }
                    if sizes.contains(&0) {
                        let message = format!("{} {sizes:?} is a block without threads", token.text);
                        return Err(Error::parse(token.line, message));
                    }
                    let Function { max_threads, required_threads, .. } = &mut body.function;
                    *if token.text == ".maxntid" { max_threads } else { required_threads } = Some(sizes);
                }
                (Kind::Word, ".minnctapersm" | ".maxnctapersm" | ".maxnreg") => _ = self.unsigned("a number")?,
                (Kind::Word, ".noreturn") => {}
                (Kind::Word, ".pragma") => self.skip_statement(),
                (Kind::Word, text) if text.starts_with('.') => {
                    let refused = unsupported(token, "this directive of a function is not known");
                    body.function.refused.get_or_insert(refused);
                    while !matches!(self.peek().kind, Kind::Mark(b'{' | b';') | Kind::End) {
                        self.next();
                    }
                }
                _ => return Err(wrong(token, "the function's body")),
            }
        }
        Ok(body.function)
    }

    fn parameters(&mut self, body: &mut Body) -> Result<Vec<Operand>, Error> {
        self.expect(b'(')?;
        if self.eat(b')') {
            return Ok(vec![]);
        }
        self.list(b')', |cursor| {
            let token = cursor.next();
            match token.text {
                ".param" => {
                    let of = cursor.declared_type("variable")?;
                    let variable = cursor.variable(Space::Parameter, false, of)?;
                    Ok(Operand::Local { id: body.declare_variable(variable)?, offset: 0 })
                }
                ".reg" if !body.function.entry => {
                    let (_, kind, elements) = cursor.declared_type("register")?;
                    let name = cursor.word("a register's name")?;
                    body.take(name.text, name.line)?;
                    Ok(body.declare_register(name.text, kind, elements))
                }
                _ => Err(wrong(token, "`.param`")),
            }
        })
    }

    fn statements(&mut self, body: &mut Body) -> Result<(), Error> {
        // The names of the parameters are also taken inside the outermost braces.
        let outer = body.scopes.len();
        while body.scopes.len() >= outer {
            let token = self.next();
            match token.kind {
                Kind::End => return Err(wrong(token, "`}`")),
                Kind::Mark(b'{') if body.scopes.len() > DEEPEST => {
                    return Err(unsupported(token, "braces nested this deep"));
                }
                Kind::Mark(b'{') => body.scopes.push(Scope::default()),
                Kind::Mark(b'}') => body.end_scope(),
                Kind::Mark(b';') => {}
                Kind::Mark(b'@') => {
                    let negated = self.eat(b'!');
                    let name = self.word("a predicate")?;
                    let id = body
                        .register(name.text)
                        .ok_or_else(|| Error::parse(name.line, format!("`{}` is not declared", name.text)))?;
                    let opcode = self.word("an instruction")?;
                    self.instruction(body, Some((id, negated)), opcode, token.start)?;
                }
                Kind::Word if token.text.starts_with('.') => self.directive(body, token)?,
                Kind::Word if self.eat(b':') => self.label(body, token)?,
                Kind::Word => self.instruction(body, None, token, token.start)?,
                _ => return Err(wrong(token, "an instruction")),
            }
        }
        Ok(())
    }

    /// Parses what follows `name:`, which is a table of branch targets or an instruction.
    fn label(&mut self, body: &mut Body, name: Token<'_>) -> Result<(), Error> {
        if self.eat_word(".branchtargets") {
            let targets = self.list(b';', |cursor| Ok(Arc::from(cursor.word("a label")?.text)))?;
            let table = body.declare_label(name.text, name.line)?;
            body.push_branch(Item::Targets(table, targets));
        } else if matches!(self.peek().text, ".callprototype" | ".calltargets") {
            // Only indirect calls need this.
            self.skip_statement();
        } else {
            let label = body.declare_label(name.text, name.line)?;
            body.function.body.push(Item::Label(label));
        }
        Ok(())
    }

    fn directive(&mut self, body: &mut Body, token: Token<'_>) -> Result<(), Error> {
        match token.text {
            ".reg" => self.registers(body),
            ".shared" | ".local" | ".param" | ".const" | ".global" => {
                for variable in self.variables(token, false)? {
                    body.declare_variable(variable)?;
                }
                Ok(())
            }
            ".loc" => self.loc(),
            ".pragma" => {
                self.skip_statement();
                Ok(())
            }
            _ => Err(unsupported(token, "this directive is not known")),
        }
    }

    /// Parses `.reg .f32 %f<10>, %a, %b;`.
    fn registers(&mut self, body: &mut Body) -> Result<(), Error> {
        let (_, kind, elements) = self.declared_type("register")?;
        self.list(b';', |cursor| {
            let name = cursor.word("a register's name")?;
            if !cursor.eat(b'<') {
                body.take(name.text, name.line)?;
                body.declare_register(name.text, kind, elements);
                return Ok(());
            }
            body.take(&format!("{}<", name.text), name.line)?;
            let count = cursor.unsigned("a number of registers")?;
            let Some(scope) = body.scopes.last_mut() else { return Err(cursor.wrong("a scope")) };
            scope.ranges.insert(name.text.into(), (count, kind, elements));
            cursor.expect(b'>')
        })?;
        Ok(())
    }

    /// Parses an instruction, whose text begins at `start`.
    fn instruction(&mut self, body: &mut Body, guard: Guard, opcode: Token<'_>, start: usize) -> Result<(), Error> {
        let mut words: Vec<String> = opcode.text.split('.').map(Into::into).collect();
        // There may be spaces between modifiers: `add .s32`.
        while self.peek().kind == Kind::Word
            && let Some(word) = self.peek().text.strip_prefix('.')
        {
            words.push(word.into());
            self.next();
        }
        let calls = words[0] == "call";
        let mut operands = vec![];
        while if operands.is_empty() { !self.is(b';') } else { self.eat(b',') } {
            operands.push(if calls { self.call_operand(body)? } else { self.operand(body)? });
        }
        let end = self.peek().start + 1;
        self.expect(b';')?;
        let (file, line, column) = self.location;
        let calls = self.inlined.len() as u32 - 1;
        let position = Position { ptx: opcode.line, file, line, column, calls, text: (start as u32, end as u32) };
        let branches = matches!(words[0].as_str(), "bra" | "brx");
        let item = Item::Statement(Statement { guard, words, operands, position });
        if branches {
            body.push_branch(item);
        } else {
            body.function.body.push(item);
        }
        Ok(())
    }
}
