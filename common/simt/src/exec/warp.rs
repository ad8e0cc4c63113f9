//! The state of a warp: 32 lanes in lockstep. Where they part, one side runs to the meeting point before the other
//! starts.

use super::alu::set;
use super::context::Barrier;
use super::frame::LocalMemory;
use super::registers::Registers;
use crate::lower::Code;
use crate::lower::inst::{NONE, sub};

/// Lanes that go on somewhere else later.
#[derive(Debug, Clone, Copy)]
pub(super) struct Parked {
    pub pc: u32,
    pub lanes: u32,
    /// Where they meet others: the index of the `Enter` there.
    pub join: u32,
}

/// An asynchronous copy in flight: read, but not yet written.
pub(super) struct Pending {
    pub lanes: u32,
    pub bytes: u32,
    pub to: [u32; 32],
    pub data: [[u32; 4]; 32],
    /// The group of each lane's copy.
    pub group: [u32; 32],
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
    /// Barrier it waits at.
    pub waiting_at: Option<u32>,
    /// Instruction number of that barrier.
    pub waiting_pc: u32,
    /// Where the reduction of `bar.red` goes: register or predicate, kind.
    pub reduction: Option<(u32, bool, u8)>,
    pub pending: Vec<Pending>,
    /// Groups of copies each lane has closed.
    pub groups: [u32; 32],
    /// What the warp has done as one of a warpgroup: the same in all four.
    pub together: u64,
    /// Parked lanes that wait at a `bar.warp.sync` for others of its mask.
    pub waiting_lanes: u32,
}

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
        self.live = self.full;
        self.active = self.full;
        self.pc = 0;
        self.join = NONE;
        self.stack.clear();
        self.predicates.fill(0);
        self.local.clear();
        self.done = false;
        self.waiting_at = None;
        self.reduction = None;
        self.pending.clear();
        self.groups = [0; 32];
        self.together = 0;
        self.waiting_lanes = 0;
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
        while let Some(parked) = self.stack.pop() {
            let lanes = parked.lanes & self.live;
            if lanes != 0 {
                // If they still wait, those they wait for do not come.
                self.waiting_lanes &= !lanes;
                self.active = lanes;
                self.pc = parked.pc;
                self.join = parked.join;
                return true;
            }
        }
        false
    }

    /// The active lanes wait for the `missing` ones: some of these run next. False if none of them is on its way by itself.
    pub fn wait_for(&mut self, missing: u32) -> bool {
        let comes = |parked: &Parked| parked.lanes & self.live != 0 && parked.lanes & self.live & !missing == 0;
        let Some(at) = self.stack.iter().rposition(comes) else { return false };
        let Parked { pc, lanes, join } = self.stack.remove(at);
        self.stack.push(Parked { pc: self.pc, lanes: self.active, join: self.join });
        self.waiting_lanes |= self.active;
        (self.pc, self.active, self.join) = (pc, lanes & self.live, join);
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
        // Copies nobody waited for never land.
        self.pending.clear();
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
