//! Where a finding or a fault is, as data. Words are made of it here, and nowhere else.

use crate::Space;
use std::fmt;

/// An array in global or shared memory.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Array {
    /// Its name: of a shared array the one in the source.
    pub name: String,
    /// [`Space::Global`] or [`Space::Shared`].
    pub space: Space,
}

/// Where something happened.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Place {
    /// An element of an array.
    Element {
        /// The array.
        array: Array,
        /// The index in each dimension, the slowest first.
        index: Vec<u64>,
        /// Bytes from the start of the element.
        bytes: u64,
    },
    /// Somewhere in a shared array whose extents are not known.
    Offset {
        /// The array.
        array: Array,
        /// Bytes from its start.
        bytes: u64,
    },
    /// Several elements of an array.
    Elements {
        /// The array.
        array: Array,
        /// The first few of them.
        first: Vec<u64>,
        /// How many there are.
        count: u64,
        /// How many elements the array has.
        of: u64,
    },
    /// Before the start of an array.
    Before {
        /// The nearest array.
        array: Array,
        /// How many elements before its start.
        index: u64,
        /// How many bytes.
        bytes: u64,
        /// How many elements it has.
        of: u64,
    },
    /// Past the end of an array.
    Past {
        /// The nearest array.
        array: Array,
        /// The index that an element there would have.
        index: u64,
        /// Bytes past its end; 0 is right behind it.
        bytes: u64,
        /// How many elements it has.
        of: u64,
    },
    /// Past the end of a block's shared memory.
    PastShared {
        /// The array that the address is counted from, or the address.
        near: Box<Place>,
        /// Bytes past the end; 0 is right behind it.
        bytes: u64,
        /// Bytes that the block has.
        of: u64,
    },
    /// Before the start of a memory that has no arrays' names.
    BeforeMemory {
        /// [`Space::Shared`] or [`Space::Local`].
        space: Space,
        /// How many bytes.
        bytes: u64,
        /// Bytes that the block or thread has.
        of: u64,
    },
    /// A byte of a memory that has no arrays' names.
    Byte {
        /// [`Space::Local`] or [`Space::Param`].
        space: Space,
        /// Its number.
        byte: u64,
        /// Bytes that the thread or kernel has.
        of: u64,
    },
    /// A place in shared memory that belongs to no array.
    Shared(u64),
    /// An address in shared memory that belongs to no array, as a fault of the kernel computed it.
    SharedAddress(u64),
    /// A place in the local memory of a thread.
    Local(u64),
    /// A global address, no more is known of.
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
    /// The array that it is in, or next to.
    pub fn array(&self) -> Option<&Array> {
        match self {
            Self::Element { array, .. }
            | Self::Offset { array, .. }
            | Self::Elements { array, .. }
            | Self::Before { array, .. }
            | Self::Past { array, .. } => Some(array),
            Self::PastShared { near, .. } => near.array(),
            _ => None,
        }
    }

    /// The index of its element in each dimension, the slowest first; empty if there is no such element.
    pub fn index(&self) -> &[u64] {
        match self {
            Self::Element { index, .. } => index,
            Self::Past { index, .. } => std::slice::from_ref(index),
            _ => &[],
        }
    }

    /// Whether both are in one array, or are two of a sort that has no arrays.
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
            Self::Before { array, index, bytes, of } => {
                write!(f, "{array}[-{index}] is {bytes} bytes before the start of {array}, which has {of} elements")
            }
            Self::Past { array, index, bytes, of } => {
                write!(f, "{array}[{index}] is {} past the end of {array}, which has {of} elements", far(*bytes))
            }
            Self::PastShared { near, bytes, of } => {
                write!(f, "{near}, {} past the end of the block's {of} bytes of shared memory", far(*bytes))
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

fn far(bytes: u64) -> String {
    if bytes == 0 { "right".into() } else { format!("{bytes} bytes") }
}

/// A memory that has no arrays' names, with its size.
fn memory(space: Space, bytes: u64) -> String {
    match space {
        Space::Shared => format!("the block's {bytes} bytes of shared memory"),
        Space::Param => format!("the kernel's {bytes} bytes of parameters"),
        _ => format!("the thread's {bytes} bytes of local memory"),
    }
}
