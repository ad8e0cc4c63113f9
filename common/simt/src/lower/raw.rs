//! Decoded instructions before their registers have places: operands are numbers of values.

use super::inst::{Atomic, Copy, Detail, Inst};
use super::preset::Preset;
use super::shared::SharedArray;
use crate::ast::{Position, Type};

/// A decoded instruction before registers have slots: the fields flagged in `fields` hold value numbers.
#[derive(Debug, Clone)]
pub(crate) struct Raw {
    pub inst: Inst,
    /// Bit 0 to 4: d, a, b, c, e hold values.
    pub fields: u8,
    /// Those of them that are written.
    pub defs: u8,
    pub guard: Option<(u32, bool)>,
    pub targets: Vec<u32>,
    pub position: Position,
    /// Other threads may race with this access by intention (`volatile`, `relaxed`, ...).
    pub strong: bool,
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
        for (bit, value) in [self.inst.d, self.inst.a, self.inst.b, self.inst.c, self.inst.e].into_iter().enumerate() {
            if self.fields >> bit & 1 == 0 {
                continue;
            }
            if self.defs >> bit & 1 == 0 {
                effect.uses.push(value);
            } else {
                effect.defs.push(value);
            }
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

/// Everything decoded.
pub(crate) struct Decoded {
    pub raws: Vec<Raw>,
    pub values: Vec<Value>,
    pub details: Vec<Detail>,
    pub atomics: Vec<Atomic>,
    pub copies: Vec<Copy>,
    pub shared: Vec<SharedArray>,
    pub shared_bytes: u32,
    pub dynamic_offset: u32,
    pub local_bytes: u32,
    pub param_bytes: u32,
    pub variables: Vec<u32>,
}
