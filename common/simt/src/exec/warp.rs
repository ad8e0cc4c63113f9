//! The state of a warp: 32 lanes in lockstep, its local memory, and its asynchronous copies in flight. If lanes part, one side runs
//! to the meeting point before the other side starts. They take turns only if the first side waits for the other, as at a lock that
//! one of the warp's own lanes holds.

use super::alu::set;
use super::context::Barrier;
use super::registers::Registers;
use crate::lanes::{each, select};
use ptx::lower::Code;
use ptx::lower::inst::{Inst, NONE, Op, sub};

/// Lanes that do not run now, and go on here later.
#[derive(Debug, Clone, Copy)]
pub(super) struct Parked {
    pub pc: u32,
    pub lanes: u32,
    /// Where they meet others: the index of the `Enter` there.
    pub join: u32,
}

/// The state of a warp between two turns.
#[derive(Default)]
#[allow(clippy::struct_excessive_bools)] // They are independent.
pub(super) struct Warp {
    pub number: u32,
    /// Lanes that exist. The last warp of a block may have fewer than 32.
    full: u32,
    /// Lanes whose threads have not ended.
    pub live: u32,
    pub active: u32,
    pub pc: u32,
    pub join: u32,
    pub stack: Vec<Parked>,
    pub predicates: Vec<u32>,
    pub local: LocalMemory,
    pub done: bool,
    /// Whether its last turn ended because it polled for what others do.
    pub asks: bool,
    /// How many of its turns it still lets pass.
    pub rests: u32,
    /// Whether observers want to be told of each instruction that it is about to execute.
    pub follows: bool,
    /// Instructions that it executes before it lets all others go first; `None` if it does not.
    pub ahead: Option<u64>,
    pub waiting_at: Option<u32>,
    /// Instruction number of that barrier.
    pub waiting_pc: u32,
    /// Where the result of `bar.red` goes, and the kind of the reduction.
    pub reduction: Option<(u32, u8)>,
    pub flights: Flights,
    /// A hash of what the warp has done as part of a warpgroup. It must be equal in all four warps.
    pub together: u64,
    /// Parked lanes that wait at a `bar.warp.sync` for others of its mask.
    pub waiting_lanes: u32,
    /// Whether some lanes have gone on without those that they were to meet.
    apart: bool,
    /// Parked lanes that wait at an instruction for others to come there.
    gathering: u32,
    /// Lanes that wait at a barrier for the rest of their warp. They may have come to it by different ways.
    barred: Vec<Parked>,
    /// The lanes in `barred`, and those that left it to check again whether the rest of the warp has come.
    pub early: u32,
    /// The barrier that they wait at.
    pub early_at: u32,
    /// The lanes that ran at the end of the last turn, and how many turns in a row they have ended.
    alone: (u32, u32),
}

/// How many turns in a row the same lanes may end before parked lanes go on.
const PATIENCE: u32 = 2;

impl Warp {
    /// Makes a warp. [`Self::reset`] must follow before it runs.
    pub fn new(number: u32, threads: u32, code: &Code) -> Self {
        let count = (threads - number * 32).min(32);
        Self {
            number,
            full: if count == 32 { u32::MAX } else { (1 << count) - 1 },
            predicates: vec![0; code.predicates as usize],
            local: LocalMemory::new(code.local_bytes),
            ..Self::default()
        }
    }

    pub fn reset(&mut self) {
        let Self { number, full, mut predicates, mut local, .. } = std::mem::take(self);
        predicates.fill(0);
        local.clear();
        *self = Self { number, full, live: full, active: full, join: NONE, predicates, local, ..Self::default() };
    }

    /// Lets lanes wait at the barrier just read for the rest of their warp. Returns false if no others are on the way.
    pub fn wait_for_warp(&mut self, lanes: u32, barrier: u32) -> bool {
        let rest = self.active & !lanes;
        let others = self.topmost_ready();
        if rest == 0 && others.is_none() {
            return false;
        }
        self.barred.push(Parked { pc: self.pc - 1, lanes, join: self.join });
        (self.early, self.early_at) = (self.early | lanes, barrier);
        self.active = rest;
        if let (0, Some(at)) = (rest, others) {
            self.run_parked(at);
        }
        true
    }

    /// Ends the wait for the rest of the warp, which has come to the barrier just read. Lanes that came by other ways go on later.
    pub fn all_have_come(&mut self) {
        for parked in self.barred.drain(..) {
            if parked.pc + 1 == self.pc && parked.join == self.join {
                self.active |= parked.lanes;
            } else {
                self.stack.push(Parked { pc: parked.pc + 1, ..parked });
                self.apart = true;
            }
        }
        self.early = 0;
    }

