//! What names mean inside a function: PTX scopes registers and variables by braces.

use crate::ast::{Function, Register, Type, Variable};
use std::collections::HashMap;

/// Names known between two braces.
#[derive(Default)]
pub(super) struct Scope {
    /// `%r<10>`: prefix to count and type.
    pub ranges: HashMap<String, (u64, Type)>,
    pub registers: HashMap<String, u32>,
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

    /// The register of that name, which is made when a name of a range is used first.
    pub(super) fn register(&mut self, name: &str) -> Option<u32> {
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

    /// The variable of that name.
    pub(super) fn variable(&self, name: &str) -> Option<u32> {
        self.scopes.iter().rev().find_map(|scope| scope.variables.get(name).copied())
    }
}
