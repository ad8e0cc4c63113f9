//! Operands: registers, constants, special registers, and addresses of variables.

use super::decoder::Decoder;
use crate::Error;
use crate::ast::{Operand, Type};
use crate::lower::inst::{Compare, Detail, Function, Index, Inst, LOCAL_WINDOW, Op, Preset, SHARED_WINDOW, Special};
use crate::lower::layout::Address;
use crate::place::Space;

impl Decoder<'_> {
    pub(super) fn register(&self, id: u32, kind: Type) -> Result<u32, Error> {
        let value = id + self.layout.frames[self.frame].registers;
        let declared = &self.values[value as usize];
        let wanted = if kind.bytes() == 1 { 2 } else { kind.bytes() };
        if (declared.kind == Type::Pred) != (kind == Type::Pred) {
            let (is, needs) = if kind == Type::Pred { ("no predicate", "one") } else { ("a predicate", "a number") };
            return Err(self.malformed(&format!("{} is {is} where {needs} is needed", declared.name)));
        }
        let has = declared.kind.bytes();
        // An operand of up to 16 bits may also be in an 8-bit register.
        if has != wanted && !(kind.bytes() <= 2 && has <= 2) {
            let (has, wanted) = (has * 8, wanted * 8);
            return Err(self.malformed(&format!("{} has {has} bits where {wanted} are needed,", declared.name)));
        }
        Ok(value)
    }

    pub(super) fn register_of(&self, operand: &Operand) -> Option<u32> {
        let Operand::Register { id, negated: false } = operand else { return None };
        Some(id + self.layout.frames[self.frame].registers)
    }

    pub(super) fn source(&mut self, operand: &Operand, kind: Type) -> Result<u32, Error> {
        let wide = kind.bytes() == 8;
        match operand {
            Operand::Register { id, negated: false } => self.register(*id, kind),
            Operand::Integer(_) if kind.is_float() || kind.is_half() => Err(self.misfit_literal(kind)),
            Operand::Float { .. } if kind.is_integer() || kind.is_half() || matches!(kind, Type::B8 | Type::B16) => {
                Err(self.misfit_literal(kind))
            }
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
            Operand::Sum { register, addend } if matches!(kind.bytes(), 4 | 8) => {
                let (a, b) = (self.source(register, kind)?, self.preset(Preset::Constant(*addend as u64), wide));
                Ok(self.temporary(kind, Inst { a, b, ..Inst::new(if wide { Op::Add64 } else { Op::Add32 }) }))
            }
            Operand::Special(name) => match special(name) {
                Some(preset) => Ok(self.preset(preset, wide)),
                None => Err(self.refuse(format!("the register %{name}"))),
            },
            Operand::Local { id, offset } => {
                self.address_of(self.layout.frames[self.frame].places[*id as usize], *offset, wide)
            }
            Operand::Name { name, offset } => match (self.variable(name), self.layout.inner.entry(name)) {
                (Some(place), _) => self.address_of(place, *offset, wide),
                (None, Some(entry)) if wide => {
                    Ok(self.preset(Preset::Constant(entry.wrapping_add_signed(*offset)), wide))
                }
                _ if self.layout.inner.program.functions.iter().any(|function| *function.name == **name) => {
                    Err(self.refuse("the address of a function"))
                }
                _ if self.layout.inner.comes_later(name, self.position.ptx) => {
                    Err(self.malformed(&format!("{name} is used before it is declared")))
                }
                _ => Err(self.malformed(&format!("{name} is not declared, or cannot be used here,"))),
            },
            _ => Err(self.malformed("an operand that cannot stand here")),
        }
    }

    /// Makes the error for a literal that PTX does not allow for this type. It says what PTX allows.
    fn misfit_literal(&self, kind: Type) -> Error {
        self.malformed(match kind {
            Type::F32 => "an integer where a floating-point number is needed (one is written 1.0 or 0f3F800000)",
            Type::F64 => "an integer where a floating-point number is needed (one is written 1.0 or 0d3FF0000000000000)",
            kind if kind.is_half() => "a literal of half precision (move its bits to a register by mov.b16 or mov.b32)",
            _ => "a floating-point number where an integer is needed (one is written 1, and 0x3F800000 are the bits of 1.0)",
        })
    }

    pub(super) fn destination(&self, operand: &Operand, kind: Type) -> Result<u32, Error> {
        match operand {
            Operand::Register { id, negated: false } => self.register(*id, kind),
            Operand::Special(name) => Err(self.malformed(&format!("%{name} is not declared, or cannot be written,"))),
            _ => Err(self.malformed("a destination that is no register")),
        }
    }

    /// Returns the value of a predicate operand, and whether it is negated (`!%p`).
    pub(super) fn condition(&mut self, operand: &Operand) -> Result<(u32, bool), Error> {
        match operand {
            Operand::Register { id, negated } => Ok((self.register(*id, Type::Pred)?, *negated)),
            // Compilers write `mov.pred %p1, 0` to initialise a flag.
            Operand::Integer(value) => {
                let [a, b] = [u64::from(*value != 0), 0].map(|bits| self.preset(Preset::Constant(bits), false));
                let imm = self.detail(Detail { compare: Compare::Ne, ..Detail::new(Function::Set, Type::U32) });
                Ok((self.temporary(Type::Pred, Inst { a, b, imm, ..Inst::new(Op::Setp) }), false))
            }
            Operand::Special(name) => Err(self.refuse(format!("the register %{name}"))),
            _ => Err(self.malformed("an operand that is no predicate")),
        }
    }

    /// Decodes `[address]` to a value, a displacement, and whether the value has 64 bits.
    pub(super) fn address(&mut self, operand: &Operand, expected: Space) -> Result<(u32, i64, bool), Error> {
        let Operand::Address { base, offset } = operand else {
            return Err(self.malformed("an operand that is no address"));
        };
        let (base, offset) = (base.as_ref().clone(), *offset);
        match &base {
            Operand::Register { negated: false, .. } => {
                let value = self.register_of(&base).unwrap_or_default();
                match self.values[value as usize].kind.bytes() {
                    8 => Ok((value, offset, true)),
                    4 if matches!(expected, Space::Shared | Space::Local | Space::Parameter | Space::Constant) => {
                        Ok((value, offset, false))
                    }
                    4 => Err(self.refuse("32-bit addresses")),
                    _ => Err(self.malformed("an address register that does not have 64 bits")),
                }
            }
            Operand::Local { .. } | Operand::Name { .. } => {
                let (place, declared) = match &base {
                    Operand::Local { id, .. } => {
                        let frame = &self.layout.frames[self.frame];
                        let variable = &self.layout.inner.program.functions[frame.function].variables[*id as usize];
                        (Some(frame.places[*id as usize]), Some(variable.space))
                    }
                    Operand::Name { name, .. } => (self.variable(name), None),
                    _ => (None, None),
                };
                let window = match (place, declared) {
                    (Some(Address::Shared(_)), _) | (_, Some(Space::Shared)) => Some(SHARED_WINDOW),
                    (_, Some(Space::Local)) => Some(LOCAL_WINDOW),
                    _ => None,
                };
                if let (Space::Generic, Some(window)) = (expected, window) {
                    let a = self.source(&base, Type::U64)?;
                    return Ok((self.moved_by(a, window), offset, true));
                }
                let fits = match place {
                    Some(Address::Shared(_)) => expected == Space::Shared,
                    Some(Address::Local(_)) => matches!(expected, Space::Local | Space::Parameter),
                    Some(Address::Param(_)) => expected == Space::Parameter,
                    Some(Address::Module(_)) => matches!(expected, Space::Global | Space::Constant | Space::Generic),
                    Some(Address::Unplaced) => false,
                    // An undeclared name is reported below.
                    None => true,
                };
                self.malformed_if(!fits, "a variable of another memory space")?;
                Ok((self.source(&base, Type::U64)?, offset, true))
            }
            Operand::Integer(value) => Ok((self.preset(Preset::Constant(*value as u64), true), offset, true)),
            _ => Err(self.malformed("an operand that is no address")),
        }
    }

    /// Adds a constant to an address of 64 bits.
    pub(super) fn moved_by(&mut self, a: u32, constant: u64) -> u32 {
        let detail = Detail { constant, wide: [true; 5], ..Detail::new(Function::Offset, Type::U64) };
        let imm = self.detail(detail);
        self.temporary(Type::B64, Inst { a, imm, ..Inst::new(Op::Generic) })
    }

    /// Decodes an address like [`Self::address`], but adds a displacement that does not fit into an instruction to the value.
    pub(super) fn near_address(&mut self, operand: &Operand, expected: Space) -> Result<(u32, i32, bool), Error> {
        let (mut value, offset, wide) = self.address(operand, expected)?;
        let Ok(offset) = i32::try_from(offset) else {
            if !wide {
                value = self.widened(value);
            }
            let addend = self.preset(Preset::Constant(offset as u64), true);
            let sum = self.temporary(Type::B64, Inst { a: value, b: addend, ..Inst::new(Op::Add64) });
            return Ok((sum, 0, true));
        };
        Ok((value, offset, wide))
    }

    /// Returns the place of a module's variable, if it is declared before the statement.
    fn variable(&self, name: &str) -> Option<Address> {
        let early = self.layout.inner.comes_later(name, self.position.ptx);
        self.layout.find(name).filter(|_| !early)
    }

    /// Returns the preset that holds a variable's address. All but those of the module's variables fit into 32 bits.
    fn address_of(&mut self, place: Address, offset: i64, wide: bool) -> Result<u32, Error> {
        let constant = |base: u32| Preset::Constant(u64::from(base).wrapping_add_signed(offset));
        let preset = match place {
            Address::Shared(base) => {
                let address = u64::from(base).wrapping_add_signed(offset);
                // Dynamic arrays all have one place. Any of them will do.
                let array = self.layout.shared.iter().position(|array| array.offset == base);
                array.map_or(Preset::Constant(address), |array| Preset::Shared { array: array as u32, address })
            }
            Address::Local(base) | Address::Param(base) => constant(base),
            Address::Module(_) if !wide => return Err(self.malformed("an address in a 32-bit operand")),
            Address::Module(number) => {
                self.code.variables.push(number);
                Preset::Variable { number, offset }
            }
            Address::Unplaced => return Err(self.refuse("this variable")),
        };
        Ok(self.preset(preset, wide))
    }
}

/// Returns the preset for a special register with this name.
fn special(name: &str) -> Option<Preset> {
    let Some((name, axis)) = name.split_once('.') else { return Special::named(name).map(Preset::Special) };
    let axis = ["x", "y", "z", "w"].iter().position(|known| *known == axis)?;
    match name {
        "cluster_ctaid" => Some(Preset::Special(Special::Zero)),
        "cluster_nctaid" => Some(Preset::Special(Special::One)),
        name if axis == 3 => Index::named(name).map(|_| Preset::Special(Special::Zero)),
        name => Index::named(name).map(|index| Preset::Index(index, axis as u8)),
    }
}
