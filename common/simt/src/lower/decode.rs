//! One statement to one instruction. Every word of the opcode must be understood, or the statement is refused.

use super::inst::{
    Atomic, AtomicOp, Combine, Compare, Copy, CopyCount, Detail, Function, Inst, Op, Rounding, Shape, sub,
};
use super::layout::{Flat, Layout, Place};
use super::preset::{LOCAL_WINDOW, Preset, SHARED_WINDOW, Special};
use super::raw::{Decoded, Raw, Value};
use super::shared::SharedArray;
use crate::ast::{Operand, Position, Space, Statement, Type};
use crate::error::Error;
use std::collections::HashMap;
use std::sync::Arc;

/// Bits of `Raw::fields`.
const D: u8 = 1;
const A: u8 = 2;
const B: u8 = 4;
const C: u8 = 8;
const E: u8 = 16;

pub(crate) struct Decoder<'a> {
    layout: Layout<'a>,
    values: Vec<Value>,
    presets: HashMap<(Preset, bool), u32>,
    raws: Vec<Raw>,
    details: Vec<Detail>,
    atomics: Vec<Atomic>,
    copies: Vec<Copy>,
    variables: Vec<u32>,
    labels: HashMap<(usize, Arc<str>), u32>,
    /// Branches to patch: instruction, frame, label.
    branches: Vec<(usize, usize, Arc<str>)>,
    // The statement at hand.
    frame: usize,
    position: Position,
    guard: Option<(u32, bool)>,
    strong: bool,
}

/// The words after the opcode, taken one by one.
struct Words<'a> {
    words: &'a [String],
    used: Vec<bool>,
}

impl<'a> Words<'a> {
    fn new(statement: &'a Statement) -> Self {
        let words = &statement.words[1..];
        Self { words, used: vec![false; words.len()] }
    }

    /// Takes a word if it is there.
    fn take(&mut self, word: &str) -> bool {
        match (0..self.words.len()).find(|&index| !self.used[index] && self.words[index] == word) {
            Some(index) => {
                self.used[index] = true;
                true
            }
            None => false,
        }
    }

