//! The parts that all families of instructions share: the words of an opcode, the decoded program so far, the current statement,
//! and the helpers that add instructions and report errors.

use crate::Error;
use crate::ast::{Guard, Operand, Position, Statement, Type};
use crate::lower::code::Code;
use crate::lower::inst::{Detail, Inst, NONE, Op, Preset};
use crate::lower::layout::Layout;
use crate::lower::order::MemoryOrder;
use crate::lower::raw::{Raw, Value};
use crate::place::Space;
use std::collections::HashMap;
use std::sync::Arc;

pub(super) struct Decoder<'a> {
    pub layout: Layout<'a>,
    pub values: Vec<Value>,
    pub presets: HashMap<(Preset, bool), u32>,
    pub raws: Vec<Raw>,
    /// The kernel, as far as it is decoded.
    pub code: Code,
    pub labels: HashMap<(usize, Arc<str>), u32>,
    /// Branches to patch: instruction, frame, label.
    pub branches: Vec<(usize, usize, Arc<str>)>,
    /// The predicate with the carry. It is made when an instruction first needs it.
    pub carry: Option<u32>,
    // The current statement.
    pub frame: usize,
    pub position: Position,
    pub guard: Guard,
    pub order: MemoryOrder,
}

/// An operand, and the type that the instruction gives it.
type Typed<'a> = (&'a Operand, Type);

impl<'a> Decoder<'a> {
    pub fn new(layout: Layout<'a>) -> Self {
        Self {
            layout,
            values: vec![],
            presets: HashMap::new(),
            raws: vec![],
            code: Code::default(),
            labels: HashMap::new(),
            branches: vec![],
            carry: None,
            frame: 0,
            position: Position::default(),
            guard: None,
            order: MemoryOrder::default(),
        }
    }

    /// Refuses a feature if the program's target is older than the compute capability that introduced it.
    pub(super) fn needs_target(&self, least: u32, name: &str, it_needs: &str) -> Result<(), Error> {
        let program = &self.layout.inner.program;
        if program.target < least {
            let target = &program.target_name;
            return Err(self.refuse(format!("{name} on {target}: {it_needs} .target sm_{least} or newer")));
        }
        Ok(())
    }

    pub(super) fn refuse(&self, reason: impl Into<String>) -> Error {
        Error::Unsupported { reason: reason.into(), location: self.layout.inner.location(self.position) }
    }

    pub(super) fn malformed(&self, reason: &str) -> Error {
        Error::parse(self.position.ptx, format!("{reason} in `{}`", self.layout.inner.text(self.position)))
    }

    /// Refuses something that is not supported, if `holds`.
    pub(super) fn refuse_if(&self, holds: bool, reason: &str) -> Result<(), Error> {
        if holds { Err(self.refuse(reason)) } else { Ok(()) }
    }

    /// Refuses something that is not valid PTX, if `holds`.
    pub(super) fn malformed_if(&self, holds: bool, reason: &str) -> Result<(), Error> {
        if holds { Err(self.malformed(reason)) } else { Ok(()) }
    }

    pub(super) fn preset(&mut self, preset: Preset, wide: bool) -> u32 {
        // Only the low word of a narrow constant counts, so all ways to write -1 give the same value.
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

    /// Makes a value without a name in the program.
    pub(super) fn unnamed(&mut self, kind: Type) -> u32 {
        self.values.push(Value { name: String::new(), kind, preset: None });
        self.values.len() as u32 - 1
    }

    /// Adds an instruction without a guard that computes a new value of this type, and returns the value.
    pub(super) fn temporary(&mut self, kind: Type, inst: Inst) -> u32 {
        let d = self.unnamed(kind);
        let guard = self.guard.take();
        self.push(Inst { d, ..inst });
        self.guard = guard;
        d
    }

    /// Zero-extends a 32-bit value to 64 bits.
    pub(super) fn widened(&mut self, a: u32) -> u32 {
        self.temporary(Type::B64, Inst { a, ..Inst::new(Op::ZeroExtend) })
    }

    pub(super) fn push(&mut self, inst: Inst) {
        let Self { guard, position, order, .. } = *self;
        self.raws.push(Raw { inst, guard, targets: vec![], position, order, more: vec![] });
    }

    /// Adds the last instruction of a statement.
    pub(super) fn finish(&mut self, inst: Inst) -> Result<(), Error> {
        self.push(inst);
        Ok(())
    }

    /// Fills the operands into an instruction.
    fn bind(&mut self, inst: &mut Inst, to: Typed<'_>, from: &[Typed<'_>]) -> Result<(), Error> {
        inst.d = self.destination(to.0, to.1)?;
        let inputs = [&mut inst.a, &mut inst.b, &mut inst.c, &mut inst.e];
        for (input, &(operand, kind)) in inputs.into_iter().zip(from) {
            let (a, negated) =
                if kind == Type::Pred { self.condition(operand)? } else { (self.source(operand, kind)?, false) };
            let not = Inst { a, ..Inst::new(Op::PredNot) };
            *input = if negated { self.temporary(kind, not) } else { a };
        }
        Ok(())
    }