    /// Takes the result of a reduction, because its barrier has opened.
    pub fn reduced(&mut self, barrier: &Barrier, registers: Registers) {
        let Some((to, kind)) = self.reduction.take() else { return };
        let holds = match kind {
            sub::AND => barrier.all,
            sub::OR => barrier.any,
            _ => return registers.write(to, self.active, &[barrier.count; 32]),
        };
        set(&mut self.predicates, to, self.active, if holds { u32::MAX } else { 0 });
    }

    /// Goes on with parked lanes. Returns false if none are left.
    pub fn resume(&mut self) -> bool {
        if self.apart || !self.barred.is_empty() {
            // No lane may pass a barrier while others that it waits for can still come.
            self.active = 0;
            if let Some(at) = self.topmost_ready() {
                self.run_parked(at);
                return true;
            }
            if let Some(parked) = self.barred.pop() {
                // The rest of the warp has ended, or does not come.
                Parked { pc: self.pc, lanes: self.active, join: self.join } = parked;
                return true;
            }
        }
        while let Some(parked) = self.stack.pop() {
            let lanes = parked.lanes & self.live;
            if lanes != 0 {
                // If they still wait, the lanes that they wait for do not come.
                self.waiting_lanes &= !lanes;
                self.gathering &= !lanes;
                (self.pc, self.active, self.join) = (parked.pc, lanes, parked.join);
                return true;
            }
        }
        false
    }

    /// Lets the active lanes wait for the `missing` ones. If some of these are parked without others, they run next.
    pub fn wait_for(&mut self, missing: u32) {
        let comes = |parked: &Parked| parked.lanes & self.live != 0 && parked.lanes & self.live & !missing == 0;
        let Some(at) = self.stack.iter().rposition(comes) else { return };
        let Parked { pc, lanes, join } = self.stack.remove(at);
        self.stack.push(Parked { pc: self.pc, lanes: self.active, join: self.join });
        self.waiting_lanes |= self.active;
        (self.pc, self.active, self.join) = (pc, lanes & self.live, join);
        self.gathering &= !lanes;
    }

    /// Returns the lanes of a parked entry that are there and do not wait. The entry of a meeting point also names lanes that are
    /// on their way to it: they run, or are parked above it.
    fn ready(&self, at: usize) -> u32 {
        let on_their_way = self.stack[at + 1..].iter().fold(self.active, |lanes, above| lanes | above.lanes);
        self.stack[at].lanes & self.live & !on_their_way & !self.waiting_lanes & !self.gathering & !self.early
    }

    fn topmost_ready(&self) -> Option<usize> {
        (0..self.stack.len()).rev().find(|&at| self.ready(at) != 0)
    }

    /// Goes on with the ready lanes of a parked entry.
    fn run_parked(&mut self, at: usize) {
        let lanes = self.ready(at);
        let entry = &mut self.stack[at];
        entry.lanes &= !lanes;
        let Parked { pc, lanes: rest, join } = *entry;
        if rest & self.live == 0 {
            self.stack.remove(at);
        }
        (self.pc, self.active, self.join) = (pc, lanes, join);
    }

    /// Parks the active lanes and goes on with those of an entry below them.
    fn change_to(&mut self, at: usize) {
        let parked = Parked { pc: self.pc, lanes: self.active, join: self.join };
        self.run_parked(at);
        self.stack.push(parked);
    }

    /// Ends a turn of the warp. If the same lanes have run for several turns, they may wait for parked ones, so those that have
    /// been parked longest go on, even if they were to meet others first.
    pub fn take_turns(&mut self) {
        let turns = if self.alone.0 == self.active { self.alone.1 + 1 } else { 1 };
        self.alone = (self.active, turns % PATIENCE);
        if turns < PATIENCE {
            return;
        }
        if let Some(at) = (0..self.stack.len()).find(|&at| self.ready(at) != 0) {
            self.apart = true;
            self.change_to(at);
        }
    }

    /// Lets the active lanes wait for the `needed` ones to come to the instruction just read, or to end: lanes that took turns, or
    /// that meet the active ones only at the end of the kernel. Returns true if the warp goes on elsewhere, or here with lanes that
    /// have come, and false if no others will come.
    pub fn gather(&mut self, needed: u32, insts: &[Inst]) -> bool {
        let (here, before) = (self.pc - 1, self.active);
        if needed & self.live & !self.active == 0 {
            return false;
        }
        let free = self.apart;
        let Self { stack, active, gathering, join, live, .. } = self;
        stack.retain(|parked| {
            let comes = parked.pc == here && parked.join == *join && parked.lanes & *live & !*gathering == 0;
            if comes {
                *active |= parked.lanes & *live;
            }
            !comes
        });
        *gathering &= !*active;
        self.apart &= self.active != self.live;
        let missing = needed & self.live & !self.active;
        let at_end = self.join == NONE || insts[self.join as usize + 1].op == Op::Exit;
        let last = |parked: &Parked| at_end && (parked.join == self.join || parked.pc == self.join);
        let comes = |at: &usize| free || last(&self.stack[*at]);
        let place = (0..self.stack.len()).rev().filter(comes).find(|&at| self.ready(at) & missing != 0);
        let Some(at) = place else {
            let come = self.active != before;
            self.pc -= u32::from(come);
            return come;
        };
        self.pc = here;
        let waiting = self.active;
        self.change_to(at);
        self.gathering |= waiting;
        true
    }

