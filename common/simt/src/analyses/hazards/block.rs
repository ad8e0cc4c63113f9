//! Watches one block: hands what happens to the rules that must know.

use super::accumulators::Accumulators;
use super::barriers::Barriers;
use super::cell::Sort;
use super::clock::Clock;
use super::copies::Copies;
use super::coverage::Coverage;
use super::extent::Extent;
use super::fences::Fences;
use super::finding::{Action, Place};
use super::global::GlobalShadow;
use super::local::LocalShadow;
use super::log::{LaneWrite, Log};
use super::operands::{Operands, PIECE};
use super::plan::Plan;
use super::proxies::Proxies;
use super::registers::Registers;
use super::shared::{Reading, SharedShadow};
use crate::analyses::report::HazardKind;
use crate::lanes::{each, select};
use crate::observe::{Access, Arrival, CopyAccess, Observer, WarpgroupStep};
use crate::{AccessKind, Space};
use std::sync::{Arc, Mutex, PoisonError};

/// Watches a block for hazards.
#[derive(Debug)]
pub struct BlockHazards {
    pub(super) plan: Arc<Plan>,
    pub(super) log: Log,
    /// The block's own, or one for all blocks.
    pub(super) global: Arc<Mutex<GlobalShadow>>,
    coverage: Arc<Coverage>,
    clock: Clock,
    fences: Fences,
    shared: SharedShadow,
    local: LocalShadow,
    copies: Copies,
    barriers: Barriers,
    registers: Registers,
    accumulators: Accumulators,
    operands: Operands,
    proxies: Proxies,
}

impl BlockHazards {
    pub(super) fn new(plan: Arc<Plan>, coverage: Arc<Coverage>, global: Arc<Mutex<GlobalShadow>>) -> Self {
        Self {
            log: Log::default(),
            global,
            coverage,
            clock: Clock::new(plan.block.count() as u32),
            fences: Fences::new(plan.warps()),
            shared: SharedShadow::new(&plan),
            local: LocalShadow::new(&plan),
            copies: Copies::new(&plan),
            barriers: Barriers::new(),
            registers: Registers::new(&plan),
            accumulators: Accumulators::new(&plan),
            operands: Operands::new(&plan),
            proxies: Proxies::new(plan.warps()),
            plan,
        }
    }

    /// Tells the time, in whatever unit: what is found from now on has it.
    pub fn at(&mut self, time: u64) {
        self.log.now = Some(time);
    }

    /// Bytes for a block, without its shadow of global memory.
    pub(super) fn bytes(extent: &Extent) -> u64 {
        let parts = [
            Clock::bytes,
            SharedShadow::bytes,
            LocalShadow::bytes,
            Copies::bytes,
            Registers::bytes,
            Accumulators::bytes,
            Operands::bytes,
        ];
        parts.iter().map(|bytes| bytes(extent)).sum::<u64>() + size_of::<Self>() as u64
    }

    /// Starts again with another block.
    pub(super) fn start(&mut self, block: u64) {
        self.log.block = block;
        self.clock.restart(block as u32);
        self.fences.restart();
        self.shared.restart();
        self.local.restart();
        self.copies.restart();
        self.barriers.restart();
        self.registers.restart();
        self.accumulators.restart();
        self.operands.restart();
        self.proxies.restart();
        if !self.plan.communicates() {
            self.global.lock().unwrap_or_else(PoisonError::into_inner).restart();
        }
    }

    fn global(&mut self, access: &Access<'_>) {
        let Self { plan, clock, coverage, log, fences, .. } = self;
        let mut global = self.global.lock().unwrap_or_else(PoisonError::into_inner);
        global.access(plan, coverage, clock, log, access);
        if plan.fenced && plan.strong(access.instruction) {
            fences.accesses(clock, &mut global.locations, access, plan.order(access.instruction));
        }
    }

    fn shared(&mut self, access: &Access<'_>) {
        let Self { plan, clock, copies, log, fences, .. } = self;
        self.shared.access(plan, clock, copies, log, access);
        if self.operands.any() && access.written != 0 {
            for lane in each(access.written) {
                self.operands.write(
                    plan,
                    clock,
                    log,
                    &LaneWrite {
                        thread: access.warp * 32 + lane as u32,
                        instruction: access.instruction,
                        address: access.addresses[lane] as u32,
                        bytes: access.bytes,
                    },
                );
            }
        }
        if plan.fenced && plan.strong(access.instruction) {
            fences.accesses_shared(clock, access, plan.order(access.instruction));
            if self.operands.any() {
                self.proxies.accesses(access, access.kind != AccessKind::Store);
            }
        }
    }
}

impl Observer for BlockHazards {
    fn enter(&mut self, warp: u32, _: u32, first: u32, end: u32, lanes: u32) {
        if self.registers.any() {
            self.registers.enter(&self.plan, &mut self.log, warp, first, end, lanes);
        }
        if self.accumulators.any() {
            self.accumulators.run(&self.plan, &mut self.log, warp, first, end, false);
        }
    }

    fn guarded(&mut self, warp: u32, instruction: u32, lanes: u32) {
        if self.registers.any() {
            self.registers.guarded(&self.plan, &mut self.log, warp, instruction, lanes);
        }
        if self.accumulators.any() && lanes != 0 {
            self.accumulators.run(&self.plan, &mut self.log, warp, instruction, instruction + 1, true);
        }
    }

