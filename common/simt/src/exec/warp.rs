//! The state of a warp: 32 lanes in lockstep. Where they part, one side runs to the meeting point before the other
//! starts; unless that side waits for the other, as at a lock that one of its own lanes holds: then they take turns.
//! With its local memory, and its asynchronous copies in flight.

use super::alu::set;
use super::context::Barrier;
use super::registers::Registers;
use crate::lanes::{each, select};
use crate::lower::Code;
use crate::lower::inst::{Inst, NONE, Op, sub};

/// Lanes that go on somewhere else later.
#[derive(Debug, Clone, Copy)]
pub(super) struct Parked {
    pub pc: u32,
    pub lanes: u32,
    /// Where they meet others: the index of the `Enter` there.
    pub join: u32,
}

/// The state of a warp between two turns.
#[derive(Default)]
pub(super) struct Warp {
    pub number: u32,
    /// Lanes that exist: the last warp of a block may be short.
    full: u32,
    /// Lanes whose threads have not ended.
    pub live: u32,
    /// Lanes that run now.
    pub active: u32,
    pub pc: u32,
    pub join: u32,
    pub stack: Vec<Parked>,
    pub predicates: Vec<u32>,
    pub local: LocalMemory,
    pub done: bool,
    /// It has ended its last turn because it asked for what others do.
    pub asks: bool,
    /// Barrier it waits at.
    pub waiting_at: Option<u32>,
    /// Instruction number of that barrier.
    pub waiting_pc: u32,
    /// Where the reduction of `bar.red` goes: register or predicate, kind.
    pub reduction: Option<(u32, bool, u8)>,
    pub flights: Flights,
    /// What the warp has done as one of a warpgroup: the same in all four.
    pub together: u64,
    /// Parked lanes that wait at a `bar.warp.sync` for others of its mask.
    pub waiting_lanes: u32,
    /// Some lanes have gone on without those they were to meet.
    apart: bool,
    /// Parked lanes that wait at an instruction for others to come there, too.
    gathering: u32,
    /// Lanes that wait at a barrier for the rest of their warp to come to it, each by a way of its own.
    barred: Vec<Parked>,
    /// Lanes that wait at a barrier for the rest of their warp, and those that look again whether it has come.
    pub early: u32,
    /// The barrier that they wait at.
    pub early_at: u32,
    /// The lanes that ran at the end of the last turn, and how many turns they have ended.
    alone: (u32, u32),
}

/// Turns that the same lanes may end while others are parked, before these go on.
const PATIENCE: u32 = 2;

impl Warp {
    /// A warp that is not ready to run yet.
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

    /// Ready to run a new block.
    pub fn reset(&mut self) {
        let Self { number, full, mut predicates, mut local, .. } = std::mem::take(self);
        predicates.fill(0);
        local.clear();
        *self = Self { number, full, live: full, active: full, join: NONE, predicates, local, ..Self::default() };
    }

    /// Lanes wait at the barrier just read for the rest of their warp, which goes on. False if nobody is on the way.
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

    /// The whole warp has come to the barrier just read: those who waited for it go on from there later.
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

    /// The barrier has opened: takes the result of its reduction.
    pub fn reduced(&mut self, barrier: &Barrier, registers: Registers) {
        let Some((to, predicate, kind)) = self.reduction.take() else { return };
        let value = match kind {
            sub::AND => u32::from(barrier.all),
            sub::OR => u32::from(barrier.any),
            _ => barrier.count,
        };
        if predicate {
            let bits = if value != 0 { self.active } else { 0 };
            set(&mut self.predicates, to, self.active, bits);
        } else {
            registers.write(to, self.active, &[value; 32]);
        }
    }

