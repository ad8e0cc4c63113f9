//! Watches one block: hands what happens to the rules that must know.

use super::barriers::Barriers;
use super::clock::Clock;
use super::copies::Copies;
use super::global::GlobalShadow;
use super::log::Log;
use super::plan::Plan;
use super::registers::Registers;
use super::shadow::LaneAccess;
use super::shared::SharedShadow;
use crate::lanes::{each, select};
use crate::observe::{Access, CopyAccess, Observer};
use crate::{AccessKind, Space};
use std::sync::Arc;

/// Watches a block for hazards.
#[derive(Debug)]
pub struct BlockHazards {
    pub(super) plan: Arc<Plan>,
    pub(super) log: Log,
    pub(super) global: GlobalShadow,
    clock: Clock,
    shared: SharedShadow,
    copies: Copies,
    barriers: Barriers,
    registers: Registers,
}

impl BlockHazards {
    pub(super) fn new(plan: Arc<Plan>) -> Self {
        Self {
            log: Log::default(),
            global: GlobalShadow::new(&plan),
            clock: Clock::new(plan.warps()),
            shared: SharedShadow::new(plan.shared_units),
            copies: Copies::new(&plan),
            barriers: Barriers::new(),
            registers: Registers::new(&plan),
            plan,
        }
    }

    /// Starts again with another block.
    pub(super) fn start(&mut self, block: u64) {
        self.log.block = block;
        self.global.restart();
        self.clock.restart();
        self.shared.restart();
        self.copies.restart();
        self.barriers.restart();
        self.registers.restart();
    }

    /// Lets time step, and says what time it was.
    fn tick(&mut self) -> u16 {
        let now = self.clock.tick();
        if now == 0 {
            self.shared.forget();
            self.global.forget_times();
        }
        now
    }
}

impl Observer for BlockHazards {
    fn enter(&mut self, warp: u32, _: u32, first: u32, end: u32, lanes: u32) {
        if self.registers.any() {
            self.registers.enter(&self.plan, &mut self.log, warp, first, end, lanes);
        }
    }

    fn guarded(&mut self, warp: u32, instruction: u32, lanes: u32) {
        if self.registers.any() {
            self.registers.guarded(&self.plan, &mut self.log, warp, instruction, lanes);
        }
    }

    fn access(&mut self, access: &Access<'_>) {
        let Self { plan, clock, copies, log, .. } = self;
        match access.space {
            Space::Global => self.global.access(plan, clock, log, access),
            Space::Shared => self.shared.access(plan, clock, copies, log, access),
            _ => {}
        }
    }

    fn copy(&mut self, copy: &CopyAccess<'_>) {
        let Self { plan, clock, copies, log, shared, global, .. } = self;
        // The source is read.
        for bytes in [4u32, 8, 12, 16] {
            let lanes = select(copy.lanes, |lane| copy.source_bytes[lane].next_multiple_of(4) == bytes);
            if lanes != 0 {
                let access = Access {
                    warp: copy.warp,
                    instruction: copy.instruction,
                    lanes,
                    kind: AccessKind::Load,
                    space: Space::Global,
                    bytes,
                    addresses: copy.from,
                    values: None,
                };
                global.access(plan, clock, log, &access);
            }
        }
        for lane in each(copy.lanes) {
            let access = LaneAccess {
                thread: copy.warp * 32 + lane as u32,
                instruction: copy.instruction,
                address: copy.to[lane] as u32,
                bytes: copy.bytes,
                writes: true,
            };
            copies.check(plan, log, &access);
            // The write may land at any time from now on.
            shared.touch(plan, clock, log, &access);
            copies.take_off(&access);
        }
        copies.started(copy);
    }

    fn copy_commit(&mut self, warp: u32, _: u32, lanes: u32) {
        self.copies.commit(warp, lanes);
    }

    fn copy_wait(&mut self, warp: u32, _: u32, lanes: u32, pending: Option<u32>) {
        // Now these have landed at the latest.
        for access in self.copies.wait(warp, lanes, pending) {
            self.shared.write(&self.plan, &self.clock, &mut self.log, &access);
        }
    }

    fn barrier_arrive(&mut self, warp: u32, instruction: u32, id: u32, lanes: u32, waits: bool) {
        self.barriers.arrive(&self.plan, warp, instruction, id, lanes, waits);
    }

    fn barrier_release(&mut self, id: u32, waiting: u32) {
        let arrived = self.barriers.open(&mut self.log, id);
        let now = self.tick();
        self.clock.warps_met(arrived | waiting, now);
    }

    fn warp_sync(&mut self, warp: u32, _: u32, lanes: u32) {
        let now = self.tick();
        self.clock.lanes_met(warp, lanes, now);
    }

    fn fence(&mut self, _: u32, _: u32, _: u32) {
        self.global.fenced = true;
    }

    fn exit(&mut self, warp: u32, instruction: u32, lanes: u32) {
        self.barriers.exit(warp, instruction, lanes);
    }
}
