//! Watches one block, and passes each event on to the rules that it concerns.

use super::barriers::Barriers;
use super::cell::Sort;
use super::clock::Clock;
use super::copies::{Copies, Source};
use super::coverage::Coverage;
use super::doubts::Doubts;
use super::extent::Extent;
use super::fences::Fences;
use super::finding::{Found, Spot};
use super::global::{GlobalShadow, Summaries};
use super::hazard::{Action, HazardKind};
use super::local::LocalShadow;
use super::log::{Part, Scene, Touch};
use super::products::{PIECE, Products};
use super::setup::Setup;
use super::shared::{Layout, SharedShadow};
use super::values::Values;
use crate::lanes::{each, select};
use crate::locked::lock;
use crate::observe::{
    Access, Arrival, BulkCopy, CopyAccess, CopyLanded, Executed, Observer, RUNS, SharedLoads, WarpgroupStep,
};
use crate::{AccessKind, SharedLoad, Space};
use ptx::lower::inst::BASES;
use std::sync::{Arc, Mutex};

/// The results of the blocks that have ended.
#[derive(Debug, Default)]
pub(super) struct Merged {
    /// Findings of each run of the launch.
    pub found: [Found; RUNS],
    pub run: usize,
    pub summaries: Summaries,
    /// Shadows of blocks that have ended, to be used again by other blocks.
    pub idle: Vec<Shadows>,
}

impl Merged {
    /// Takes over the findings and shadows of a block that has ended.
    fn take(&mut self, BlockHazards { mut scene, mut shadows, values, .. }: BlockHazards) {
        self.found[self.run].take(&mut scene.found);
        if !scene.setup.code().communicates && self.run == 0 {
            self.summaries.add(&scene.setup, &lock(&shadows.global), &lock(&scene.reads));
        }
        shadows.doubts = Some(values.into_doubts());
        self.idle.push(shadows);
    }
}

/// The shadows of a block's memory, and the doubts about values. They are large, so one block after another uses them.
#[derive(Debug)]
pub(super) struct Shadows {
    shared: SharedShadow,
    /// A shadow for this block alone, or one that all blocks share.
    global: Arc<Mutex<GlobalShadow>>,
    /// The doubts of the block before.
    doubts: Option<Doubts>,
}

impl Shadows {
    pub(super) fn new(setup: &Setup, global: Arc<Mutex<GlobalShadow>>) -> Self {
        Self { shared: SharedShadow::new(setup), global, doubts: None }
    }

    fn restart(&mut self, setup: &Setup) {
        self.shared.restart();
        if !setup.code().communicates {
            lock(&self.global).restart();
        }
    }
}

#[derive(Debug)]
pub(super) struct BlockHazards {
    scene: Scene,
    shadows: Shadows,
    coverage: Arc<Coverage>,
    /// Where the findings go at the end of the block.
    home: Arc<Mutex<Merged>>,
    fences: Fences,
    local: LocalShadow,
    copies: Copies,
    barriers: Barriers,
    values: Values,
    /// The warp that was last reported.
    warp: u32,
    products: Products,
}

impl BlockHazards {
    pub(super) fn new(scene: Scene, mut shadows: Shadows, coverage: Arc<Coverage>, home: Arc<Mutex<Merged>>) -> Self {
        let setup = &*scene.setup;
        shadows.restart(setup);
        Self {
            fences: Fences::new(setup.extent.warps as usize),
            local: LocalShadow::new(setup),
            copies: Copies::new(setup),
            barriers: Barriers::new(setup),
            values: Values::new(setup, shadows.doubts.take().unwrap_or_else(Doubts::new)),
            warp: 0,
            products: Products::new(setup),
            scene,
            shadows,
            coverage,
            home,
        }
    }

    /// Returns the bytes of host memory for a block, without its shadow of global memory.
    pub(super) fn bytes(extent: &Extent) -> u64 {
        let parts =
            [Clock::bytes, SharedShadow::bytes, LocalShadow::bytes, Copies::bytes, Values::bytes, Products::bytes];
        parts.iter().map(|bytes| bytes(extent)).sum::<u64>() + size_of::<Self>() as u64
    }