    /// Goes on with parked lanes; false when there are none left.
    pub fn resume(&mut self) -> bool {
        if self.apart || !self.barred.is_empty() {
            // Nobody passes a barrier because those it waits for come later.
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
                // If they still wait, those they wait for do not come.
                self.waiting_lanes &= !lanes;
                self.gathering &= !lanes;
                self.active = lanes;
                self.pc = parked.pc;
                self.join = parked.join;
                return true;
            }
        }
        false
    }

    /// The active lanes wait for the `missing` ones: some of these run next, if they are on their way by themselves.
    pub fn wait_for(&mut self, missing: u32) {
        let comes = |parked: &Parked| parked.lanes & self.live != 0 && parked.lanes & self.live & !missing == 0;
        let Some(at) = self.stack.iter().rposition(comes) else { return };
        let Parked { pc, lanes, join } = self.stack.remove(at);
        self.stack.push(Parked { pc: self.pc, lanes: self.active, join: self.join });
        self.waiting_lanes |= self.active;
        (self.pc, self.active, self.join) = (pc, lanes & self.live, join);
        self.gathering &= !lanes;
    }

    /// The lanes of a parked entry that are there and wait for nobody. An entry of a meeting point also names those on their way
    /// to it: they run, or are parked above it.
    fn ready(&self, at: usize) -> u32 {
        let on_their_way = self.stack[at + 1..].iter().fold(self.active, |lanes, above| lanes | above.lanes);
        self.stack[at].lanes & self.live & !on_their_way & !self.waiting_lanes & !self.gathering & !self.early
    }

    /// The parked entry with lanes that are ready which was parked last.
    fn topmost_ready(&self) -> Option<usize> {
        (0..self.stack.len()).rev().find(|&at| self.ready(at) != 0)
    }

    /// Goes on with the lanes of a parked entry that are ready.
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

    /// A turn of the warp is over: if the same lanes have run for long, they may wait for parked ones, and these go on, even
    /// from where they would meet. Those that have been parked longest go first.
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

    /// Waits for the `needed` lanes to come to the instruction just read, or to end: those that went apart by turns, and those
    /// that meet the active ones only at the end of the kernel. True if the warp goes on elsewhere, or here with those who have
    /// come. False if the active ones are all there will be.
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

    /// Ends the threads of the lanes; true when others go on.
    pub fn end(&mut self, lanes: u32) -> bool {
        self.live &= !lanes;
        self.active &= !lanes;
        if self.active != 0 {
            return true;
        }
        if self.resume() {
            return true;
        }
        self.done = true;
        self.flights.clear();
        false
    }

    /// Lanes part: `taken` go to `target`, the rest goes on at the next instruction; they meet at `meeting`.
    pub fn part(&mut self, taken: u32, target: u32, meeting: u32) {
        let rest = self.active & !taken;
        let next = self.pc;
        // Lanes already on their way to the same meeting point need no second entry for it; where they never meet again,
        // there is nothing to come back to.
        if self.join != meeting && meeting != NONE {
            self.stack.push(Parked { pc: meeting, lanes: self.active, join: self.join });
        }
        let outer = if meeting == NONE { self.join } else { meeting };
        if target == meeting {
            self.active = rest;
        } else if next == meeting {
            self.active = taken;
            self.pc = target;
        } else {
            self.stack.push(Parked { pc: next, lanes: rest, join: outer });
            self.active = taken;
            self.pc = target;
        }
        self.join = outer;
    }
}

/// Words of a page.
const PAGE: usize = 1024;

/// Local memory of the 32 lanes, one area after the other. A block finds zeros in it.
#[derive(Default)]
pub(super) struct LocalMemory {
    /// Fresh from the operating system, which gives a page only when it is written.
    words: Vec<u32>,
    /// By page: whether it has been written in this block.
    written: Vec<bool>,
    pages: Vec<usize>,
}

impl LocalMemory {
    /// For areas of `bytes` bytes a lane, a multiple of 4.
    pub fn new(bytes: u32) -> Self {
        let words = bytes as usize * 8;
        Self { words: vec![0; words], written: vec![false; words.div_ceil(PAGE)], pages: vec![] }
    }

    pub fn read(&self, word: usize) -> u32 {
        self.words[word]
    }

    /// The words, of which the one that holds byte `at` is going to be written, and those after it up to the next multiple
    /// of 16 bytes.
    pub fn at(&mut self, at: usize) -> &mut [u32] {
        let page = at / 4 / PAGE;
        if !std::mem::replace(&mut self.written[page], true) {
            self.pages.push(page);
        }
        &mut self.words
    }

    /// Zeros again, where something was written.
    pub fn clear(&mut self) {
        for page in self.pages.drain(..) {
            let end = self.words.len().min((page + 1) * PAGE);
            self.words[page * PAGE..end].fill(0);
            self.written[page] = false;
        }
    }
}

/// The copies of an instruction.
pub(crate) struct Flight {
    pub instruction: u32,
    pub lanes: u32,
    pub bytes: u32,
    pub to: [u32; 32],
    pub data: [[u32; 4]; 32],
}

/// Copies of a warp that have not arrived.
const MOST: usize = 1024;

#[derive(Default)]
pub(crate) struct Flights {
    /// Each with the group of each lane's copy.
    all: Vec<(Flight, [u32; 32])>,
    /// Groups that each lane has closed.
    closed: [u32; 32],
}

impl Flights {
    /// Copies take off. They may arrive whenever they like: so that a kernel that never waits does not fill the host's memory, the older
    /// half of too many arrives now.
    pub fn start(&mut self, flight: Flight, mut write: impl FnMut(&Flight, u32)) {
        self.all.push((flight, self.closed));
        if self.all.len() > MOST {
            self.all.drain(..MOST / 2).for_each(|(flight, _)| write(&flight, flight.lanes));
        }
    }

    /// Lanes close a group.
    pub fn commit(&mut self, lanes: u32) {
        each(lanes).for_each(|lane| self.closed[lane] += 1);
    }

    /// Lands the copies of the lanes whose group is older than the `keep` latest closed ones, or all.
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

    /// The copies that nobody has waited for never land.
    pub fn clear(&mut self) {
        self.all.clear();
    }
}
