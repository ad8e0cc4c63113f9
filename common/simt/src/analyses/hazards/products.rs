//! The rules of asynchronous matrix products, which run beside the warp's other instructions until the warp waits for their group.
//! Before that wait, no instruction may access their registers, and no thread may write the parts of shared memory that they read. A
//! write after the wait must be ordered after it.
//!
//! A `wgmma.fence` is needed between an access to a register and a product that uses it. Only products of one shape may follow each
//! other with the same sums and no fence between them.
//!
//! Moves from register to register need no fence here. Compilers put them right before a product, after the fence of the source,
//! to bring values into its registers, and the assembler keeps the resulting code in order.

use super::clock::{Clock, Order};
use super::event::{Event, Slot};
use super::extent::Extent;
use super::finding::Spot;
use super::hazard::{Action, HazardKind};
use super::log::{Scene, Touch};
use super::setup::Setup;
use ptx::lower::ProductUse;

/// Bytes of a piece of shared memory, the unit in which products read it.
pub(super) const PIECE: u32 = 16;

/// A product that uses a register and for which the warp has not waited yet.
#[derive(Debug, Clone, Copy)]
struct Busy {
    instruction: u32,
    group: u32,
    /// The product's shape, if the register is one of its sums.
    shape: Option<u32>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Register {
    busy: Option<Busy>,
    /// The last access since the last fence: its instruction, and whether it wrote.
    touched: Option<(u32, bool)>,
}

/// A product that reads shared memory and for which the warp has not waited yet.
#[derive(Debug)]
struct Flight {
    instruction: u32,
    group: u32,
    /// Numbers of the pieces that it reads, in increasing order.
    pieces: Vec<u32>,
}

#[derive(Debug, Default)]
struct OfWarp {
    closed: u32,
    /// Whether there has been a fence or a product.
    fenced: bool,
    flights: Vec<Flight>,
}

#[derive(Debug, Clone, Default)]
struct Piece {
    /// The warps whose products are reading it, one bit for each.
    readers: u32,
    /// For each warp, the last product that has read it since it was written, at the time of the wait for it.
    past: Vec<Event>,
}

/// How many products of a warp are typically under way at once, and how many pieces each typically reads.
const FLIGHTS: u64 = 16;
const PIECES: u64 = 320;

/// The most products of a warp that are tracked at once. After that, the oldest counts as done, so that a kernel that never waits does
/// not fill the host's memory.
const MOST_FLIGHTS: usize = 1024;

#[derive(Debug)]
pub(super) struct Products {
    warps: Vec<OfWarp>,
    /// The registers that products use, by warp and number.
    registers: Vec<Register>,
    /// The number of these registers in a warp.
    count: usize,
    pieces: Vec<Piece>,
}

impl Products {
    pub(super) fn new(setup: &Setup) -> Self {
        let count = setup.code().products.registers.len();
        let pieces = (setup.shared_units << setup.extent.unit).div_ceil(PIECE as usize);
        Self {
            warps: (0..setup.extent.warps).map(|_| OfWarp::default()).collect(),
            registers: vec![Register::default(); count * setup.extent.warps as usize],
            count,
            pieces: vec![Piece::default(); if count > 0 { pieces } else { 0 }],
        }
    }

    pub(super) fn bytes(extent: &Extent) -> u64 {
        let past = extent.warps.next_power_of_two().max(4) * size_of::<Event>() as u64;
        let pieces = extent.shared_bytes.div_ceil(PIECE.into()) * (size_of::<Piece>() as u64 + past);
        let registers = extent.code.products.registers.len() * size_of::<Register>();
        let of_warp = registers as u64 + FLIGHTS * PIECES * 4;
        if registers > 0 { pieces + extent.warps * of_warp } else { 0 }
    }

    #[inline]
    pub(super) fn any(&self) -> bool {
        self.count > 0
    }

    fn of(&mut self, warp: u32) -> &mut [Register] {
        &mut self.registers[warp as usize * self.count..][..self.count]
    }

    /// Notes that a warp runs the instructions `first..end`: those without a guard, or if `guarded`, those with one.
    pub(super) fn run(&mut self, scene: &mut Scene, warp: u32, first: u32, end: u32, guarded: bool) {
        let setup = scene.setup.clone();
        for (instruction, number, how) in setup.product_uses(first, end) {
            let ProductUse::Access { writes, moves } = how else { continue };
            if scene.setup.facts(instruction).guarded != guarded {
                continue;
            }
            let register = &mut self.of(warp)[number as usize];
            if !moves {
                register.touched = Some((instruction, writes));
            }
            if let Some(busy) = register.busy {
                let first = scene.side(warp * 32, busy.instruction, Action::Multiplies);
                let second = scene.side(warp * 32, instruction, touching(writes));
                scene.add(HazardKind::ProductNotWaited, Spot::Accumulator(number), first, Some(second));
            }
        }
    }

