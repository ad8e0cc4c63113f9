//! Loads, stores, and atomic operations (`atom`, `red`).

use super::decoder::{Decoder, Words, add, parts, space};
use crate::Error;
use crate::ast::{Operand, Statement, Type};
use crate::lower::inst::{Atomic, AtomicOp, Inst, NONE, Op, Preset, Shape};
use crate::lower::layout::Address;
use crate::place::Space;

impl Decoder<'_> {
    /// Returns the data registers and the shape of a load or store.
    fn data(&mut self, operand: &Operand, kind: Type, count: u32, load: bool) -> Result<([u32; 4], Shape), Error> {
        let parts = parts(operand);
        self.malformed_if(parts.len() != count as usize, "a vector of another length")?;
        self.refuse_if(!matches!(kind.bytes(), 1 | 2 | 4 | 8) || count * kind.bytes() > 16, "this type")?;
        let mut values = [NONE; 4];
        let mut wide = None;
        for (value, part) in values.iter_mut().zip(parts) {
            if load && *part == Operand::Sink {
                continue;
            }
            let register = self.register_of(part).map_or(kind, |value| self.values[value as usize].kind);
            // A register may be wider than the type.
            let bytes = register.bytes();
            let narrow = register == Type::Pred || bytes < kind.bytes() && !(kind.bytes() == 2 && bytes == 1);
            self.malformed_if(narrow, "a data register that is too narrow")?;
            *value = if load { self.destination(part, register)? } else { self.source(part, register)? };
            let this = bytes == 8;
            self.refuse_if(wide.is_some_and(|wide| wide != this), "registers of different widths")?;
            wide = Some(this);
        }
        let wide = wide.unwrap_or(kind.bytes() == 8);
        Ok((values, Shape { bytes: kind.bytes(), count, signed: kind.is_signed(), wide, wide_address: true }))
    }

    /// Adds a load or store with its data registers.
    fn push_access(&mut self, op: Op, data: [u32; 4], shape: Shape, address: (u32, i32, bool)) -> Result<(), Error> {
        let ([d, b, c, e], (a, imm, wide_address)) = (data, address);
        let sub = Shape { wide_address, ..shape }.pack();
        self.finish(Inst { sub, d, a, b, c, e, imm, ..Inst::new(op) })
    }

    /// Turns an access of 32 bytes into two of 16 bytes. A load that overwrites the address comes last.
    pub(super) fn wide_access(&mut self, statement: &Statement) -> Result<(), Error> {
        self.needs_target(100, "an access of 32 bytes", "it needs")?;
        let loads = statement.words[0] == "ld";
        let (data, address) = if loads { (0, 1) } else { (1, 0) };
        let operands = self.operands::<2>(statement)?;
        let (Operand::Vector(parts), Operand::Address { base, offset }) = (&operands[data], &operands[address]) else {
            return Err(self.malformed("a vector and an address are needed"));
        };
        let (low, high) = parts.split_at(parts.len() / 2);
        let mut halves = [(low, 0), (high, 16)];
        if loads && low.contains(base) {
            halves.reverse();
        }
        for (part, more) in halves {
            let mut half = statement.clone();
            for word in &mut half.words {
                *word = match word.as_str() {
                    "v8" => "v4".into(),
                    "v4" => "v2".into(),
                    _ => continue,
                };
            }
            half.operands[data] = Operand::Vector(part.to_vec());
            half.operands[address] = Operand::Address { base: base.clone(), offset: offset.wrapping_add(more) };
            self.statement(&half)?;
        }
        Ok(())
    }

    /// Decodes a load, or (if `load` is false) a store.
    pub(super) fn memory(&mut self, statement: &Statement, mut words: Words<'_>, load: bool) -> Result<(), Error> {
        words.hints();
        let place = words.pick(space).unwrap_or(Space::Generic);
        let count = words.one_of(&[("v2", 2), ("v4", 4)]).unwrap_or(1);
        let kind = self.last_kind(words)?;
        let operands = self.operands::<2>(statement)?;
        let [data, address] = if load { &operands } else { &[operands[1].clone(), operands[0].clone()] };
        let (values, shape) = self.data(data, kind, count, load)?;
        if load
            && place == Space::Parameter
            && let Some(base) = self.constant_param(address)?
        {
            return self.load_param(&values, shape, base);
        }
        let place = self.real_space(address, place);
        let address = self.near_address(address, place)?;
        let [loads, stores] = match place {
            Space::Global => [Op::LdGlobal, Op::StGlobal],
            Space::Shared => [Op::LdShared, Op::StShared],
            Space::Local => [Op::LdLocal, Op::StLocal],
            Space::Generic => [Op::LdGeneric, Op::StGeneric],
            Space::Constant | Space::Parameter if !load => return Err(self.malformed("a store to read-only memory")),
            Space::Constant => [Op::LdGlobal; 2],
            Space::Parameter => [Op::LdParam; 2],
        };
        self.push_access(if load { loads } else { stores }, values, shape, address)
    }

    /// Moves a parameter of a call between local memory and a register.
    pub(super) fn parameter(&mut self, op: Op, value: u32, kind: Type, place: &Operand) -> Result<(), Error> {
        let address = self.near_address(place, Space::Local)?;
        let wide = kind.bytes() == 8;
        let shape = Shape { bytes: kind.bytes(), count: 1, signed: kind.is_signed(), wide, wide_address: true };
        self.push_access(op, [value, NONE, NONE, NONE], shape, address)
    }

    /// Returns the memory space that an access really uses: `.param` variables of calls are in local memory.
    fn real_space(&self, operand: &Operand, place: Space) -> Space {
        if place == Space::Parameter
            && let Operand::Address { base, .. } = operand
            && let Operand::Local { id, .. } = &**base
            && matches!(self.layout.frames[self.frame].places[*id as usize], Address::Local(_))
        {
            return Space::Local;
        }
        place
    }

    /// Returns the position in the kernel's parameters if the address is a constant.
    fn constant_param(&mut self, operand: &Operand) -> Result<Option<u32>, Error> {
        let Operand::Address { base, offset } = operand else { return Ok(None) };
        let Operand::Local { id, offset: more } = &**base else { return Ok(None) };
        let frame = &self.layout.frames[self.frame];
        let Address::Param(start) = frame.places[*id as usize] else { return Ok(None) };
        let variable = &self.layout.inner.program.functions[frame.function].variables[*id as usize];
        let position = offset.wrapping_add(*more);
        let inside = position >= 0 && position.saturating_add(1) <= variable.bytes as i64;
        self.refuse_if(!inside, "a position outside the parameter")?;
        Ok(Some(start + position as u32))
    }

    fn load_param(&mut self, values: &[u32; 4], shape: Shape, base: u32) -> Result<(), Error> {
        for (index, &value) in (0u32..).zip(values.iter().take(shape.count as usize)) {
            if value == NONE {
                continue;
            }
            let preset = Preset::Param { offset: base + index * shape.bytes, bytes: shape.bytes, signed: shape.signed };
            let a = self.preset(preset, shape.wide);
            let op = if shape.wide { Op::Mov64 } else { Op::Mov32 };
            self.push(Inst { d: value, a, ..Inst::new(op) });
        }
        Ok(())
    }

    pub(super) fn atomic(&mut self, statement: &Statement, mut words: Words<'_>) -> Result<(), Error> {
        words.hints();
        let _ = words.take("noftz");
        let place = words.pick(space).unwrap_or(Space::Generic);
        let op = words.pick(AtomicOp::named).ok_or_else(|| self.refuse("this atomic operation"))?;
        let kind = self.last_kind(words)?;
        let returns = statement.words[0] == "atom";
        let inputs = if op == AtomicOp::Cas { 2 } else { 1 };
        self.count(statement, inputs + 1 + usize::from(returns))?;
        self.refuse_if(!matches!(place, Space::Global | Space::Shared | Space::Generic), "this memory space")?;
        // The types that PTX has for each operation, without those of 128 bits.
        let fits = match op {
            AtomicOp::Add => {
                matches!(kind, Type::U32 | Type::S32 | Type::U64 | Type::F32 | Type::F64) || kind.is_half()
            }
            AtomicOp::Min | AtomicOp::Max => kind.is_integer() && kind.bytes() >= 4,
            AtomicOp::Inc | AtomicOp::Dec => kind == Type::U32,
            AtomicOp::Cas if kind == Type::B16 => true,
            _ => matches!(kind, Type::B32 | Type::B64),
        };
        self.refuse_if(kind == Type::B128, "an atomic operation on 128 bits")?;
        self.malformed_if(!fits, "a type this instruction does not have")?;
        let operands = &statement.operands[usize::from(returns)..];
        let (address, offset, wide) = self.address(&operands[0], place)?;
        let address = if wide { address } else { self.widened(address) };
        let mut inst = Inst::new(Op::Atom);
        if returns {
            inst.d = self.result(&statement.operands[0], kind)?;
        }
        inst.a = address;
        inst.b = self.source(&operands[1], kind)?;
        if inputs == 2 {
            inst.c = self.source(&operands[2], kind)?;
        }
        let zero = matches!(operands[1], Operand::Integer(0));
        let leaves = zero && matches!(op, AtomicOp::Add | AtomicOp::Or | AtomicOp::Xor);
        inst.imm = add(&mut self.code.atomics, Atomic { op, kind, space: place, offset, leaves });
        self.finish(inst)
    }
}