    /// Adds an instruction with an operation other than [`Op::Generic`].
    pub(super) fn compute(&mut self, mut inst: Inst, to: Typed<'_>, from: &[Typed<'_>]) -> Result<(), Error> {
        self.bind(&mut inst, to, from)?;
        // The difference (or xor) of a register with itself is zero even if the register has no value.
        if inst.a == inst.b && matches!(inst.op, Op::Xor32 | Op::Xor64 | Op::Sub32 | Op::Sub64) {
            inst.a = self.preset(Preset::Constant(0), to.1.bytes() == 8);
            inst.b = inst.a;
        }
        self.finish(inst)
    }

    pub(super) fn generic(&mut self, mut detail: Detail, to: Typed<'_>, from: &[Typed<'_>]) -> Result<(), Error> {
        let mut inst = Inst::new(Op::Generic);
        self.bind(&mut inst, to, from)?;
        for (index, &(_, kind)) in std::iter::once(&to).chain(from).enumerate() {
            detail.wide[index] = kind.bytes() == 8;
            detail.predicate[index] = kind == Type::Pred;
        }
        inst.imm = self.detail(detail);
        self.finish(inst)
    }

    pub(super) fn detail(&mut self, detail: Detail) -> i32 {
        add(&mut self.code.details, detail)
    }

    /// Returns the register of a result, or [`NONE`] if the result is discarded.
    pub(super) fn result(&self, operand: &Operand, kind: Type) -> Result<u32, Error> {
        if *operand == Operand::Sink { Ok(NONE) } else { self.destination(operand, kind) }
    }

    pub(super) fn operands<const N: usize>(&self, statement: &Statement) -> Result<[Operand; N], Error> {
        <[Operand; N]>::try_from(statement.operands.clone())
            .map_err(|list| self.malformed(&format!("{N} operands are needed, {} are there", list.len())))
    }

    pub(super) fn count(&self, statement: &Statement, count: usize) -> Result<(), Error> {
        match statement.operands.len() {
            found if found == count => Ok(()),
            found => Err(self.malformed(&format!("{count} operands are needed, {found} are there"))),
        }
    }

    pub(super) fn kind(&self, words: &mut Words<'_>) -> Result<Type, Error> {
        let foreign = |word: &&str| {
            let brief = matches!(*word, "b1" | "u4" | "s4" | "e4m3" | "e5m2");
            brief || word.len() > 2 && word.contains('x') && word.as_bytes()[1].is_ascii_digit()
        };
        words.pick(Type::named).ok_or_else(|| match words.left().find(foreign) {
            // Types such as `.u4`, `.u16x2` and `.e4m3x2`.
            Some(word) => self.refuse(format!("the type .{word}")),
            None => self.malformed("no type"),
        })
    }

    /// Returns the type if it is the only word left.
    pub(super) fn last_kind(&self, mut words: Words<'_>) -> Result<Type, Error> {
        let kind = self.kind(&mut words)?;
        self.done(&words).map(|()| kind)
    }

    pub(super) fn done(&self, words: &Words<'_>) -> Result<(), Error> {
        words.left().next().map_or(Ok(()), |word| Err(self.refuse(format!("the word .{word}"))))
    }
}

/// Adds the fixed part of an instruction, and returns its number.
pub(super) fn add<T>(parts: &mut Vec<T>, part: T) -> i32 {
    parts.push(part);
    parts.len() as i32 - 1
}

/// Splits `a|b` into its two destinations. There may be only one.
pub(super) fn pair(operand: &Operand) -> (&Operand, Option<&Operand>) {
    match operand {
        Operand::Pair(first, second) => (first, Some(second)),
        first => (first, None),
    }
}

/// Returns the elements of a vector, or the single operand.
pub(super) fn parts(operand: &Operand) -> &[Operand] {
    if let Operand::Vector(parts) = operand { parts } else { std::slice::from_ref(operand) }
}

/// Words that do not change what is computed, like those that begin with `L1::` or `L2::`. [`MemoryOrder`] reads some of them.
const HINTS: [&str; 22] = [
    "ca", "cg", "cs", "cv", "lu", "wb", "wt", "nc", "volatile", "weak", "relaxed", "acquire", "release", "acq_rel",
    "cta", "gpu", "sys", "cluster", "mmio", "uni", "full", "sc",
];

/// The words of an opcode after its first one, and which of them have been taken.
#[derive(Clone)]
pub(super) struct Words<'a> {
    words: &'a [String],
    used: Vec<bool>,
}

impl<'a> Words<'a> {
    pub fn new(statement: &'a Statement) -> Self {
        let words = &statement.words[1..];
        Self { words, used: vec![false; words.len()] }
    }

    /// Takes a word, and returns whether it was there.
    pub fn take(&mut self, word: &str) -> bool {
        self.pick(|other| (other == word).then_some(())).is_some()
    }

    /// Takes the first word that is among the choices, and returns the value of that choice.
    pub fn one_of<T: Copy>(&mut self, choices: &[(&str, T)]) -> Option<T> {
        self.pick(|word| choices.iter().find(|choice| choice.0 == word).map(|choice| choice.1))
    }

    /// Takes the first word for which `f` returns a value, and returns that value.
    pub fn pick<T>(&mut self, f: impl Fn(&str) -> Option<T>) -> Option<T> {
        for (index, word) in self.words.iter().enumerate() {
            if !self.used[index]
                && let Some(value) = f(word)
            {
                self.used[index] = true;
                return Some(value);
            }
        }
        None
    }

    /// Takes the words that do not change what is computed.
    pub fn hints(&mut self) {
        for (index, word) in self.words.iter().enumerate() {
            let hint = HINTS.contains(&word.as_str()) || word.starts_with("L1::") || word.starts_with("L2::");
            self.used[index] |= hint;
        }
    }

    /// Returns the words that have not been taken.
    pub fn left(&self) -> impl Iterator<Item = &'a str> {
        self.words.iter().zip(&self.used).filter(|(_, used)| !**used).map(|(word, _)| word.as_str())
    }
}

/// Returns the memory space that a word such as `shared::cta` names.
pub(super) fn space(word: &str) -> Option<Space> {
    Space::named(word.split("::").next().unwrap_or(word))
}
