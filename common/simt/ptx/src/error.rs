//! What can go wrong: three classes that a learner must be able to tell apart, and two for the caller.

use crate::dim3::Dim3;
use crate::named::worded;
use crate::place::{Place, Space};
use std::fmt;

/// Everything that the library reports instead of a result. The library does not panic.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The kernel did something wrong while it ran.
    #[error("fault of the kernel: {0}")]
    Fault(Box<Fault>),
    /// The PTX uses something this simulator does not know. It is refused before anything runs.
    #[error(
        "instruction not supported by the simulator: {reason} ({}: `{}`); this is not a fault of your kernel: run it on a GPU that has it, or do without it here",
        .location.lines(), .location.instruction
    )]
    Unsupported { reason: String, location: Location },
    /// The PTX calls a function that is not in the file, or one that calls itself. Refused before anything runs.
    #[error(
        "instruction not supported by the simulator: the call of {function}, {}, at {location}",
        if *.recursive { "which leads back to itself" } else { "which is not in the file" }
    )]
    Call {
        /// The function's name in the PTX: a C++ function's is mangled.
        function: String,
        /// Whether the call leads back to a function that has not returned yet.
        recursive: bool,
        location: Location,
    },
    #[error("limit reached: {0}")]
    Limit(Limit),
    #[error("not valid PTX, line {line}: {message}")]
    Parse { line: u32, message: String },
    /// The caller asked for something impossible: wrong arguments, a launch no device accepts, no memory left.
    #[error("{0}")]
    Usage(String),
}

impl Error {
    pub fn usage(message: impl Into<String>) -> Self {
        Self::Usage(message.into())
    }

    pub fn parse(line: u32, message: impl Into<String>) -> Self {
        Self::Parse { line, message: message.into() }
    }

    pub fn unsupported(line: u32, text: impl Into<String>, reason: impl Into<String>) -> Self {
        let location = Location { ptx_line: line, instruction: text.into(), ..Location::default() };
        Self::Unsupported { reason: reason.into(), location }
    }
}

/// A place in the program: always the line of the PTX, and the line of the kernel's source if the PTX has `.loc`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Location {
    /// Source file as named by `.file`, when the PTX was compiled with line information.
    pub file: Option<String>,
    /// Line in that file, from 1.
    pub line: Option<u32>,
    /// Column in that line, from 1, if the compiler recorded it; NVRTC records the start of the statement.
    pub column: Option<u32>,
    /// If the compiler has inlined the function, the lines and columns of that file where it is called, the innermost first.
    pub calls: Box<[(u32, u32)]>,
    /// Line in the PTX text, from 1.
    pub ptx_line: u32,
    /// The instruction as written.
    pub instruction: String,
}

impl Location {
    /// The file without its folder, and the line, if both are known.
    fn source(&self) -> Option<String> {
        let (file, line) = (self.file.as_ref()?, self.line?);
        Some(format!("{}:{line}", file.rsplit(['/', '\\']).next().unwrap_or(file)))
    }

    /// The line of the source, if it is known, and the line of the PTX.
    fn lines(&self) -> String {
        let ptx = format!("PTX line {}", self.ptx_line);
        self.source().map_or(ptx.clone(), |source| format!("{source}, {ptx}"))
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.source() {
            Some(source) => write!(f, "{source} (PTX line {})", self.ptx_line),
            None => write!(f, "PTX line {} (`{}`)", self.ptx_line, self.instruction),
        }
    }
}

/// A fault of the kernel, with its place and its thread.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{kind} at {location}, block {block}{}", .thread.map_or(String::new(), |thread| format!(", thread {thread}")))]
pub struct Fault {
    pub kind: FaultKind,
    pub location: Location,
    pub block: Dim3,
    /// Index of the thread in its block; `None` if the fault concerns the whole block.
    pub thread: Option<Dim3>,
}

/// The kinds of fault that end a run at once. The bytes of an access are counted for one thread.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FaultKind {
    /// An access that is not wholly inside any array.
    #[error("{bytes}-byte {space} {access} out of bounds: {place},")]
    OutOfBounds { space: Space, access: AccessKind, bytes: u32, place: Place },
    /// An address that is not a multiple of the width of the access.
    #[error("misaligned {bytes}-byte {space} {access}: {place} is not a multiple of {bytes} bytes,")]
    Misaligned { space: Space, access: AccessKind, bytes: u32, place: Place },
    /// Only a part of a warp reached a barrier, while the other threads of the warp still run.
    #[error(
        "barrier reached by {reached} of the {expected} running threads of a warp: every thread of the block must reach the same barrier,"
    )]
    DivergentBarrier { reached: u32, expected: u32 },
    /// Every warp of the block waits, and none can continue.
    #[error("deadlock: {waiting},")]
    Deadlock { waiting: String },
    /// A warp-wide instruction names lanes that do not take part in it.
    #[error("warp-wide instruction names lanes {named:#010x}, but only lanes {present:#010x} execute it,")]
    MissingLanes { named: u32, present: u32 },
    #[error("trap executed")]
    Trap,
    /// An `assert` of the kernel does not hold. The condition is as written; the file is named as the compiler was given it.
    #[error("assertion `{condition}` does not hold, {file}:{line} in {function},")]
    Assert { condition: String, file: String, line: u32, function: String },
    #[error("barriers {one} and {other} in one warp: its threads must name the same,")]
    TwoBarriers { one: u32, other: u32 },
    #[error("barrier {id}: a block has barriers 0 to 15,")]
    NoSuchBarrier { id: u32 },
    /// A barrier for a number of threads that is not a multiple of 32, the size of a warp.
    #[error("barrier for {threads} threads: the number must be a multiple of 32,")]
    PartsOfWarps { threads: u32 },
    /// Anything else that the PTX manual calls an error.
    #[error("{0}")]
    Other(String),
}

worded! {
    /// What an access does. A copy reads its source at once, and writes its destination later.
    pub enum AccessKind {
        Load = "load",
        Store = "store",
        Atomic = "atomic operation",
        CopySource = "asynchronous copy source",
        CopyDestination = "asynchronous copy destination",
    }
}

/// The limits that a launch can reach, each with the place where a warp was at that time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Limit {
    /// The launch executed more warp instructions than allowed, most often because a loop never ends.
    #[error(
        "the launch executed more than {limit} warp instructions and was stopped at {location}; does a loop never end?"
    )]
    Instructions { limit: u64, location: Location },
    #[error(
        "the launch took more than {limit} seconds and was stopped at {location}; does it wait, print or update too often?"
    )]
    Seconds { limit: u64, location: Location },
}
