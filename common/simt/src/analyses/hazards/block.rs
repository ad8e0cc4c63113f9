//! Watches one block: hands what happens to the rules that must know.

use super::barriers::Barriers;
use super::between::Summaries;
use super::cell::Sort;
use super::clock::Clock;
use super::copies::Copies;
use super::coverage::Coverage;
use super::extent::Extent;
use super::fences::Fences;
use super::finding::{Found, Spot};
use super::global::GlobalShadow;
use super::hazard::{Action, HazardKind};
use super::local::LocalShadow;
use super::log::{Log, Part, Touch};
use super::products::{PIECE, Products};
use super::registers::Registers;
use super::setup::Setup;
use super::shared::SharedShadow;
use crate::lanes::{each, select};
use crate::observe::{Access, Arrival, BulkCopy, CopyAccess, CopyLanded, Executed, Observer, WarpgroupStep};
use crate::{AccessKind, Space};
use std::sync::{Arc, Mutex, PoisonError};

/// What the blocks that have ended leave behind.
#[derive(Debug, Default)]
pub(super) struct Merged {
    /// In the order that was asked for, and in the opposite order of blocks and warps.
    pub found: [Found; 2],
    /// The launch runs for the second time.
    pub again: bool,
    pub summaries: Summaries,
    /// Observers that watch no block at the moment.
    pub idle: Vec<BlockHazards>,
}

impl Merged {
    /// Takes what was found in a block that has ended.
    fn take(&mut self, mut block: BlockHazards) {
        self.found[usize::from(self.again)].take(&mut block.log.found);
        if !block.setup.code().communicates && !self.again {
            self.summaries.add(&block.setup, &block.global.lock().unwrap_or_else(PoisonError::into_inner));
        }
        self.idle.push(block);
    }
}

/// Watches a block for hazards.
#[derive(Debug)]
pub(super) struct BlockHazards {
    setup: Arc<Setup>,
    pub log: Log,
    /// The block's own, or one for all blocks.
    global: Arc<Mutex<GlobalShadow>>,
    coverage: Arc<Coverage>,
    /// Where it belongs when it has ended.
    home: Option<Arc<Mutex<Merged>>>,
    clock: Clock,
    fences: Fences,
    shared: SharedShadow,
    local: LocalShadow,
    copies: Copies,
    barriers: Barriers,
    registers: Registers,
    products: Products,
}

impl BlockHazards {
    pub(super) fn new(setup: Arc<Setup>, coverage: Arc<Coverage>, global: Arc<Mutex<GlobalShadow>>) -> Self {
        Self {
            log: Log::default(),
            global,
            coverage,
            home: None,
            clock: Clock::new(0, setup.block.count() as u32),
            fences: Fences::new(setup.warps()),
            shared: SharedShadow::new(&setup),
            local: LocalShadow::new(&setup),
            copies: Copies::new(&setup),
            barriers: Barriers::new(),
            registers: Registers::new(&setup),
            products: Products::new(&setup),
            setup,
        }
    }

    /// Bytes for a block, without its shadow of global memory.
    pub(super) fn bytes(extent: &Extent) -> u64 {
        let parts =
            [Clock::bytes, SharedShadow::bytes, LocalShadow::bytes, Copies::bytes, Registers::bytes, Products::bytes];
        parts.iter().map(|bytes| bytes(extent)).sum::<u64>() + size_of::<Self>() as u64
    }

    /// Starts again with another block. The large shadows are kept.
    pub(super) fn start(&mut self, block: u64, home: Arc<Mutex<Merged>>) {
        let setup = &self.setup;
        (self.log.block, self.home) = (block, Some(home));
        self.clock = Clock::new(block as u32, setup.block.count() as u32);
        self.fences = Fences::new(setup.warps());
        self.shared.restart();
        self.local = LocalShadow::new(setup);
        self.copies = Copies::new(setup);
        self.barriers = Barriers::new();
        self.registers = Registers::new(setup);
        self.products = Products::new(setup);
        if !self.setup.code().communicates {
            self.global.lock().unwrap_or_else(PoisonError::into_inner).restart();
        }
    }