    /// Takes the first word that `f` understands.
    fn pick<T>(&mut self, f: impl Fn(&str) -> Option<T>) -> Option<T> {
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

    /// Takes the words that only advise the hardware.
    fn hints(&mut self) {
        for (index, word) in self.words.iter().enumerate() {
            let hint = matches!(
                word.as_str(),
                "ca" | "cg"
                    | "cs"
                    | "cv"
                    | "lu"
                    | "wb"
                    | "wt"
                    | "nc"
                    | "volatile"
                    | "weak"
                    | "relaxed"
                    | "acquire"
                    | "release"
                    | "acq_rel"
                    | "cta"
                    | "gpu"
                    | "sys"
                    | "cluster"
                    | "mmio"
                    | "uni"
                    | "full"
                    | "sc"
            ) || word.starts_with("L1::")
                || word.starts_with("L2::");
            self.used[index] |= hint;
        }
    }

    fn rest(&self) -> Option<&str> {
        self.words.iter().zip(&self.used).find(|(_, used)| !**used).map(|(word, _)| word.as_str())
    }
}

fn rounding(word: &str) -> Option<Rounding> {
    Some(match word {
        "rn" => Rounding::Nearest,
        "rz" => Rounding::Zero,
        "rm" => Rounding::Down,
        "rp" => Rounding::Up,
        "rni" => Rounding::IntNearest,
        "rzi" => Rounding::IntZero,
        "rmi" => Rounding::IntDown,
        "rpi" => Rounding::IntUp,
        _ => return None,
    })
}

fn compare(word: &str) -> Option<Compare> {
    Some(match word {
        "eq" => Compare::Eq,
        "ne" => Compare::Ne,
        "lt" | "lo" => Compare::Lt,
        "le" | "ls" => Compare::Le,
        "gt" | "hi" => Compare::Gt,
        "ge" | "hs" => Compare::Ge,
        "equ" => Compare::Equ,
        "neu" => Compare::Neu,
        "ltu" => Compare::Ltu,
        "leu" => Compare::Leu,
        "gtu" => Compare::Gtu,
        "geu" => Compare::Geu,
        "num" => Compare::Num,
        "nan" => Compare::Nan,
        _ => return None,
    })
}

fn combine(word: &str) -> Option<Combine> {
    Some(match word {
        "and" => Combine::And,
        "or" => Combine::Or,
        "xor" => Combine::Xor,
        _ => return None,
    })
}

fn space(word: &str) -> Option<Space> {
    Some(match word.split("::").next().unwrap_or(word) {
        "global" => Space::Global,
        "shared" => Space::Shared,
        "local" => Space::Local,
        "const" => Space::Const,
        "param" => Space::Param,
        _ => return None,
    })
}

fn special(name: &str) -> Option<Special> {
    let axis = |suffix: &str| match suffix {
        "x" => Some(0),
        "y" => Some(1),
        "z" => Some(2),
        _ => None,
    };
    if let Some((name, suffix)) = name.split_once('.') {
        let axis = axis(suffix)?;
        return Some(match name {
            "tid" => Special::Tid(axis),
            "ntid" => Special::Ntid(axis),
            // A launch without clusters has one block in each.
            "ctaid" | "clusterid" => Special::Ctaid(axis),
            "nctaid" | "nclusterid" => Special::Nctaid(axis),
            "cluster_ctaid" => Special::Zero,
            "cluster_nctaid" => Special::One,
            _ => return None,
        });
    }
    Some(match name {
        "laneid" => Special::LaneId,
        "warpid" => Special::WarpId,
        "nwarpid" => Special::NWarpId,
        "lanemask_eq" => Special::LaneMaskEq,
        "lanemask_lt" => Special::LaneMaskLt,
        "lanemask_le" => Special::LaneMaskLe,
        "lanemask_gt" => Special::LaneMaskGt,
        "lanemask_ge" => Special::LaneMaskGe,
        "dynamic_smem_size" => Special::DynamicShared,
        "total_smem_size" | "aggr_smem_size" => Special::TotalShared,
        "smid" | "gridid" | "cluster_ctarank" => Special::Zero,
        "nsmid" | "cluster_nctarank" => Special::One,
        _ => return None,
    })
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

    pub fn decode(mut self) -> Result<Decoded, Error> {
        // Registers of all frames first, so that a register's value number is its own number.
        for frame in &self.layout.frames {
            let registers = &self.layout.inner.program.functions[frame.function].registers;
            self.values.extend(registers.iter().map(|r| Value { name: r.name.clone(), kind: r.kind, preset: None }));
        }
        self.place_dynamic();
        let flat = std::mem::take(&mut self.layout.flat);
        for item in &flat {
            match item {
                Flat::Label(frame, name, line) => {
                    let at = self.raws.len() as u32;
                    if self.labels.insert((*frame, name.clone()), at).is_some() {
                        return Err(Error::parse(*line, format!("the label {name} is there twice")));
                    }
                }
                Flat::Back(name) => {
                    // Whoever called jumps here; label names of this kind are unique.
                    self.labels.insert((usize::MAX, name.clone()), self.raws.len() as u32);
                }
                Flat::Statement(frame, statement) => {
                    self.frame = *frame;
                    self.position = statement.position;
                    self.guard = None;
                    self.strong = statement.words[1..].iter().any(|word| {
                        matches!(
                            word.as_str(),
                            "volatile" | "relaxed" | "acquire" | "release" | "acq_rel" | "mmio" | "cv"
                        )
                    });
                    if let Some((id, negated)) = statement.guard {
                        self.guard = Some((self.register(id, Type::Pred)?, negated));
                    }
                    self.statement(statement)?;
                }
            }
        }
        // A kernel that does not end with `ret` ends anyway, and a label may stand at the very end.
        self.guard = None;
        self.push(Inst::new(Op::Exit), 0, 0);
        for (index, frame, label) in std::mem::take(&mut self.branches) {
            let known = self.labels.get(&(frame, label.clone())).copied();
            let Some(target) = known else {
                let line = self.raws[index].position.ptx;
                return Err(Error::parse(line, format!("there is no label {label}")));
            };
            self.raws[index].targets.push(target);
        }
        let entry = &self.layout.inner.program.functions[self.layout.frames[0].function];
        let param_bytes = entry.variables[..entry.params].iter().fold(0u32, |offset, variable| {
            offset.next_multiple_of(variable.align.max(1)).saturating_add(variable.bytes as u32)
        });
        let shared_bytes = u32::try_from(self.layout.shared_bytes)
            .map_err(|_| Error::usage("the kernel declares more than 4 GiB of shared memory"))?;
        let dynamic_offset = self.dynamic_offset();
        Ok(Decoded {
            raws: self.raws,
            values: self.values,
            details: self.details,
            atomics: self.atomics,
            copies: self.copies,
            shared: self.layout.shared,
            shared_bytes,
            dynamic_offset,
            local_bytes: self.layout.local_bytes.next_multiple_of(16) as u32,
            param_bytes,
            variables: self.variables,
        })
    }

    // Variables.

    /// Gives every shared variable of the module that the kernel names a place, then the dynamic array.
    fn place_dynamic(&mut self) {
        let names: Vec<Arc<str>> = self
            .layout
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
        let program = &self.layout.inner.program;
        for (number, variable) in (0u32..).zip(&program.variables) {
            if variable.space == Space::Shared && names.iter().any(|name| **name == *variable.name) {
                if variable.external || variable.bytes == 0 {
                    self.layout.dynamic.push((None, number));
                } else {
                    self.layout.shared(None, number);
                }
            }
        }
        // All dynamic arrays start at the same place, after the static ones.
        let dynamic = std::mem::take(&mut self.layout.dynamic);
        let offset = self.dynamic_offset();
        for &(owner, number) in &dynamic {
            let variable = match owner {
                Some(function) => &program.functions[function].variables[number as usize],
                None => &program.variables[number as usize],
            };
            if self.layout.placed.insert((owner, number), offset).is_none() {
                let known = self.layout.shared.iter().any(|array| array.name == variable.name);
                if !known {
                    self.layout.shared.push(SharedArray::new(&variable.name, offset, 0));
                }
            }
        }
        for frame in &mut self.layout.frames {
            for (number, place) in (0u32..).zip(&mut frame.places) {
                if let (Place::Unplaced, Some(&offset)) =
                    (*place, self.layout.placed.get(&(Some(frame.function), number)))
                {
                    *place = Place::Shared(offset);
                }
            }
        }
        self.layout.dynamic = dynamic;
    }

    fn dynamic_offset(&self) -> u32 {
        (self.layout.shared_bytes.next_multiple_of(16)).min(u64::from(u32::MAX)) as u32
    }

    fn find(&mut self, name: &str) -> Option<Place> {
        let number = self.layout.inner.program.variables.iter().position(|variable| variable.name == name)? as u32;
        let variable = &self.layout.inner.program.variables[number as usize];
        Some(match variable.space {
            Space::Shared => Place::Shared(*self.layout.placed.get(&(None, number))?),
            Space::Global | Space::Const => {
                if !self.variables.contains(&number) {
                    self.variables.push(number);
                }
                Place::Module(number)
            }
            _ => return None,
        })
    }

    /// The preset that holds a variable's address.
    fn address_of(&mut self, place: Place, offset: i64) -> Result<u32, Error> {
        let constant = |base: u32| Preset::Constant(u64::from(base).wrapping_add_signed(offset));
        let preset = match place {
            Place::Shared(base) => {
                let address = u64::from(base).wrapping_add_signed(offset);
                // Of arrays at one place (dynamic ones) any will do.
                match self.layout.shared.iter().position(|array| array.offset == base) {
                    Some(array) => Preset::Shared { array: array as u32, address },
                    None => Preset::Constant(address),
                }
            }
            Place::Local(base) | Place::Param(base) => constant(base),
            Place::Module(number) => Preset::Variable { number, offset },
            Place::Unplaced => return Err(self.refuse("this variable")),
        };
        Ok(self.preset(preset, true))
    }

    // Errors.

    fn text(&self) -> String {
        let (start, end) = self.position.text;
        let text = self.layout.inner.source.get(start as usize..end as usize).unwrap_or_default();
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    fn refuse(&self, reason: impl Into<String>) -> Error {
        Error::unsupported(self.position.ptx, self.text(), reason)
    }

    fn malformed(&self, reason: &str) -> Error {
        Error::parse(self.position.ptx, format!("{reason} in `{}`", self.text()))
    }

    // Values.

    fn preset(&mut self, preset: Preset, wide: bool) -> u32 {
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

    fn register(&self, id: u32, kind: Type) -> Result<u32, Error> {
        let value = id + self.layout.frames[self.frame].registers;
        let declared = &self.values[value as usize];
        let wanted = match kind.bytes() {
            1 => 2,
            bytes => bytes,
        };
        if (declared.kind == Type::Pred) != (kind == Type::Pred) {
            let (is, needs) = if kind == Type::Pred { ("no predicate", "one") } else { ("a predicate", "a number") };
            return Err(self.malformed(&format!("{} is {is} where {needs} is needed", declared.name)));
        }
        let has = declared.kind.bytes();
        // An 8-bit register may stand where 16 bits are the least.
        if has != wanted && !(kind.bytes() <= 2 && has <= 2) {
            let (has, wanted) = (has * 8, wanted * 8);
            return Err(self.malformed(&format!("{} has {has} bits where {wanted} are needed,", declared.name)));
        }
        Ok(value)
    }

    fn register_of(&self, operand: &Operand) -> Option<u32> {
        match operand {
            Operand::Register { id, negated: false } => Some(id + self.layout.frames[self.frame].registers),
            _ => None,
        }
    }

    /// A source operand of the type.
    fn source(&mut self, operand: &Operand, kind: Type) -> Result<u32, Error> {
        let wide = kind.bytes() == 8;
        match operand {
            Operand::Register { id, negated: false } => self.register(*id, kind),
            Operand::Integer(value) if kind != Type::Pred => {
                let bits = match kind.bytes() {
                    1 | 2 => *value as u16 as u64,
                    4 => *value as u32 as u64,
                    _ => *value as u64,
                };
                Ok(self.preset(Preset::Constant(bits), wide))
            }
            Operand::Float { single, double } if kind != Type::Pred => {
                let bits = if wide { *double } else { u64::from(*single) };
                Ok(self.preset(Preset::Constant(bits), wide))
            }
            Operand::Special(name) => match special(name) {
                Some(special) => Ok(self.preset(Preset::Special(special), wide)),
                None => Err(self.refuse(format!("the register %{name}"))),
            },
            Operand::Local { id, offset } => {
                let place = self.layout.frames[self.frame].places[*id as usize];
                let address = self.address_of(place, *offset)?;
                self.narrowed(address, wide)
            }
            Operand::Name { name, offset } => match self.find(name) {
                Some(place) => {
                    let address = self.address_of(place, *offset)?;
                    self.narrowed(address, wide)
                }
                None => Err(self.malformed(&format!("{name} is not declared, or cannot be used here,"))),
            },
            _ => Err(self.malformed("an operand that cannot stand here")),
        }
    }

    /// The address of a shared variable fits 32 bits.
    fn narrowed(&mut self, address: u32, wide: bool) -> Result<u32, Error> {
        match self.values[address as usize].preset {
            _ if wide => Ok(address),
            Some(preset @ (Preset::Constant(_) | Preset::Shared { .. })) => Ok(self.preset(preset, false)),
            _ => Err(self.malformed("an address in a 32-bit operand")),
        }
    }

    fn destination(&self, operand: &Operand, kind: Type) -> Result<u32, Error> {
        match operand {
            Operand::Register { id, negated: false } => self.register(*id, kind),
            Operand::Special(name) => Err(self.malformed(&format!("%{name} is not declared, or cannot be written,"))),
            _ => Err(self.malformed("a destination that is no register")),
        }
    }

    /// A predicate operand that may be written `!%p`: value and whether negated.
    fn condition(&self, operand: &Operand) -> Result<(u32, bool), Error> {
        match operand {
            Operand::Register { id, negated } => Ok((self.register(*id, Type::Pred)?, *negated)),
            _ => Err(self.malformed("an operand that is no predicate")),
        }
    }

    /// `[address]`: value, displacement, and whether it is 64 bits wide.
    fn address(&mut self, operand: &Operand, expected: Space) -> Result<(u32, i64, bool), Error> {
        let Operand::Address { base, offset } = operand else {
            return Err(self.malformed("an operand that is no address"));
        };
        let (base, offset) = (base.as_ref().clone(), *offset);
        match &base {
            Operand::Register { negated: false, .. } => {
                let value = self.register_of(&base).unwrap_or_default();
                match self.values[value as usize].kind.bytes() {
                    8 => Ok((value, offset, true)),
                    4 if matches!(expected, Space::Shared | Space::Local | Space::Param | Space::Const) => {
                        Ok((value, offset, false))
                    }
                    _ => Err(self.malformed("an address register that does not have 64 bits")),
                }
            }
            Operand::Local { id, .. } => {
                let place = self.layout.frames[self.frame].places[*id as usize];
                let fits = match place {
                    Place::Shared(_) => expected == Space::Shared,
                    Place::Local(_) => matches!(expected, Space::Local | Space::Param),
                    Place::Param(_) => expected == Space::Param,
                    _ => false,
                };
                if !fits {
                    return Err(self.malformed("a variable of another memory space"));
                }
                Ok((self.source(&base, Type::U64)?, offset, true))
            }
            Operand::Name { name, .. } => {
                let fits = matches!(
                    (self.find(name), expected),
                    (Some(Place::Shared(_)), Space::Shared)
                        | (Some(Place::Module(_)), Space::Global | Space::Const | Space::Generic)
                        | (None, _)
                );
                if !fits {
                    return Err(self.malformed("a variable of another memory space"));
                }
                Ok((self.source(&base, Type::U64)?, offset, true))
            }
            Operand::Integer(value) => Ok((self.preset(Preset::Constant(*value as u64), true), offset, true)),
            _ => Err(self.malformed("an operand that is no address")),
        }
    }

    /// An address whose displacement fits the instruction; a larger one is added first.
    fn near_address(&mut self, operand: &Operand, expected: Space) -> Result<(u32, i32, bool), Error> {
        let (mut value, offset, wide) = self.address(operand, expected)?;
        let Ok(offset) = i32::try_from(offset) else {
            if !wide {
                value = self.temporary(Op::ZeroExtend, value);
            }
            let addend = self.preset(Preset::Constant(offset as u64), true);
            let sum = self.new_value(Type::B64);
            let mut inst = Inst::new(Op::Add64);
            (inst.d, inst.a, inst.b) = (sum, value, addend);
            let guard = self.guard.take();
            self.push(inst, D | A | B, D);
            self.guard = guard;
            return Ok((sum, 0, true));
        };
        Ok((value, offset, wide))
    }

    fn new_value(&mut self, kind: Type) -> u32 {
        self.values.push(Value { name: String::new(), kind, preset: None });
        self.values.len() as u32 - 1
    }

    /// A 64-bit value made by one more instruction.
    fn temporary(&mut self, op: Op, from: u32) -> u32 {
        let to = self.new_value(Type::B64);
        let mut inst = Inst::new(op);
        (inst.d, inst.a) = (to, from);
        let guard = self.guard.take();
        self.push(inst, D | A, D);
        self.guard = guard;
        to
    }

    // Instructions.

    fn push(&mut self, inst: Inst, fields: u8, defs: u8) {
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

    fn operands<const N: usize>(&self, statement: &Statement) -> Result<[Operand; N], Error> {
        <[Operand; N]>::try_from(statement.operands.clone())
            .map_err(|list| self.malformed(&format!("{N} operands are needed, {} are there", list.len())))
    }

    /// An instruction whose operands are all of one type.
    fn plain<const N: usize>(&mut self, statement: &Statement, op: Op, kind: Type) -> Result<(), Error> {
        let mut inst = Inst::new(op);
        inst.d = self.destination(&statement.operands[0], kind)?;
        let mut fields = D;
        for (index, operand) in statement.operands[1..=N].iter().enumerate() {
            let value = self.source(operand, kind)?;
            match index {
                0 => inst.a = value,
                1 => inst.b = value,
                _ => inst.c = value,
            }
            fields |= A << index;
        }
        self.push(inst, fields, D);
        Ok(())
    }

    /// A generic instruction: destination and sources, each with its type.
    fn generic(&mut self, mut detail: Detail, to: (&Operand, Type), from: &[(&Operand, Type)]) -> Result<(), Error> {
        let mut inst = Inst::new(Op::Generic);
        inst.d = self.destination(to.0, to.1)?;
        detail.wide[0] = to.1.bytes() == 8;
        detail.predicate[0] = to.1 == Type::Pred;
        let mut fields = D;
        for (index, &(operand, kind)) in from.iter().enumerate() {
            let value = if kind == Type::Pred {
                let (value, negated) = self.condition(operand)?;
                detail.negate |= negated;
                value
            } else {
                self.source(operand, kind)?
            };
            detail.wide[index + 1] = kind.bytes() == 8;
            detail.predicate[index + 1] = kind == Type::Pred;
            match index {
                0 => inst.a = value,
                1 => inst.b = value,
                2 => inst.c = value,
                _ => inst.e = value,
            }
            fields |= A << index;
        }
        inst.imm = self.details.len() as i32;
        self.details.push(detail);
        self.push(inst, fields, D);
        Ok(())
    }

    fn done(&self, words: &Words<'_>) -> Result<(), Error> {
        match words.rest() {
            Some(word) => Err(self.refuse(format!("the word .{word}"))),
            None => Ok(()),
        }
    }

    fn count(&self, statement: &Statement, count: usize) -> Result<(), Error> {
        if statement.operands.len() == count {
            return Ok(());
        }
        Err(self.malformed(&format!("{count} operands are needed, {} are there", statement.operands.len())))
    }

    fn kind(&self, words: &mut Words<'_>) -> Result<Type, Error> {
        words.pick(Type::named).ok_or_else(|| self.malformed("no type"))
    }

    fn statement(&mut self, statement: &Statement) -> Result<(), Error> {
        let words = Words::new(statement);
        match statement.words[0].as_str() {
            name @ ("add" | "sub" | "mul" | "mad" | "fma" | "div" | "rem" | "min" | "max" | "neg" | "abs" | "sad"
            | "mul24" | "mad24") => self.arithmetic(name, statement, words),
            name @ ("and" | "or" | "xor" | "not" | "cnot" | "shl" | "shr" | "lop3" | "shf" | "popc" | "clz"
            | "bfind" | "brev" | "bfe" | "bfi" | "bmsk" | "szext" | "fns" | "prmt" | "dp4a" | "dp2a") => {
                self.bits(name, statement, words)
            }
            name @ ("rcp" | "sqrt" | "rsqrt" | "sin" | "cos" | "lg2" | "ex2" | "tanh" | "copysign" | "testp") => {
                self.functions(name, statement, words)
            }
            "setp" => self.setp(statement, words),
            name @ ("selp" | "slct" | "set") => self.select(name, statement, words),
            "mov" => self.mov(statement, words),
            "cvt" => self.cvt(statement, words),
            "cvta" => self.cvta(statement, words),
            "isspacep" => self.isspacep(statement, words),
            "ld" | "ldu" => self.load(statement, words),
            "st" => self.store(statement, words),
            "atom" | "red" => self.atomic(statement, words),
            "cp" => self.copy(statement, words),
            "bra" | "ret" | "exit" | "trap" | "brkpt" | "brx" => self.control(statement, words),
            "bar" | "barrier" => self.barrier(statement, words),
            "membar" | "fence" => {
                self.push(Inst::new(Op::Fence), 0, 0);
                Ok(())
            }
            "shfl" | "vote" | "match" | "redux" | "activemask" => self.warp(statement, words),
            "prefetch" | "prefetchu" | "nanosleep" | "pmevent" | "discard" | "applypriority" | "griddepcontrol"
            | "setmaxnreg" => {
                self.push(Inst::new(Op::Nop), 0, 0);
                Ok(())
            }
            "elect" => self.elect(statement),
            name => Err(self.refuse(format!("`{name}`"))),
        }
    }

    fn arithmetic(&mut self, name: &str, statement: &Statement, mut words: Words<'_>) -> Result<(), Error> {
        let low = words.take("lo");
        let high = words.take("hi");
        let wide = words.take("wide");
        let sat = words.take("sat");
        let ftz = words.take("ftz");
        let nan = words.take("NaN");
        let full = words.take("full") || words.take("approx");
        let abs = words.take("xorsign") || words.take("relu");
        let round = words.pick(rounding);
        let kind = self.kind(&mut words)?;
        self.done(&words)?;
        if abs || (low && (high || wide)) || (high && wide) {
            return Err(self.refuse("this combination of words"));
        }
        let inputs = match name {
            "neg" | "abs" => 1,
            "mad" | "fma" | "sad" | "mad24" => 3,
            _ => 2,
        };
        self.count(statement, inputs + 1)?;
        if kind.is_half() && !matches!(name, "add" | "sub" | "mul" | "fma" | "neg" | "abs" | "min" | "max")
            || matches!(kind, Type::Pred | Type::B8 | Type::U8 | Type::S8 | Type::B128)
        {
            return Err(self.refuse("this type"));
        }
        let float = kind.is_float() || kind.is_half();
        let bit_type = matches!(kind, Type::B16 | Type::B32 | Type::B64);
        if bit_type
            || (float && (low || high || wide))
            || (name == "fma" && !float)
            || (float && matches!(name, "rem" | "sad" | "mul24" | "mad24"))
        {
            return Err(self.malformed("a type this instruction does not have"));
        }
        if matches!(name, "mul" | "mad" | "mul24" | "mad24") && !float && !(low || high || wide) {
            return Err(self.malformed("no .lo, .hi or .wide"));
        }
        let exact = matches!(round, None | Some(Rounding::Nearest)) && !ftz && !sat && !nan;
        let size = kind.bytes();
        if exact && !high {
            let op = match (name, kind) {
                ("add", Type::U32 | Type::S32) => Some(Op::Add32),
                ("sub", Type::U32 | Type::S32) => Some(Op::Sub32),
                ("neg", Type::S32) => Some(Op::Neg32),
                ("add", Type::U64 | Type::S64) => Some(Op::Add64),
                ("sub", Type::U64 | Type::S64) => Some(Op::Sub64),
                ("mul", _) if !float && !wide && size == 4 => Some(Op::Mul32),
                ("mul", _) if !float && !wide && size == 8 => Some(Op::Mul64),
                ("mad", _) if !float && !wide && size == 4 => Some(Op::Mad32),
                ("mad", _) if !float && !wide && size == 8 => Some(Op::Mad64),
                ("min", Type::S32) => Some(Op::MinS32),
                ("max", Type::S32) => Some(Op::MaxS32),
                ("min", Type::U32) => Some(Op::MinU32),
                ("max", Type::U32) => Some(Op::MaxU32),
                ("add", Type::F32) => Some(Op::AddF32),
                ("sub", Type::F32) => Some(Op::SubF32),
                ("mul", Type::F32) => Some(Op::MulF32),
                ("mad" | "fma", Type::F32) => Some(Op::FmaF32),
                ("neg", Type::F32) => Some(Op::NegF32),
                ("abs", Type::F32) => Some(Op::AbsF32),
                ("div", Type::F32) => Some(Op::DivF32),
                ("min", Type::F32) => Some(Op::MinF32),
                ("max", Type::F32) => Some(Op::MaxF32),
                ("add", Type::F64) => Some(Op::AddF64),
                ("mul", Type::F64) => Some(Op::MulF64),
                ("mad" | "fma", Type::F64) => Some(Op::FmaF64),
                _ => None,
            };
            if let Some(op) = op {
                return match inputs {
                    1 => self.plain::<1>(statement, op, kind),
                    2 => self.plain::<2>(statement, op, kind),
                    _ => self.plain::<3>(statement, op, kind),
                };
            }
            let wide_op = match (name, kind) {
                ("mul", Type::S32) => Op::MulWideS32,
                ("mul", Type::U32) => Op::MulWideU32,
                ("mad", Type::S32) => Op::MadWideS32,
                ("mad", Type::U32) => Op::MadWideU32,
                _ => Op::Nop,
            };
            if wide && wide_op != Op::Nop {
                let mut inst = Inst::new(wide_op);
                inst.d = self.destination(&statement.operands[0], Type::B64)?;
                inst.a = self.source(&statement.operands[1], kind)?;
                inst.b = self.source(&statement.operands[2], kind)?;
                if inputs == 3 {
                    inst.c = self.source(&statement.operands[3], Type::B64)?;
                }
                self.push(inst, if inputs == 3 { D | A | B | C } else { D | A | B }, D);
                return Ok(());
            }
        }
        let _ = full;
        let function = match name {
            "add" => Function::Add,
            "sub" => Function::Sub,
            "mul" if float || low => Function::MulLo,
            "mul" if high => Function::MulHi,
            "mul" => Function::MulWide,
            "mad" | "fma" if float => Function::Fma,
            "mad" if low => Function::MadLo,
            "mad" if high => Function::MadHi,
            "mad" => Function::MadWide,
            "mul24" if low => Function::Mul24Lo,
            "mul24" => Function::Mul24Hi,
            "mad24" if low => Function::Mad24Lo,
            "mad24" => Function::Mad24Hi,
            "div" => Function::Div,
            "rem" => Function::Rem,
            "min" if nan => Function::MinNan,
            "min" => Function::Min,
            "max" if nan => Function::MaxNan,
            "max" => Function::Max,
            "neg" => Function::Neg,
            "abs" => Function::Abs,
            _ => Function::Sad,
        };
        let mut detail = Detail::new(function, kind);
        detail.rounding = round.unwrap_or(Rounding::Nearest);
        detail.ftz = ftz;
        detail.sat = sat;
        let result = match (wide, size) {
            (false, _) => kind,
            (true, 2) => Type::B32,
            (true, 4) => Type::B64,
            _ => return Err(self.malformed("a type this instruction does not have")),
        };
        let sources: Vec<_> = statement.operands[1..]
            .iter()
            .enumerate()
            .map(|(index, operand)| (operand, if index == 2 { result } else { kind }))
            .collect();
        self.generic(detail, (&statement.operands[0], result), &sources)
    }

    fn bits(&mut self, name: &str, statement: &Statement, mut words: Words<'_>) -> Result<(), Error> {
        let left = words.take("l");
        let right = words.take("r");
        let clamp = words.take("clamp");
        let wrap = words.take("wrap");
        let shift_amount = words.take("shiftamt");
        let low = words.take("lo");
        let high = words.take("hi");
        let modes = ["f4e", "b4e", "rc8", "ecl", "ecr", "rc16"];
        let mode = words.pick(|word| modes.iter().position(|mode| *mode == word));
        let kind = self.kind(&mut words)?;
        let second = words.pick(Type::named);
        self.done(&words)?;
        let operands = &statement.operands;
        let simple = |function| Detail::new(function, kind);
        let has = |allowed: &[u32]| allowed.contains(&kind.bytes());
        if kind == Type::Pred {
            let op = match name {
                "and" => Op::PredAnd,
                "or" => Op::PredOr,
                "xor" => Op::PredXor,
                "not" => Op::PredNot,
                _ => return Err(self.malformed("a type this instruction does not have")),
            };
            let inputs = if op == Op::PredNot { 1 } else { 2 };
            self.count(statement, inputs + 1)?;
            let mut inst = Inst::new(op);
            inst.d = self.destination(&operands[0], Type::Pred)?;
            inst.a = self.condition(&operands[1])?.0;
            if inputs == 2 {
                inst.b = self.condition(&operands[2])?.0;
            }
            if operands[1..].iter().any(|operand| matches!(operand, Operand::Register { negated: true, .. })) {
                return Err(self.refuse("a negated operand here"));
            }
            self.push(inst, if inputs == 2 { D | A | B } else { D | A }, D);
            return Ok(());
        }
        let op = match (name, kind.bytes()) {
            ("and", 4) => Some((Op::And32, 2)),
            ("or", 4) => Some((Op::Or32, 2)),
            ("xor", 4) => Some((Op::Xor32, 2)),
            ("not", 4) => Some((Op::Not32, 1)),
            ("and", 8) => Some((Op::And64, 2)),
            ("or", 8) => Some((Op::Or64, 2)),
            ("xor", 8) => Some((Op::Xor64, 2)),
            _ => None,
        };
        if let Some((op, inputs)) = op {
            self.count(statement, inputs + 1)?;
            return if inputs == 1 {
                self.plain::<1>(statement, op, kind)
            } else {
                self.plain::<2>(statement, op, kind)
            };
        }
        let shift = match (name, kind) {
            ("shl", Type::B32 | Type::U32 | Type::S32) => Some(Op::Shl32),
            ("shr", Type::B32 | Type::U32) => Some(Op::ShrU32),
            ("shr", Type::S32) => Some(Op::ShrS32),
            ("shl", Type::B64 | Type::U64 | Type::S64) => Some(Op::Shl64),
            ("shr", Type::B64 | Type::U64) => Some(Op::ShrU64),
            ("shr", Type::S64) => Some(Op::ShrS64),
            _ => None,
        };
        if let Some(op) = shift {
            self.count(statement, 3)?;
            let mut inst = Inst::new(op);
            inst.d = self.destination(&operands[0], kind)?;
            inst.a = self.source(&operands[1], kind)?;
            inst.b = self.source(&operands[2], Type::U32)?;
            self.push(inst, D | A | B, D);
            return Ok(());
        }
        let u32 = Type::U32;
        match name {
            "and" | "or" | "xor" if has(&[2]) => {
                self.count(statement, 3)?;
                let function = match name {
                    "and" => Function::And,
                    "or" => Function::Or,
                    _ => Function::Xor,
                };
                self.generic(simple(function), (&operands[0], kind), &[(&operands[1], kind), (&operands[2], kind)])
            }
            "not" | "cnot" | "brev" if has(&[2, 4, 8]) => {
                self.count(statement, 2)?;
                let function = match name {
                    "not" => Function::Not,
                    "cnot" => Function::Cnot,
                    _ => Function::Brev,
                };
                self.generic(simple(function), (&operands[0], kind), &[(&operands[1], kind)])
            }
            "popc" | "clz" | "bfind" if has(&[4, 8]) => {
                self.count(statement, 2)?;
                let function = match name {
                    "popc" => Function::Popc,
                    "clz" => Function::Clz,
                    _ if shift_amount => Function::BfindShift,
                    _ => Function::Bfind,
                };
                self.generic(simple(function), (&operands[0], u32), &[(&operands[1], kind)])
            }
            "shl" | "shr" if has(&[2]) => {
                self.count(statement, 3)?;
                let function = if name == "shl" { Function::Shl } else { Function::Shr };
                self.generic(simple(function), (&operands[0], kind), &[(&operands[1], kind), (&operands[2], u32)])
            }
            "lop3" if has(&[4]) => {
                let [d, a, b, c, table] = self.operands::<5>(statement)?;
                let Operand::Integer(table) = table else { return Err(self.malformed("a table that is no number")) };
                let mut detail = simple(Function::Lop3);
                detail.lut = table as u8;
                self.generic(detail, (&d, kind), &[(&a, kind), (&b, kind), (&c, kind)])
            }
            "shf" if has(&[4]) && left != right && clamp != wrap => {
                let function = match (left, clamp) {
                    (true, false) => Function::ShfL,
                    (true, true) => Function::ShfLClamp,
                    (false, false) => Function::ShfR,
                    (false, true) => Function::ShfRClamp,
                };
                let [d, a, b, c] = self.operands::<4>(statement)?;
                self.generic(simple(function), (&d, kind), &[(&a, kind), (&b, kind), (&c, u32)])
            }
            "bfe" if has(&[4, 8]) => {
                let [d, a, b, c] = self.operands::<4>(statement)?;
                self.generic(simple(Function::Bfe), (&d, kind), &[(&a, kind), (&b, u32), (&c, u32)])
            }
            "bfi" if has(&[4, 8]) => {
                let [f, a, b, c, d] = self.operands::<5>(statement)?;
                self.generic(simple(Function::Bfi), (&f, kind), &[(&a, kind), (&b, kind), (&c, u32), (&d, u32)])
            }
            "bmsk" if has(&[4]) && clamp != wrap => {
                let [d, a, b] = self.operands::<3>(statement)?;
                let mut detail = simple(Function::Bmsk);
                detail.sat = clamp;
                self.generic(detail, (&d, kind), &[(&a, u32), (&b, u32)])
            }
            "szext" if has(&[4]) && clamp != wrap => {
                let [d, a, b] = self.operands::<3>(statement)?;
                let mut detail = simple(Function::Szext);
                detail.sat = clamp;
                self.generic(detail, (&d, kind), &[(&a, kind), (&b, u32)])
            }
            "fns" if has(&[4]) => {
                let [d, a, b, c] = self.operands::<4>(statement)?;
                self.generic(simple(Function::Fns), (&d, u32), &[(&a, u32), (&b, u32), (&c, Type::S32)])
            }
            "prmt" if has(&[4]) => {
                let [d, a, b, c] = self.operands::<4>(statement)?;
                let mut detail = simple(Function::Prmt);
                detail.lut = mode.map_or(0, |mode| mode as u8 + 1);
                self.generic(detail, (&d, kind), &[(&a, kind), (&b, kind), (&c, kind)])
            }
            "dp4a" | "dp2a" if has(&[4]) => {
                let [d, a, b, c] = self.operands::<4>(statement)?;
                let function = match name {
                    "dp4a" => Function::Dp4a,
                    _ if low => Function::Dp2aLo,
                    _ if high => Function::Dp2aHi,
                    _ => return Err(self.malformed("no .lo or .hi")),
                };
                let mut detail = simple(function);
                detail.source = second.unwrap_or(kind);
                self.generic(detail, (&d, kind), &[(&a, u32), (&b, u32), (&c, kind)])
            }
            _ => Err(self.refuse("this form of the instruction")),
        }
    }

    fn functions(&mut self, name: &str, statement: &Statement, mut words: Words<'_>) -> Result<(), Error> {
        let _ = words.take("approx");
        let ftz = words.take("ftz");
        let class = words.pick(|word| {
            Some(match word {
                "finite" => Function::TestpFinite,
                "infinite" => Function::TestpInfinite,
                "number" => Function::TestpNumber,
                "notanumber" => Function::TestpNan,
                "normal" => Function::TestpNormal,
                "subnormal" => Function::TestpSubnormal,
                _ => return None,
            })
        });
        let round = words.pick(rounding);
        let kind = self.kind(&mut words)?;
        self.done(&words)?;
        if !kind.is_float() {
            return Err(self.refuse("this type"));
        }
        let function = match name {
            "rcp" => Function::Rcp,
            "sqrt" => Function::Sqrt,
            "rsqrt" => Function::Rsqrt,
            "sin" => Function::Sin,
            "cos" => Function::Cos,
            "lg2" => Function::Lg2,
            "ex2" => Function::Ex2,
            "tanh" => Function::Tanh,
            "copysign" => Function::Copysign,
            _ => class.ok_or_else(|| self.malformed("no class to test for"))?,
        };
        let mut detail = Detail::new(function, kind);
        (detail.ftz, detail.rounding) = (ftz, round.unwrap_or(Rounding::Nearest));
        if name == "copysign" {
            let [d, a, b] = self.operands::<3>(statement)?;
            return self.generic(detail, (&d, kind), &[(&a, kind), (&b, kind)]);
        }
        let [d, a] = self.operands::<2>(statement)?;
        let result = if name == "testp" { Type::Pred } else { kind };
        self.generic(detail, (&d, result), &[(&a, kind)])
    }

    fn setp(&mut self, statement: &Statement, mut words: Words<'_>) -> Result<(), Error> {
        let relation = words.pick(compare).ok_or_else(|| self.malformed("no comparison"))?;
        let combination = words.pick(combine);
        let ftz = words.take("ftz");
        let kind = self.kind(&mut words)?;
        self.done(&words)?;
        if matches!(kind, Type::Pred | Type::B8 | Type::U8 | Type::S8 | Type::B128 | Type::F16x2 | Type::Bf16x2) {
            return Err(self.refuse("this type"));
        }
        self.count(statement, if combination.is_some() { 4 } else { 3 })?;
        let mut detail = Detail::new(Function::Set, kind);
        (detail.compare, detail.ftz) = (relation, ftz);
        let mut inst = Inst::new(Op::Setp);
        let mut fields = A | B;
        let mut defs = 0;
        let (first, second) = match &statement.operands[0] {
            Operand::Pair(first, second) => (&**first, Some(&**second)),
            first => (first, None),
        };
        if *first != Operand::Sink {
            inst.d = self.destination(first, Type::Pred)?;
            defs |= D;
        }
        if let Some(second) = second
            && *second != Operand::Sink
        {
            inst.e = self.destination(second, Type::Pred)?;
            defs |= E;
        }
        inst.a = self.source(&statement.operands[1], kind)?;
        inst.b = self.source(&statement.operands[2], kind)?;
        if let Some(combination) = combination {
            let (value, negated) = self.condition(&statement.operands[3])?;
            (inst.c, detail.combine, detail.negate) = (value, combination, negated);
            fields |= C;
        }
        fields |= defs;
        inst.imm = self.details.len() as i32;
        self.details.push(detail);
        self.push(inst, fields, defs);
        Ok(())
    }

    fn select(&mut self, name: &str, statement: &Statement, mut words: Words<'_>) -> Result<(), Error> {
        let ftz = words.take("ftz");
        let operands = &statement.operands;
        if name == "selp" {
            let kind = self.kind(&mut words)?;
            self.done(&words)?;
            self.count(statement, 4)?;
            let (condition, negated) = self.condition(&operands[3])?;
            if kind == Type::Pred || matches!(kind.bytes(), 1 | 16) {
                return Err(self.refuse("this type"));
            }
            let mut inst = Inst::new(if kind.bytes() == 8 { Op::Selp64 } else { Op::Selp32 });
            inst.d = self.destination(&operands[0], kind)?;
            let (yes, no) = if negated { (2, 1) } else { (1, 2) };
            inst.a = self.source(&operands[yes], kind)?;
            inst.b = self.source(&operands[no], kind)?;
            inst.c = condition;
            self.push(inst, D | A | B | C, D);
            return Ok(());
        }
        if name == "slct" {
            let kind = self.kind(&mut words)?;
            let source = self.kind(&mut words)?;
            self.done(&words)?;
            self.count(statement, 4)?;
            let mut detail = Detail::new(Function::Slct, kind);
            (detail.source, detail.ftz) = (source, ftz);
            let from = [(&operands[1], kind), (&operands[2], kind), (&operands[3], source)];
            return self.generic(detail, (&operands[0], kind), &from);
        }
        let relation = words.pick(compare).ok_or_else(|| self.malformed("no comparison"))?;
        let combination = words.pick(combine);
        let kind = self.kind(&mut words)?;
        let source = self.kind(&mut words)?;
        self.done(&words)?;
        self.count(statement, if combination.is_some() { 4 } else { 3 })?;
        let mut detail = Detail::new(Function::Set, kind);
        (detail.source, detail.ftz, detail.compare) = (source, ftz, relation);
        detail.combine = combination.unwrap_or(Combine::None);
        let mut from = vec![(&operands[1], source), (&operands[2], source)];
        if combination.is_some() {
            from.push((&operands[3], Type::Pred));
        }
        self.generic(detail, (&operands[0], kind), &from)
    }

    fn mov(&mut self, statement: &Statement, mut words: Words<'_>) -> Result<(), Error> {
        let kind = self.kind(&mut words)?;
        self.done(&words)?;
        self.count(statement, 2)?;
        let (to, from) = (&statement.operands[0], &statement.operands[1]);
        match (to, from) {
            (Operand::Vector(parts), _) => return self.unpack(parts, from, kind),
            (_, Operand::Vector(parts)) => return self.pack(to, parts, kind),
            _ => {}
        }
        if kind == Type::Pred {
            let mut inst = Inst::new(Op::PredMov);
            let (value, negated) = self.condition(from)?;
            inst.op = if negated { Op::PredNot } else { Op::PredMov };
            (inst.d, inst.a) = (self.destination(to, kind)?, value);
            self.push(inst, D | A, D);
            return Ok(());
        }
        if let Operand::Special(name) = from {
            let sub = match name.as_str() {
                "clock" | "clock64" => Some(0),
                "clock_hi" => Some(1),
                "globaltimer" | "globaltimer_lo" => Some(2),
                "globaltimer_hi" => Some(3),
                _ => None,
            };
            if let Some(sub) = sub {
                let mut inst = Inst::new(Op::Clock);
                inst.d = self.destination(to, kind)?;
                inst.sub = sub;
                inst.imm = i32::from(kind.bytes() == 8);
                self.push(inst, D, D);
                return Ok(());
            }
        }
        match kind.bytes() {
            8 => self.plain::<1>(statement, Op::Mov64, kind),
            2 | 4 => self.plain::<1>(statement, Op::Mov32, kind),
            _ => Err(self.refuse("this type")),
        }
    }

    /// `mov.b64 {%r1, %r2}, %rd1`
    fn unpack(&mut self, parts: &[Operand], from: &Operand, kind: Type) -> Result<(), Error> {
        let element = self.part(kind, parts.len())?;
        // The source may be one of the parts: then its turn comes last.
        let value = self.register_of(from);
        let order = (0..parts.len()).filter(|&index| self.register_of(&parts[index]) != value);
        let last = (0..parts.len()).filter(|&index| self.register_of(&parts[index]) == value);
        for index in order.chain(last).collect::<Vec<_>>() {
            if parts[index] == Operand::Sink {
                continue;
            }
            let mut detail = Detail::new(Function::Unpack, element);
            detail.lut = index as u8;
            self.generic(detail, (&parts[index], element), &[(from, kind)])?;
        }
        Ok(())
    }

    fn pack(&mut self, to: &Operand, parts: &[Operand], kind: Type) -> Result<(), Error> {
        let element = self.part(kind, parts.len())?;
        let from: Vec<_> = parts.iter().map(|part| (part, element)).collect();
        self.generic(Detail::new(Function::Pack, element), (to, kind), &from)
    }

    fn part(&self, kind: Type, count: usize) -> Result<Type, Error> {
        match (kind.bytes(), count) {
            (4, 2) | (8, 4) => Ok(Type::B16),
            (8, 2) => Ok(Type::B32),
            (4, 4) | (2, 2) => Ok(Type::B8),
            _ => Err(self.refuse("a vector of this shape")),
        }
    }

    fn cvt(&mut self, statement: &Statement, mut words: Words<'_>) -> Result<(), Error> {
        let round = words.pick(rounding);
        let ftz = words.take("ftz");
        let sat = words.take("sat");
        let relu = words.take("relu");
        let pack = words.take("pack");
        let to = self.kind(&mut words)?;
        let from = self.kind(&mut words)?;
        self.done(&words)?;
        if pack || matches!(to, Type::Pred | Type::B128) || matches!(from, Type::Pred | Type::B128) {
            return Err(self.refuse("this conversion"));
        }
        let mut detail = Detail::new(Function::Cvt, to);
        (detail.source, detail.ftz, detail.sat, detail.relu) = (from, ftz, sat, relu);
        let to_float = to.is_float() || to.is_half();
        let from_float = from.is_float() || from.is_half();
        detail.rounding = match round {
            Some(round) => round,
            None if from_float && !to_float => Rounding::IntZero,
            None => Rounding::Nearest,
        };
        if to == Type::F16x2 || to == Type::Bf16x2 {
            let [d, a, b] = self.operands::<3>(statement)?;
            detail.function = Function::CvtPack;
            return self.generic(detail, (&d, Type::B32), &[(&a, from), (&b, from)]);
        }
        if from == Type::F16x2 || from == Type::Bf16x2 {
            return Err(self.refuse("this conversion"));
        }
        self.count(statement, 2)?;
        let (d, a) = (&statement.operands[0], &statement.operands[1]);
        // A register may be wider than the type says: the rest is ignored on the way in, extended on the way out.
        let reg = |decoder: &Self, operand: &Operand, kind: Type| match decoder.register_of(operand) {
            Some(value) if decoder.values[value as usize].kind != Type::Pred => {
                let declared = decoder.values[value as usize].kind.bytes();
                let narrow = declared < kind.bytes() && kind.bytes() != 1;
                if narrow { kind } else { decoder.values[value as usize].kind }
            }
            _ => kind,
        };
        let (to_register, from_register) = (reg(self, d, to), reg(self, a, from));
        let exact = !ftz && !sat && !relu;
        let (to_bytes, from_bytes) = (to_register.bytes(), from_register.bytes());
        let op = match (to, from) {
            (Type::S64 | Type::U64 | Type::B64, Type::S32) if from_bytes == 4 => Some(Op::SignExtend),
            (Type::S64 | Type::U64 | Type::B64, Type::U32 | Type::B32) if from_bytes == 4 => Some(Op::ZeroExtend),
            (Type::S32 | Type::U32 | Type::B32, Type::S64 | Type::U64 | Type::B64) if to_bytes == 4 => {
                Some(Op::Truncate)
            }
            (Type::F32, Type::S32) if detail.rounding == Rounding::Nearest && from_bytes == 4 => Some(Op::CvtF32S32),
            (Type::F32, Type::U32) if detail.rounding == Rounding::Nearest && from_bytes == 4 => Some(Op::CvtF32U32),
            _ => None,
        };
        if let (Some(op), true) = (op, exact) {
            let mut inst = Inst::new(op);
            inst.d = self.destination(d, to_register)?;
            inst.a = self.source(a, from_register)?;
            self.push(inst, D | A, D);
            return Ok(());
        }
        self.generic(detail, (d, to_register), &[(a, from_register)])
    }

    fn cvta(&mut self, statement: &Statement, mut words: Words<'_>) -> Result<(), Error> {
        let to = words.take("to");
        let from = words.pick(space).ok_or_else(|| self.malformed("no memory space"))?;
        let kind = self.kind(&mut words)?;
        self.done(&words)?;
        if kind.bytes() != 8 {
            return Err(self.refuse("32-bit addresses"));
        }
        let [d, a] = self.operands::<2>(statement)?;
        let window = match from {
            Space::Shared => SHARED_WINDOW,
            Space::Local => LOCAL_WINDOW,
            Space::Param => return Err(self.refuse("generic addresses of parameters")),
            _ => 0,
        };
        let mut detail = Detail::new(Function::Offset, Type::U64);
        detail.constant = if to { window.wrapping_neg() } else { window };
        self.generic(detail, (&d, Type::U64), &[(&a, Type::U64)])
    }

    fn isspacep(&mut self, statement: &Statement, mut words: Words<'_>) -> Result<(), Error> {
        let function = match words.pick(space) {
            Some(Space::Shared) => Function::IsShared,
            Some(Space::Local) => Function::IsLocal,
            Some(Space::Global) => Function::IsGlobal,
            _ => return Err(self.refuse("this memory space")),
        };
        self.done(&words)?;
        let [d, a] = self.operands::<2>(statement)?;
        self.generic(Detail::new(function, Type::U64), (&d, Type::Pred), &[(&a, Type::U64)])
    }

    // Memory.

    /// Shape and data registers of a load or store.
    fn data(&mut self, operand: &Operand, kind: Type, count: u32, load: bool) -> Result<([u32; 4], Shape), Error> {
        let parts = match operand {
            Operand::Vector(parts) => parts.clone(),
            single => vec![single.clone()],
        };
        if parts.len() != count as usize {
            return Err(self.malformed("a vector of another length"));
        }
        if !matches!(kind.bytes(), 1 | 2 | 4 | 8) || count * kind.bytes() > 16 {
            return Err(self.refuse("this type"));
        }
        let mut values = [super::inst::NONE; 4];
        let mut wide = None;
        for (value, part) in values.iter_mut().zip(&parts) {
            if load && *part == Operand::Sink {
                continue;
            }
            let register = match self.register_of(part) {
                Some(value) => self.values[value as usize].kind,
                None => kind,
            };
            // Registers may be wider than the type.
            let bytes = register.bytes();
            if register == Type::Pred || bytes < kind.bytes() && !(kind.bytes() == 2 && bytes == 1) {
                return Err(self.malformed("a data register that is too narrow"));
            }
            *value = if load { self.destination(part, register)? } else { self.source(part, register)? };
            let this = bytes == 8;
            if wide.is_some_and(|wide| wide != this) {
                return Err(self.refuse("registers of different widths"));
            }
            wide = Some(this);
        }
        let wide = wide.unwrap_or(kind.bytes() == 8);
        Ok((values, Shape { bytes: kind.bytes(), count, signed: kind.is_signed(), wide, wide_address: true }))
    }

    fn vector(words: &mut Words<'_>) -> u32 {
        if words.take("v2") {
            2
        } else if words.take("v4") {
            4
        } else {
            1
        }
    }

    fn load(&mut self, statement: &Statement, mut words: Words<'_>) -> Result<(), Error> {
        words.hints();
        let place = words.pick(space).unwrap_or(Space::Generic);
        let count = Self::vector(&mut words);
        let kind = self.kind(&mut words)?;
        self.done(&words)?;
        if statement.operands.len() == 3 && statement.words.iter().any(|word| word.contains("cache_hint")) {
            return Err(self.refuse("a cache policy"));
        }
        let [to, from] = self.operands::<2>(statement)?;
        let (values, mut shape) = self.data(&to, kind, count, true)?;
        if place == Space::Param
            && let Some(base) = self.constant_param(&from)?
        {
            return self.load_param(&values, shape, base);
        }
        let place = self.real_space(&from, place);
        let (address, offset, wide_address) = self.near_address(&from, place)?;
        shape.wide_address = wide_address;
        let op = match place {
            Space::Global | Space::Const => Op::LdGlobal,
            Space::Shared => Op::LdShared,
            Space::Local => Op::LdLocal,
            Space::Param => Op::LdParam,
            Space::Generic => Op::LdGeneric,
        };
        let mut inst = Inst::new(op);
        (inst.sub, inst.a, inst.imm) = (shape.pack(), address, offset);
        let mut fields = A;
        let mut defs = 0;
        for (index, &value) in values.iter().enumerate() {
            if value != super::inst::NONE {
                let bit = [D, B, C, E][index];
                fields |= bit;
                defs |= bit;
            }
        }
        [inst.d, inst.b, inst.c, inst.e] = values;
        self.push(inst, fields, defs);
        Ok(())
    }

    /// `.param` variables of calls live in local memory.
    fn real_space(&self, operand: &Operand, place: Space) -> Space {
        if place == Space::Param
            && let Operand::Address { base, .. } = operand
            && let Operand::Local { id, .. } = &**base
            && matches!(self.layout.frames[self.frame].places[*id as usize], Place::Local(_))
        {
            return Space::Local;
        }
        place
    }

    /// Position in the parameter area when the address is a constant.
    fn constant_param(&mut self, operand: &Operand) -> Result<Option<u32>, Error> {
        let Operand::Address { base, offset } = operand else { return Ok(None) };
        let Operand::Local { id, offset: more } = &**base else { return Ok(None) };
        let frame = &self.layout.frames[self.frame];
        let Place::Param(start) = frame.places[*id as usize] else { return Ok(None) };
        let variable = &self.layout.inner.program.functions[frame.function].variables[*id as usize];
        let position = offset.wrapping_add(*more);
        if position < 0 || position.saturating_add(1) > variable.bytes as i64 {
            return Err(self.malformed("a position outside the parameter"));
        }
        Ok(Some(start + position as u32))
    }

    fn load_param(&mut self, values: &[u32; 4], shape: Shape, base: u32) -> Result<(), Error> {
        for (index, &value) in (0u32..).zip(values.iter().take(shape.count as usize)) {
            if value == super::inst::NONE {
                continue;
            }
            let preset = Preset::Param { offset: base + index * shape.bytes, bytes: shape.bytes, signed: shape.signed };
            let mut inst = Inst::new(if shape.wide { Op::Mov64 } else { Op::Mov32 });
            inst.d = value;
            inst.a = self.preset(preset, shape.wide);
            self.push(inst, D | A, D);
        }
        Ok(())
    }

    fn store(&mut self, statement: &Statement, mut words: Words<'_>) -> Result<(), Error> {
        words.hints();
        let place = words.pick(space).unwrap_or(Space::Generic);
        let count = Self::vector(&mut words);
        let kind = self.kind(&mut words)?;
        self.done(&words)?;
        let [to, from] = self.operands::<2>(statement)?;
        let (values, mut shape) = self.data(&from, kind, count, false)?;
        let place = self.real_space(&to, place);
        let (address, offset, wide_address) = self.near_address(&to, place)?;
        shape.wide_address = wide_address;
        let op = match place {
            Space::Global => Op::StGlobal,
            Space::Shared => Op::StShared,
            Space::Local => Op::StLocal,
            Space::Generic => Op::StGeneric,
            Space::Const | Space::Param => return Err(self.malformed("a store to read-only memory")),
        };
        let mut inst = Inst::new(op);
        (inst.sub, inst.a, inst.imm) = (shape.pack(), address, offset);
        [inst.d, inst.b, inst.c, inst.e] = values;
        let fields = [D, B, C, E].iter().take(count as usize).fold(A, |fields, bit| fields | bit);
        self.push(inst, fields, 0);
        Ok(())
    }

    fn atomic(&mut self, statement: &Statement, mut words: Words<'_>) -> Result<(), Error> {
        words.hints();
        let _ = words.take("noftz");
        let place = words.pick(space).unwrap_or(Space::Generic);
        let op = words
            .pick(|word| {
                Some(match word {
                    "add" => AtomicOp::Add,
                    "min" => AtomicOp::Min,
                    "max" => AtomicOp::Max,
                    "exch" => AtomicOp::Exch,
                    "cas" => AtomicOp::Cas,
                    "and" => AtomicOp::And,
                    "or" => AtomicOp::Or,
                    "xor" => AtomicOp::Xor,
                    "inc" => AtomicOp::Inc,
                    "dec" => AtomicOp::Dec,
                    _ => return None,
                })
            })
            .ok_or_else(|| self.refuse("this atomic operation"))?;
        let kind = self.kind(&mut words)?;
        self.done(&words)?;
        let returns = statement.words[0] == "atom";
        let inputs = if op == AtomicOp::Cas { 2 } else { 1 };
        self.count(statement, inputs + 1 + usize::from(returns))?;
        if !matches!(kind.bytes(), 4 | 8)
            || kind.is_half()
            || !matches!(place, Space::Global | Space::Shared | Space::Generic)
        {
            return Err(self.refuse("this type or memory space"));
        }
        if kind.is_float() && !matches!(op, AtomicOp::Add | AtomicOp::Exch) {
            return Err(self.malformed("a type this instruction does not have"));
        }
        let operands = &statement.operands[usize::from(returns)..];
        let (address, offset, wide) = self.address(&operands[0], place)?;
        let address = if wide { address } else { self.temporary(Op::ZeroExtend, address) };
        let mut inst = Inst::new(Op::Atom);
        let (mut fields, mut defs) = (A | B, 0);
        if returns && statement.operands[0] != Operand::Sink {
            inst.d = self.destination(&statement.operands[0], kind)?;
            fields |= D;
            defs |= D;
        }
        inst.a = address;
        inst.b = self.source(&operands[1], kind)?;
        if inputs == 2 {
            inst.c = self.source(&operands[2], kind)?;
            fields |= C;
        }
        inst.imm = self.atomics.len() as i32;
        self.atomics.push(Atomic { op, kind, space: place, offset });
        self.push(inst, fields, defs);
        Ok(())
    }

    fn copy(&mut self, statement: &Statement, mut words: Words<'_>) -> Result<(), Error> {
        if !words.take("async") {
            return Err(self.refuse("this copy"));
        }
        let program = &self.layout.inner.program;
        if program.target < 80 {
            let target = &program.target_name;
            return Err(self.refuse(format!("cp.async on {target}: asynchronous copies need .target sm_80 or newer")));
        }
        if words.take("commit_group") {
            self.done(&words)?;
            self.push(Inst::new(Op::CopyCommit), 0, 0);
            return Ok(());
        }
        if words.take("wait_all") {
            self.done(&words)?;
            self.push(Inst::new(Op::CopyWaitAll), 0, 0);
            return Ok(());
        }
        if words.take("wait_group") {
            self.done(&words)?;
            let [Operand::Integer(count)] = self.operands::<1>(statement)? else {
                return Err(self.malformed("a number of groups that is no number"));
            };
            let mut inst = Inst::new(Op::CopyWait);
            inst.imm = count.clamp(0, i64::from(i32::MAX)) as i32;
            self.push(inst, 0, 0);
            return Ok(());
        }
        let level = words.pick(|word| match word {
            "ca" => Some(true),
            "cg" => Some(false),
            _ => None,
        });
        words.hints();
        let (to, from) = (words.pick(space), words.pick(space));
        self.done(&words)?;
        let (Some(any_size), Some(Space::Shared), Some(Space::Global)) = (level, to, from) else {
            return Err(self.refuse("this copy"));
        };
        if !matches!(statement.operands.len(), 3 | 4) {
            return Err(self.malformed("3 or 4 operands are needed"));
        }
        let (to, to_offset, wide_to) = self.address(&statement.operands[0], Space::Shared)?;
        let (from, from_offset, _) = self.address(&statement.operands[1], Space::Global)?;
        let Operand::Integer(bytes) = statement.operands[2] else {
            return Err(self.malformed("a size that is no number"));
        };
        if !(bytes == 16 || any_size && matches!(bytes, 4 | 8)) {
            return Err(self.malformed("a size this copy does not have"));
        }
        let mut inst = Inst::new(Op::CopyAsync);
        let mut fields = A | B;
        (inst.a, inst.b) = (to, from);
        let bytes = bytes as u32;
        let mut copy = Copy { bytes, to_offset, from_offset, wide_to, bypass: !any_size, count: CopyCount::Bytes };
        if let Some(operand) = statement.operands.get(3) {
            fields |= C;
            let value = self.register_of(operand);
            if let Some(value) = value
                && self.values[value as usize].kind == Type::Pred
            {
                copy.count = CopyCount::Ignore;
                inst.c = value;
            } else {
                let kind = value.map_or(Type::U32, |value| self.values[value as usize].kind);
                copy.count = match kind.bytes() {
                    4 => CopyCount::Bytes,
                    8 => CopyCount::WideBytes,
                    _ => return Err(self.refuse("a size in a register of this width")),
                };
                inst.c = self.source(operand, kind)?;
            }
        }
        inst.imm = self.copies.len() as i32;
        self.copies.push(copy);
        self.push(inst, fields, 0);
        Ok(())
    }

    // Control.

    fn control(&mut self, statement: &Statement, mut words: Words<'_>) -> Result<(), Error> {
        words.hints();
        let name = statement.words[0].as_str();
        if name == "brx" {
            return self.indexed_branch(statement, &mut words);
        }
        self.done(&words)?;
        match name {
            "bra" => {
                let [Operand::Name { name, offset: 0 }] = self.operands::<1>(statement)? else {
                    return Err(self.malformed("a target that is no label"));
                };
                self.branches.push((self.raws.len(), self.frame, name));
                self.push(Inst::new(Op::Bra), 0, 0);
            }
            "ret" => match self.layout.frames[self.frame].back.clone() {
                Some(back) => {
                    self.branches.push((self.raws.len(), usize::MAX, back));
                    self.push(Inst::new(Op::Bra), 0, 0);
                }
                None => self.push(Inst::new(Op::Exit), 0, 0),
            },
            "exit" => self.push(Inst::new(Op::Exit), 0, 0),
            _ => self.push(Inst::new(Op::Trap), 0, 0),
        }
        Ok(())
    }

    /// `brx.idx %r1, table;`
    fn indexed_branch(&mut self, statement: &Statement, words: &mut Words<'_>) -> Result<(), Error> {
        let _ = words.take("idx");
        self.done(words)?;
        let [index, Operand::Name { name, offset: 0 }] = self.operands::<2>(statement)? else {
            return Err(self.malformed("a table of targets that is no label"));
        };
        if self.guard.is_some() {
            return Err(self.refuse("an indexed branch under a predicate"));
        }
        let body = &self.layout.inner.program.functions[self.layout.frames[self.frame].function].body;
        let targets = body.iter().find_map(|item| match item {
            crate::ast::Item::Targets(table, targets) if *table == name => Some(targets.clone()),
            _ => None,
        });
        let Some(targets) = targets else { return Err(self.malformed("a table of targets that is not declared")) };
        let mut inst = Inst::new(Op::Brx);
        inst.a = self.source(&index, Type::U32)?;
        for target in targets {
            self.branches.push((self.raws.len(), self.frame, target));
        }
        self.push(inst, A, 0);
        Ok(())
    }

    fn barrier(&mut self, statement: &Statement, mut words: Words<'_>) -> Result<(), Error> {
        words.hints();
        let operands = &statement.operands;
        if words.take("warp") {
            let _ = words.take("sync");
            self.done(&words)?;
            self.count(statement, 1)?;
            let mut inst = Inst::new(Op::WarpSync);
            inst.a = self.source(&operands[0], Type::B32)?;
            self.push(inst, A, 0);
            return Ok(());
        }
        let cluster = words.take("cluster");
        let _ = words.take("aligned");
        let arrive = words.take("arrive");
        let sync = words.take("sync");
        let reduce = words.take("red");
        let kind = words.pick(|word| match word {
            "popc" => Some(sub::POPC),
            "and" => Some(sub::AND),
            "or" => Some(sub::OR),
            _ => None,
        });
        let result = words.pick(Type::named);
        self.done(&words)?;
        if cluster || usize::from(arrive) + usize::from(sync) + usize::from(reduce) != 1 {
            return Err(self.refuse("this barrier"));
        }
        if reduce {
            let (Some(kind), Some(result)) = (kind, result) else { return Err(self.malformed("no reduction")) };
            if !matches!(operands.len(), 3 | 4) {
                return Err(self.malformed("3 or 4 operands are needed"));
            }
            let mut inst = Inst::new(Op::BarRed);
            inst.sub = kind;
            inst.d = self.destination(&operands[0], if result == Type::Pred { Type::Pred } else { Type::U32 })?;
            inst.a = self.source(&operands[1], Type::U32)?;
            let mut fields = D | A | C;
            if operands.len() == 4 {
                inst.b = self.source(&operands[2], Type::U32)?;
                fields |= B;
            }
            let (value, negated) = self.condition(&operands[operands.len() - 1])?;
            inst.c = value;
            inst.imm = i32::from(negated);
            self.push(inst, fields, D);
            return Ok(());
        }
        if !matches!(operands.len(), 1 | 2) {
            return Err(self.malformed("1 or 2 operands are needed"));
        }
        let mut inst = Inst::new(Op::Bar);
        inst.sub = u8::from(arrive);
        inst.a = self.source(&operands[0], Type::U32)?;
        let mut fields = A;
        if operands.len() == 2 {
            inst.b = self.source(&operands[1], Type::U32)?;
            fields |= B;
        } else if arrive {
            return Err(self.malformed("no number of threads"));
        }
        self.push(inst, fields, 0);
        Ok(())
    }

    fn warp(&mut self, statement: &Statement, mut words: Words<'_>) -> Result<(), Error> {
        let name = statement.words[0].as_str();
        let sync = words.take("sync");
        if name != "activemask" && !sync {
            return Err(self.refuse("warp-wide instructions without .sync"));
        }
        let mode = words.pick(|word| {
            Some(match word {
                "up" => sub::UP,
                "down" => sub::DOWN,
                "bfly" => sub::BFLY,
                "idx" => sub::IDX,
                _ => return None,
            })
        });
        let vote = words.pick(|word| {
            Some(match word {
                "all" => sub::ALL,
                "any" => sub::ANY,
                "uni" => sub::UNI,
                "ballot" => sub::BALLOT,
                _ => return None,
            })
        });
        let reduction = words.pick(|word| {
            Some(match word {
                "add" => sub::ADD,
                "min" => sub::MIN_S,
                "max" => sub::MAX_S,
                "and" => sub::AND,
                "or" => sub::OR,
                "xor" => sub::XOR,
                _ => return None,
            })
        });
        let kind = self.kind(&mut words)?;
        self.done(&words)?;
        let operands = &statement.operands;
        let (first, second) = match operands.first() {
            Some(Operand::Pair(first, second)) => (&**first, Some(&**second)),
            Some(first) => (first, None),
            None => return Err(self.malformed("no operands")),
        };
        match (name, mode, vote, reduction) {
            ("activemask", ..) => {
                self.count(statement, 1)?;
                let mut inst = Inst::new(Op::ActiveMask);
                inst.d = self.destination(first, Type::B32)?;
                self.push(inst, D, D);
            }
            ("shfl", Some(mode), ..) => {
                self.count(statement, 5)?;
                // The mask of lanes must be a register or a constant; its value goes with the lane index and clamp
                // into one instruction, so it takes the field of the second result.
                let mut inst = Inst::new(Op::Shfl);
                inst.sub = mode;
                let mut fields = A | B | C;
                let mut defs = 0;
                if *first != Operand::Sink {
                    inst.d = self.destination(first, Type::B32)?;
                    defs |= D;
                }
                inst.a = self.source(&operands[1], Type::B32)?;
                inst.b = self.source(&operands[2], Type::U32)?;
                inst.c = self.source(&operands[3], Type::U32)?;
                if let Some(second) = second
                    && *second != Operand::Sink
                {
                    inst.e = self.destination(second, Type::Pred)?;
                    defs |= E;
                }
                // The mask is checked by an instruction of its own.
                let mut check = Inst::new(Op::WarpSync);
                check.a = self.source(&operands[4], Type::B32)?;
                check.imm = 1;
                self.push(check, A, 0);
                fields |= defs;
                self.push(inst, fields, defs);
            }
            ("vote", _, Some(mode), _) => {
                self.count(statement, 3)?;
                let mut inst = Inst::new(Op::Vote);
                inst.sub = mode;
                inst.d = self.destination(first, if mode == sub::BALLOT { Type::B32 } else { Type::Pred })?;
                let (value, negated) = self.condition(&operands[1])?;
                inst.a = value;
                inst.imm = i32::from(negated);
                inst.b = self.source(&operands[2], Type::B32)?;
                self.push(inst, D | A | B, D);
            }
            ("match", _, vote, _) => {
                self.count(statement, 3)?;
                let all = match vote {
                    Some(sub::ALL) => true,
                    Some(sub::ANY) => false,
                    _ => return Err(self.malformed("no .all or .any")),
                };
                let mut inst = Inst::new(Op::Match);
                inst.sub = u8::from(all);
                inst.d = self.destination(first, Type::B32)?;
                let (mut fields, mut defs) = (D | A | B, D);
                if let Some(second) = second {
                    inst.e = self.destination(second, Type::Pred)?;
                    fields |= E;
                    defs |= E;
                }
                inst.a = self.source(&operands[1], kind)?;
                inst.b = self.source(&operands[2], Type::B32)?;
                inst.imm = i32::from(kind.bytes() == 8);
                self.push(inst, fields, defs);
            }
            ("redux", _, _, Some(reduction)) => {
                self.count(statement, 3)?;
                if !matches!(kind, Type::U32 | Type::S32 | Type::B32) {
                    return Err(self.refuse("this type"));
                }
                let mut inst = Inst::new(Op::Redux);
                inst.sub = match (reduction, kind) {
                    (sub::MIN_S, Type::U32) => sub::MIN_U,
                    (sub::MAX_S, Type::U32) => sub::MAX_U,
                    (reduction, _) => reduction,
                };
                inst.d = self.destination(first, kind)?;
                inst.a = self.source(&operands[1], kind)?;
                inst.b = self.source(&operands[2], Type::B32)?;
                self.push(inst, D | A | B, D);
            }
            _ => return Err(self.malformed("a mode this instruction does not have")),
        }
        Ok(())
    }

    /// `elect.sync d|p, mask`: the lowest lane is elected.
    fn elect(&mut self, _statement: &Statement) -> Result<(), Error> {
        Err(self.refuse("`elect`"))
    }
}
