//! What all families of instructions share: the decoded program so far, the statement at hand, and the ways to add to
//! the one and to complain about the other.

use super::words::Words;
use crate::Error;
use crate::ast::{Operand, Position, Statement, Type};
use crate::lower::inst::{Atomic, Copy, Detail, Inst, Op};
use crate::lower::layout::Layout;
use crate::lower::preset::Preset;
use crate::lower::raw::{Raw, Value};
use std::collections::HashMap;
use std::sync::Arc;

/// Bits of `Raw::fields`.
pub(super) const D: u8 = 1;
pub(super) const A: u8 = 2;
pub(super) const B: u8 = 4;
pub(super) const C: u8 = 8;
pub(super) const E: u8 = 16;

pub(super) struct Decoder<'a> {
    pub layout: Layout<'a>,
    pub values: Vec<Value>,
    pub presets: HashMap<(Preset, bool), u32>,
    pub raws: Vec<Raw>,
    pub details: Vec<Detail>,
    pub atomics: Vec<Atomic>,
    pub copies: Vec<Copy>,
    pub variables: Vec<u32>,
    pub labels: HashMap<(usize, Arc<str>), u32>,
    /// Branches to patch: instruction, frame, label.
    pub branches: Vec<(usize, usize, Arc<str>)>,
    // The statement at hand.
    pub frame: usize,
    pub position: Position,
    pub guard: Option<(u32, bool)>,
    pub strong: bool,
}

impl<'a> Decoder<'a> {
    pub fn new(layout: Layout<'a>) -> Self {
        Self {
            layout,
            values: vec![],
            presets: HashMap::new(),
            raws: vec![],
            details: vec![],
            atomics: vec![],
            copies: vec![],
            variables: vec![],
            labels: HashMap::new(),
            branches: vec![],
            frame: 0,
            position: Position::default(),
            guard: None,
            strong: false,
        }
    }

    pub(super) fn refuse(&self, reason: impl Into<String>) -> Error {
        Error::unsupported(self.position.ptx, self.text(), reason)
    }

    pub(super) fn malformed(&self, reason: &str) -> Error {
        Error::parse(self.position.ptx, format!("{reason} in `{}`", self.text()))
    }

    fn text(&self) -> String {
        let (start, end) = self.position.text;
        let text = self.layout.inner.source.get(start as usize..end as usize).unwrap_or_default();
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    pub(super) fn preset(&mut self, preset: Preset, wide: bool) -> u32 {
        // Only the low word of a narrow constant matters, so that -1 is one value however it was written.
        let preset = match preset {
            Preset::Constant(value) if !wide => Preset::Constant(value & 0xffff_ffff),
            other => other,
        };
        let next = self.values.len() as u32;
        *self.presets.entry((preset, wide)).or_insert_with(|| {
            let kind = if wide { Type::B64 } else { Type::B32 };
            self.values.push(Value { name: String::new(), kind, preset: Some(preset) });
            next
        })
    }

    pub(super) fn new_value(&mut self, kind: Type) -> u32 {
        self.values.push(Value { name: String::new(), kind, preset: None });
        self.values.len() as u32 - 1
    }

    /// A 64-bit value made by one more instruction.
    pub(super) fn temporary(&mut self, op: Op, from: u32) -> u32 {
        let to = self.new_value(Type::B64);
        let mut inst = Inst::new(op);
        (inst.d, inst.a) = (to, from);
        let guard = self.guard.take();
        self.push(inst, D | A, D);
        self.guard = guard;
        to
    }

    pub(super) fn push(&mut self, inst: Inst, fields: u8, defs: u8) {
        self.raws.push(Raw {
            inst,
            fields,
            defs,
            guard: self.guard,
            targets: vec![],
            position: self.position,
            strong: self.strong,
        });
    }

    pub(super) fn operands<const N: usize>(&self, statement: &Statement) -> Result<[Operand; N], Error> {
        <[Operand; N]>::try_from(statement.operands.clone())
            .map_err(|list| self.malformed(&format!("{N} operands are needed, {} are there", list.len())))
    }

    pub(super) fn count(&self, statement: &Statement, count: usize) -> Result<(), Error> {
        if statement.operands.len() == count {
            return Ok(());
        }
        Err(self.malformed(&format!("{count} operands are needed, {} are there", statement.operands.len())))
    }

    pub(super) fn kind(&self, words: &mut Words<'_>) -> Result<Type, Error> {
        words.pick(Type::named).ok_or_else(|| self.malformed("no type"))
    }

    pub(super) fn done(&self, words: &Words<'_>) -> Result<(), Error> {
        match words.rest() {
            Some(word) => Err(self.refuse(format!("the word .{word}"))),
            None => Ok(()),
        }
    }
}
