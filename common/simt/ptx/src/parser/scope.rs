//! Resolves names inside a function. In PTX, braces are the scopes of registers, variables and labels.

use crate::Error;
use crate::ast::{Function, Item, Operand, Register, Type, Variable};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The names of a vector's elements. Those of colours mean the same.
const ELEMENTS: [&str; 4] = ["x", "y", "z", "w"];
const COLOURS: [&str; 4] = ["r", "g", "b", "a"];

/// The names that are declared between two braces.
#[derive(Default)]
pub(super) struct Scope {
    /// All declared names. A range is stored as `%r<`.
    names: HashSet<String>,
    /// Ranges such as `%r<10>`: from the prefix to the count, the type and the number of elements of a vector.
    pub ranges: HashMap<String, (u64, Type, u32)>,
    pub registers: HashMap<String, u32>,
    /// Vectors, with their elements, which are registers with names such as `v.x`.
    pub vectors: HashMap<String, Vec<u32>>,
    pub variables: HashMap<String, u32>,
    /// Labels, with names that are unique in the function.
    labels: HashMap<Arc<str>, Arc<str>>,
    /// Items of the body with labels that this scope may declare later.
    branches: Vec<usize>,
}

/// A function as far as it has been read, and the scopes at this point.
pub(super) struct Body {
    pub function: Function,
    pub scopes: Vec<Scope>,
}

impl Scope {
    /// Returns the type of a register in a range, and its number of elements.
    fn of_range(&self, name: &str) -> Option<(Type, u32)> {
        let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count();
        let (prefix, number) = name.split_at(name.len() - digits);
        let &(count, kind, elements) = self.ranges.get(prefix)?;
        (number.parse::<u64>().ok()? < count).then_some((kind, elements))
    }
}

pub(super) fn register(id: u32) -> Operand {
    Operand::Register { id, negated: false }
}

impl Body {
    /// Takes a name, which may be declared only once between the innermost braces.
    pub(super) fn take(&mut self, name: &str, line: u32) -> Result<(), Error> {
        let Some(scope) = self.scopes.last_mut() else { return Ok(()) };
        if scope.of_range(name).is_some() || !scope.names.insert(name.into()) {
            return Err(Error::parse(line, format!("{name} is there twice between the same braces")));
        }
        Ok(())
    }

    /// Declares a variable in the innermost scope.
    pub(super) fn declare_variable(&mut self, variable: Variable) -> Result<u32, Error> {
        self.take(&variable.name, variable.line)?;
        let id = self.function.variables.len() as u32;
        if let Some(scope) = self.scopes.last_mut() {
            scope.variables.insert(variable.name.clone(), id);
        }
        self.function.variables.push(variable);
        Ok(id)
    }

    /// Declares a register, or a vector of registers, in the innermost scope.
    pub(super) fn declare_register(&mut self, name: &str, kind: Type, elements: u32) -> Operand {
        let Some(scope) = self.scopes.last_mut() else { return Operand::Sink };
        let registers = &mut self.function.registers;
        let mut new = |name: String| {
            registers.push(Register { name, kind });
            registers.len() as u32 - 1
        };
        if elements == 1 {
            let id = new(name.into());
            scope.registers.insert(name.into(), id);
            return register(id);
        }
        let parts = ELEMENTS[..elements as usize].iter().map(|element| new(format!("{name}.{element}")));
        let parts: Vec<u32> = parts.collect();
        let vector = Operand::Vector(parts.iter().map(|&id| register(id)).collect());
        scope.vectors.insert(name.into(), parts);
        vector
    }

    /// Finds a name in the innermost scope that has it. A register of a range is declared on its first use.
    fn find<T>(&mut self, name: &str, vector: bool, known: impl Fn(&Scope) -> Option<T>) -> Option<T> {
        for depth in (0..self.scopes.len()).rev() {
            if let Some(found) = known(&self.scopes[depth]) {
                return Some(found);
            }
            let of_range = self.scopes[depth].of_range(name);
            if let Some((kind, elements)) = of_range.filter(|(_, elements)| vector == (*elements > 1)) {
                // The name belongs to the scope that declares its range.
                let inner = self.scopes.split_off(depth + 1);
                self.declare_register(name, kind, elements);
                self.scopes.extend(inner);
                return known(&self.scopes[depth]);
            }
        }
        None
    }

    /// Returns the register with this name, which may be an element of a vector.
    pub(super) fn register(&mut self, name: &str) -> Option<u32> {
        if let Some((vector, element)) = name.split_once('.') {
            let at = ELEMENTS.iter().position(|&e| e == element).or(COLOURS.iter().position(|&e| e == element))?;
            return self.vector(vector)?.get(at).copied();
        }
        self.find(name, false, |scope| scope.registers.get(name).copied())
    }

    pub(super) fn vector(&mut self, name: &str) -> Option<Vec<u32>> {
        self.find(name, true, |scope| scope.vectors.get(name).cloned())
    }

    /// Declares a label in the innermost scope, and returns its unique name.
    pub(super) fn declare_label(&mut self, name: &str, line: u32) -> Result<Arc<str>, Error> {
        // No name in a source can contain a space.
        let unique: Arc<str> = format!("{name} {}", self.function.body.len()).into();
        self.take(name, line)?;
        if let Some(scope) = self.scopes.last_mut() {
            scope.labels.insert(name.into(), unique.clone());
        }
        Ok(unique)
    }

    /// Adds an item with labels that may be declared later.
    pub(super) fn push_branch(&mut self, item: Item) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.branches.push(self.function.body.len());
        }
        self.function.body.push(item);
    }

    /// Ends the innermost scope, all labels of which are now known. An outer scope may declare those that are not among them.
    pub(super) fn end_scope(&mut self) {
        let Some(Scope { labels, branches, .. }) = self.scopes.pop() else { return };
        for at in branches {
            let mut unknown = false;
            for name in targets(&mut self.function.body[at]) {
                match labels.get(name) {
                    Some(unique) => *name = unique.clone(),
                    None => unknown |= !name.contains(' '),
                }
            }
            if let Some(outer) = self.scopes.last_mut().filter(|_| unknown) {
                outer.branches.push(at);
            }
        }
    }

    pub(super) fn variable(&self, name: &str) -> Option<u32> {
        self.scopes.iter().rev().find_map(|scope| scope.variables.get(name).copied())
    }
}

fn targets(item: &mut Item) -> Vec<&mut Arc<str>> {
    match item {
        Item::Targets(_, targets) => targets.iter_mut().collect(),
        Item::Statement(statement) => {
            let names = statement.operands.iter_mut().filter_map(|operand| match operand {
                Operand::Name { name, offset: 0 } => Some(name),
                _ => None,
            });
            names.collect()
        }
        Item::Label(..) => vec![],
    }
}
