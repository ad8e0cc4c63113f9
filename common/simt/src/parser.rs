//! Tokens to a program. Register and variable names are resolved here, because PTX scopes them by braces.

use crate::Error;
use crate::ast::{Function, Item, Operand, Position, Program, Register, Space, Statement, Type, Variable};
use crate::lexer::{Kind, Token, tokens};
use std::collections::HashMap;
use std::sync::Arc;

/// Declarations larger than this are refused: no device has such memory, and the host must not run out.
const LARGEST_VARIABLE: u64 = 1 << 40;
/// Initialisers larger than this are refused.
const LARGEST_INITIALISER: u64 = 1 << 26;

pub(crate) fn parse(source: &str) -> Result<Program, Error> {
    if u32::try_from(source.len()).is_err() {
        return Err(Error::parse(1, "the text is larger than 4 GiB"));
    }
    let tokens = tokens(source)?;
    let mut parser = Parser { tokens: &tokens, at: 0, program: Program::default(), location: (0, 0) };
    parser.file()?;
    Ok(parser.program)
}

struct Parser<'a> {
    tokens: &'a [Token<'a>],
    at: usize,
    program: Program,
    /// File and line of the latest `.loc`.
    location: (u32, u32),
}

/// Names known between two braces.
#[derive(Default)]
struct Scope {
    /// `%r<10>`: prefix to count and type.
    ranges: HashMap<String, (u64, Type)>,
    registers: HashMap<String, u32>,
    variables: HashMap<String, u32>,
}

struct Body {
    function: Function,
    scopes: Vec<Scope>,
}

impl Body {
    fn declare_variable(&mut self, variable: Variable) {
        let id = self.function.variables.len() as u32;
        if let Some(scope) = self.scopes.last_mut() {
            scope.variables.insert(variable.name.clone(), id);
        }
        self.function.variables.push(variable);
    }

    fn register(&mut self, name: &str) -> Option<u32> {
        for scope in self.scopes.iter_mut().rev() {
            if let Some(&id) = scope.registers.get(name) {
                return Some(id);
            }
            let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count();
            let (prefix, number) = name.split_at(name.len() - digits);
            if let (Some(&(count, kind)), Ok(number)) = (scope.ranges.get(prefix), number.parse::<u64>())
                && number < count
            {
                let id = self.function.registers.len() as u32;
                self.function.registers.push(Register { name: name.into(), kind });
                scope.registers.insert(name.into(), id);
                return Some(id);
            }
        }
        None
    }