    fn global(&mut self, access: &Access<'_>) {
        if access.written == 0 && self.setup.reads_unwritten(access.instruction) {
            return;
        }
        let Self { setup, clock, coverage, log, fences, .. } = self;
        let mut global = self.global.lock().unwrap_or_else(PoisonError::into_inner);
        global.access(setup, coverage, clock, log, access);
        let order = setup.order(access.instruction);
        if order.is_strong() && setup.follows_fences() {
            fences.accesses(clock, &mut global.locations, access, order);
        }
    }

    fn shared(&mut self, access: &Access<'_>) {
        let Self { setup, clock, copies, log, fences, .. } = self;
        self.shared.access(setup, clock, copies, log, access);
        if self.products.any() {
            each(access.written).for_each(|lane| self.products.write(setup, clock, log, &Touch::of(access, lane)));
        }
        let order = setup.order(access.instruction);
        if order.is_strong() && setup.follows_fences() {
            fences.accesses_shared(clock, access, order);
        }
    }

    /// A copy to a piece of shared memory starts. It may land at any time from now on.
    fn starts(&mut self, write: &Touch) {
        let Self { setup, clock, copies, log, shared, products, .. } = self;
        copies.check(setup, log, write);
        shared.write_later(setup, clock, log, write);
        if products.any() {
            products.write(setup, clock, log, write);
        }
        copies.take_off(write);
    }
}

impl Observer for BlockHazards {
    fn enter(&mut self, warp: u32, _: u32, first: u32, end: u32, lanes: u32) {
        if self.registers.any() {
            self.registers.enter(&self.setup, &mut self.log, warp, first, end, lanes);
        }
        if self.products.any() {
            self.products.run(&self.setup, &mut self.log, warp, first, end, false);
        }
    }

    fn guarded(&mut self, warp: u32, instruction: u32, lanes: u32) {
        if self.products.any() && lanes != 0 {
            self.products.run(&self.setup, &mut self.log, warp, instruction, instruction + 1, true);
        }
    }

    fn follow(&mut self, step: &Executed<'_>) {
        self.registers.follow(&self.setup, &mut self.log, step);
    }

    fn access(&mut self, access: &Access<'_>) {
        match access.space {
            Space::Global => self.global(access),
            Space::Shared => self.shared(access),
            Space::Local => self.local.access(&self.setup, &mut self.log, access),
            _ => {}
        }
    }

    fn copy(&mut self, copy: &CopyAccess<'_>) {
        // The source is read.
        for bytes in [4u32, 8, 12, 16] {
            let lanes = select(copy.lanes, |lane| copy.source_bytes[lane].next_multiple_of(4) == bytes);
            if lanes != 0 {
                let (by, what) = ((copy.warp, copy.instruction, lanes), (AccessKind::Load, Space::Global));
                self.global(&Access::new(by, what, bytes, copy.from));
            }
        }
        for lane in each(copy.lanes) {
            let part = Part::new(copy.warp * 32 + lane as u32, copy.instruction, true);
            self.starts(&Touch { part, address: copy.to[lane] as u32, bytes: copy.bytes });
        }
    }

    fn bulk_copy(&mut self, copy: &BulkCopy) {
        let &BulkCopy { thread, instruction, bytes, from, to: address, barrier } = copy;
        let by = (thread / 32, instruction, 1 << (thread % 32));
        for piece in (0..bytes).step_by(16) {
            let from = [from + u64::from(piece); 32];
            self.global(&Access::new(by, (AccessKind::Load, Space::Global), 16, &from));
        }
        let Self { setup, clock, log, shared, fences, .. } = self;
        // The copy must find the barrier made.
        let part = Part::new(thread, instruction, true);
        shared.fenced(setup, clock, fences, log, &Touch { part, address: barrier, bytes: 8 });
        self.starts(&Touch { part, address, bytes });
    }

