//! A PTX file as read: its text, and the program in it.
//!
//! Each call through a register becomes a choice among the functions whose address the file takes and that have as many
//! results and parameters: the register is compared with one address after the other, and the function is called by its
//! name.

use crate::ast::{Item, Operand, Position, Program, Register, Statement, Type, Variable};
use crate::error::{Error, Location};
use crate::place::Space;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

#[derive(Debug)]
pub struct Parsed {
    /// Distinguishes the module's global variables from those of every other module.
    pub id: u64,
    pub source: String,
    pub program: Program,
    /// Numbers of the functions and kernels that have a body, by name.
    functions: HashMap<String, usize>,
    /// The line of the text where each function, kernel or variable of the module is first declared, by name.
    declared: HashMap<String, u32>,
    /// Numbers of the module's variables, by name.
    variables: HashMap<String, u32>,
    /// Numbers of the variables that all threads share and a function declares, by the function's number and the variable's.
    pub inner: HashMap<(usize, u32), u32>,
}

impl Parsed {
    /// A file as read, unless it defines a name twice.
    pub fn new(id: u64, source: &str, mut program: Program) -> Result<Self, Error> {
        direct(&mut program);
        let (mut functions, mut variables, mut declared) = (HashMap::new(), HashMap::new(), HashMap::new());
        // One definition may follow any number of declarations, or come before them.
        let mut defined = HashMap::new();
        let mut know = |name: &String, line: u32, defines: bool| {
            let first: &mut u32 = declared.entry(name.clone()).or_insert(line);
            *first = line.min(*first);
            let before = defines.then(|| defined.insert(name.clone(), line)).flatten();
            let again = |first| Error::parse(line, format!("{name} is defined a second time (first in line {first})"));
            before.map_or(Ok(()), |first| Err(again(first)))
        };
        for (number, function) in program.functions.iter().enumerate() {
            know(&function.name, function.line, function.defined)?;
            if function.defined {
                functions.insert(function.name.clone(), number);
            }
        }
        for (number, variable) in (0u32..).zip(&program.variables) {
            know(&variable.name, variable.line, !variable.external)?;
            if !variable.external || !variables.contains_key(&variable.name) {
                variables.insert(variable.name.clone(), number);
            }
        }
        // A function's variables that all threads share also belong to the module, but only the function can name them.
        let mut inner = HashMap::new();
        for (number, function) in program.functions.iter().enumerate() {
            let shared = |variable: &&Variable| matches!(variable.space, Space::Global | Space::Constant);
            for (own, variable) in (0u32..).zip(&function.variables).filter(|(_, variable)| shared(variable)) {
                inner.insert((number, own), program.variables.len() as u32);
                program.variables.push(variable.clone());
            }
        }
        Ok(Self { id, source: source.into(), program, functions, declared, variables, inner })
    }

    /// Whether a function or a variable of the module is declared, but only after this line.
    pub fn comes_later(&self, name: &str, line: u32) -> bool {
        self.declared.get(name).is_some_and(|&declared| declared > line)
    }

    /// The number of the function of that name, if it can be called.
    pub fn function(&self, name: &str) -> Option<usize> {
        self.functions.get(name).copied().filter(|&number| !self.program.functions[number].entry)
    }

    /// The address of the function of that name.
    pub fn entry(&self, name: &str) -> Option<u64> {
        self.function(name).map(address)
    }

    pub fn variable(&self, name: &str) -> Option<u32> {
        self.variables.get(name).copied()
    }