    fn access(&mut self, access: &Access<'_>) {
        match access.space {
            Space::Global => self.global(access),
            Space::Shared => self.shared(access),
            Space::Local => self.local.access(&self.plan, &mut self.log, access),
            _ => {}
        }
    }

    fn copy(&mut self, copy: &CopyAccess<'_>) {
        // The source is read.
        for bytes in [4u32, 8, 12, 16] {
            let lanes = select(copy.lanes, |lane| copy.source_bytes[lane].next_multiple_of(4) == bytes);
            if lanes != 0 {
                self.global(&Access {
                    warp: copy.warp,
                    instruction: copy.instruction,
                    lanes,
                    kind: AccessKind::Load,
                    space: Space::Global,
                    bytes,
                    addresses: copy.from,
                    written: 0,
                    data: None,
                });
            }
        }
        let Self { plan, clock, copies, log, shared, operands, .. } = self;
        for lane in each(copy.lanes) {
            let write = LaneWrite {
                thread: copy.warp * 32 + lane as u32,
                instruction: copy.instruction,
                address: copy.to[lane] as u32,
                bytes: copy.bytes,
            };
            copies.check(plan, log, write.address, write.bytes, write.part());
            // The write may land at any time from now on.
            shared.write_later(plan, clock, log, &write);
            if operands.any() {
                operands.write(plan, clock, log, &write);
            }
            copies.take_off(&write);
        }
        copies.started(copy);
    }

    fn copy_commit(&mut self, warp: u32, _: u32, lanes: u32) {
        self.copies.commit(warp, lanes);
    }

    fn copy_wait(&mut self, warp: u32, instruction: u32, lanes: u32, pending: Option<u32>) {
        let landed = if self.plan.order(instruction).is_strong() {
            // The copies arrive at a barrier, and the thread goes on.
            self.copies.arrive(warp, lanes)
        } else {
            // Now these have landed at the latest.
            self.copies.wait(warp, lanes, pending)
        };
        for write in landed {
            self.shared.write(&self.plan, &self.clock, &mut self.log, &write, Sort::WRITE);
        }
    }

    fn barrier_arrive(&mut self, arrival: &Arrival) {
        let &Arrival { warp, lanes, id, .. } = arrival;
        self.barriers.arrive(*arrival);
        if self.plan.fenced {
            self.fences.arrive(&mut self.clock, warp, lanes, id);
        }
        if self.operands.any() {
            self.proxies.arrive(warp, lanes, id);
        }
        self.clock.arrive(warp, id);
    }

    fn barrier_release(&mut self, id: u32, waiting: u32) {
        self.barriers.open(&self.plan, &mut self.log, id);
        if self.plan.fenced {
            self.fences.open(id, waiting);
        }
        if self.operands.any() {
            self.proxies.open(id, waiting);
        }
        self.clock.open(id, waiting);
    }

    fn warp_sync(&mut self, warp: u32, instruction: u32, lanes: u32, named: u32, exchange: bool) {
        let outside = lanes & !named;
        if outside != 0 {
            let side = self.log.side(warp * 32 + outside.trailing_zeros(), instruction, Action::Executes);
            self.log.add(HazardKind::OutsideMask, Place::Mask(named), side, None);
        }
        let lanes = lanes & named;
        if exchange {
            self.clock.lanes_exchange(warp, lanes);
        } else {
            if self.plan.fenced {
                self.fences.lanes_meet(&mut self.clock, warp, lanes);
            }
            if self.operands.any() {
                self.proxies.lanes_meet(warp, lanes, self.clock.full(warp));
            }
            self.clock.lanes_meet(warp, lanes);
        }
    }

    fn fence(&mut self, warp: u32, instruction: u32, lanes: u32) {
        let order = self.plan.order(instruction);
        if order.proxy {
            if self.operands.any() {
                self.proxies.fence(&mut self.clock, warp, lanes);
            }
            return;
        }
        if order.later {
            self.copies.arrived();
        }
        self.fences.fence(&mut self.clock, warp, lanes, order);
    }

    fn warpgroup(&mut self, warp: u32, instruction: u32, step: WarpgroupStep<'_>) {
        let Self { plan, clock, log, accumulators, operands, .. } = self;
        match step {
            WarpgroupStep::Fence => accumulators.fence(warp),
            WarpgroupStep::Commit => {
                accumulators.commit(warp);
                operands.commit(warp);
            }
            WarpgroupStep::Wait { pending } => {
                accumulators.wait(warp, pending);
                operands.wait(clock, warp, pending);
            }
            WarpgroupStep::Multiply { pieces, .. } => {
                accumulators.multiply(plan, log, warp, instruction);
                let mut pieces: Vec<u32> = pieces.iter().map(|position| position / PIECE).collect();
                pieces.sort_unstable();
                pieces.dedup();
                for piece in &pieces {
                    let read = Reading { warp, instruction, address: piece * PIECE, bytes: PIECE };
                    self.shared.product(plan, clock, (&self.copies, &self.proxies), log, &read);
                }
                operands.multiply(warp, instruction, pieces);
            }
        }
    }

    fn exit(&mut self, warp: u32, instruction: u32, lanes: u32) {
        self.barriers.exit(warp, instruction, lanes);
    }
}