    fn global(&mut self, access: &Access<'_>) {
        let Self { scene, shadows, coverage, fences, copies, .. } = self;
        if access.written != 0 {
            copies.check_sources(scene, access);
        }
        if access.written == 0 && scene.setup.reads_unwritten[access.instruction as usize] {
            return;
        }
        let mut global = lock(&shadows.global);
        global.access(scene, coverage, access);
        if !scene.setup.is_plain(access.instruction)
            && scene.setup.order(access.instruction).is_strong()
            && scene.setup.follows_fences()
        {
            fences.accesses(scene, &mut global.locations, access);
        }
    }

    fn shared(&mut self, access: &Access<'_>) {
        let Self { scene, shadows, copies, fences, products, .. } = self;
        shadows.shared.access(scene, copies, access);
        if products.any() {
            each(access.written).for_each(|lane| products.write(scene, &Touch::of(access, lane)));
        }
        if !scene.setup.is_plain(access.instruction)
            && scene.setup.order(access.instruction).is_strong()
            && scene.setup.follows_fences()
        {
            fences.accesses_shared(scene, access);
        }
    }

    /// Notes a load from shared memory by all lanes of a warp in the frequent cases, and returns whether it could.
    #[inline]
    fn load_quickly(&mut self, warp: u32, load: &SharedLoad, (layout, first): (Layout, u32)) -> bool {
        let Self { scene, shadows, copies, values, .. } = self;
        let SharedLoad { instruction, offset, bytes, .. } = *load;
        if layout == Layout::Other || copies.any() || !values.has_none(warp) || !scene.setup.is_plain(instruction) {
            return false;
        }
        shadows.shared.load_quickly(
            scene,
            Part::new(warp * 32, instruction, false),
            (layout, first.wrapping_add_signed(offset), bytes),
        )
    }

    /// Notes that a copy to shared memory starts. It may land at any time from now on.
    fn starts(&mut self, write: &Touch) {
        let Self { scene, copies, shadows, products, .. } = self;
        copies.check(scene, write);
        shadows.shared.write_later(scene, write);
        if products.any() {
            products.write(scene, write);
        }
        copies.take_off(scene, write);
    }
}

impl Observer for BlockHazards {
    fn enter(&mut self, warp: u32, block: u32, first: u32, end: u32, _: u32) {
        self.warp = warp;
        self.scene.told = true;
        self.values.enter(&self.scene.setup, warp, block);
        self.barriers.enter(warp, block);
        if self.products.any() {
            self.products.run(&mut self.scene, warp, first, end, false);
        }
    }

    fn guarded(&mut self, warp: u32, instruction: u32, lanes: u32) {
        if self.products.any() && lanes != 0 {
            self.products.run(&mut self.scene, warp, instruction, instruction + 1, true);
        }
    }

    fn follows(&self) -> bool {
        self.values.follows(self.warp)
    }

    fn follow(&mut self, step: &Executed<'_>) {
        self.values.follow(&mut self.scene, step);
    }

    fn absent(&mut self, warp: u32, instruction: u32, lanes: u32) {
        self.warp = warp;
        self.values.absent(&self.scene, warp, instruction, lanes);
    }

    fn shared_loads(&mut self, loads: &SharedLoads<'_>) {
        self.warp = loads.warp;
        let layouts = Layout::of_bases(loads);
        let mut next = loads.loads.first().map_or(0, |load| load.instruction);
        for load in loads.loads {
            self.values.pass_run(&mut self.scene, loads.warp, next, load.instruction + 1);
            next = load.instruction + 1;
            if !self.load_quickly(loads.warp, load, layouts[load.base as usize % BASES]) {
                self.access(&Access::shared_load(loads.warp, load.instruction, load.bytes, &loads.addresses(load)));
            }
        }
        self.values.pass_run(&mut self.scene, loads.warp, next, loads.end);
    }

