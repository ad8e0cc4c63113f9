//! Asynchronous copies: which ones are in flight, and which accesses touch a place that one still fills.

use super::clock::Order;
use super::event::{Event, Slot};
use super::extent::Extent;
use super::finding::Spot;
use super::hazard::{Action, HazardKind};
use super::log::{Part, Scene, Touch};
use super::setup::Setup;
use crate::Access;
use crate::lanes::each;

/// The last copy that was started to a word of shared memory.
#[derive(Debug, Clone, Copy, Default)]
struct Filler {
    start: Event,
    landed: bool,
}

impl Filler {
    fn is_in_flight(self) -> bool {
        self.start.some() && !self.landed
    }

    fn is_by(self, thread: u32, instruction: u32) -> bool {
        self.start.some() && (self.start.thread(), self.start.instruction()) == (thread, instruction)
    }
}

#[derive(Debug)]
pub(super) struct Copies {
    /// One for each word of shared memory. Empty if the kernel has no copies.
    fillers: Vec<Filler>,
    /// Copies that arrive at a barrier in memory when they land. A thread that finds a phase complete has waited for them.
    pub arriving: Vec<Touch>,
    /// What the copies in flight read, of arrays that the kernel also writes.
    sources: Vec<Source>,
}

/// What one lane's copy reads while it is in flight.
#[derive(Debug, Clone, Copy)]
pub(super) struct Source {
    pub part: Part,
    pub start: Event,
    /// Where it writes in shared memory.
    pub to: u32,
    pub from: u64,
    pub bytes: u32,
}

impl Copies {
    pub(super) fn new(setup: &Setup) -> Self {
        let words = (setup.shared_units << setup.extent.unit).div_ceil(4);
        let count = if setup.code().copies.is_empty() { 0 } else { words };
        Self { fillers: vec![Filler::default(); count], arriving: vec![], sources: vec![] }
    }

    pub(super) fn bytes(extent: &Extent) -> u64 {
        if extent.code.copies.is_empty() { 0 } else { extent.shared_bytes.div_ceil(4) * size_of::<Filler>() as u64 }
    }

    #[inline]
    pub(super) fn any(&self) -> bool {
        !self.fillers.is_empty()
    }

    /// Whether a copy in flight fills the place.
    pub(super) fn fill(&self, address: u32) -> bool {
        self.fillers.get(address as usize / 4).is_some_and(|filler| filler.is_in_flight())
    }

    /// Checks one lane's access against the copies in flight.
    pub(super) fn check(&self, scene: &mut Scene, &Touch { part, address, bytes }: &Touch) {
        for word in address / 4..(address + bytes).div_ceil(4) {
            let Some(&filler) = self.fillers.get(word as usize) else { return };
            if filler.is_in_flight() {
                let kind = if part.writes { HazardKind::CopyOverwritten } else { HazardKind::CopyNotWaited };
                let first = scene.side(filler.start.thread(), filler.start.instruction(), Action::Copies);
                scene.add(kind, Spot::Shared(word * 4), first, Some(scene.side_of(part)));
            }
        }
    }

    /// Whether a read that races with a copy that has landed comes after its start: a barrier lies between the two, and only the wait
    /// for the copy is missing before it.
    pub(super) fn is_not_waited(&self, scene: &Scene, address: u32, copy: Event, read: Part) -> bool {
        self.fillers.get(address as usize / 4).is_some_and(|filler| {
            filler.landed
                && filler.is_by(copy.thread(), copy.instruction())
                && scene.clock.order(&Slot::one(filler.start), read.thread).0 == Order::Before
        })
    }

    /// Notes that a copy starts to read its source.
    pub(super) fn reads(&mut self, source: Source) {
        self.sources.push(source);
    }

    /// Notes that copies have landed, and returns what they have read.
    pub(super) fn have_read(&mut self, landed: impl Fn(&Source) -> bool) -> Vec<Source> {
        if self.sources.is_empty() { vec![] } else { self.sources.extract_if(.., |source| landed(source)).collect() }
    }

    /// Checks a write of global memory against what copies in flight still read.
    pub(super) fn check_sources(&self, scene: &mut Scene, access: &Access<'_>) {
        if self.sources.is_empty() {
            return;
        }
        let low = self.sources.iter().map(|source| source.from).min().unwrap_or(0);
        let high = self.sources.iter().map(|source| source.from + u64::from(source.bytes)).max().unwrap_or(0);
        for lane in each(access.written) {
            let (start, end) = (access.addresses[lane], access.addresses[lane] + u64::from(access.bytes));
            if end <= low || start >= high {
                continue;
            }
            // A write that nothing orders after the start is a race.
            let thread = access.thread(lane);
            let ordered = |source: &Source| {
                source.start.thread() == thread
                    || scene.clock.order(&Slot::one(source.start), thread).0 == Order::Before
            };
            let meets = |source: &&Source| {
                start < source.from + u64::from(source.bytes) && source.from < end && ordered(source)
            };
            if let Some(source) = self.sources.iter().find(meets) {
                let Part { thread, instruction, .. } = source.part;
                let first = scene.side(thread, instruction, Action::ReadsOn);
                let second = scene.side_of(Part::of(access, lane));
                let spot = Spot::Global(start.max(source.from));
                scene.add(HazardKind::CopySourceOverwritten, spot, first, Some(second));
            }
        }
    }

    /// Notes that a copy of one lane starts. From now on it fills its place.
    pub(super) fn take_off(&mut self, scene: &Scene, write: &Touch) {
        self.fillers_of(write).fill(Filler { start: scene.event(write.part), landed: false });
    }

    /// Notes that lanes wait for all their copies. Those that arrive at a barrier in memory have also landed by now.
    pub(super) fn wait(&mut self, warp: u32, lanes: u32) {
        let own = |Touch { part, .. }: &mut Touch| part.thread / 32 == warp && lanes >> (part.thread % 32) & 1 == 1;
        let waited: Vec<Touch> = self.arriving.extract_if(.., own).collect();
        self.land(&waited);
    }

    /// Notes that a thread finds a phase of a barrier in memory complete. This does not check which barrier it is.
    pub(super) fn arrived(&mut self) {
        let landed = std::mem::take(&mut self.arriving);
        self.land(&landed);
    }

    /// Notes that copies no longer fill their places.
    pub(super) fn land(&mut self, landed: &[Touch]) {
        for write in landed {
            let Part { thread, instruction, .. } = write.part;
            // Another copy to the same place may be in flight.
            let own = self.fillers_of(write).iter_mut().filter(|filler| filler.is_by(thread, instruction));
            own.for_each(|filler| filler.landed = true);
        }
    }

    /// Returns the fillers of a place's words, without those past the end of shared memory.
    fn fillers_of(&mut self, &Touch { address, bytes, .. }: &Touch) -> &mut [Filler] {
        let words = self.fillers.len();
        let (start, end) = (address as usize / 4, (address + bytes) as usize / 4);
        &mut self.fillers[start.min(words)..end.min(words)]
    }
}
