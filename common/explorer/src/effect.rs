//! What an instruction does beside writing registers.

use simt::{AccessKind, Space};

/// Something that an instruction does beside writing registers.
#[derive(Debug, Clone)]
pub enum Effect {
    Access(Box<AccessEvent>),
    /// An asynchronous copy.
    Copy(Box<CopyEvent>),
    /// Words that are written: the array (none for shared memory), and places and values.
    Writes(Option<usize>, Vec<(u32, u32)>),
    /// A product of a warpgroup reads these pieces of 16 bytes of shared memory, which are its operand B.
    Product(Vec<u32>),
    /// A group of copies is closed.
    Commit,
    /// Waits until at most this number of groups are in flight; none: until all copies have landed.
    Wait(Option<u32>),
    /// Arrives at a barrier and waits there.
    Arrive,
    /// These lanes' threads end.
    Exit(u32),
}

/// An access to memory.
#[derive(Debug, Clone)]
pub struct AccessEvent {
    pub kind: AccessKind,
    pub space: Space,
    /// The array of global memory.
    pub array: Option<usize>,
    pub lanes: u32,
    /// Bytes of a lane.
    pub bytes: u32,
    /// In bytes from the start of the array, or of shared memory.
    pub addresses: [u32; 32],
}

/// An asynchronous copy.
#[derive(Debug, Clone)]
pub struct CopyEvent {
    /// The array that it reads; none if it only writes zeros.
    pub array: Option<usize>,
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

impl CopyEvent {
    /// The lanes that read something.
    pub fn reading(&self) -> u32 {
        lanes(self.lanes).filter(|&lane| self.source_bytes[lane] > 0).fold(0, |mask, lane| mask | 1 << lane)
    }
}

/// A word that a lane of an event reads or writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Touched {
    /// The array of global memory; none for shared memory.
    pub array: Option<usize>,
    /// Its place there.
    pub word: u32,
    pub lane: usize,
    pub reads: bool,
    pub writes: bool,
}

impl Effect {
    /// Bytes of memory that it takes.
    pub fn memory(&self) -> usize {
        let more = match self {
            Self::Access(_) => size_of::<AccessEvent>(),
            Self::Copy(_) => size_of::<CopyEvent>(),
            Self::Writes(_, words) => 8 * words.len(),
            Self::Product(pieces) => 4 * pieces.len(),
            Self::Commit | Self::Wait(_) | Self::Arrive | Self::Exit(_) => 0,
        };
        size_of::<Self>() + more
    }

    /// The words of global and shared memory that an access or a copy touches.
    pub fn touched(&self) -> Vec<Touched> {
        let words = |array: Option<usize>, lane: usize, address: u32, bytes: u32, [reads, writes]: [bool; 2]| {
            words(address, bytes).map(move |word| Touched { array, word, lane, reads, writes })
        };
        match self {
            Self::Access(access) if access.space != Space::Local => {
                let how = [access.kind != AccessKind::Store, access.kind != AccessKind::Load];
                let of = |lane: usize| words(access.array, lane, access.addresses[lane], access.bytes, how);
                lanes(access.lanes).flat_map(of).collect()
            }
            Self::Copy(copy) => {
                let written = |lane: usize| words(None, lane, copy.to[lane], copy.bytes, [false, true]);
                let read = |lane| words(copy.array, lane, copy.from[lane], copy.source_bytes[lane], [true, false]);
                lanes(copy.lanes).flat_map(written).chain(lanes(copy.reading()).flat_map(read)).collect()
            }
            _ => vec![],
        }
    }
}

/// The words that lie in a piece of memory.
pub fn words(address: u32, bytes: u32) -> std::ops::Range<u32> {
    address / 4..(address + bytes).div_ceil(4)
}

/// The numbers of the lanes whose bits are set, in order.
pub fn lanes(mask: u32) -> impl Iterator<Item = usize> + Clone {
    (0..32).filter(move |lane| mask >> lane & 1 != 0)
}

/// The first of them.
pub fn first_lane(mask: u32) -> usize {
    mask.trailing_zeros() as usize & 31
}

/// Values of warps, one after the other: of each those of the lanes that take part.
#[derive(Debug, Default)]
pub struct Values(Vec<u32>);

impl Values {
    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn push(&mut self, mask: u32, values: &[u32; 32]) {
        self.0.extend(lanes(mask).map(|lane| values[lane]));
    }

    /// The values of a mask that lie there, and zero in the other lanes; goes on behind them.
    pub fn take(&self, at: &mut usize, mask: u32) -> [u32; 32] {
        let mut values = [0; 32];
        for lane in lanes(mask) {
            values[lane] = self.0.get(*at).copied().unwrap_or_default();
            *at += 1;
        }
        values
    }
}
