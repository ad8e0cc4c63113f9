//! Hazards as users of the library see them: what, where, which threads and which lines. Their texts are here and in `ptx::place`.

use crate::{Dim3, Location, Place};
use ptx::worded;
use std::fmt;

worded! {
    /// The kinds of hazard. A kind that may cause others comes before them.
    #[non_exhaustive]
    pub enum HazardKind {
        /// Threads meet at one barrier with different numbers of threads, or only some of them combine a value there.
        MismatchedBarriers = "barriers that do not pair up",
        /// A barrier opened after threads of the block had ended, in a launch that also has another hazard.
        ExitBeforeBarrier = "exit before a barrier",
        /// Whole warps went around a barrier at which the others of their block waited.
        SkippedBarrier = "barrier that some warps go around",
        /// A lane executes a warp-wide instruction whose mask does not name it.
        OutsideMask = "lane outside its own mask",
        /// Two threads access the same place, at least one writes, and nothing orders them.
        Race = "data race",
        /// Atomic or volatile accesses of different widths to one place. PTX does not define the result.
        MixedWidths = "atomic accesses of different widths",
        /// Only a shuffle or a vote orders the accesses of two lanes, and neither orders memory.
        ShuffleOrder = "shared memory ordered by a shuffle",
        /// A load through the read-only path (`.nc`, `__ldg`) reads what the kernel has written.
        StaleLoad = "read-only load of what the kernel writes",
        /// A place that an asynchronous copy still fills was read.
        CopyNotWaited = "asynchronous copy read before it has landed",
        /// A place that an asynchronous copy still fills was written again.
        CopyOverwritten = "asynchronous copy overwritten in flight",
        /// A place that an asynchronous copy still reads was written.
        CopySourceOverwritten = "source of an asynchronous copy overwritten in flight",
        /// A register was accessed while a product of a warpgroup was still working on it.
        ProductNotWaited = "register of a product accessed before the wait",
        /// A product of a warpgroup started on a register that had been accessed since the last `wgmma.fence`.
        ProductNotFenced = "register of a product accessed without a fence before it",
        /// The asynchronous proxy (a product of a warpgroup, a bulk copy) accesses memory that was written without a fence for it.
        ProxyNotFenced = "memory written without a proxy fence",
        /// Shared memory was written while a product of a warpgroup was still reading it.
        OperandOverwritten = "shared memory overwritten under a product",
        /// Shared memory was read that no thread had written.
        UninitialisedShared = "uninitialised shared memory read",
        /// A thread read a place of its local memory that it had not written.
        UninitialisedLocal = "uninitialised local memory read",
        /// An element of an output array was read that no thread had written.
        UninitialisedGlobal = "uninitialised output read",
        /// A value is used that a shuffle took from a lane that has ended or does not execute the shuffle.
        EndedLane = "shuffle from a lane that is not there",
        /// A register that had not been set decides a branch, is part of an address, or is stored.
        UnsetRegister = "unset register read",
        /// An access through a shared array reached shared memory outside that array.
        WrongArray = "shared access past the end of its array",
        /// An element of an output array was never written.
        NeverWritten = "element never written",
        /// A barrier opened after threads of the block had ended, and there is no other hazard: a warning.
        EndedBeforeBarrier = "barrier without all threads",
        /// Threads of a block meet at one barrier by instructions on different lines: a warning.
        DifferentBarriers = "different barriers",
        /// A warp arrived at a barrier without waiting, and nobody waits there: a warning.
        UnheardArrival = "arrival at a barrier that nobody waits for",
        /// Unordered accesses to a place do not race only because one of them is `volatile`, and no value that was loaded is data: a
        /// warning.
        VolatileOrder = "volatile access between threads",
        /// An element of an output array was stored to more than once, in order or with the same value: a warning.
        WrittenTwice = "element written more than once",
    }
}

impl HazardKind {
    /// Whether a kernel may still be right: it relies on what CUDA does not promise, or does needless work. Warnings come after
    /// all other hazards, and each kind is reported once.
    pub const fn is_warning(self) -> bool {
        self as u8 >= Self::EndedBeforeBarrier as u8
    }

    /// Whether the hazard may make a result wrong without the result showing why. That holds for all hazards but warnings and
    /// those that are seen in the output array itself.
    pub const fn is_hidden_cause(self) -> bool {
        !matches!(self, Self::UninitialisedGlobal | Self::NeverWritten) && !self.is_warning()
    }

    /// Whether the kind is about how often an element of the output was written. This has no meaning for a launch that was
    /// stopped early.
    pub const fn is_coverage(self) -> bool {
        matches!(self, Self::WrittenTwice | Self::NeverWritten)
    }
}

worded! {
    /// What one side of a hazard did.
    #[allow(missing_docs)] // The words say it.
    pub enum Action {
        Writes = "writes",
        Reads = "reads",
        Updates = "updates atomically",
        Copies = "copies to it asynchronously",
        Waits = "waits at the barrier",
        /// Arrives without waiting.
        Arrives = "arrives at the barrier",
        Ends = "has ended",
        Skips = "goes around it",
        Executes = "executes it",
        Multiplies = "starts a product with it",
        /// By a matrix product that has not finished.
        ReadsOn = "still reads it",
    }
}

impl Action {
    /// Whether the action writes the place.
    pub const fn writes(self) -> bool {
        matches!(self, Self::Writes | Self::Updates | Self::Copies)
    }
}

/// One side of a hazard: what a thread did, and by which instruction.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)] // The names say it.
#[non_exhaustive]
pub struct Party {
    pub block: Dim3,
    pub thread: Dim3,
    pub action: Action,
    pub location: Location,
}

impl Party {
    /// What a thread of a block did.
    pub fn new((block, thread): (Dim3, Dim3), action: Action, location: Location) -> Self {
        Self { block, thread, action, location }
    }
}

/// A hazard: one example of it, and how often the same two lines were involved.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Hazard {
    /// What happened.
    pub kind: HazardKind,
    /// Where: array and element, register, or barrier.
    pub place: Place,
    /// The threads: none, one or two.
    pub parties: Vec<Party>,
    /// How many times the same lines were involved in this kind of hazard.
    pub count: u64,
    /// The time at which the example was found, if there is a clock ([`super::Hazards::clock`]).
    pub time: Option<u64>,
}

impl Hazard {
    /// A hazard that was seen once.
    pub fn new(kind: HazardKind, place: Place, parties: Vec<Party>) -> Self {
        Self { kind, place, parties, count: 1, time: None }
    }

    /// Whether its two threads are lanes of one warp, given the size of a block.
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