    fn bulk_landed(&mut self, copy: &BulkCopy) {
        let &BulkCopy { thread, instruction, bytes, to: address, barrier, .. } = copy;
        let Self { setup, clock, copies, log, shared, fences, .. } = self;
        let write = Touch { part: Part::new(thread, instruction, true), address, bytes };
        copies.land(&[write]);
        // Whoever meets the thread does not know of this, nor the thread itself; whoever finds the phase complete does.
        clock.step(thread / 32);
        shared.write(setup, clock, log, &write, Sort::WRITE);
        fences.landed(clock, thread, barrier.into());
        clock.step(thread / 32);
    }

    fn copy_wait(&mut self, warp: u32, instruction: u32, lanes: u32, pending: Option<u32>) {
        if pending.unwrap_or(0) == 0 && !self.setup.order(instruction).is_strong() {
            self.copies.wait(warp, lanes);
        }
    }

    fn copy_landed(&mut self, landed: &CopyLanded<'_>) {
        let Self { setup, clock, copies, log, shared, .. } = self;
        for lane in each(landed.lanes) {
            let part = Part::new(landed.warp * 32 + lane as u32, landed.instruction, true);
            let write = Touch { part, address: landed.to[lane], bytes: landed.bytes };
            if setup.order(landed.at).is_strong() {
                // The copies arrive at a barrier, and the thread goes on.
                copies.arrive(write);
            } else {
                copies.land(&[write]);
            }
            shared.write(setup, clock, log, &write, Sort::WRITE);
        }
    }

    fn barrier_arrive(&mut self, arrival: &Arrival) {
        let &Arrival { warp, lanes, id, .. } = arrival;
        self.barriers.arrive(*arrival);
        if self.setup.follows_fences() {
            self.fences.arrive(&mut self.clock, warp, lanes, id);
        }
        self.clock.arrive(warp, id);
    }

    fn barrier_release(&mut self, id: u32, waiting: u32) {
        self.barriers.open(&self.setup, &mut self.log, id);
        if self.setup.follows_fences() {
            self.fences.open(id, waiting);
        }
        self.clock.open(id, waiting);
    }

    fn warp_sync(&mut self, warp: u32, instruction: u32, lanes: u32, named: u32, exchange: bool) {
        let outside = lanes & !named;
        if outside != 0 {
            let side = self.log.side(warp * 32 + outside.trailing_zeros(), instruction, Action::Executes);
            self.log.add(HazardKind::OutsideMask, Spot::Mask(named), side, None);
        }
        let lanes = lanes & named;
        if exchange {
            self.clock.lanes_exchange(warp, lanes);
        } else {
            if self.setup.follows_fences() {
                self.fences.lanes_meet(&mut self.clock, warp, lanes);
            }
            self.clock.lanes_meet(warp, lanes);
        }
    }

    fn fence(&mut self, warp: u32, instruction: u32, lanes: u32) {
        let order = self.setup.order(instruction);
        if order.proxy {
            self.fences.fence_proxy(&mut self.clock, warp, lanes);
            return;
        }
        if order.later {
            self.copies.arrived();
        }
        self.fences.fence(&mut self.clock, warp, lanes, order);
    }

    fn warpgroup(&mut self, warp: u32, instruction: u32, step: WarpgroupStep<'_>) {
        let Self { setup, clock, log, products, .. } = self;
        match step {
            WarpgroupStep::Fence => products.fence(warp),
            WarpgroupStep::Commit => products.commit(warp),
            WarpgroupStep::Wait { pending } => products.wait(clock, warp, pending),
            WarpgroupStep::Multiply { pieces, .. } => {
                let mut pieces: Vec<u32> = pieces.iter().map(|position| position / PIECE).collect();
                pieces.sort_unstable();
                pieces.dedup();
                let part = Part::new(warp * 32, instruction, false);
                for piece in &pieces {
                    let read = Touch { part, address: piece * PIECE, bytes: PIECE };
                    self.shared.product(setup, clock, (&self.copies, &self.fences), log, &read);
                }
                products.multiply(setup, log, warp, instruction, pieces);
            }
        }
    }

    fn exit(&mut self, warp: u32, instruction: u32, lanes: u32) {
        self.barriers.exit(warp, instruction, lanes);
    }

    fn end(mut self: Box<Self>) {
        if let Some(home) = self.home.take() {
            home.lock().unwrap_or_else(PoisonError::into_inner).take(*self);
        }
    }
}
