//! What an instruction does beside writing registers, and how it is packed.

use crate::bits::{Reader, put_lanes, put_number};
use simt::{AccessKind, Space};

/// Something that an instruction does beside writing registers.
#[derive(Debug, Clone)]
#[allow(clippy::large_enum_variant)] // One lives at a time, on the stack.
pub enum Effect {
    /// An access to memory.
    Access(AccessEvent),
    /// An asynchronous copy.
    Copy(CopyEvent),
    /// Words that changed by other ways than a store: the array (none for shared memory), and places and values.
    Writes(Option<usize>, Vec<(u32, u32)>),
    /// A product of a warpgroup reads these pieces of 16 bytes of shared memory, which are its operand B.
    Product(Vec<u32>),
    /// A group of copies is closed.
    Commit,
    /// Waits until at most this number of groups are in flight; none: until all copies have landed.
    Wait(Option<u32>),
    /// Arrives at a barrier and waits there.
    Arrive(u32),
    /// Threads end.
    Exit(u32),
}

/// An access to memory.
#[derive(Debug, Clone, Copy)]
pub struct AccessEvent {
    /// What it does.
    pub kind: AccessKind,
    /// Where.
    pub space: Space,
    /// The array of global memory.
    pub array: Option<usize>,
    /// The lanes that take part.
    pub lanes: u32,
    /// Bytes of a lane.
    pub bytes: u32,
    /// In bytes from the start of the array, or of shared memory.
    pub addresses: [u32; 32],
    /// What a store writes.
    pub data: Option<[[u32; 32]; 4]>,
}

/// An asynchronous copy.
#[derive(Debug, Clone, Copy)]
pub struct CopyEvent {
    /// The array that it reads; none if it only writes zeros.
    pub array: Option<usize>,
    /// The lanes that take part.
    pub lanes: u32,
    /// Bytes that a lane writes.
    pub bytes: u32,
    /// Whether it goes past the first-level cache.
    pub bypass: bool,
    /// Bytes that each lane reads.
    pub source_bytes: [u32; 32],
    /// Where each lane reads, in bytes from the start of the array.
    pub from: [u32; 32],
    /// Where each lane writes, in bytes from the start of shared memory.
    pub to: [u32; 32],
}

const ACCESS: u8 = 1;
const COPY: u8 = 2;
const WRITES: u8 = 3;
const COMMIT: u8 = 4;
const WAIT: u8 = 5;
const ARRIVE: u8 = 6;
const EXIT: u8 = 7;
const PRODUCT: u8 = 8;

/// Kinds of access, by their number on the tape.
const ACCESS_KINDS: [AccessKind; 3] = [AccessKind::Load, AccessKind::Store, AccessKind::Atomic];
const SPACES: [Space; 3] = [Space::Global, Space::Shared, Space::Local];

fn number_of<T: PartialEq>(all: &[T], one: &T) -> u8 {
    all.iter().position(|known| known == one).unwrap_or(0) as u8
}

impl Effect {
    /// Packs it.
    pub fn put(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Access(access) => {
                bytes.extend([ACCESS, number_of(&ACCESS_KINDS, &access.kind), number_of(&SPACES, &access.space)]);
                put_number(bytes, access.array.map_or(0, |array| array as u64 + 1));
                bytes.extend(access.lanes.to_le_bytes());
                bytes.push(access.bytes as u8);
                put_lanes(bytes, access.lanes, &access.addresses);
                bytes.push(u8::from(access.data.is_some()));
                for values in access.data.iter().flatten().take(access.bytes.div_ceil(4) as usize) {
                    put_lanes(bytes, access.lanes, values);
                }
            }
            Self::Copy(copy) => {
                bytes.push(COPY);
                put_number(bytes, copy.array.map_or(0, |array| array as u64 + 1));
                bytes.extend(copy.lanes.to_le_bytes());
                bytes.extend([copy.bytes as u8, u8::from(copy.bypass)]);
                for values in [&copy.source_bytes, &copy.from, &copy.to] {
                    put_lanes(bytes, copy.lanes, values);
                }
            }
            Self::Writes(array, words) => {
                bytes.push(WRITES);
                put_number(bytes, array.map_or(0, |array| array as u64 + 1));
                put_number(bytes, words.len() as u64);
                for (place, word) in words {
                    put_number(bytes, u64::from(*place));
                    bytes.extend(word.to_le_bytes());
                }
            }
            Self::Product(pieces) => {
                bytes.push(PRODUCT);
                put_number(bytes, pieces.len() as u64);
                for &piece in pieces {
                    put_number(bytes, u64::from(piece));
                }
            }
            Self::Commit => bytes.push(COMMIT),
            Self::Wait(pending) => {
                bytes.push(WAIT);
                put_number(bytes, pending.map_or(0, |pending| u64::from(pending) + 1));
            }
            Self::Arrive(id) => {
                bytes.push(ARRIVE);
                put_number(bytes, u64::from(*id));
            }
            Self::Exit(lanes) => {
                bytes.push(EXIT);
                bytes.extend(lanes.to_le_bytes());
            }
        }
    }

    /// The next one on the tape; none at the end of the event.
    pub fn take(reader: &mut Reader<'_>) -> Option<Self> {
        let mask = |reader: &mut Reader<'_>| u32::from_le_bytes([0; 4].map(|_: u8| reader.byte()));
        Some(match reader.byte() {
            ACCESS => {
                let kind = ACCESS_KINDS[usize::from(reader.byte()) % ACCESS_KINDS.len()];
                let space = SPACES[usize::from(reader.byte()) % SPACES.len()];
                let array = (reader.number() as usize).checked_sub(1);
                let lanes = mask(reader);
                let bytes = u32::from(reader.byte());
                let addresses = reader.lanes(lanes);
                let mut data = None;
                if reader.byte() != 0 {
                    let mut words = [[0; 32]; 4];
                    for word in words.iter_mut().take(bytes.div_ceil(4) as usize) {
                        *word = reader.lanes(lanes);
                    }
                    data = Some(words);
                }
                Self::Access(AccessEvent { kind, space, array, lanes, bytes, addresses, data })
            }
            COPY => {
                let array = (reader.number() as usize).checked_sub(1);
                let lanes = mask(reader);
                let (bytes, bypass) = (u32::from(reader.byte()), reader.byte() != 0);
                let [source_bytes, from, to] = [0; 3].map(|_: u8| reader.lanes(lanes));
                Self::Copy(CopyEvent { array, lanes, bytes, bypass, source_bytes, from, to })
            }
            WRITES => {
                let array = (reader.number() as usize).checked_sub(1);
                let count = reader.number();
                let word = |_| (reader.number() as u32, u32::from_le_bytes([0; 4].map(|_: u8| reader.byte())));
                Self::Writes(array, (0..count).map(word).collect())
            }
            PRODUCT => {
                let count = reader.number();
                Self::Product((0..count).map(|_| reader.number() as u32).collect())
            }
            COMMIT => Self::Commit,
            WAIT => Self::Wait((reader.number() as u32).checked_sub(1)),
            ARRIVE => Self::Arrive(reader.number() as u32),
            EXIT => Self::Exit(mask(reader)),
            _ => return None,
        })
    }
}
