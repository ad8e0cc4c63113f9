//! A place for every value: presets first, then the registers that live at a time, and predicates by themselves.

use super::allocate::{Liveness, liveness};
use super::code::Use;
use super::flow::Block;
use super::inst::{GUARD_NEGATED, NONE};
use super::preset::Preset;
use super::raw::{Decoded, Effect, Raw, Value};
use crate::ast::Type;
use crate::error::Error;

/// Where the values of a kernel are.
pub(super) struct Places {
    /// By value: the offset of a register in words, or the number of a predicate; [`NONE`] for a value nobody uses.
    pub of: Vec<u32>,
    /// Values set before a warp starts: place in words, 64-bit or not, value.
    pub presets: Vec<(u32, bool, Preset)>,
    /// Registers of a warp, in groups of 32 words, and how many of those groups hold presets.
    pub planes: u32,
    pub preset_planes: u32,
    pub predicates: u32,
    pub unset: Unset,
}

/// Registers that some path reads before it sets them.
pub(super) struct Unset {
    pub names: Vec<String>,
    /// Instructions that read or set these: instruction number, number of the register, how.
    pub steps: Vec<(u32, u32, Use)>,
}

impl Places {
    pub fn new(decoded: &Decoded, blocks: &[Block]) -> Result<Self, Error> {
        let values = &decoded.values;
        let effects: Vec<Effect> = decoded.raws.iter().map(Raw::effect).collect();
        let liveness = liveness(&effects, blocks, values.len());

        // Presets first: they are written once and never change.
        let mut presets = vec![];
        let mut of = vec![NONE; values.len()];
        let mut preset_planes = 0;
        for (value, place) in values.iter().zip(&mut of) {
            if let Some(preset) = value.preset {
                *place = preset_planes * 32;
                presets.push((*place, value.slots() == 2, preset));
                preset_planes += value.slots();
            }
        }
        let value = |number: u32| &values[number as usize];
        let is_data = |number| value(number).preset.is_none() && value(number).kind != Type::Pred;
        let is_predicate = |number| value(number).kind == Type::Pred;
        let (slots, planes) = liveness.assign(preset_planes, |number| value(number).slots(), is_data);
        let (bits, predicates) = liveness.assign(0, |_| 1, is_predicate);
        for (number, place) in of.iter_mut().enumerate() {
            if slots[number] != NONE {
                *place = slots[number] * 32;
            } else if bits[number] != NONE {
                *place = bits[number];
            }
        }
        if predicates >= u32::from(GUARD_NEGATED) - 1 || planes > 1 << 24 {
            return Err(Error::unsupported(1, "", "kernels with this many registers"));
        }
        let unset = Unset::new(&decoded.raws, values, &effects, &liveness);
        Ok(Self { of, presets, planes, preset_planes, predicates, unset })
    }
}

impl Unset {
    fn new(raws: &[Raw], values: &[Value], effects: &[Effect], liveness: &Liveness) -> Self {
        let name = |value: u32| &values[value as usize].name;
        let declared = |value: &u32| values[*value as usize].preset.is_none() && !name(*value).is_empty();
        let unset: Vec<u32> = liveness.maybe_unset.iter().copied().filter(declared).collect();
        let mut steps = vec![];
        for ((pc, effect), raw) in (0u32..).zip(effects).zip(raws) {
            let guard = raw.guard.map(|(value, _)| value);
            for (list, how) in [(&effect.uses, Use::Read), (&effect.defs, Use::Set)] {
                // A guarded write counts as a read when slots are given out, but it reads nothing.
                let real = |value: &&u32| how == Use::Set || !effect.defs.contains(value);
                for value in list.iter().filter(real) {
                    if let Some(number) = unset.iter().position(|other| other == value) {
                        let how = if how == Use::Read && guard == Some(*value) { Use::Guard } else { how };
                        steps.push((pc, number as u32, how));
                    }
                }
            }
        }
        Self { names: unset.iter().map(|&value| name(value).clone()).collect(), steps }
    }
}
