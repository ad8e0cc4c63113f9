//! Decoded instructions before registers have places. Their operands are numbers of values.

use super::code::Code;
use super::inst::{Inst, Preset};
use super::order::MemoryOrder;
use crate::ast::{Guard, Position, Type};

/// A decoded instruction whose operands are numbers of values.
#[derive(Debug, Clone)]
pub struct Raw {
    pub inst: Inst,
    pub guard: Guard,
    pub targets: Vec<u32>,
    pub position: Position,
    pub order: MemoryOrder,
    /// Further operands for the fragments of matrices, and whether the instruction writes each of them.
    pub more: Vec<(u32, bool)>,
}

/// The values that one instruction reads and writes, by number.
#[derive(Debug, Clone, Default)]
pub struct Effect {
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
            // Lanes whose guard is false keep the old value.
            effect.uses.extend_from_slice(&effect.defs.clone());
        }
        effect
    }
}

/// A value: a virtual register or a preset.
#[derive(Debug, Clone)]
pub struct Value {
    pub name: String,
    pub kind: Type,
    pub preset: Option<Preset>,
}

impl Value {
    /// Returns how many groups of 32 words it takes in a warp's registers.
    pub fn slots(&self) -> u32 {
        if self.kind.bytes() == 8 { 2 } else { 1 }
    }
}

pub struct Decoded {
    pub raws: Vec<Raw>,
    pub values: Vec<Value>,
    pub code: Code,
}
