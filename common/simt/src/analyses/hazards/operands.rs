//! Matrices in shared memory that products read while the warp goes on: who writes where one still reads, or where one has read
//! and nothing orders the write behind the wait.

use super::clock::{Clock, Order};
use super::event::{Event, Slot};
use super::extent::Extent;
use super::finding::Spot;
use super::hazard::{Action, HazardKind};
use super::log::{LaneWrite, Log};
use super::setup::Setup;

/// Bytes of a piece, which products read as a whole.
pub(super) const PIECE: u32 = 16;

/// A product that a warp has not waited for.
#[derive(Debug)]
struct Flight {
    instruction: u32,
    group: u32,
    /// Numbers of pieces, in order.
    pieces: Vec<u32>,
}

/// The products of one warp.
#[derive(Debug, Default)]
struct OfWarp {
    flights: Vec<Flight>,
    closed: u32,
}

/// A piece of shared memory.
#[derive(Debug, Clone, Default)]
struct Piece {
    /// Warps whose products read it now: a bit each.
    readers: u32,
    /// The products that have read it since it was written, the last one of each warp, at the time of its wait.
    past: Vec<Event>,
}

/// Products of a warp that are under way at once, and pieces that each reads, as kernels have them.
const FLIGHTS: u64 = 16;
const PIECES: u64 = 320;

/// The operands of a block.
#[derive(Debug)]
pub(super) struct Operands {
    /// Empty if the kernel has no such products.
    pieces: Vec<Piece>,
    warps: Vec<OfWarp>,
}

impl Operands {
    pub(super) fn new(setup: &Setup) -> Self {
        let count = (setup.shared_units << setup.unit).div_ceil(PIECE as usize);
        Self {
            pieces: vec![Piece::default(); if setup.code().products.any() { count } else { 0 }],
            warps: (0..setup.warps()).map(|_| OfWarp::default()).collect(),
        }
    }

    pub(super) fn bytes(extent: &Extent) -> u64 {
        let past = extent.warps.next_power_of_two().max(4) * size_of::<Event>() as u64;
        let pieces = extent.shared_bytes.div_ceil(PIECE.into()) * (size_of::<Piece>() as u64 + past);
        if extent.product_registers > 0 { pieces + extent.warps * FLIGHTS * PIECES * 4 } else { 0 }
    }

    pub(super) fn restart(&mut self) {
        self.pieces.fill(Piece::default());
        for warp in &mut self.warps {
            *warp = OfWarp::default();
        }
    }

    #[inline]
    pub(super) fn any(&self) -> bool {
        !self.pieces.is_empty()
    }

    /// A product of a warp starts to read these pieces.
    pub(super) fn multiply(&mut self, warp: u32, instruction: u32, pieces: Vec<u32>) {
        for &piece in &pieces {
            if let Some(piece) = self.pieces.get_mut(piece as usize) {
                piece.readers |= 1 << warp;
            }
        }
        let OfWarp { flights, closed } = &mut self.warps[warp as usize];
        flights.push(Flight { instruction, group: *closed, pieces });
        if flights.len() > MOST_FLIGHTS {
            // A kernel that never waits must not fill the host's memory.
            flights.remove(0);
        }
    }

    /// A group is closed.
    pub(super) fn commit(&mut self, warp: u32) {
        self.warps[warp as usize].closed += 1;
    }

    /// A warp waits until at most `pending` of its groups are under way: the others have read what they read.
    pub(super) fn wait(&mut self, clock: &Clock, warp: u32, pending: u32) {
        let OfWarp { flights, closed } = &mut self.warps[warp as usize];
        let all = std::mem::take(flights);
        let (done, left) =
            all.into_iter().partition::<Vec<_>, _>(|flight| flight.group.saturating_add(pending) < *closed);
        *flights = left;
        for flight in &done {
            let event = Event::new(clock.block(), warp * 32, clock.time(warp), flight.instruction);
            for &piece in &flight.pieces {
                let Some(Piece { readers, past }) = self.pieces.get_mut(piece as usize) else { continue };
                *readers &= !(1 << warp);
                match past.iter_mut().find(|earlier| earlier.warp() == event.warp()) {
                    Some(earlier) => *earlier = event,
                    None => past.push(event),
                }
            }
        }
        for piece in self.warps[warp as usize].flights.iter().flat_map(|flight| &flight.pieces) {
            if let Some(piece) = self.pieces.get_mut(*piece as usize) {
                piece.readers |= 1 << warp;
            }
        }
    }

    /// Checks one lane's write.
    pub(super) fn write(&mut self, setup: &Setup, clock: &Clock, log: &mut Log, write: &LaneWrite) {
        let end = write.address.saturating_add(write.bytes).div_ceil(PIECE);
        for number in write.address / PIECE..end {
            let Some(piece) = self.pieces.get_mut(number as usize) else { return };
            let place = Spot::Shared(write.address.max(number * PIECE));
            let action = setup.action(write.instruction, true);
            let second = log.side(write.thread, write.instruction, action);
            if piece.readers != 0 {
                let warp = piece.readers.trailing_zeros();
                let reads = |flight: &&Flight| flight.pieces.binary_search(&number).is_ok();
                let flight = self.warps[warp as usize].flights.iter().find(reads);
                let instruction = flight.map_or(write.instruction, |flight| flight.instruction);
                let first = log.side(warp * 32, instruction, Action::ReadsOn);
                log.add(HazardKind::OperandOverwritten, place, first, Some(second));
            }
            for event in std::mem::take(&mut piece.past) {
                // The wait is that of all lanes: whoever has learnt of it from one of them may write.
                let after = |lane: usize| clock.order(&Slot::one(event.by_lane(lane)), write.thread).0 == Order::Before;
                if event.warp() != write.thread as usize / 32 && !(0..32).any(after) {
                    let first = log.side(event.thread(), event.instruction(), Action::Reads);
                    log.add(HazardKind::Race, place, first, Some(second));
                }
            }
        }
    }
}

/// Products that a warp may have under way before the oldest is taken for done.
const MOST_FLIGHTS: usize = 1024;
