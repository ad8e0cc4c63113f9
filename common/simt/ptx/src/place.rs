//! Where a variable, a finding or a fault is, as data. Only this file turns it into words.

use crate::named::named;
use std::fmt;

named! {
    /// Where a variable lives.
    pub enum Space {
        /// No space is named: the address decides when the instruction runs.
        Generic,
        /// One for the whole device.
        Global = "global",
        /// One for each block.
        Shared = "shared",
        /// One for each thread.
        Local = "local",
        /// Read-only, one for the whole device.
        Constant = "const",
        /// Parameters of a kernel or function.
        Parameter = "param",
    }
}

impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&format!("{self:?}").to_lowercase())
    }
}

/// An array in global or shared memory.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Array {
    /// Its name; for a shared array, the name in the source.
    pub name: String,
    /// [`Space::Global`] or [`Space::Shared`].
    pub space: Space,
}

/// Where something happened. `of` is the number of elements in the array, or of bytes in the memory.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Place {
    /// An element of an array, or a place `bytes` bytes into it. The slowest index comes first.
    Element { array: Array, index: Vec<u64>, bytes: u64 },
    /// A place in a shared array whose extents are not known, `bytes` bytes from its start.
    Offset { array: Array, bytes: u64 },
    /// `count` elements of an array, of which only the first few are listed.
    Elements { array: Array, first: Vec<u64>, count: u64, of: u64 },
    /// Outside the nearest array in global memory, `bytes` bytes before its start or past its end (0 is right after the end).
    /// An element there would have the index `index`.
    Outside { array: Array, index: i64, bytes: u64, of: u64 },
    /// Past the end of a block's shared memory; `near` says what the address is counted from.
    PastShared { near: Box<Place>, bytes: u64, of: u64 },
    /// Before the start of a block's shared memory or a thread's local memory.
    BeforeMemory { space: Space, bytes: u64, of: u64 },
    /// A byte of a thread's local memory, or of a kernel's parameters.
    Byte { space: Space, byte: u64, of: u64 },
    /// A place in shared memory that belongs to no array.
    Shared(u64),
    /// An address in shared memory that belongs to no array, as a fault of the kernel computed it.
    SharedAddress(u64),
    /// A place in the local memory of a thread.
    Local(u64),
    /// A global address about which nothing else is known.
    Address(u64),
    /// A global address near 0.
    Null(u64),
    /// A global address far from all arrays.
    NoArray(u64),
    /// A global address in a launch without any memory.
    NoMemory(u64),
    /// A register, by its name in the PTX.
    Register(String),
    /// A barrier of the block.
    Barrier(u32),
    /// The lanes that an instruction names.
    Lanes(u32),
}

impl Place {
    /// The array that the place is in, or next to.
    pub fn array(&self) -> Option<&Array> {
        match self {
            Self::Element { array, .. }
            | Self::Offset { array, .. }
            | Self::Elements { array, .. }
            | Self::Outside { array, .. } => Some(array),
            Self::PastShared { near, .. } => near.array(),
            _ => None,
        }
    }

    /// The index of its element in each dimension, the slowest first; empty if the place is not an element.
    pub fn index(&self) -> Vec<u64> {
        match self {
            Self::Element { index, .. } => index.clone(),
            Self::Outside { index, .. } => u64::try_from(*index).into_iter().collect(),
            _ => vec![],
        }
    }

    /// Whether both places belong to the same array, or are of the same kind, one that has no array.
    pub fn is_beside(&self, other: &Self) -> bool {
        match (self.array(), other.array()) {
            (None, None) => std::mem::discriminant(self) == std::mem::discriminant(other),
            (one, other) => one == other,
        }
    }
}

impl fmt::Display for Array {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Element { array, index, bytes } => {
                write!(f, "{array}")?;
                index.iter().try_for_each(|index| write!(f, "[{index}]"))?;
                if *bytes > 0 { write!(f, " + {bytes} bytes") } else { Ok(()) }
            }
            Self::Offset { array, bytes } => write!(f, "{array} + {bytes} bytes"),
            Self::Elements { array, first, count, of } => {
                let names: Vec<String> = first.iter().map(|index| format!("{array}[{index}]")).collect();
                let more = if *count > first.len() as u64 { ", ..." } else { "" };
                write!(f, "{}{more} ({count} of {of} elements)", names.join(", "))
            }
            Self::Outside { array, index, bytes, of } => {
                let far = if *index < 0 { format!("{bytes} bytes before the start") } else { past(*bytes) };
                write!(f, "{array}[{index}] is {far} of {array}, which has {of} elements")
            }
            Self::PastShared { near, bytes, of } => {
                write!(f, "{near}, {} of {}", past(*bytes), memory(Space::Shared, *of))
            }
            Self::BeforeMemory { space, bytes, of } => write!(f, "{bytes} bytes before {}", memory(*space, *of)),
            Self::Byte { space, byte, of } => write!(f, "byte {byte} of {}", memory(*space, *of)),
            Self::Shared(address) => write!(f, "shared memory + {address} bytes"),
            Self::SharedAddress(address) => write!(f, "shared address {address:#x}"),
            Self::Local(address) => write!(f, "local memory + {address} bytes"),
            Self::Address(address) => write!(f, "address {address:#x}"),
            Self::Null(address) => write!(f, "null pointer, address {address:#x}"),
            Self::NoArray(address) => write!(f, "address {address:#x} is in no array"),
            Self::NoMemory(address) => write!(f, "address {address:#x}, and nothing is allocated"),
            Self::Register(name) => write!(f, "register {name}"),
            Self::Barrier(id) => write!(f, "barrier {id}"),
            Self::Lanes(lanes) => write!(f, "mask {lanes:#010x}"),
        }
    }
}

fn past(bytes: u64) -> String {
    if bytes == 0 { "right past the end".into() } else { format!("{bytes} bytes past the end") }
}

/// How messages name a memory without array names, with its size.
fn memory(space: Space, bytes: u64) -> String {
    match space {
        Space::Shared => format!("the block's {bytes} bytes of shared memory"),
        Space::Parameter => format!("the kernel's {bytes} bytes of parameters"),
        _ => format!("the thread's {bytes} bytes of local memory"),
    }
}
