//! The rule of registers: a value that was never set must not decide a branch, be part of an address, or be stored.
//!
//! Compilers compute with such values if nothing needs the result. So they are followed through moves, selections, arithmetic
//! and shuffles, and each is reported once, at the place where it first decides something.

use super::extent::Extent;
use super::hazard::{Action, HazardKind};
use super::log::{Finding, Scene, Spot};
use super::setup::Setup;
use crate::exec::source;
use crate::lanes::select;
use crate::observe::Executed;
use ptx::lower::{Flow, Home, Step};

#[derive(Debug, Clone, Copy, Default)]
struct Register {
    /// The lanes in which it has no value.
    unset: u32,
    /// The register that was not set and from which the missing value comes.
    origin: u32,
    /// The shuffle that took the value from a lane that is not there, if that is the reason.
    shuffle: Option<u32>,
}

/// For each register that is followed, the lanes in which it has no value.
#[derive(Debug)]
pub(super) struct Registers {
    followed: usize,
    /// By warp and register.
    all: Vec<Register>,
}

impl Registers {
    pub(super) fn new(setup: &Setup) -> Self {
        let followed = setup.code().followed as usize;
        let mut of_warp = vec![Register::default(); followed];
        // The registers that may be read before they are set come first.
        for (origin, register) in (0..setup.code().doubtful).zip(&mut of_warp) {
            *register = Register { unset: u32::MAX, origin, shuffle: None };
        }
        Self { followed, all: of_warp.repeat(setup.extent.warps as usize) }
    }

    pub(super) fn bytes(extent: &Extent) -> u64 {
        u64::from(extent.code.followed) * extent.warps * size_of::<Register>() as u64
    }

    #[inline]
    pub(super) fn any(&self) -> bool {
        self.followed > 0
    }

    /// Notes that a warp starts to run `first..end`. This follows the instructions up to the first one that depends on register values.
    pub(super) fn enter(&mut self, scene: &mut Scene, warp: u32, first: u32, end: u32, lanes: u32) {
        let setup = scene.setup.clone();
        let steps = setup.steps(first, end);
        steps.iter().take_while(|step| !step.asks()).for_each(|step| self.step(scene, warp, step, lanes, None));
    }

    /// Follows an instruction that depends on register values just before a warp executes it, and those after it up to the next such.
    pub(super) fn follow(&mut self, scene: &mut Scene, at: &Executed<'_>) {
        let setup = scene.setup.clone();
        let steps = setup.steps(at.instruction, setup.block_end(at.instruction));
        let Some((first, rest)) = steps.split_first() else { return };
        self.step(scene, at.warp, first, at.lanes, Some(at));
        rest.iter().take_while(|step| !step.asks()).for_each(|step| self.step(scene, at.warp, step, at.lanes, None));
    }

    fn step(&mut self, scene: &mut Scene, warp: u32, step: &Step, mut lanes: u32, at: Option<&Executed<'_>>) {
        let all = &mut self.all[warp as usize * self.followed..][..self.followed];
        let holds = |home: Home| {
            let values = at.map_or([0; 32], |at| at.registers.values(home));
            select(u32::MAX, |lane| values[lane] & 1 == 1)
        };
        let of = |all: &[Register], number: u32| all.get(number as usize).map_or(0, |register| register.unset);
        let (mut open, mut ended) = (0, 0);
        if let Some((number, home, negated)) = step.guard {
            open = of(all, number) & lanes;
            if at.is_some() {
                lanes &= if negated { !holds(home) } else { holds(home) } | open;
            }
        }
        let uses: [u32; 3] = std::array::from_fn(|index| step.uses.get(index).map_or(0, |&number| of(all, number)));
        let [a, b, c] = uses;
        let unset = match step.flow {
            Flow::Decides => {
                let guard = step.guard.map(|(number, ..)| (number, open));
                for (number, lanes) in guard.into_iter().chain(step.uses.iter().map(|&number| (number, lanes))) {
                    if let Some(register) = all.get_mut(number as usize) {
                        read(scene, warp, step.instruction, *register, lanes);
                        // Each is reported once.
                        register.unset &= !lanes;
                    }
                }
                open = 0;
                0
            }
            Flow::Select => {
                let chosen = holds(step.values[0]);
                a & chosen | b & !chosen | c
            }
            Flow::Both { decides } => {
                let [x, y] = [0, 1].map(|index| holds(step.values[index]) ^ if decides { u32::MAX } else { 0 });
                a & (b | y) | b & (a | x)
            }
            Flow::Compare { decides } => {
                let open = holds(step.values[0]) ^ if decides { u32::MAX } else { 0 };
                (a | b) & (c | open) | c
            }
            Flow::Shuffle { mode } => {
                let [by, bounds] = [0, 1].map(|index| at.map_or([0; 32], |at| at.registers.values(step.values[index])));
                let from = |lane: usize| source(mode, lane, by[lane] as u32, bounds[lane] as u32).0;
                ended = select(lanes, |lane| lanes >> from(lane) & 1 == 0);
                ended | select(lanes, |lane| a >> from(lane) & 1 == 1) | b | c
            }
            Flow::Any | Flow::Lanes => {
                let unset = step.uses.iter().fold(0, |unset, &number| unset | of(all, number));
                if step.flow == Flow::Lanes && unset & lanes != 0 { u32::MAX } else { unset }
            }
        };
        let origins = step.uses.iter().chain(step.guard.as_ref().map(|(number, ..)| number));
        let known =
            origins.filter_map(|&number| all.get(number as usize)).find(|register| register.unset != 0).copied();
        for &number in &step.defs {
            let register = &mut all[number as usize];
            register.unset = register.unset & !lanes | (unset | open) & lanes;
            if let Some(Register { origin, shuffle, .. }) = known {
                (register.origin, register.shuffle) = (origin, shuffle);
            } else if ended != 0 {
                (register.origin, register.shuffle) = (number, Some(step.instruction));
            }
        }
    }
}

/// Reports that lanes need a register, unless it has a value in all of them.
fn read(scene: &mut Scene, warp: u32, instruction: u32, register: Register, lanes: u32) {
    let unset = register.unset & lanes;
    if unset != 0 {
        let side = |instruction, action| scene.side(warp * 32 + unset.trailing_zeros(), instruction, action);
        let reads = side(instruction, Action::Reads);
        let (kind, first, second) = match register.shuffle {
            Some(shuffle) => (HazardKind::EndedLane, side(shuffle, Action::Executes), Some(reads)),
            None => (HazardKind::UnsetRegister, reads, None),
        };
        let count = u64::from(unset.count_ones());
        let time = scene.now();
        scene.found.add(kind, Finding { spot: Spot::Register(register.origin), first, second, count, time });
    }
}
