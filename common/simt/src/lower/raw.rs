//! Decoded instructions before their registers have places: operands are numbers of values.

use super::code::Code;
use super::inst::{Inst, Preset};
use super::order::MemoryOrder;
use crate::ast::{Position, Type};

/// A decoded instruction, whose registers are numbers of values.
#[derive(Debug, Clone)]
pub(crate) struct Raw {
    pub inst: Inst,
    pub guard: Option<(u32, bool)>,
    pub targets: Vec<u32>,
    pub position: Position,
    pub order: MemoryOrder,
    /// Operands beyond those of the instruction's form, and whether it writes them: fragments of matrices.
    pub more: Vec<(u32, bool)>,
}

/// What one instruction reads and writes, as value numbers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Effect {
    pub uses: Vec<u32>,
    pub defs: Vec<u32>,
}

impl Raw {
    pub fn effect(&self) -> Effect {
        let mut effect = Effect::default();
        for (value, written) in self.inst.values().chain(self.more.iter().copied()) {
            if written { &mut effect.defs } else { &mut effect.uses }.push(value);
        }
        if let Some((value, _)) = self.guard {
            effect.uses.push(value);
            // A lane whose guard is false keeps the old value.
            effect.uses.extend_from_slice(&effect.defs.clone());
        }
        effect
    }
}

/// A value: a virtual register or a preset.
#[derive(Debug, Clone)]
pub(crate) struct Value {
    pub name: String,
    pub kind: Type,
    pub preset: Option<Preset>,
}

impl Value {
    /// Groups of 32 words that its lanes take.
    pub fn slots(&self) -> u32 {
        if self.kind.bytes() == 8 { 2 } else { 1 }
    }
}

/// A kernel as far as decoding makes it.
pub(crate) struct Decoded {
    pub raws: Vec<Raw>,
    pub values: Vec<Value>,
    pub code: Code,
}
