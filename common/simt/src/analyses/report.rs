//! Hazards as a reader sees them: what, where, which threads, which lines, and what to do about it.

use crate::{Dim3, Location};
use std::fmt::{self, Write as _};

/// The kinds of hazard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum HazardKind {
    /// Two threads access the same place, at least one writes, and nothing orders them.
    Race,
    /// A place that an asynchronous copy still fills was read.
    CopyNotWaited,
    /// A place that an asynchronous copy still fills was written again.
    CopyOverwritten,
    /// Shared memory was read that no thread had written.
    UninitialisedShared,
    /// An output array was read where no thread had written.
    UninitialisedGlobal,
    /// A register was read that had not been set.
    UnsetRegister,
    /// An access through a shared array reached beyond that array, into shared memory that belongs to another.
    WrongArray,
    /// Threads of a block meet at different barriers.
    DifferentBarriers,
    /// A barrier opened after threads of the block had ended.
    ExitBeforeBarrier,
    /// An element of an output array was written more than once.
    WrittenTwice,
    /// An element of an output array was never written.
    NeverWritten,
}

impl HazardKind {
    /// All of them, worst first.
    pub const ALL: [Self; 11] = [
        Self::Race,
        Self::CopyNotWaited,
        Self::CopyOverwritten,
        Self::UninitialisedShared,
        Self::UninitialisedGlobal,
        Self::UnsetRegister,
        Self::WrongArray,
        Self::DifferentBarriers,
        Self::ExitBeforeBarrier,
        Self::WrittenTwice,
        Self::NeverWritten,
    ];

    /// Whether the threads of a kernel may compute something wrong because of it, without the result showing why: all but
    /// what the output array itself shows.
    pub const fn is_hidden_cause(self) -> bool {
        !matches!(self, Self::UninitialisedGlobal) && !self.is_coverage()
    }

    /// Whether it says how often an element of the output was written. A launch that was stopped early says nothing of that.
    pub const fn is_coverage(self) -> bool {
        matches!(self, Self::WrittenTwice | Self::NeverWritten)
    }

    /// A short name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Race => "data race",
            Self::CopyNotWaited => "asynchronous copy read before it has landed",
            Self::CopyOverwritten => "asynchronous copy overwritten in flight",
            Self::UninitialisedShared => "uninitialised shared memory read",
            Self::UninitialisedGlobal => "uninitialised output read",
            Self::UnsetRegister => "unset register read",
            Self::WrongArray => "shared access past the end of its array",
            Self::DifferentBarriers => "different barriers",
            Self::ExitBeforeBarrier => "exit before a barrier",
            Self::WrittenTwice => "element written more than once",
            Self::NeverWritten => "element never written",
        }
    }

    /// One sentence on what to do.
    pub const fn remedy(self) -> &'static str {
        match self {
            Self::Race => {
                "put a __syncthreads() between the two accesses, or let each place be used by one thread only"
            }
            Self::CopyNotWaited => {
                "wait for the copy's group (cp.async.wait_group), then __syncthreads(), before reading"
            }
            Self::CopyOverwritten => {
                "wait for the copy (cp.async.wait_group) before writing the same place again, or use another buffer"
            }
            Self::UninitialisedShared => {
                "let every element be written, with 0 where there is no data, before the barrier that precedes the read"
            }
            Self::UninitialisedGlobal => "do not read the output; it holds whatever was there before",
            Self::UnsetRegister => "give the variable a value on every path that leads here",
            Self::WrongArray => "check the index against the array's extents",
            Self::DifferentBarriers => {
                "move the barrier out of the condition, so that all threads of the block reach the same one"
            }
            Self::ExitBeforeBarrier => {
                "do not return early; let every thread reach the barrier and test the bounds around the work instead"
            }
            Self::WrittenTwice => "check the mapping from threads to elements: two threads own the same one",
            Self::NeverWritten => "check the grid and the mapping from threads to elements: no thread owns it",
        }
    }
}

/// One side of a hazard.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Party {
    /// Block of the thread.
    pub block: Dim3,
    /// The thread.
    pub thread: Dim3,
    /// What it did: "writes", "reads", "copies to", ...
    pub action: &'static str,
    /// The instruction.
    pub location: Location,
}

/// A hazard: one representative, and how often the same two lines met.
#[derive(Debug, Clone, PartialEq)]
pub struct Hazard {
    /// What happened.
    pub kind: HazardKind,
    /// Array and element, register, or barrier.
    pub place: String,
    /// The threads: none, one or two.
    pub parties: Vec<Party>,
    /// How many times the same lines met in this way.
    pub count: u64,
}

impl Hazard {
    /// The message, with the text of the source lines where `line_text` (file, line) knows it.
    pub fn render(&self, line_text: impl Fn(&str, u32) -> Option<String>) -> String {
        let mut text = format!("{}: {}", self.kind.name(), self.place);
        for party in &self.parties {
            let Party { block, thread, action, location } = party;
            let _ = write!(text, "\n  thread {thread} of block {block} {action} at {location}");
            if let (Some(file), Some(line)) = (&location.file, location.line)
                && let Some(source) = line_text(file, line)
            {
                let _ = write!(text, "\n    {}", source.trim());
            }
        }
        if self.count > 1 {
            let _ = write!(text, "\n  {} times in this launch", self.count);
        }
        let _ = write!(text, "\n  remedy: {}", self.remedy());
        text
    }

    /// One sentence on what to do about this one.
    pub fn remedy(&self) -> &'static str {
        match &self.parties[..] {
            [first, second] if self.kind == HazardKind::Race && first.block != second.block => {
                "blocks cannot wait for each other in a launch: let every element belong to one block, or use atomic operations"
            }
            _ => self.kind.remedy(),
        }
    }
}

impl fmt::Display for Hazard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(|_, _| None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_kinds_are_listed_in_order() {
        assert!(HazardKind::ALL.is_sorted_by(|a, b| a < b));
        assert_eq!(HazardKind::ALL.len(), HazardKind::NeverWritten as usize + 1);
        let mut names = HazardKind::ALL.map(HazardKind::name);
        names.sort_unstable();
        assert!(names.is_sorted_by(|a, b| a < b), "two kinds share a name");
    }

    #[test]
    fn classes() {
        use HazardKind::{NeverWritten, UninitialisedGlobal, WrittenTwice};
        for kind in HazardKind::ALL {
            let coverage = matches!(kind, WrittenTwice | NeverWritten);
            assert_eq!(kind.is_coverage(), coverage);
            assert_eq!(kind.is_hidden_cause(), !coverage && kind != UninitialisedGlobal);
        }
    }
}
