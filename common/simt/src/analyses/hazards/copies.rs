//! Asynchronous copies: which are in flight, and who touches a place that one still fills.

use super::extent::Extent;
use super::finding::Spot;
use super::hazard::{Action, HazardKind};
use super::log::{Log, Part, Touch};
use super::setup::Setup;
use crate::CopyAccess;
use crate::lanes::each;

/// What fills a word of shared memory at the moment: the thread (plus 1, 0 for none) and the copy's instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Filler {
    thread_plus_1: u16,
    instruction: u32,
}

impl Filler {
    fn new(Part { thread, instruction, .. }: Part) -> Self {
        Self { thread_plus_1: thread as u16 + 1, instruction }
    }
}

/// A copy instruction of which some lanes are in flight.
#[derive(Debug)]
struct Flight {
    lanes: u32,
    instruction: u32,
    bytes: u32,
    /// Where each lane copies to.
    to: [u32; 32],
    /// The group each lane's copy belongs to.
    group: [u32; 32],
}

/// Copies that a warp has in flight at once, as kernels have them.
const FLIGHTS: u64 = 64;

/// The copies of one warp.
#[derive(Debug, Default)]
struct OfWarp {
    flights: Vec<Flight>,
    /// How many groups each lane has closed.
    groups: [u32; 32],
}

#[derive(Debug)]
pub(super) struct Copies {
    /// By word of shared memory; empty if the kernel has no copies.
    fillers: Vec<Filler>,
    warps: Vec<OfWarp>,
    /// Copies that arrive at a barrier in memory when they land: whoever finds a phase complete has waited for them.
    arriving: Vec<Touch>,
}

impl Copies {
    pub(super) fn new(setup: &Setup) -> Self {
        let words = (setup.shared_units << setup.unit).div_ceil(4);
        Self {
            fillers: vec![Filler::default(); if setup.code().copies.is_empty() { 0 } else { words }],
            warps: (0..setup.warps()).map(|_| OfWarp::default()).collect(),
            arriving: vec![],
        }
    }

    pub(super) fn bytes(extent: &Extent) -> u64 {
        let flights = extent.warps * FLIGHTS * size_of::<Flight>() as u64;
        let fillers = extent.shared_bytes.div_ceil(4) * size_of::<Filler>() as u64;
        if extent.has_copies { flights + fillers } else { 0 }
    }

    /// Whether the kernel has copies at all.
    #[inline]
    pub(super) fn any(&self) -> bool {
        !self.fillers.is_empty()
    }

    /// Whether a copy fills the place at the moment.
    pub(super) fn fill(&self, address: u32) -> bool {
        self.fillers.get(address as usize / 4).is_some_and(|filler| filler.thread_plus_1 != 0)
    }

    /// Checks one lane's access against the copies in flight.
    pub(super) fn check(&self, setup: &Setup, log: &mut Log, &Touch { part, address, bytes }: &Touch) {
        for word in address / 4..(address + bytes).div_ceil(4) {
            let Some(&filler) = self.fillers.get(word as usize) else { return };
            if filler.thread_plus_1 != 0 {
                let kind = if part.writes { HazardKind::CopyOverwritten } else { HazardKind::CopyNotWaited };
                let first = log.side(u32::from(filler.thread_plus_1) - 1, filler.instruction, Action::Copies);
                log.add(kind, Spot::Shared(word * 4), first, Some(log.side_of(setup, part)));
            }
        }
    }

    /// One lane's copy takes off: from now on it fills its place.
    pub(super) fn take_off(&mut self, write: &Touch) {
        self.fillers_of(write).fill(Filler::new(write.part));
    }

    /// All lanes of a copy have taken off.
    pub(super) fn started(&mut self, copy: &CopyAccess<'_>) {
        let Some(warp) = self.warps.get_mut(copy.warp as usize) else { return };
        warp.flights.push(Flight {
            lanes: copy.lanes,
            instruction: copy.instruction,
            bytes: copy.bytes,
            to: copy.to.map(|address| address as u32),
            group: warp.groups,
        });
    }

    /// Lanes close a group.
    pub(super) fn commit(&mut self, warp: u32, lanes: u32) {
        if let Some(warp) = self.warps.get_mut(warp as usize) {
            each(lanes).for_each(|lane| warp.groups[lane] += 1);
        }
    }

    /// Lanes wait until at most `pending` of their groups (none: no copy at all) are in flight; gives every lane's copy that
    /// has landed by now.
    pub(super) fn wait(&mut self, warp: u32, lanes: u32, pending: Option<u32>) -> Vec<Touch> {
        let landed = self.take_landed(warp, lanes, pending);
        if pending.unwrap_or(0) == 0 {
            let own = |Touch { part, .. }: &mut Touch| part.thread / 32 == warp && lanes >> (part.thread % 32) & 1 == 1;
            let waited: Vec<Touch> = self.arriving.extract_if(.., own).collect();
            self.land(&waited);
        }
        self.land(&landed);
        landed
    }

    /// The copies of these lanes will arrive at a barrier in memory; gives all of them.
    pub(super) fn arrive(&mut self, warp: u32, lanes: u32) -> Vec<Touch> {
        let landed = self.take_landed(warp, lanes, None);
        self.arriving.extend(landed.iter().copied());
        landed
    }

    /// Somebody finds a phase of a barrier in memory complete. Which barrier is not looked at.
    pub(super) fn arrived(&mut self) {
        let landed = std::mem::take(&mut self.arriving);
        self.land(&landed);
    }

    fn take_landed(&mut self, warp: u32, lanes: u32, pending: Option<u32>) -> Vec<Touch> {
        let Some(OfWarp { flights, groups }) = self.warps.get_mut(warp as usize) else { return vec![] };
        let mut landed = vec![];
        for flight in &mut *flights {
            for lane in each(flight.lanes & lanes) {
                if pending.is_some_and(|pending| flight.group[lane].saturating_add(pending) >= groups[lane]) {
                    continue;
                }
                flight.lanes &= !(1 << lane);
                let part = Part::new(warp * 32 + lane as u32, flight.instruction, true);
                landed.push(Touch { part, address: flight.to[lane], bytes: flight.bytes });
            }
        }
        flights.retain(|flight| flight.lanes != 0);
        landed
    }

    /// Copies fill their places no longer.
    pub(super) fn land(&mut self, landed: &[Touch]) {
        for write in landed {
            let own = Filler::new(write.part);
            // Another copy to the same place may be in flight.
            for filler in self.fillers_of(write).iter_mut().filter(|filler| **filler == own) {
                *filler = Filler::default();
            }
        }
    }

    /// Who fills the words of a place, as far as it lies in shared memory.
    fn fillers_of(&mut self, &Touch { address, bytes, .. }: &Touch) -> &mut [Filler] {
        let words = self.fillers.len();
        let (start, end) = (address as usize / 4, (address + bytes) as usize / 4);
        &mut self.fillers[start.min(words)..end.min(words)]
    }
}