    fn variable(&self, name: &str) -> Option<u32> {
        self.scopes.iter().rev().find_map(|scope| scope.variables.get(name).copied())
    }
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Token<'a> {
        self.tokens[self.at]
    }

    fn next(&mut self) -> Token<'a> {
        let token = self.tokens[self.at];
        // The last token is the end, which is never passed.
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    fn is(&self, mark: u8) -> bool {
        self.peek().kind == Kind::Mark(mark)
    }

    fn eat(&mut self, mark: u8) -> bool {
        let found = self.is(mark);
        if found {
            self.next();
        }
        found
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let token = self.peek();
        let found = token.kind == Kind::Word && token.text == word;
        if found {
            self.next();
        }
        found
    }

    fn expect(&mut self, mark: u8) -> Result<(), Error> {
        if self.eat(mark) { Ok(()) } else { Err(self.wrong(&format!("`{}`", char::from(mark)))) }
    }

    fn wrong(&self, expected: &str) -> Error {
        let token = self.peek();
        let found = match token.kind {
            Kind::End => "the end of the text".to_string(),
            _ => format!("`{}`", token.text),
        };
        Error::parse(token.line, format!("expected {expected}, found {found}"))
    }

    fn word(&mut self, expected: &str) -> Result<Token<'a>, Error> {
        if self.peek().kind == Kind::Word { Ok(self.next()) } else { Err(self.wrong(expected)) }
    }

    fn unsigned(&mut self, expected: &str) -> Result<u64, Error> {
        let token = self.peek();
        match integer(token.text) {
            Some(value) if token.kind == Kind::Number => {
                self.next();
                Ok(value)
            }
            _ => Err(self.wrong(expected)),
        }
    }

    fn small(&mut self, expected: &str) -> Result<u32, Error> {
        let line = self.peek().line;
        let value = self.unsigned(expected)?;
        u32::try_from(value).map_err(|_| Error::parse(line, format!("{value} is too large")))
    }

    fn unsupported(&self, token: Token<'_>, reason: &str) -> Error {
        let _ = self;
        Error::unsupported(token.line, token.text, reason)
    }

    // The file.

    fn file(&mut self) -> Result<(), Error> {
        let mut seen_version = false;
        loop {
            let token = self.next();
            match (token.kind, token.text) {
                (Kind::End, _) => break,
                (Kind::Word, ".version") => {
                    let number = self.next();
                    let mut parts = number.text.split('.').map(str::parse::<u32>);
                    match (parts.next(), parts.next()) {
                        (Some(Ok(_)), Some(Ok(_))) => {}
                        _ => return Err(Error::parse(number.line, "`.version` needs a number such as 8.1")),
                    }
                    seen_version = true;
                }
                (Kind::Word, ".target") => self.target()?,
                (Kind::Word, ".address_size") => {
                    if self.unsigned("32 or 64")? != 64 {
                        return Err(self.unsupported(token, "only 64-bit addresses"));
                    }
                }
                (Kind::Word, ".file") => self.source_file()?,
                (Kind::Word, ".section") => self.skip_section()?,
                (Kind::Word, ".loc") => self.loc()?,
                (Kind::Word, ".pragma") => while !self.eat(b';') && self.next().kind != Kind::End {},
                (
                    Kind::Word,
                    ".visible" | ".extern" | ".weak" | ".common" | ".entry" | ".func" | ".global" | ".const"
                    | ".shared" | ".local",
                ) => {
                    self.at -= 1;
                    self.declaration()?;
                }
                (Kind::Mark(b';'), _) => {}
                (Kind::Word, _) if token.text.starts_with('.') && seen_version => {
                    return Err(self.unsupported(token, "this directive is not known"));
                }
                _ => {
                    let found = token.text.chars().take(40).collect::<String>();
                    return Err(Error::parse(
                        token.line,
                        format!("expected a directive such as `.version`, found `{found}`"),
                    ));
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
            let token = self.word("a target such as sm_80")?;
            if let Some(rest) = token.text.strip_prefix("sm_") {
                let digits = rest.trim_end_matches(|c: char| c.is_ascii_alphabetic());
                self.program.target =
                    digits.parse().map_err(|_| Error::parse(token.line, format!("unknown target `{}`", token.text)))?;
                self.program.target_name = token.text.into();
            }
            if !self.eat(b',') {
                return Ok(());
            }
        }
    }

    fn source_file(&mut self) -> Result<(), Error> {
        let number = self.small("the number of a file")?;
        let name = self.next();
        if name.kind != Kind::Text {
            return Err(Error::parse(name.line, "`.file` needs a name in quotes"));
        }
        self.program.files.push((number, name.text.into()));
        while self.eat(b',') {
            self.unsigned("a number")?;
        }
        Ok(())
    }

    fn skip_section(&mut self) -> Result<(), Error> {
        while !self.is(b'{') {
            if self.next().kind == Kind::End {
                return Err(self.wrong("`{`"));
            }
        }
        let mut depth = 0u32;
        loop {
            let token = self.next();
            match token.kind {
                Kind::Mark(b'{') => depth += 1,
                Kind::Mark(b'}') => depth -= 1,
                Kind::End => return Err(self.wrong("`}`")),
                _ => {}
            }
            if depth == 0 {
                return Ok(());
            }
        }
    }

    /// `.loc file line column [, function_name label [+ n], inlined_at file line column]`
    fn loc(&mut self) -> Result<(), Error> {
        let file = self.small("the number of a file")?;
        let line = self.small("a line")?;
        self.small("a column")?;
        self.location = (file, line);
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

    /// A variable of the module, a kernel or a function.
    fn declaration(&mut self) -> Result<(), Error> {
        let mut external = false;
        loop {
            let token = self.peek();
            match token.text {
                ".visible" | ".weak" | ".common" => {
                    self.next();
                }
                ".extern" => {
                    self.next();
                    external = true;
                }
                ".entry" | ".func" => {
                    self.next();
                    return self.function(token.text == ".entry");
                }
                ".global" | ".const" | ".shared" | ".local" => {
                    let variables = self.variables(external)?;
                    self.program.variables.extend(variables);
                    return Ok(());
                }
                _ => return Err(self.wrong("`.entry`, `.func` or a variable")),
            }
        }
    }

    /// `.space .align n .type name[dims] = init, ... ;`
    fn variables(&mut self, external: bool) -> Result<Vec<Variable>, Error> {
        let token = self.next();
        let space = match token.text {
            ".global" => Space::Global,
            ".const" => Space::Const,
            ".shared" => Space::Shared,
            ".local" => Space::Local,
            ".param" => Space::Param,
            _ => return Err(Error::parse(token.line, format!("`{}` is not a memory space", token.text))),
        };
        let mut variables = vec![];
        let (align, kind, lanes) = self.variable_type()?;
        loop {
            variables.push(self.variable(space, external, align, kind, lanes)?);
            if self.eat(b';') {
                return Ok(variables);
            }
            self.expect(b',')?;
        }
    }

    /// `[.align n] [.v4] .type [.ptr ...]`: alignment (0 when not given), element type and elements in a vector.
    fn variable_type(&mut self) -> Result<(u32, Type, u32), Error> {
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
                ".attribute" => self.skip_parentheses()?,
                name => match name.strip_prefix('.').and_then(Type::named) {
                    Some(Type::Pred) | None => {
                        return Err(Error::parse(token.line, format!("`{name}` is not the type of a variable")));
                    }
                    Some(kind) => return Ok((align, kind, lanes)),
                },
            }
        }
    }

    fn skip_parentheses(&mut self) -> Result<(), Error> {
        self.expect(b'(')?;
        while !self.eat(b')') {
            if self.next().kind == Kind::End {
                return Err(self.wrong("`)`"));
            }
        }
        Ok(())
    }

    fn variable(
        &mut self,
        space: Space,
        external: bool,
        align: u32,
        kind: Type,
        lanes: u32,
    ) -> Result<Variable, Error> {
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
            self.initialiser(kind, &mut init, &mut init_symbols)?;
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
        Ok(Variable {
            name: token.text.into(),
            space,
            align,
            element_bytes,
            bytes,
            external,
            init,
            init_symbols,
            line: token.line,
        })
    }

    fn initialiser(
        &mut self,
        kind: Type,
        bytes: &mut Vec<u8>,
        symbols: &mut Vec<(usize, String, i64)>,
    ) -> Result<(), Error> {
        let mut depth = 0u32;
        loop {
            let line = self.peek().line;
            if self.eat(b'{') {
                depth += 1;
                continue;
            }
            if self.eat(b'}') {
                depth = depth.saturating_sub(1);
            } else {
                let size = kind.bytes() as usize;
                match self.constant()? {
                    Operand::Integer(value) => bytes.extend(&value.to_le_bytes().repeat(2)[..size]),
                    Operand::Float { double, .. } if kind == Type::F64 => bytes.extend(double.to_le_bytes()),
                    Operand::Float { single, .. } if size == 4 => bytes.extend(single.to_le_bytes()),
                    Operand::Name { name, offset } if size == 8 => {
                        symbols.push((bytes.len(), name.to_string(), offset));
                        bytes.extend([0; 8]);
                    }
                    _ => return Err(Error::parse(line, "this initial value does not fit the type")),
                }
                if bytes.len() as u64 > LARGEST_INITIALISER {
                    return Err(Error::parse(line, "the initialiser is too long"));
                }
            }
            if depth == 0 {
                return Ok(());
            }
            if !self.eat(b',') && !self.is(b'}') {
                return Err(self.wrong("`,` or `}`"));
            }
        }
    }

    /// A number, or the address of a variable.
    fn constant(&mut self) -> Result<Operand, Error> {
        let token = self.peek();
        if token.kind == Kind::Word && !token.text.starts_with('.') {
            self.next();
            if token.text == "generic" && self.eat(b'(') {
                let name = self.word("a variable")?;
                let offset = self.displacement()?;
                self.expect(b')')?;
                return Ok(Operand::Name { name: name.text.into(), offset });
            }
            let offset = self.displacement()?;
            return Ok(Operand::Name { name: token.text.into(), offset });
        }
        self.number()
    }

    /// A literal with its sign.
    fn number(&mut self) -> Result<Operand, Error> {
        if self.eat(b'-') {
            return Ok(match self.unsigned_number()? {
                Operand::Integer(value) => Operand::Integer(value.wrapping_neg()),
                Operand::Float { single, double } => {
                    Operand::Float { single: single ^ 1 << 31, double: double ^ 1 << 63 }
                }
                other => other,
            });
        }
        if self.eat(b'~') {
            return match self.unsigned_number()? {
                Operand::Integer(value) => Ok(Operand::Integer(!value)),
                _ => Err(self.wrong("an integer after `~`")),
            };
        }
        self.unsigned_number()
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
    fn displacement(&mut self) -> Result<i64, Error> {
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

    // Functions.

    fn function(&mut self, entry: bool) -> Result<(), Error> {
        let mut body = Body {
            function: Function {
                name: String::new(),
                entry,
                defined: false,
                line: self.peek().line,
                variables: vec![],
                returns: 0,
                params: 0,
                register_params: false,
                registers: vec![],
                body: vec![],
                max_threads: None,
                required_threads: None,
            },
            scopes: vec![Scope::default()],
        };
        if !entry && self.is(b'(') {
            body.function.returns = self.parameters(&mut body)?;
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
                (Kind::Mark(b'{'), _) => {
                    self.next();
                    body.function.defined = true;
                    self.location = (0, 0);
                    self.statements(&mut body)?;
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
                (Kind::Word, ".pragma") => while !self.eat(b';') && self.next().kind != Kind::End {},
                (Kind::Word, text) if text.starts_with('.') => {
                    return Err(self.unsupported(token, "this directive of a function is not known"));
                }
                _ => return Err(self.wrong("the function's body")),
            }
        }
        self.program.functions.push(body.function);
        Ok(())
    }

    fn parameters(&mut self, body: &mut Body) -> Result<usize, Error> {
        self.expect(b'(')?;
        let mut count = 0;
        if self.eat(b')') {
            return Ok(0);
        }
        loop {
            let token = self.next();
            match token.text {
                ".param" => {
                    let (align, kind, lanes) = self.variable_type()?;
                    let variable = self.variable(Space::Param, false, align, kind, lanes)?;
                    body.declare_variable(variable);
                    count += 1;
                }
                ".reg" => {
                    body.function.register_params = true;
                    self.word("a type")?;
                    self.word("a name")?;
                }
                _ => return Err(Error::parse(token.line, format!("expected `.param`, found `{}`", token.text))),
            }
            if self.eat(b')') {
                return Ok(count);
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
                Kind::Mark(b'{') => {
                    self.next();
                    body.scopes.push(Scope::default());
                }
                Kind::Mark(b'}') => {
                    self.next();
                    body.scopes.pop();
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
                    if self.tokens.get(self.at + 1).is_some_and(|next| next.kind == Kind::Mark(b':')) {
                        self.at += 2;
                        if self.eat_word(".branchtargets") {
                            let mut targets = vec![Arc::from(self.word("a label")?.text)];
                            while self.eat(b',') {
                                targets.push(Arc::from(self.word("a label")?.text));
                            }
                            self.expect(b';')?;
                            body.function.body.push(Item::Targets(token.text.into(), targets));
                            continue;
                        }
                        body.function.body.push(Item::Label(token.text.into(), token.line));
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
                while !self.eat(b';') && self.next().kind != Kind::End {}
                Ok(())
            }
            _ => Err(self.unsupported(token, "this directive is not known")),
        }
    }

    /// `.reg .f32 %f<10>, %a, %b;`
    fn registers(&mut self, body: &mut Body) -> Result<(), Error> {
        let mut token = self.word("a type")?;
        if matches!(token.text, ".v2" | ".v4") {
            return Err(self.unsupported(token, "vector registers"));
        }
        if token.text == ".align" {
            self.unsigned("an alignment")?;
            token = self.word("a type")?;
        }
        let Some(kind) = token.text.strip_prefix('.').and_then(Type::named) else {
            return Err(Error::parse(token.line, format!("`{}` is not the type of a register", token.text)));
        };
        loop {
            let name = self.word("a register's name")?;
            let Some(scope) = body.scopes.last_mut() else { return Err(self.wrong("a scope")) };
            if self.eat(b'<') {
                let count = self.unsigned("a number of registers")?;
                self.expect(b'>')?;
                scope.ranges.insert(name.text.into(), (count, kind));
            } else {
                let id = body.function.registers.len() as u32;
                body.function.registers.push(Register { name: name.text.into(), kind });
                scope.registers.insert(name.text.into(), id);
            }
            if self.eat(b';') {
                return Ok(());
            }
            self.expect(b',')?;
        }
    }

    fn instruction(&mut self, body: &mut Body, guard: Option<(u32, bool)>, start: usize) -> Result<(), Error> {
        let opcode = self.word("an instruction")?;
        let words: Vec<String> = opcode.text.split('.').map(Into::into).collect();
        let mut operands = vec![];
        if !self.is(b';') {
            loop {
                operands.push(self.operand(body)?);
                if !self.eat(b',') {
                    break;
                }
            }
        }
        let end = self.peek().start + 1;
        self.expect(b';')?;
        let (file, line) = self.location;
        let position = Position { ptx: opcode.line, file, line, text: (start as u32, end as u32) };
        body.function.body.push(Item::Statement(Statement { guard, words, operands, position }));
        Ok(())
    }

    fn operand(&mut self, body: &mut Body) -> Result<Operand, Error> {
        let first = self.single(body)?;
        if self.eat(b'|') {
            let second = self.single(body)?;
            return Ok(Operand::Pair(Box::new(first), Box::new(second)));
        }
        Ok(first)
    }

    fn list(&mut self, body: &mut Body, end: u8) -> Result<Vec<Operand>, Error> {
        let mut operands = vec![];
        if self.eat(end) {
            return Ok(operands);
        }
        loop {
            // No operand nests further, and unlimited nesting would overflow the stack.
            if matches!(self.peek().kind, Kind::Mark(b'{' | b'(' | b'[')) {
                return Err(self.wrong("an operand"));
            }
            operands.push(self.single(body)?);
            if self.eat(end) {
                return Ok(operands);
            }
            self.expect(b',')?;
        }
    }

    fn single(&mut self, body: &mut Body) -> Result<Operand, Error> {
        let token = self.peek();
        match token.kind {
            Kind::Mark(b'{') => {
                self.next();
                Ok(Operand::Vector(self.list(body, b'}')?))
            }
            Kind::Mark(b'(') => {
                self.next();
                let list = self.list(body, b')')?;
                Ok(Operand::List(list))
            }
            Kind::Mark(b'[') => {
                self.next();
                if !matches!(self.peek().kind, Kind::Word | Kind::Number) {
                    return Err(self.wrong("an address"));
                }
                let base = self.single(body)?;
                let offset = self.displacement()?;
                if self.is(b',') {
                    // Coordinates of a texture or a tensor.
                    while !self.is(b']') && !self.is(b';') && self.peek().kind != Kind::End {
                        self.next();
                    }
                    self.expect(b']')?;
                    return Ok(Operand::Opaque);
                }
                self.expect(b']')?;
                Ok(Operand::Address { base: Box::new(base), offset })
            }
            Kind::Mark(b'!') => {
                self.next();
                match self.word("a predicate").map(|name| body.register(name.text))? {
                    Some(id) => Ok(Operand::Register { id, negated: true }),
                    None => Err(self.wrong("a declared predicate before this")),
                }
            }
            Kind::Word => {
                self.next();
                if token.text == "_" {
                    return Ok(Operand::Sink);
                }
                if let Some(id) = body.register(token.text) {
                    return Ok(Operand::Register { id, negated: false });
                }
                if let Some(id) = body.variable(token.text) {
                    return Ok(Operand::Local { id, offset: self.displacement()? });
                }
                if token.text == "WARP_SZ" {
                    return Ok(Operand::Integer(32));
                }
                if let Some(name) = token.text.strip_prefix('%') {
                    return Ok(Operand::Special(name.into()));
                }
                Ok(Operand::Name { name: Arc::from(token.text), offset: self.displacement()? })
            }
            _ => self.number(),
        }
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
