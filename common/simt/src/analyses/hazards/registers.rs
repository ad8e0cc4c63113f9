//! The rule of registers: none is read before the thread has set it.

use super::extent::Extent;
use super::finding::{Finding, Spot};
use super::hazard::{Action, HazardKind};
use super::log::Log;
use super::setup::Setup;
use crate::lower::Use;

/// Which lanes have set the registers that some path reads first.
#[derive(Debug)]
pub(super) struct Registers {
    warps: usize,
    /// Lanes that have set each register: by register and warp.
    set: Vec<u32>,
}

impl Registers {
    pub(super) fn new(setup: &Setup) -> Self {
        Self { warps: setup.warps(), set: vec![0; setup.doubtful_registers().len() * setup.warps()] }
    }

    pub(super) fn bytes(extent: &Extent) -> u64 {
        extent.doubtful_registers * extent.warps * size_of::<u32>() as u64
    }

    pub(super) fn restart(&mut self) {
        self.set.fill(0);
    }

    /// Whether any register needs watching.
    #[inline]
    pub(super) fn any(&self) -> bool {
        !self.set.is_empty()
    }

    /// A warp runs the instructions `first..end`, those without a guard by the lanes given.
    pub(super) fn enter(&mut self, setup: &Setup, log: &mut Log, warp: u32, first: u32, end: u32, lanes: u32) {
        for (instruction, number, how) in setup.register_uses(first, end) {
            let set = &mut self.set[number as usize * self.warps + warp as usize];
            if how == Use::Set {
                // A guarded write may set fewer lanes; taking all for set gives no false alarm.
                *set |= lanes;
            } else if how == Use::Guard || !setup.is_guarded(instruction) {
                read(log, warp, instruction, number, lanes & !*set);
            }
        }
    }

    /// A warp runs an instruction with a guard, by the lanes given.
    pub(super) fn guarded(&self, setup: &Setup, log: &mut Log, warp: u32, instruction: u32, lanes: u32) {
        for (_, number, how) in setup.register_uses(instruction, instruction + 1) {
            if how == Use::Read {
                let set = self.set[number as usize * self.warps + warp as usize];
                read(log, warp, instruction, number, lanes & !set);
            }
        }
    }
}

/// Notes that some lanes, perhaps none, read a register that they have not set.
fn read(log: &mut Log, warp: u32, instruction: u32, number: u32, unset: u32) {
    if unset != 0 {
        let first = log.side(warp * 32 + unset.trailing_zeros(), instruction, Action::Reads);
        let count = u64::from(unset.count_ones());
        let finding = Finding { spot: Spot::Register(number), first, second: None, count, time: log.now };
        log.found.add(HazardKind::UnsetRegister, finding);
    }
}
