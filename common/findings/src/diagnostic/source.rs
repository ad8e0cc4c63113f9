//! The statements of a kernel's file, in C++ or in Rust: the loops and conditions around each, and what it declares, sets and uses.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use super::statements::{Statement, Token, closing, is_name, is_word, statements, tokens};

/// A file as statements, in the order of its text.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Source {
    pub lines: Arc<[String]>,
    pub tokens: Vec<Token>,
    pub statements: Vec<Statement>,
    /// The names of the functions that are not within another one; their numbers begin with 1.
    pub functions: Vec<String>,
    sets: OnceLock<Vec<Set>>,
}

/// A variable that a statement declares or gives a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Set {
    pub at: usize,
    /// `sum`, or `me.row` of a structure.
    pub path: String,
    pub line: u32,
    pub declares: bool,
    /// It has a value from here on.
    pub sets: bool,
    /// An element of it is set, or what it points to.
    pub indexed: bool,
    /// The method that sets it, `tile.store(row, col, x)`, or returns the place that is set, `tile.at(row, col) = x`; or nothing.
    pub method: String,
    /// What stands behind the place that is set: `=`, `+=` or something else.
    pub operator: String,
    /// Behind that: the value.
    pub value: Range<usize>,
}

impl Set {
    /// The name of the variable, without its member.
    pub fn root(&self) -> &str {
        self.path.split('.').next().unwrap_or_default()
    }

    /// The name of the member, if there is one.
    pub fn last(&self) -> &str {
        self.path.rsplit('.').next().unwrap_or_default()
    }
}

impl Source {
    pub fn read(lines: impl Into<Arc<[String]>>) -> Self {
        let lines = lines.into();
        let tokens = tokens(&lines);
        let (statements, functions) = statements(&tokens);
        Self { lines, tokens, statements, functions, sets: OnceLock::new() }
    }

    pub fn words(&self, of: &Range<usize>) -> &[Token] {
        &self.tokens[of.clone()]
    }

    /// The token at a place; beyond the end nothing.
    pub fn text(&self, at: usize) -> &str {
        self.tokens.get(at).map_or("", |token| &token.text)
    }

    /// The line of the token at a place; beyond the end 0.
    pub fn line_of(&self, at: usize) -> u32 {
        self.tokens.get(at).map_or(0, |token| token.line)
    }

    pub fn on_lines(&self, first: u32, count: u32) -> Range<usize> {
        let begin = |line: u32| self.tokens.partition_point(|token| token.line < line);
        begin(first)..begin(first.saturating_add(count))
    }

    /// The bytes that tokens take of their line.
    pub fn bytes(&self, of: &Range<usize>) -> Range<usize> {
        let begin = |at: usize| self.tokens[at].column as usize - 1;
        begin(of.start)..begin(of.end - 1) + self.tokens[of.end - 1].text.len()
    }

    /// Tokens of one line as they are written there.
    pub fn written(&self, of: &Range<usize>) -> &str {
        &self.lines[self.tokens[of.start].line as usize - 1][self.bytes(of)]
    }

    /// Where a statement begins, as it is shown.
    pub fn line(&self, number: usize) -> u32 {
        self.tokens[self.statements[number].tokens.start].line
    }

    /// The statement at a line and a column: the last that begins there or before, or without a column the first.
    pub fn statement_at(&self, line: u32, column: Option<u32>) -> Option<usize> {
        let covers = |&at: &usize| {
            let tokens = &self.statements[at].tokens;
            !tokens.is_empty() && (self.line(at)..=self.line_of(tokens.end - 1)).contains(&line)
        };
        let begins = |&at: &usize| (self.line(at), self.tokens[self.statements[at].tokens.start].column);
        let all: Vec<usize> = (0..self.statements.len()).filter(covers).collect();
        let before = all.iter().copied().filter(|number| column.is_some_and(|column| begins(number) <= (line, column)));
        before.max_by_key(begins).or_else(|| {
            all.iter().copied().min_by_key(|number| (self.statements[*number].keyword == "fn", begins(number)))
        })
    }

    /// A statement and what is around it, the innermost first.
    pub fn outwards(&self, number: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(Some(number), |&number| self.statements[number].parent)
    }