    fn access(&mut self, access: &Access<'_>) {
        self.warp = access.warp;
        let Setup { reads_unwritten, .. } = &*self.scene.setup;
        if access.space == Space::Global && access.written == 0 && reads_unwritten[access.instruction as usize] {
            return;
        }
        let follows =
            self.scene.told && access.kind == AccessKind::Load && !self.scene.setup.is_matrix(access.instruction);
        self.scene.reading = follows;
        match access.space {
            Space::Global => self.global(access),
            Space::Shared => self.shared(access),
            Space::Local => self.local.access(&mut self.scene, access),
            _ => {}
        }
        self.scene.reading = false;
        if follows {
            if !self.values.is_clean(&self.scene, access) {
                self.values.loaded(&mut self.scene, access);
            }
        } else if access.written != 0 {
            self.values.wrote(&mut self.scene, access);
        }
    }

    fn copy(&mut self, copy: &CopyAccess<'_>) {
        // The copy reads its source.
        for bytes in [4u32, 8, 12, 16] {
            let lanes = select(copy.lanes, |lane| copy.source_bytes[lane].next_multiple_of(4) == bytes);
            if lanes != 0 {
                let (by, what) = ((copy.warp, copy.instruction, lanes), (AccessKind::Load, Space::Global));
                self.global(&Access::new(by, what, bytes, copy.from));
            }
        }
        let watched = !self.scene.setup.reads_unwritten[copy.instruction as usize];
        for lane in each(copy.lanes) {
            let part = Part::new(copy.warp * 32 + lane as u32, copy.instruction, true);
            if watched && copy.source_bytes[lane] > 0 {
                let (to, from, bytes) = (copy.to[lane] as u32, copy.from[lane], copy.source_bytes[lane]);
                let start = self.scene.event(part);
                self.copies.reads(Source { part, start, to, from, bytes });
            }
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
        let Self { scene, shadows, fences, .. } = self;
        // The copy arrives at the barrier, so the barrier must have been initialised, and the asynchronous proxy must see it.
        let part = Part::new(thread, instruction, true);
        shadows.shared.fenced(scene, fences, &Touch { part, address: barrier, bytes: 8 });
        shadows.shared.hidden(scene, fences, &Touch { part, address, bytes });
        if !scene.setup.reads_unwritten[instruction as usize] {
            let by_proxy = Touch { part: Part { writes: false, ..part }, address: 0, bytes };
            lock(&shadows.global).by_proxy(scene, fences, from, &by_proxy);
            let start = scene.event(part);
            self.copies.reads(Source { part, start, to: address, from, bytes });
        }
        self.starts(&Touch { part, address, bytes });
    }

    fn bulk_landed(&mut self, copy: &BulkCopy) {
        let &BulkCopy { thread, instruction, bytes, to: address, barrier, .. } = copy;
        let Self { scene, copies, shadows, fences, .. } = self;
        let write = Touch { part: Part::new(thread, instruction, true), address, bytes };
        copies.land(&[write]);
        self.values.filled(address, bytes);
        let part = write.part;
        copies.have_read(|source| {
            (source.part.thread, source.part.instruction, source.to) == (part.thread, part.instruction, address)
        });
        // Neither this thread nor the threads that meet it know that the copy landed; a thread that finds the phase complete does.
        scene.clock.step(thread / 32);
        shadows.shared.write(scene, &write, Sort::WRITE);
        fences.landed(&scene.clock, thread, barrier.into());
        scene.clock.step(thread / 32);
    }

    fn copy_wait(&mut self, warp: u32, instruction: u32, lanes: u32, pending: Option<u32>) {
        if pending.unwrap_or(0) == 0 && !self.scene.setup.order(instruction).is_strong() {
            self.copies.wait(warp, lanes);
        }
    }

    fn copy_landed(&mut self, landed: &CopyLanded<'_>) {
        let own = |source: &Source| {
            let (warp, lane) = (source.part.thread / 32, source.part.thread as usize % 32);
            let known = warp == landed.warp && source.part.instruction == landed.instruction;
            known && landed.lanes >> lane & 1 == 1 && source.to == landed.to[lane]
        };
        for source in self.copies.have_read(own) {
            // It has read its source up to now. What was written there meanwhile has been found.
            self.scene.reading = true;
            let by = (landed.warp, landed.instruction, 1 << (source.part.thread % 32));
            let bytes = source.bytes.next_multiple_of(4);
            self.global(&Access::new(by, (AccessKind::Load, Space::Global), bytes, &[source.from; 32]));
            self.scene.reading = false;
            self.scene.suspects.clear();
        }
        let Self { scene, copies, shadows, values, .. } = self;
        for lane in each(landed.lanes) {
            let part = Part::new(landed.warp * 32 + lane as u32, landed.instruction, true);
            let write = Touch { part, address: landed.to[lane], bytes: landed.bytes };
            if scene.setup.order(landed.at).is_strong() {
                // The copies arrive at a barrier, and the thread goes on.
                copies.arriving.push(write);
            } else {
                copies.land(&[write]);
            }
            shadows.shared.landed(scene, &write);
            values.filled(landed.to[lane], landed.bytes);
        }
    }

    fn barrier_arrive(&mut self, arrival: &Arrival) {
        let &Arrival { warp, lanes, id, .. } = arrival;
        self.barriers.arrive(*arrival);
        if self.scene.setup.follows_fences() {
            self.fences.arrive(&mut self.scene.clock, warp, lanes, id);
        }
        self.scene.clock.arrive(warp, id);
    }

    fn barrier_release(&mut self, id: u32, waiting: u32) {
        self.barriers.open(&mut self.scene, id, waiting);
        if self.scene.setup.follows_fences() {
            self.fences.open(id, waiting);
        }
        self.scene.clock.open(id, waiting);
    }

    fn warp_sync(&mut self, warp: u32, instruction: u32, lanes: u32, named: u32, exchange: bool) {
        let outside = lanes & !named;
        if outside != 0 {
            let side = self.scene.side(warp * 32 + outside.trailing_zeros(), instruction, Action::Executes);
            self.scene.add(HazardKind::OutsideMask, Spot::Mask(named), side, None);
        }
        let lanes = lanes & named;
        if exchange {
            self.scene.clock.lanes_exchange(warp, lanes);
        } else {
            if self.scene.setup.follows_fences() {
                self.fences.lanes_meet(&mut self.scene.clock, warp, lanes);
            }
            self.scene.clock.lanes_meet(warp, lanes);
        }
    }

    fn fence(&mut self, warp: u32, instruction: u32, lanes: u32) {
        let order = self.scene.setup.order(instruction);
        if order.proxy || order.proxy_global {
            self.fences.fence_proxy(&mut self.scene.clock, warp, lanes, [order.proxy, order.proxy_global]);
            return;
        }
        if order.later {
            self.copies.arrived();
        }
        self.fences.fence(&mut self.scene.clock, warp, lanes, order);
    }

    fn warpgroup(&mut self, warp: u32, instruction: u32, step: WarpgroupStep<'_>) {
        let Self { scene, shadows, products, copies, fences, .. } = self;
        match step {
            WarpgroupStep::Fence => products.fence(warp),
            WarpgroupStep::Commit => products.commit(warp),
            WarpgroupStep::Wait { pending } => products.wait(&scene.clock, warp, pending),
            WarpgroupStep::Multiply { pieces, .. } => {
                let mut pieces: Vec<u32> = pieces.iter().map(|position| position / PIECE).collect();
                pieces.sort_unstable();
                pieces.dedup();
                let part = Part::new(warp * 32, instruction, false);
                for piece in &pieces {
                    let read = Touch { part, address: piece * PIECE, bytes: PIECE };
                    shadows.shared.product(scene, copies, fences, &read);
                }
                products.multiply(scene, warp, instruction, pieces);
            }
        }
    }

    fn exit(&mut self, warp: u32, instruction: u32, lanes: u32) {
        self.barriers.exit(warp, instruction, lanes);
        self.values.exit(warp, lanes);
    }

    fn end(mut self: Box<Self>) {
        self.values.end(&mut self.scene);
        self.barriers.end(&mut self.scene);
        let home = self.home.clone();
        lock(&home).take(*self);
    }
}
