//! What names mean inside a function: PTX scopes registers and variables by braces.

use crate::ast::{Function, Register, Type, Variable};
use std::collections::HashMap;

/// Names of a vector's elements.
const ELEMENTS: [&str; 4] = ["x", "y", "z", "w"];
const COLOURS: [&str; 4] = ["r", "g", "b", "a"];

/// Names known between two braces.
#[derive(Default)]
pub(super) struct Scope {
    /// `%r<10>`: prefix to count, type and elements of a vector.
    pub ranges: HashMap<String, (u64, Type, u8)>,
    pub registers: HashMap<String, u32>,
    /// Vectors, with their elements, which are registers called `v.x` and so on.
    pub vectors: HashMap<String, Vec<u32>>,
    pub variables: HashMap<String, u32>,
}

/// A function as far as it has been read, and what its names mean at this point.
pub(super) struct Body {
    pub function: Function,
    pub scopes: Vec<Scope>,
}

impl Body {
    /// Declares a variable of the innermost scope.
    pub(super) fn declare_variable(&mut self, variable: Variable) {
        let id = self.function.variables.len() as u32;
        if let Some(scope) = self.scopes.last_mut() {
            scope.variables.insert(variable.name.clone(), id);
        }
        self.function.variables.push(variable);
    }

    /// Declares a register of the innermost scope, or a vector of them.
    pub(super) fn declare_register(&mut self, name: &str, kind: Type, elements: u8) {
        let Some(scope) = self.scopes.last_mut() else { return };
        let registers = &mut self.function.registers;
        let mut new = |name: String| {
            registers.push(Register { name, kind });
            registers.len() as u32 - 1
        };
        if elements == 1 {
            scope.registers.insert(name.into(), new(name.into()));
        } else {
            let parts = ELEMENTS[..usize::from(elements)].iter().map(|element| new(format!("{name}.{element}")));
            scope.vectors.insert(name.into(), parts.collect());
        }
    }

    /// Finds a name in the innermost scope that has it; that of a range is declared when it is used first.
    fn find<T>(&mut self, name: &str, vector: bool, known: impl Fn(&Scope) -> Option<T>) -> Option<T> {
        let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count();
        let (prefix, number) = name.split_at(name.len() - digits);
        for depth in (0..self.scopes.len()).rev() {
            if let Some(found) = known(&self.scopes[depth]) {
                return Some(found);
            }
            if let (Some(&(count, kind, elements)), Ok(number)) =
                (self.scopes[depth].ranges.get(prefix), number.parse::<u64>())
                && number < count
                && vector == (elements > 1)
            {
                // The name belongs to the scope of its range.
                let inner = self.scopes.split_off(depth + 1);
                self.declare_register(name, kind, elements);
                self.scopes.extend(inner);
                return known(&self.scopes[depth]);
            }
        }
        None
    }

    /// The register of that name, which may be an element of a vector.
    pub(super) fn register(&mut self, name: &str) -> Option<u32> {
        if let Some((vector, element)) = name.split_once('.') {
            let at = ELEMENTS.iter().position(|&e| e == element).or(COLOURS.iter().position(|&e| e == element))?;
            return self.vector(vector)?.get(at).copied();
        }
        self.find(name, false, |scope| scope.registers.get(name).copied())
    }

    /// The elements of the vector of that name.
    pub(super) fn vector(&mut self, name: &str) -> Option<Vec<u32>> {
        self.find(name, true, |scope| scope.vectors.get(name).cloned())
    }

    /// The variable of that name.
    pub(super) fn variable(&self, name: &str) -> Option<u32> {
        self.scopes.iter().rev().find_map(|scope| scope.variables.get(name).copied())
    }
}
