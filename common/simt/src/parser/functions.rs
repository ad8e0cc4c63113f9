//! Kernels and functions: parameters, directives, labels, instructions.

use super::cursor::{Cursor, unsupported};
use super::scope::{Body, Scope};
use super::variables::DECLARATIONS;
use crate::Error;
use crate::ast::{Function, Item, Operand, Position, Refusal, Space, Statement, Type};
use crate::lexer::Kind;
use std::sync::Arc;

/// Deepest nesting of braces.
const DEEPEST: usize = 256;

impl Cursor<'_> {
    /// A kernel or function after `.entry` or `.func`.
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
        loop {
            let token = self.peek();
            match (token.kind, token.text) {
                (Kind::Mark(b';'), _) => {
                    self.next();
                    break;
                }
                // A prototype may do without.
                (Kind::End, _) => break,
                (Kind::Word, text) if DECLARATIONS.contains(&text) || text == ".version" => break,
                (Kind::Mark(b'{'), _) => {
                    self.next();
                    body.function.defined = true;
                    self.location = (0, 0, 0);
                    self.inlined.push(Box::default());
                    let start = self.place();
                    match self.statements(&mut body) {
                        // Other functions of the file are none the worse for it.
                        Err(Error::Unsupported { reason, location }) => {
                            let (line, text) = (location.ptx_line, location.instruction);
                            body.function.refused.get_or_insert(Refusal { line, text, reason });
                            self.skip_braces(start)?;
                        }
                        other => other?,
                    }
                    break;
                }
                (Kind::Word, ".maxntid" | ".reqntid") => {
                    self.next();
                    let mut sizes = [1; 3];
                    sizes[0] = self.small("a number of threads")?;
                    for size in &mut sizes[1..] {
                        if self.eat(b',') {
                            *size = self.small("a number of threads")?;
                        }
                    }
                    if sizes.contains(&0) {
                        let message = format!("{} {sizes:?} is a block without threads", token.text);
                        return Err(Error::parse(token.line, message));
                    }
                    if token.text == ".maxntid" {
                        body.function.max_threads = Some(sizes);
                    } else {
                        body.function.required_threads = Some(sizes);
                    }
                }
                (Kind::Word, ".minnctapersm" | ".maxnctapersm" | ".maxnreg") => {
                    self.next();
                    self.unsigned("a number")?;
                }
                (Kind::Word, ".noreturn") => {
                    self.next();
                }
                (Kind::Word, ".pragma") => self.skip_statement(),
                (Kind::Word, text) if text.starts_with('.') => {
                    let reason = "this directive of a function is not known".into();
                    body.function.refused.get_or_insert(Refusal { line: token.line, text: text.into(), reason });
                    while !matches!(self.peek().kind, Kind::Mark(b'{' | b';') | Kind::End) {
                        self.next();
                    }
                }
                _ => return Err(self.wrong("the function's body")),
            }
        }
        Ok(body.function)
    }

    fn parameters(&mut self, body: &mut Body) -> Result<Vec<Operand>, Error> {
        self.expect(b'(')?;
        let mut parameters = vec![];
        if self.eat(b')') {
            return Ok(parameters);
        }
        loop {
            let token = self.next();
            match token.text {
                ".param" => {
                    let (align, kind, lanes) = self.variable_type()?;
                    let variable = self.variable(Space::Param, false, align, kind, lanes)?;
                    parameters.push(Operand::Local { id: body.declare_variable(variable), offset: 0 });
                }
                ".reg" if !body.function.entry => {
                    let (kind, elements) = self.register_type()?;
                    let name = self.word("a register's name")?;
                    parameters.push(body.declare_register(name.text, kind, elements));
                }
                _ => return Err(Error::parse(token.line, format!("expected `.param`, found `{}`", token.text))),
            }
            if self.eat(b')') {
                return Ok(parameters);
            }
            self.expect(b',')?;
        }
    }

    fn statements(&mut self, body: &mut Body) -> Result<(), Error> {
        body.scopes.push(Scope::default());
        let outer = body.scopes.len();
        loop {
            let token = self.peek();
            match token.kind {
                Kind::End => return Err(self.wrong("`}`")),
                Kind::Mark(b'{') if body.scopes.len() > DEEPEST => {
                    return Err(unsupported(token, "braces nested this deep"));
                }
                Kind::Mark(b'{') => {
                    self.next();
                    body.scopes.push(Scope::default());
                }
                Kind::Mark(b'}') => {
                    self.next();
                    body.end_scope();
                    if body.scopes.len() < outer {
                        return Ok(());
                    }
                }
                Kind::Mark(b';') => {
                    self.next();
                }
                Kind::Mark(b'@') => {
                    self.next();
                    let negated = self.eat(b'!');
                    let name = self.word("a predicate")?;
                    let id = body
                        .register(name.text)
                        .ok_or_else(|| Error::parse(name.line, format!("`{}` is not declared", name.text)))?;
                    self.instruction(body, Some((id, negated)), token.start)?;
                }
                Kind::Word if token.text.starts_with('.') => self.directive(body)?,
                Kind::Word => {
                    if self.second_is(b':') {
                        self.next();
                        self.next();
                        if self.eat_word(".branchtargets") {
                            let mut targets = vec![Arc::from(self.word("a label")?.text)];
                            while self.eat(b',') {
                                targets.push(Arc::from(self.word("a label")?.text));
                            }
                            self.expect(b';')?;
                            let table = body.declare_label(token.text, token.line)?;
                            body.push_branch(Item::Targets(table, targets));
                            continue;
                        }
                        if matches!(self.peek().text, ".callprototype" | ".calltargets") {
                            // Only indirect calls need it.
                            self.skip_statement();
                            continue;
                        }
                        let label = body.declare_label(token.text, token.line)?;
                        body.function.body.push(Item::Label(label));
                    } else {
                        self.instruction(body, None, token.start)?;
                    }
                }
                _ => return Err(self.wrong("an instruction")),
            }
        }
    }

    fn directive(&mut self, body: &mut Body) -> Result<(), Error> {
        let token = self.peek();
        match token.text {
            ".reg" => {
                self.next();
                self.registers(body)
            }
            ".shared" | ".local" | ".param" | ".const" | ".global" => {
                for variable in self.variables(false)? {
                    body.declare_variable(variable);
                }
                Ok(())
            }
            ".loc" => {
                self.next();
                self.loc()
            }
            ".pragma" => {
                self.skip_statement();
                Ok(())
            }
            _ => Err(unsupported(token, "this directive is not known")),
        }
    }

    /// The type of registers, and the elements of a vector.
    fn register_type(&mut self) -> Result<(Type, u8), Error> {
        let mut elements = 1;
        loop {
            let token = self.word("a type")?;
            match token.text {
                ".v2" => elements = 2,
                ".v4" => elements = 4,
                ".align" => {
                    self.unsigned("an alignment")?;
                }
                text => match text.strip_prefix('.').and_then(Type::named) {
                    Some(kind) => return Ok((kind, elements)),
                    None => return Err(Error::parse(token.line, format!("`{text}` is not the type of a register"))),
                },
            }
        }
    }

    /// `.reg .f32 %f<10>, %a, %b;`
    fn registers(&mut self, body: &mut Body) -> Result<(), Error> {
        let (kind, elements) = self.register_type()?;
        loop {
            let name = self.word("a register's name")?;
            if self.eat(b'<') {
                let count = self.unsigned("a number of registers")?;
                self.expect(b'>')?;
                let Some(scope) = body.scopes.last_mut() else { return Err(self.wrong("a scope")) };
                scope.ranges.insert(name.text.into(), (count, kind, elements));
            } else {
                body.declare_register(name.text, kind, elements);
            }
            if self.eat(b';') {
                return Ok(());
            }
            self.expect(b',')?;
        }
    }

    fn instruction(&mut self, body: &mut Body, guard: Option<(u32, bool)>, start: usize) -> Result<(), Error> {
        let opcode = self.word("an instruction")?;
        let mut words: Vec<String> = opcode.text.split('.').map(Into::into).collect();
        // `add .s32`: modifiers may stand apart.
        while self.peek().kind == Kind::Word
            && let Some(word) = self.peek().text.strip_prefix('.')
        {
            words.push(word.into());
            self.next();
        }
        let calls = words[0] == "call";
        let mut operands = vec![];
        if !self.is(b';') {
            loop {
                operands.push(if calls { self.call_operand(body)? } else { self.operand(body)? });
                if !self.eat(b',') {
                    break;
                }
            }
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
