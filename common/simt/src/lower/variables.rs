//! Places of the module's shared variables, which are known when all of the kernel is laid out.

use super::layout::{Flat, Layout, Place};
use super::shared::SharedArray;
use crate::ast::{Operand, Space};
use std::sync::Arc;

impl Layout<'_> {
    /// Gives every shared variable of the module that the kernel names a place, then the dynamic arrays.
    pub fn place_dynamic(&mut self) {
        let names: Vec<Arc<str>> = self
            .flat
            .iter()
            .filter_map(|item| match item {
                Flat::Statement(_, statement) => Some(&statement.operands),
                _ => None,
            })
            .flatten()
            .filter_map(|operand| match operand {
                Operand::Name { name, .. } => Some(name.clone()),
                Operand::Address { base, .. } => match &**base {
                    Operand::Name { name, .. } => Some(name.clone()),
                    _ => None,
                },
                _ => None,
            })
            .collect();
        let program = &self.inner.program;
        for (number, variable) in (0u32..).zip(&program.variables) {
            if variable.space == Space::Shared && names.iter().any(|name| **name == *variable.name) {
                if variable.external || variable.bytes == 0 {
                    self.dynamic.push((None, number));
                } else {
                    self.shared(None, number);
                }
            }
        }
        // All dynamic arrays start at the same place, after the static ones.
        let dynamic = std::mem::take(&mut self.dynamic);
        let offset = self.dynamic_offset();
        for &(owner, number) in &dynamic {
            let variable = match owner {
                Some(function) => &program.functions[function].variables[number as usize],
                None => &program.variables[number as usize],
            };
            if self.placed.insert((owner, number), offset).is_none() {
                let known = self.shared.iter().any(|array| array.name == variable.name);
                if !known {
                    self.shared.push(SharedArray::new(&variable.name, offset, 0));
                }
            }
        }
        for frame in &mut self.frames {
            for (number, place) in (0u32..).zip(&mut frame.places) {
                if let (Place::Unplaced, Some(&offset)) = (*place, self.placed.get(&(Some(frame.function), number))) {
                    *place = Place::Shared(offset);
                }
            }
        }
        self.dynamic = dynamic;
    }

    /// Where all dynamic arrays start.
    pub fn dynamic_offset(&self) -> u32 {
        (self.shared_bytes.next_multiple_of(16)).min(u64::from(u32::MAX)) as u32
    }

    /// Where a variable of the module is, if the kernel can name it.
    pub fn find(&self, name: &str) -> Option<Place> {
        let variables = &self.inner.program.variables;
        let (number, variable) = (0u32..).zip(variables).find(|(_, variable)| variable.name == name)?;
        match variable.space {
            Space::Shared => self.placed.get(&(None, number)).copied().map(Place::Shared),
            Space::Global | Space::Const => Some(Place::Module(number)),
            _ => None,
        }
    }
}
