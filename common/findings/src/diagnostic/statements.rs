//! Takes the text of a kernel's file apart: into words and operators, and those into statements. Nothing is refused: a statement
//! that is not known here is simply one without a keyword.

use std::ops::Range;

/// A word, a number or an operator.
#[derive(Debug, PartialEq, Eq)]
pub struct Token {
    pub text: String,
    pub line: u32,
    pub column: u32,
}

/// A statement that ends in itself, or the head of a loop or of a condition.
#[derive(Debug, PartialEq, Eq)]
pub struct Statement {
    /// `if`, `for`, `while`, `return`, `break`, `continue`, `fn` of the head of a function, or nothing.
    pub keyword: &'static str,
    pub tokens: Range<usize>,
    /// The loop or the condition that it stands in.
    pub parent: Option<usize>,
    /// The number of its function; 0 outside of all.
    pub function: usize,
    /// The number of the body it is in: of a function, or of one without a name in it.
    pub body: usize,
}

/// Whether a character can be part of a name.
pub fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

pub fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| is_name(c) && !c.is_ascii_digit())
}

/// Where the bracket that is open at a place is closed, or the last place.
pub fn closing(tokens: &[Token], open: usize) -> usize {
    let mut depth = 0;
    let closes = |(at, token): (usize, &Token)| {
        depth += i32::from("([{".contains(&token.text)) - i32::from(")]}".contains(&token.text));
        (depth == 0).then_some(at)
    };
    tokens.iter().enumerate().skip(open).find_map(closes).unwrap_or(tokens.len().saturating_sub(1))
}

/// The tokens of lines, without comments and without what is for the preprocessor.
pub fn tokens(lines: &[String]) -> Vec<Token> {
    const OPERATORS: [&str; 23] = [
        "<<=", ">>=", "..=", "::", "->", "++", "--", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "==", "!=", "<=",
        ">=", "&&", "||", "<<", "..",
    ];
    let mut tokens = vec![];
    let (mut comment, mut continued) = (false, false);
    for (number, text) in (1..).zip(lines) {
        let skipped = continued || text.trim_start().starts_with('#');
        continued = skipped && text.ends_with('\\');
        let mut at = 0;
        while let Some(first) = text[at..].chars().next().filter(|_| !skipped) {
            let rest = &text[at..];
            let length = match first {
                _ if comment || rest.starts_with("/*") => {
                    let end = rest.find("*/").map(|end| end + 2);
                    comment = end.is_none();
                    at += end.unwrap_or(rest.len());
                    continue;
                }
                _ if rest.starts_with("//") => break,
                '"' => rest[1..].find('"').map_or(rest.len(), |end| end + 2),
                _ if is_name(first) => rest.find(|c| !is_name(c)).unwrap_or(rest.len()),
                _ => OPERATORS.iter().find(|it| rest.starts_with(**it)).map_or(first.len_utf8(), |it| it.len()),
            };
            if !first.is_whitespace() {
                tokens.push(Token { text: rest[..length].to_owned(), line: number, column: at as u32 + 1 });
            }
            at += length;
        }
    }
    tokens
}

/// The statements of a file, and the names of its functions.
pub fn statements(tokens: &[Token]) -> (Vec<Statement>, Vec<String>) {
    let rust = tokens.iter().any(|token| token.text == "fn");
    let mut parser = Parser { tokens, at: 0, rust, statements: vec![], functions: vec![], body: 0, depth: 0 };
    while parser.at < tokens.len() {
        parser.statement(None, 0);
        // There is a brace too many.
        parser.take("}");
    }
    (parser.statements, parser.functions)
}

struct Parser<'a> {
    tokens: &'a [Token],
    at: usize,
    rust: bool,
    statements: Vec<Statement>,
    functions: Vec<String>,
    /// The body of which the statements are read.
    body: usize,
    /// Statements around the one that is read.
    depth: usize,
}

/// How deep statements may be nested. Nobody writes a kernel that is deeper.
const DEEPEST: usize = 100;