    /// An instruction as written, without its line breaks.
    pub fn text(&self, position: Position) -> String {
        let (start, end) = (position.text.0 as usize, position.text.1 as usize);
        let text = self.source.get(start..end).unwrap_or_default();
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// What messages say about an instruction.
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

/// A word that only the calls made here have. They may name a function before it is declared.
pub const INDIRECT: &str = "indirect";

/// The address of a function, by its number: above addresses that come from a null pointer, below those of memory.
pub const fn address(function: usize) -> u64 {
    (1 << 40) + 16 * function as u64
}

/// Which operand of a call is the register with the address, if it calls through a register.
fn register_of(item: &Item) -> Option<usize> {
    let Item::Statement(Statement { words, operands, .. }) = item else { return None };
    let at = usize::from(matches!(operands.first(), Some(Operand::List(_))));
    (words[0] == "call" && matches!(operands.get(at), Some(Operand::Register { .. }))).then_some(at)
}

/// Replaces all calls through registers in a program.
pub(crate) fn direct(program: &mut Program) {
    if !program.functions.iter().any(|function| function.body.iter().any(|item| register_of(item).is_some())) {
        return;
    }
    let items = program.functions.iter().flat_map(|function| &function.body);
    let statements = items.filter_map(|item| match item {
        Item::Statement(statement) if statement.words[0] != "call" => Some(&statement.operands),
        _ => None,
    });
    let named = statements.flatten().filter_map(|operand| match operand {
        Operand::Name { name, .. } => Some(&**name),
        _ => None,
    });
    let initial = program.variables.iter().flat_map(|variable| &variable.init_symbols).map(|(_, name, ..)| &**name);
    let taken: HashSet<&str> = named.chain(initial).collect();
    let functions = program.functions.iter().enumerate();
    let functions = functions.filter(|(_, function)| function.defined && taken.contains(&*function.name));
    let counts = functions.map(|(number, one)| (number, Arc::from(&*one.name), [one.results.len(), one.params.len()]));
    let targets: Vec<(usize, Arc<str>, [usize; 2])> = counts.collect();
    for function in &mut program.functions {
        let chosen = function.registers.len() as u32;
        function.registers.push(Register { name: "%called".into(), kind: Type::Pred });
        let mut body = vec![];
        for item in std::mem::take(&mut function.body) {
            match (register_of(&item), item) {
                (Some(at), Item::Statement(call)) => choose(&call, at, chosen, &targets, &mut body),
                (_, item) => body.push(item),
            }
        }
        function.body = body;
    }
}

/// A call whose operand number `at` is the address.
fn choose(call: &Statement, at: usize, chosen: u32, targets: &[(usize, Arc<str>, [usize; 2])], body: &mut Vec<Item>) {
    let statement = |words: &[&str], operands: Vec<Operand>| Statement {
        guard: None,
        words: words.iter().map(|&word| word.into()).collect(),
        operands,
        position: call.position,
    };
    let name = |name: &Arc<str>| Operand::Name { name: name.clone(), offset: 0 };
    let list = |operand: Option<&Operand>| if let Some(Operand::List(list)) = operand { list.clone() } else { vec![] };
    let (results, arguments) = (list(call.operands[..at].first()), list(call.operands.get(at + 1)));
    // The labels contain a space, which no label of the source can.
    let end: Arc<str> = format!(" called {}", body.len()).into();
    for (number, target, _) in targets.iter().filter(|target| target.2 == [results.len(), arguments.len()]) {
        let next: Arc<str> = format!(" next {}", body.len()).into();
        let register = Operand::Register { id: chosen, negated: false };
        let compared = vec![register, call.operands[at].clone(), Operand::Integer(address(*number) as i64)];
        let called = vec![Operand::List(results.clone()), name(target), Operand::List(arguments.clone())];
        body.push(Item::Statement(statement(&["setp", "ne", "u64"], compared)));
        let other = statement(&["bra"], vec![name(&next)]);
        body.push(Item::Statement(Statement { guard: Some((chosen, false)), ..other }));
        body.push(Item::Statement(Statement { guard: call.guard, ..statement(&["call", INDIRECT], called) }));
        body.push(Item::Statement(statement(&["bra"], vec![name(&end)])));
        body.push(Item::Label(next));
    }
    // It is none of them.
    body.push(Item::Statement(statement(&["trap"], vec![])));
    body.push(Item::Label(end));
}
