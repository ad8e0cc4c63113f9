//! A PTX file as read: its text, and the program in it.

use crate::ast::{Position, Program, Space, Variable};
use crate::calls;
use crate::error::Location;
use std::collections::HashMap;

/// A PTX file as read.
#[derive(Debug)]
pub(crate) struct Parsed {
    /// Tells the module's global variables from those of every other module.
    pub id: u64,
    pub source: String,
    pub program: Program,
    /// Functions that can be called, by name: numbers in the program.
    functions: HashMap<String, usize>,
    /// Where each function is first declared, by name: a line of the text.
    declared: HashMap<String, u32>,
    /// Variables of the module, likewise.
    variables: HashMap<String, u32>,
    /// Those that a function declares, by its number and theirs.
    pub inner: HashMap<(usize, u32), u32>,
}

impl Parsed {
    /// A file as read. The first of several functions or variables of one name is meant.
    pub fn new(id: u64, source: &str, mut program: Program) -> Self {
        calls::direct(&mut program);
        let (mut functions, mut variables) = (HashMap::new(), HashMap::new());
        for (number, function) in program.functions.iter().enumerate().filter(|(_, f)| f.defined && !f.entry) {
            functions.entry(function.name.clone()).or_insert(number);
        }
        for (number, variable) in (0u32..).zip(&program.variables) {
            variables.entry(variable.name.clone()).or_insert(number);
        }
        // Variables of functions that all threads share are the module's, too, but nobody else can name them.
        let mut inner = HashMap::new();
        for (number, function) in program.functions.iter().enumerate() {
            let shared = |variable: &&Variable| matches!(variable.space, Space::Global | Space::Const);
            for (own, variable) in (0u32..).zip(&function.variables).filter(|(_, variable)| shared(variable)) {
                inner.insert((number, own), program.variables.len() as u32);
                program.variables.push(variable.clone());
            }
        }
        let mut declared = HashMap::new();
        for function in &program.functions {
            declared.entry(function.name.clone()).or_insert(function.line);
        }
        Self { id, source: source.into(), program, functions, declared, variables, inner }
    }

    /// Whether a function or a variable of the module is declared, but only behind this line.
    pub fn comes_later(&self, name: &str, line: u32) -> bool {
        let variable = self.variable(name).map(|number| self.program.variables[number as usize].line);
        variable.or(self.declared.get(name).copied()).is_some_and(|declared| declared > line)
    }

    /// The number of the function of that name, if it can be called.
    pub fn function(&self, name: &str) -> Option<usize> {
        self.functions.get(name).copied()
    }

    /// The address of the function of that name.
    pub fn entry(&self, name: &str) -> Option<u64> {
        self.function(name).map(calls::address)
    }

    /// The number of the module's variable of that name.
    pub fn variable(&self, name: &str) -> Option<u32> {
        self.variables.get(name).copied()
    }

    /// An instruction as written, without its line breaks.
    pub fn text(&self, position: Position) -> String {
        let (start, end) = (position.text.0 as usize, position.text.1 as usize);
        let text = self.source.get(start..end).unwrap_or_default();
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// What messages say of an instruction.
    pub fn location(&self, position: Position) -> Location {
        let known = position.line != 0;
        let file = self.program.files.iter().find(|file| file.0 == position.file).map(|file| file.1.clone());
        Location {
            file: file.filter(|_| known),
            line: known.then_some(position.line),
            column: (known && position.column != 0).then_some(position.column),
            calls: self.program.calls.get(position.calls as usize).cloned().unwrap_or_default(),
            ptx_line: position.ptx,
            instruction: self.text(position),
        }
    }
}