    /// Whether a declaration is in scope at a statement below it: it is around that, or beside something that is.
    pub fn is_seen(&self, declares: usize, number: usize) -> bool {
        let Statement { keyword, parent, .. } = self.statements[declares];
        let around = if keyword.is_empty() { parent } else { Some(declares) };
        around.is_none_or(|around| self.outwards(number).any(|at| at == around))
    }

    /// Those of a kind around a statement, itself too.
    pub fn heads(&self, number: usize, keywords: &[&str]) -> Vec<usize> {
        self.outwards(number).filter(|&at| keywords.contains(&self.statements[at].keyword)).collect()
    }

    /// The line of the innermost condition around a statement.
    pub fn condition(&self, number: usize) -> Option<u32> {
        self.heads(number, &["if"]).first().map(|&at| self.line(at))
    }

    /// Whether a statement that begins in a line has a word of this kind.
    pub fn line_has(&self, line: u32, is_it: impl Fn(&str) -> bool) -> bool {
        (0..self.statements.len()).any(|at| self.line(at) == line && self.has(at, &is_it))
    }

    pub fn has(&self, number: usize, is_it: impl Fn(&str) -> bool) -> bool {
        self.words(&self.statements[number].tokens).iter().any(|token| is_it(&token.text))
    }

    /// The macros that the file defines, with parameters or without, and the line of each.
    pub fn macros(&self, with_parameters: bool) -> Vec<(String, u32)> {
        let one = |(line, text): (u32, &String)| {
            let rest = text.strip_prefix("#define ")?.trim_start();
            let end = rest.find(|c| !is_name(c)).filter(|end| *end > 0)?;
            ((rest[end..].starts_with('(')) == with_parameters).then(|| (rest[..end].to_owned(), line))
        };
        (1..).zip(self.lines.iter()).filter_map(one).collect()
    }

    /// Whether the first value that a statement sets is a number.
    pub fn begins_with_number(&self, number: usize) -> bool {
        let value = self.sets_of(number).next().and_then(|set| self.tokens.get(set.value.start));
        value.is_some_and(|value| value.text.starts_with(|c: char| c.is_ascii_digit()))
    }