    /// Notes that a product of a warp starts. `pieces` are the numbers of the pieces of shared memory that it reads, in order.
    pub(super) fn multiply(&mut self, scene: &mut Scene, warp: u32, instruction: u32, pieces: Vec<u32>) {
        let OfWarp { closed: group, fenced, .. } = self.warps[warp as usize];
        let own = scene.side(warp * 32, instruction, Action::Multiplies);
        let (mut unfenced, setup) = (!fenced, scene.setup.clone());
        for (_, number, how) in setup.product_uses(instruction, instruction + 1) {
            let register = &mut self.of(warp)[number as usize];
            let shape = if let ProductUse::Sum { shape } = how { Some(shape) } else { None };
            // Two products may read one register, and two of one shape may add to it.
            let waits = register.busy.filter(|busy| busy.shape != shape);
            if let Some(busy) = waits {
                let first = scene.side(warp * 32, busy.instruction, Action::Multiplies);
                scene.add(HazardKind::ProductNotWaited, Spot::Accumulator(number), first, Some(own));
            } else if let Some((touch, writes)) = register.touched {
                let first = scene.side(warp * 32, touch, touching(writes));
                scene.add(HazardKind::ProductNotFenced, Spot::Accumulator(number), first, Some(own));
                unfenced = false;
            }
            register.busy = Some(Busy { instruction, group, shape });
        }
        if unfenced {
            scene.add(HazardKind::ProductNotFenced, Spot::Accumulator(0), own, None);
        }
        for &piece in &pieces {
            if let Some(piece) = self.pieces.get_mut(piece as usize) {
                piece.readers |= 1 << warp;
            }
        }
        let OfWarp { fenced, flights, .. } = &mut self.warps[warp as usize];
        *fenced = true;
        flights.push(Flight { instruction, group, pieces });
        if flights.len() > MOST_FLIGHTS {
            flights.remove(0);
        }
    }

    /// Notes a `wgmma.fence` of a warp: products may use its registers from now on.
    pub(super) fn fence(&mut self, warp: u32) {
        self.warps[warp as usize].fenced = true;
        self.of(warp).iter_mut().for_each(|register| register.touched = None);
    }

    pub(super) fn commit(&mut self, warp: u32) {
        self.warps[warp as usize].closed += 1;
    }

    /// Notes that a warp waits until at most `pending` of its groups are under way. The others have finished reading.
    pub(super) fn wait(&mut self, clock: &Clock, warp: u32, pending: u32) {
        let OfWarp { flights, closed, .. } = &mut self.warps[warp as usize];
        let closed = *closed;
        let done = |group: u32| group.saturating_add(pending) < closed;
        for flight in flights.extract_if(.., |flight| done(flight.group)) {
            let event = Event::new(clock.block, warp * 32, clock.time(warp), flight.instruction);
            for &piece in &flight.pieces {
                let Some(Piece { readers, past }) = self.pieces.get_mut(piece as usize) else { continue };
                *readers &= !(1 << warp);
                match past.iter_mut().find(|earlier| earlier.warp() == event.warp()) {
                    Some(earlier) => *earlier = event,
                    None => past.push(event),
                }
            }
        }
        for piece in flights.iter().flat_map(|flight| &flight.pieces) {
            if let Some(piece) = self.pieces.get_mut(*piece as usize) {
                piece.readers |= 1 << warp;
            }
        }
        for register in self.of(warp) {
            register.busy = register.busy.filter(|busy| !done(busy.group));
        }
    }

    pub(super) fn write(&mut self, scene: &mut Scene, write: &Touch) {
        let end = write.address.saturating_add(write.bytes).div_ceil(PIECE);
        for number in write.address / PIECE..end {
            let Some(piece) = self.pieces.get_mut(number as usize) else { return };
            let place = Spot::Shared(write.address.max(number * PIECE));
            let second = scene.side_of(write.part);
            if piece.readers != 0 {
                let warp = piece.readers.trailing_zeros();
                let reads = |flight: &&Flight| flight.pieces.binary_search(&number).is_ok();
                let flight = self.warps[warp as usize].flights.iter().find(reads);
                let instruction = flight.map_or(write.part.instruction, |flight| flight.instruction);
                let first = scene.side(warp * 32, instruction, Action::ReadsOn);
                scene.add(HazardKind::OperandOverwritten, place, first, Some(second));
            }
            for event in std::mem::take(&mut piece.past) {
                // All lanes wait together, so a thread that has learnt of the wait from any of them may write.
                let thread = write.part.thread;
                let after = |lane: usize| scene.clock.order(&Slot::one(event.by_lane(lane)), thread).0 == Order::Before;
                if event.warp() != thread as usize / 32 && !(0..32).any(after) {
                    let first = scene.side(event.thread(), event.instruction(), Action::Reads);
                    scene.add(HazardKind::Race, place, first, Some(second));
                }
            }
        }
    }
}

/// Returns the action of an access to a register.
fn touching(writes: bool) -> Action {
    if writes { Action::Writes } else { Action::Reads }
}