impl Parser<'_> {
    fn text(&self, at: usize) -> &str {
        self.tokens.get(at).map_or("", |token| &token.text)
    }

    /// Goes on if this comes next.
    fn take(&mut self, text: &str) -> bool {
        let is_next = self.text(self.at) == text;
        self.at += usize::from(is_next);
        is_next
    }

    fn push(&mut self, keyword: &'static str, start: usize, parent: Option<usize>, function: usize) -> usize {
        self.statements.push(Statement { keyword, tokens: start..self.at, parent, function, body: self.body });
        self.statements.len() - 1
    }

    /// Goes on to where this comes next, or to the end.
    fn skip_to(&mut self, text: &str) {
        while self.at < self.tokens.len() && self.text(self.at) != text {
            self.at += 1;
        }
    }

    fn skip_brackets(&mut self) {
        self.at = closing(self.tokens, self.at) + 1;
    }

    /// The statements in braces; the opening brace comes next.
    fn block(&mut self, parent: Option<usize>, function: usize) {
        self.at += 1;
        while self.at < self.tokens.len() && !self.take("}") {
            self.statement(parent, function);
        }
    }

    fn statement(&mut self, parent: Option<usize>, function: usize) {
        self.depth += 1;
        match self.depth {
            ..=DEEPEST => self.one(parent, function),
            _ => self.at = self.tokens.len(),
        }
        self.depth -= 1;
    }

    fn one(&mut self, parent: Option<usize>, function: usize) {
        let start = self.at;
        let keyword = match self.text(start) {
            "{" => return self.block(parent, function),
            "if" => "if",
            "while" | "loop" | "switch" | "match" => "while",
            "for" => "for",
            "do" => {
                let own = self.push("while", start, parent, function);
                self.at += 1;
                self.statement(Some(own), function);
                let end = self.at;
                self.at += 1;
                self.skip_brackets();
                self.statements[own].tokens = end.min(self.tokens.len() - 1)..self.at.min(self.tokens.len());
                self.take(";");
                return;
            }
            "case" | "default" => {
                self.skip_to(":");
                self.take(":");
                return;
            }
            // What is left of a call behind a function without a name, or of one word.
            "else" | "unsafe" | ")" | "," => {
                self.at += 1;
                return;
            }
            _ => return self.simple(parent, function),
        };
        self.at += 1;
        if self.rust {
            self.skip_to("{");
        } else {
            self.take("constexpr");
            self.skip_brackets();
        }
        self.at = self.at.min(self.tokens.len());
        let own = self.push(keyword, start, parent, function);
        self.statement(Some(own), function);
        if keyword == "if" && self.take("else") {
            self.statement(Some(own), function);
        }
    }

    /// Up to a semicolon, or through the body of a function.
    fn simple(&mut self, parent: Option<usize>, function: usize) {
        let start = self.at;
        let leaves = ["return", "break", "continue"].into_iter().find(|word| *word == self.text(start));
        let keyword = leaves.unwrap_or_default();
        let (mut is_set, mut depth) = (false, 0);
        while self.at < self.tokens.len() {
            let before = if self.at > start { self.text(self.at - 1).to_owned() } else { String::new() };
            match self.text(self.at) {
                ";" if depth <= 0 => break,
                "}" => break,
                // A macro stands before it, without a semicolon.
                "for" | "if" | "while" if before == ")" && depth == 0 && !self.rust => break,
                "{" if before.starts_with('"') || before != ")" && !is_set && self.is_type(start) => {
                    let of_c = before.starts_with('"');
                    self.block(None, function);
                    if !of_c {
                        self.skip_to(";");
                        self.take(";");
                    }
                    return;
                }
                "{" if self.has_body(start, &before, is_set) => {
                    let head = self.at;
                    let of_function = function == 0 && !is_set;
                    let head_of = if of_function { "fn" } else { "for" };
                    let keyword = if is_set { "" } else { head_of };
                    let own = self.push(keyword, start, parent, function);
                    if of_function {
                        let is_it = |at: &usize| self.text(at + 1) == "(" && !self.text(*at).starts_with("__l");
                        let name = (start..head).find(is_it).map_or("", |at| self.text(at)).to_owned();
                        self.functions.push(name);
                    }
                    let inner = if of_function { self.functions.len() } else { function };
                    let (outer, is_loop) = (self.body, keyword == "for");
                    self.body = if is_loop { outer } else { head };
                    self.block(if is_loop { Some(own) } else { parent }, inner);
                    self.body = outer;
                    self.take(";");
                    return;
                }
                "{" => {
                    self.skip_brackets();
                    continue;
                }
                "(" | "[" => depth += 1,
                ")" | "]" => depth -= 1,
                "=" if depth == 0 => is_set = true,
                _ => {}
            }
            self.at += 1;
        }
        self.at = self.at.min(self.tokens.len());
        if self.at > start {
            self.push(keyword, start, parent, function);
        }
        self.take(";");
    }

    /// Whether what begins here is a structure or a namespace, perhaps a template of one.
    fn is_type(&self, start: usize) -> bool {
        (start..self.at).any(|at| matches!(self.text(at), "struct" | "class" | "union" | "namespace"))
    }

    /// Whether a brace behind this word begins statements: the body of a function, of one without a name, or of a macro's loop.
    fn has_body(&self, start: usize, before: &str, is_set: bool) -> bool {
        let is_function = (start..self.at).any(|at| self.text(at) == "fn");
        is_function || matches!(before, ")" | "const" | "mutable") && !(self.rust && is_set)
    }
}
