//! Hazards as others see them: what, where, which threads and which lines. The words for all of it are here and in `place`.

use crate::named::worded;
use crate::{Dim3, Location, Place};
use std::fmt;

worded! {
    /// The kinds of hazard: what others may follow from comes first.
    #[non_exhaustive]
    pub enum HazardKind {
        /// Threads meet at one barrier for different numbers of threads, or some of them to combine a value and others not.
        MismatchedBarriers = "barriers that do not pair up",
        /// A barrier opened after threads of the block had ended, in a launch that did something else wrong as well.
        ExitBeforeBarrier = "exit before a barrier",
        /// A lane executes a warp-wide instruction whose mask does not name it.
        OutsideMask = "lane outside its own mask",
        /// Two threads access the same place, at least one writes, and nothing orders them.
        Race = "data race",
        /// Atomic operations of different widths meet at one place: PTX promises nothing of them.
        MixedWidths = "atomic accesses of different widths",
        /// A load through the read-only path (`.nc`, `__ldg`) of what the kernel has written.
        StaleLoad = "read-only load of what the kernel writes",
        /// A place that an asynchronous copy still fills was read.
        CopyNotWaited = "asynchronous copy read before it has landed",
        /// A place that an asynchronous copy still fills was written again.
        CopyOverwritten = "asynchronous copy overwritten in flight",
        /// A register that a product of a warpgroup still works on was accessed.
        ProductNotWaited = "register of a product accessed before the wait",
        /// A product of a warpgroup started on a register that had been accessed since the last fence for registers.
        ProductNotFenced = "register of a product accessed without a fence before it",
        /// A product of a warpgroup reads shared memory that was written without a fence for the asynchronous proxy.
        ProxyNotFenced = "shared memory written without a proxy fence",
        /// Shared memory was written while a product of a warpgroup still reads it.
        OperandOverwritten = "shared memory overwritten under a product",
        /// Shared memory was read that no thread had written.
        UninitialisedShared = "uninitialised shared memory read",
        /// A thread read its local memory where it had not written.
        UninitialisedLocal = "uninitialised local memory read",
        /// An output array was read where no thread had written.
        UninitialisedGlobal = "uninitialised output read",
        /// A value that a shuffle took from a lane that has ended, or does not execute it, is used.
        EndedLane = "shuffle from a lane that is not there",
        /// A register that had not been set decides a branch, is part of an address, or is stored.
        UnsetRegister = "unset register read",
        /// An access through a shared array reached beyond that array, into shared memory that belongs to another.
        WrongArray = "shared access past the end of its array",
        /// An element of an output array was never written.
        NeverWritten = "element never written",
        /// A barrier opened after threads of the block had ended, and nothing else is wrong: a warning.
        EndedBeforeBarrier = "barrier without all threads",
        /// Threads of a block meet at different barriers, which pair up: a warning.
        DifferentBarriers = "different barriers",
        /// Threads meet at a place because an access there is `volatile`: a warning.
        VolatileOrder = "volatile access between threads",
        /// Only a shuffle or a vote lies between the accesses of two lanes: a warning.
        ShuffleOrder = "shared memory ordered by a shuffle",
        /// An element of an output array was stored to more than once, in order or with the same value: a warning.
        WrittenTwice = "element written more than once",
    }
}

impl HazardKind {
    /// Whether a kernel may do it and be right: it relies on what CUDA does not promise, or does work for nothing. It comes
    /// after all that is wrong, and is said once.
    pub const fn is_warning(self) -> bool {
        matches!(
            self,
            Self::EndedBeforeBarrier
                | Self::DifferentBarriers
                | Self::VolatileOrder
                | Self::ShuffleOrder
                | Self::WrittenTwice
        )
    }

    /// Whether the threads of a kernel may compute something wrong because of it, without the result showing why: all
    /// but what the output array itself shows.
    pub const fn is_hidden_cause(self) -> bool {
        !matches!(self, Self::UninitialisedGlobal | Self::NeverWritten) && !self.is_warning()
    }

    /// Whether it says how often an element of the output was written. A launch that was stopped early says nothing of
    /// that.
    pub const fn is_coverage(self) -> bool {
        matches!(self, Self::WrittenTwice | Self::NeverWritten)
    }
}

worded! {
    /// What one side of a hazard did.
    pub enum Action {
        /// Writes the place.
        Writes = "writes",
        /// Reads it.
        Reads = "reads",
        /// Reads and writes it in one step.
        Updates = "updates atomically",
        /// Starts an asynchronous copy into it.
        Copies = "copies to it asynchronously",
        /// Waits at the barrier.
        Waits = "waits at the barrier",
        /// Arrives at the barrier and goes on.
        Arrives = "arrives at the barrier",
        /// Has left the kernel.
        Ends = "has ended",
        /// Executes the instruction.
        Executes = "executes it",
        /// Starts a product of matrices.
        Multiplies = "starts a product with it",
        /// Reads by a product that is under way.
        ReadsOn = "still reads it",
    }
}

impl Action {
    /// Whether the place is written.
    pub const fn writes(self) -> bool {
        matches!(self, Self::Writes | Self::Updates | Self::Copies)
    }
}

/// One side of a hazard: what a thread did, and by which instruction.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)] // The names say it.
pub struct Party {
    pub block: Dim3,
    pub thread: Dim3,
    pub action: Action,
    pub location: Location,
}

/// A hazard: one representative, and how often the same two lines met.
#[derive(Debug, Clone, PartialEq)]
pub struct Hazard {
    /// What happened.
    pub kind: HazardKind,
    /// Where: array and element, register, or barrier.
    pub place: Place,
    /// The threads: none, one or two.
    pub parties: Vec<Party>,
    /// How many times the same lines met in this way.
    pub count: u64,
    /// The time at which the representative was found, if somebody keeps it ([`super::Hazards::clock`]).
    pub time: Option<u64>,
}

impl Hazard {
    /// Whether its two threads are lanes of one warp, in blocks of this size.
    pub fn is_within_warp(&self, block: Dim3) -> bool {
        let warp = |at: Dim3| ((at.z * block.y + at.y) * block.x + at.x) / 32;
        matches!(&self.parties[..], [a, b] if a.block == b.block && warp(a.thread) == warp(b.thread))
    }
}

impl fmt::Display for Hazard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind.name(), self.place)?;
        for Party { block, thread, action, location } in &self.parties {
            write!(f, "\n  thread {thread} of block {block} {action} at {location}")?;
        }
        if self.count > 1 { write!(f, "\n  {} times in this launch", self.count) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_name_of_its_own() {
        let mut names = HazardKind::ALL.map(HazardKind::name);
        names.sort_unstable();
        assert!(names.is_sorted_by(|a, b| a < b));
    }
}
