//! What addresses were computed from: sums and copies of an address stay with what it was the address of.

use super::inst::{Function, NONE, Op};
use super::raw::{Decoded, Preset};

/// What a value was computed from, of the sources that somebody asks about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin<T> {
    Nothing,
    Of(T),
    Several,
}

impl<T: Copy + PartialEq> Origin<T> {
    /// The source, if it is one.
    pub fn only(self) -> Option<T> {
        if let Self::Of(source) = self { Some(source) } else { None }
    }

    fn join(self, other: Self) -> Self {
        match (self, other) {
            (Self::Nothing, other) => other,
            (this, Self::Nothing) => this,
            (this, other) if this == other => this,
            _ => Self::Several,
        }
    }
}

/// The origins of values that are sources: of the presets that `source` takes for one.
pub(super) fn sources<T>(decoded: &Decoded, source: impl Fn(Preset) -> Option<T>) -> Vec<Origin<T>> {
    let origin = |preset: Option<Preset>| preset.and_then(&source).map_or(Origin::Nothing, Origin::Of);
    decoded.values.iter().map(|value| origin(value.preset)).collect()
}

/// The origin of each value, from those of the sources.
pub(super) fn origins<T: Copy + PartialEq>(decoded: &Decoded, mut origins: Vec<Origin<T>>) -> Vec<Origin<T>> {
    // From each value to those that are computed from it.
    let mut steps: Vec<(u32, u32)> = vec![];
    for raw in &decoded.raws {
        let inst = &raw.inst;
        let sources = match inst.op {
            Op::Add32 | Op::Add64 | Op::Or32 | Op::Or64 | Op::Selp32 | Op::Selp64 => [inst.a, inst.b],
            Op::Sub32 | Op::Sub64 | Op::Mov32 | Op::Mov64 | Op::Truncate | Op::ZeroExtend | Op::SignExtend => {
                [inst.a, NONE]
            }
            Op::Mad32 | Op::Mad64 | Op::MadWideS32 | Op::MadWideU32 => [inst.c, NONE],
            Op::Generic => match decoded.code.details[inst.imm as usize].function {
                Function::Offset | Function::Cvt => [inst.a, NONE],
                _ => continue,
            },
            _ => continue,
        };
        steps.extend(sources.into_iter().filter(|&source| source != NONE).map(|source| (source, inst.d)));
    }
    steps.sort_unstable();
    // A value changes twice at most.
    let mut changed: Vec<u32> = (0..origins.len() as u32).filter(|&v| origins[v as usize] != Origin::Nothing).collect();
    while let Some(value) = changed.pop() {
        let first = steps.partition_point(|step| step.0 < value);
        for &(_, to) in steps[first..].iter().take_while(|step| step.0 == value) {
            let joined = origins[to as usize].join(origins[value as usize]);
            if joined != origins[to as usize] {
                origins[to as usize] = joined;
                changed.push(to);
            }
        }
    }
    origins
}