    /// The variables that are used here, each once, with the member that is used. Functions and namespaces are left out.
    pub fn names(&self, of: &Range<usize>) -> Vec<String> {
        let text = |at: usize| if at < of.end { self.tokens[at].text.as_str() } else { "" };
        let mut names: Vec<String> = vec![];
        for at in of.clone() {
            let member = at > of.start && matches!(text(at - 1), "." | "->" | "::");
            let is_function = matches!(text(at + 1), "(" | "::" | "!") && !self.is_object(at);
            if !is_word(text(at)) || member || is_function {
                continue;
            }
            let mut name = text(at).to_owned();
            if matches!(text(at + 1), "." | "->") && is_word(text(at + 2)) && text(at + 3) != "(" {
                name = format!("{name}.{}", text(at + 2));
            }
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// Whether what is called here is a variable with an `operator()`, and no function without a name.
    fn is_object(&self, at: usize) -> bool {
        let is_it =
            |set: &Set| set.declares && set.path == self.text(at) && !["[", "|"].contains(&self.text(set.value.start));
        let is_parameter = |head: &Statement| {
            let ends = |at: usize| matches!(self.text(at + 1), "," | ")") && self.text(at - 1) != "(";
            head.keyword == "fn" && head.tokens.clone().skip(1).any(|of| self.text(of) == self.text(at) && ends(of))
        };
        self.text(at + 1) == "(" && (self.sets().iter().any(is_it) || self.statements.iter().any(is_parameter))
    }

    /// The parts of an expression that are added.
    pub fn terms(&self, of: &Range<usize>) -> Vec<Range<usize>> {
        self.split(of, |word| matches!(word, "+" | "["))
    }

    /// The parts between words of a kind that are not in brackets.
    pub fn split(&self, of: &Range<usize>, is_between: impl Fn(&str) -> bool) -> Vec<Range<usize>> {
        let mut terms = vec![];
        let mut start = of.start;
        let mut depth = 0_i32;
        for at in of.clone() {
            let text = self.text(at);
            depth += i32::from(text == "(") - i32::from(text == ")");
            if depth == 0 && is_between(text) {
                terms.push(start..at);
                start = at + 1;
            }
        }
        terms.push(start..of.end);
        terms
    }

    /// Whether all threads of the block wait in a statement, or in a function that it calls.
    pub fn is_barrier(&self, number: usize) -> bool {
        let waits = |number: usize| self.has(number, |word| word == "__syncthreads" || word == "sync_threads");
        let is_head = self.statements[number].keyword == "fn";
        let is_called = |name: &String| !is_head && self.has(number, |word| word == name);
        let mut called = (1..).zip(&self.functions).filter(|(_, name)| is_called(name));
        waits(number) || called.any(|(function, _)| self.of_function(function).any(waits))
    }

    /// Where the functions that a statement calls return a value, each with its name: `row_of()`.
    pub fn returns(&self, number: usize) -> Vec<(String, u32)> {
        let name = |function: usize| Some(&self.functions[function.checked_sub(1)?]);
        let calls_object = self.statements[number].tokens.clone().any(|at| self.is_object(at));
        let is_called = |name: &String| {
            is_word(name) && self.has(number, |word| word == name) || calls_object && name == "operator"
        };
        let returned = |at: usize| {
            let Statement { keyword, function, ref tokens, .. } = self.statements[at];
            let returns = keyword == "return" && tokens.len() > 1;
            let name = name(function).filter(|name| returns && is_called(name))?;
            Some((format!("{name}()"), self.line(at)))
        };
        let is_head = self.statements[number].keyword == "fn";
        (0..self.statements.len()).filter(|_| !is_head).filter_map(returned).collect()
    }

    /// Where the operators of the file's own that a statement has return a value, each with its name: `operator*()`.
    pub fn operators(&self, number: usize) -> Vec<(String, u32)> {
        let returned = |at: usize| {
            let Statement { keyword, function, ref tokens, .. } = self.statements[at];
            let name = self.functions.get(function.checked_sub(1)?).filter(|name| !is_word(name))?;
            let is_it = keyword == "return" && tokens.len() > 1 && self.has(number, |word| word == name);
            is_it.then(|| (format!("operator{name}()"), self.line(at)))
        };
        (0..self.statements.len()).filter_map(returned).collect()
    }

    pub fn function(&self, number: usize) -> impl Iterator<Item = usize> {
        self.of_function(self.statements[number].function)
    }

    fn of_function(&self, function: usize) -> impl Iterator<Item = usize> {
        (0..self.statements.len()).filter(move |&at| self.statements[at].function == function)
    }

    /// What all statements declare and set, in their order.
    pub fn sets(&self) -> &[Set] {
        self.sets.get_or_init(|| (0..self.statements.len()).flat_map(|number| self.read_sets(number)).collect())
    }

    pub fn sets_of(&self, number: usize) -> impl Iterator<Item = &Set> {
        self.sets().iter().filter(move |set| set.at == number)
    }

    /// What is declared and set in the function that a statement is in.
    pub fn sets_around(&self, number: usize) -> impl Iterator<Item = &Set> {
        let function = self.statements[number].function;
        self.sets().iter().filter(move |set| self.statements[set.at].function == function)
    }

    fn read_sets(&self, number: usize) -> Vec<Set> {
        let Range { start, end } = self.statements[number].tokens;
        if self.statements[number].keyword == "fn" {
            return vec![];
        }
        let text = |at: usize| if (start..end).contains(&at) { self.tokens[at].text.as_str() } else { "" };
        let mut sets: Vec<Set> = vec![];
        let mut declared_at = None;
        let mut depth = 0;
        let mut at = start;
        while at < end {
            depth += i32::from("([{".contains(text(at))) - i32::from(")]}".contains(text(at)));
            // The other parts of a loop's head declare nothing.
            declared_at = declared_at.filter(|_| text(at) != ";");
            let before = if at > start { text(at - 1) } else { "" };
            let is_name = is_word(text(at)) && !KEYWORDS.contains(&text(at)) && !ALIGNMENTS.contains(&text(at));
            if !is_name || matches!(before, "." | "->" | "::") {
                at += 1;
                continue;
            }
            let name = at;
            let (mut path, mut indexed, mut calls) = (text(at).to_owned(), false, "");
            at += 1;
            loop {
                if text(at) == "[" {
                    indexed = true;
                    at = self.behind(at, end);
                } else if matches!(text(at), "." | "->") && text(at + 2) == "(" {
                    calls = text(at + 1);
                    break;
                } else if matches!(text(at), "." | "->") && is_word(text(at + 1)) {
                    path = format!("{path}.{}", text(at + 1));
                    at += 2;
                } else {
                    break;
                }
            }
            let behind = if calls.is_empty() { at } else { self.behind(at + 2, end) };
            let through_method = behind > at && is_assignment(text(behind));
            let operator_at = if through_method { behind } else { at };
            let operator = text(operator_at);
            let assigns = is_assignment(operator);
            let changes = [operator, before].iter().any(|word| matches!(*word, "++" | "--"));
            let stores = ["store", "set", "copy"].iter().any(|begin| calls.starts_with(begin));
            let separator = (start..name).rev().map(text).find(|word| !matches!(*word, "*" | "&"));
            let of_list = separator == Some(",") && declared_at == Some(depth);
            let declares = !goes_on(operator) && (of_list || self.is_declared(start, name));
            let of_let = text(start) == "let" && (start..end).any(|at| text(at) == "=");
            let built = declares && (matches!(operator, "(" | "{" | "in") || of_let);
            if declares {
                declared_at = declared_at.or(Some(depth));
            }
            if assigns || changes || stores || declares {
                sets.push(Set {
                    at: number,
                    path,
                    line: self.tokens[name].line,
                    declares,
                    sets: assigns || changes || stores || built,
                    indexed: stores || through_method || !declares && (indexed || before == "*"),
                    method: calls.to_owned(),
                    operator: operator.to_owned(),
                    value: operator_at + 1..end,
                });
            }
        }
        sets
    }

    /// Whether the new value of what is set contains the old one.
    pub fn keeps(&self, set: &Set) -> bool {
        let names = self.names(&set.value);
        set.operator != "=" || names.iter().any(|name| name.split('.').next() == Some(set.root()))
    }

    /// Whether it declares a pointer with a value.
    pub fn is_pointer(&self, set: &Set) -> bool {
        let before = (0..set.value.start).rev().map(|at| self.text(at)).skip(2);
        set.declares && before.into_iter().find(|word| !matches!(*word, "const" | "__restrict__")) == Some("*")
    }

    /// Behind the bracket that closes the one at a place.
    pub fn behind(&self, open: usize, end: usize) -> usize {
        closing(&self.tokens[..end], open) + 1
    }

    /// Whether nothing but a type stands before a name in its statement, or in the head of its loop.
    fn is_declared(&self, start: usize, name: usize) -> bool {
        let before: Vec<&str> = self.tokens[start..name].iter().map(|token| token.text.as_str()).collect();
        let before = match &before[..] {
            ["for", "(", rest @ ..] => rest,
            ["for"] | ["shared", "!", "("] | ["shared", "!", "(", "extern"] => return true,
            ["let", rest @ ..] => return !rest.contains(&"=") && !rest.contains(&":"),
            all => all,
        };
        let mut inside = 0;
        let mut words = 0;
        for word in before {
            inside += i32::from(matches!(*word, "<" | "(")) - i32::from(matches!(*word, ">" | ")"));
            let is_type = is_word(word) && !KEYWORDS.contains(word) || word.starts_with('"');
            words += i32::from(is_type && inside == 0);
            let may_be = is_type || inside > 0 || matches!(*word, "*" | "&" | "::" | ">" | ")");
            if !may_be || *word == "(" && !before.iter().any(|word| ALIGNMENTS.contains(word)) {
                return false;
            }
        }
        words > 0 && before.last().is_some_and(|last| *last != "::")
    }
}

const KEYWORDS: [&str; 13] =
    ["return", "else", "case", "goto", "delete", "throw", "do", "in", "asm", "if", "while", "for", "match"];
const ALIGNMENTS: [&str; 2] = ["alignas", "__align__"];

/// Whether what follows a name cannot follow one that is declared.
fn goes_on(after: &str) -> bool {
    matches!(after, "." | "->" | "::" | "<" | "*" | "&") || is_word(after) && after != "in"
}

/// Whether an operator sets what stands before it.
pub fn is_assignment(word: &str) -> bool {
    word.ends_with('=') && !["==", "!=", "<=", ">=", "..="].contains(&word)
}