    /// Ends the threads of the lanes. Returns true if others go on.
    pub fn end(&mut self, lanes: u32) -> bool {
        self.live &= !lanes;
        self.active &= !lanes;
        if self.active != 0 || self.resume() {
            return true;
        }
        self.done = true;
        // Nobody has waited for the copies that are left.
        self.flights = Flights::default();
        false
    }

    /// Lets lanes part: `taken` go to `target`, and the rest goes on at the next instruction. They meet at `meeting`.
    pub fn part(&mut self, taken: u32, target: u32, meeting: u32) {
        let rest = self.active & !taken;
        let next = self.pc;
        // Lanes that are already on their way to this meeting point need no second entry for it. If they never meet again, there is
        // nothing to come back to.
        if self.join != meeting && meeting != NONE {
            self.stack.push(Parked { pc: meeting, lanes: self.active, join: self.join });
        }
        let outer = if meeting == NONE { self.join } else { meeting };
        if target == meeting {
            self.active = rest;
        } else {
            if next != meeting {
                self.stack.push(Parked { pc: next, lanes: rest, join: outer });
            }
            (self.pc, self.active) = (target, taken);
        }
        self.join = outer;
    }
}

const PAGE: usize = 1024;

/// Local memory of the 32 lanes, one area after the other. It is zero when a block starts.
#[derive(Default)]
pub(super) struct LocalMemory {
    /// Fresh from the operating system, which provides a page only when it is written.
    pub words: Vec<u32>,
    /// By page: whether this block has written it.
    written: Vec<bool>,
}

impl LocalMemory {
    /// Makes local memory with `bytes` bytes for each lane, a multiple of 4.
    pub fn new(bytes: u32) -> Self {
        let words = bytes as usize * 8;
        Self { words: vec![0; words], written: vec![false; words.div_ceil(PAGE)] }
    }

    /// Returns all words. The caller may write the word that holds byte `at`, and those after it up to the next multiple of 16
    /// bytes.
    pub fn at(&mut self, at: usize) -> &mut [u32] {
        self.written[at / 4 / PAGE] = true;
        &mut self.words
    }

    /// Sets what was written to zero again.
    pub fn clear(&mut self) {
        for (page, written) in self.words.chunks_mut(PAGE).zip(&mut self.written) {
            if std::mem::take(written) {
                page.fill(0);
            }
        }
    }
}

/// The copies of one instruction.
pub(crate) struct Flight {
    pub instruction: u32,
    pub lanes: u32,
    pub bytes: u32,
    pub to: [u32; 32],
    pub data: [[u32; 4]; 32],
}

/// The most copies of a warp that are in flight.
const MOST: usize = 1024;

#[derive(Default)]
pub(crate) struct Flights {
    /// Each with the group of each lane's copy.
    all: Vec<(Flight, [u32; 32])>,
    /// How many groups each lane has closed.
    closed: [u32; 32],
}

impl Flights {
    /// Starts copies. They may land at any time, so if too many are in flight, the older half lands now. Otherwise a kernel that
    /// never waits would fill the host's memory.
    pub fn start(&mut self, flight: Flight, mut write: impl FnMut(&Flight, u32)) {
        self.all.push((flight, self.closed));
        if self.all.len() > MOST {
            self.all.drain(..MOST / 2).for_each(|(flight, _)| write(&flight, flight.lanes));
        }
    }

    pub fn commit(&mut self, lanes: u32) {
        each(lanes).for_each(|lane| self.closed[lane] += 1);
    }

    /// Lands the lanes' copies of groups older than the `keep` latest closed ones, or all of them.
    pub fn land(&mut self, lanes: u32, keep: Option<u32>, mut write: impl FnMut(&Flight, u32)) {
        let closed = self.closed;
        self.all.retain_mut(|(flight, group)| {
            let is_old = |lane: usize| keep.is_none_or(|keep| group[lane].saturating_add(keep) < closed[lane]);
            let landed = select(flight.lanes & lanes, is_old);
            if landed != 0 {
                write(flight, landed);
                flight.lanes &= !landed;
            }
            flight.lanes != 0
        });
    }
}
