//! What an instruction does beside writing registers.

use simt::{AccessKind, Space};

/// Something that an instruction does beside writing registers.
#[derive(Debug)]
pub enum Effect {
    /// An access to memory, or an asynchronous copy.
    Request(Box<Request>),
    /// Words that are written: the array (none for shared memory), the place and the value of each.
    Writes(Vec<(Option<usize>, u32, u32)>),
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

/// An access to memory, or an asynchronous copy from global memory.
#[derive(Debug)]
pub struct Request {
    /// Of an asynchronous copy: that it is the source of one.
    pub kind: AccessKind,
    pub space: Space,
    /// The array of global memory; none of a copy that only writes zeros.
    pub array: Option<usize>,
    pub lanes: u32,
    /// Bytes of a lane.
    pub bytes: u32,
    /// In bytes from the start of the array, or of shared memory.
    pub addresses: [u32; 32],
    pub copy: Option<Box<Target>>,
}

/// Where an asynchronous copy goes.
#[derive(Debug)]
pub struct Target {
    /// Whether it goes past the first-level cache.
    pub bypass: bool,
    /// Bytes that each lane reads; the rest of what it writes are zeros.
    pub source_bytes: [u32; 32],
    /// Where each lane writes, in bytes from the start of shared memory.
    pub to: [u32; 32],
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

impl Request {
    /// The lanes that go to their addresses: of a copy those that read something.
    pub fn asking(&self) -> u32 {
        let Some(copy) = &self.copy else { return self.lanes };
        lanes(self.lanes).filter(|&lane| copy.source_bytes[lane] > 0).fold(0, |mask, lane| mask | 1 << lane)
    }

    /// The words of global and shared memory that it touches.
    pub fn touched(&self) -> Vec<Touched> {
        let mut all = vec![];
        if self.space == Space::Local {
            return all;
        }
        let mut touch = |array: Option<usize>, lane: usize, address: u32, bytes: u32, [reads, writes]: [bool; 2]| {
            all.extend(words(address, bytes).map(|word| Touched { array, word, lane, reads, writes }));
        };
        if let Some(copy) = &self.copy {
            lanes(self.lanes).for_each(|lane| touch(None, lane, copy.to[lane], self.bytes, [false, true]));
        }
        let how = [self.kind != AccessKind::Store, matches!(self.kind, AccessKind::Store | AccessKind::Atomic)];
        for lane in lanes(self.asking()) {
            let bytes = self.copy.as_ref().map_or(self.bytes, |copy| copy.source_bytes[lane]);
            touch(self.array, lane, self.addresses[lane], bytes, how);
        }
        all
    }
}

impl Effect {
    /// Bytes of memory that it takes.
    pub fn memory(&self) -> usize {
        let more = match self {
            Self::Request(request) => size_of::<Request>() + request.copy.as_ref().map_or(0, |_| size_of::<Target>()),
            Self::Writes(words) => size_of_val(&words[..]),
            Self::Product(pieces) => 4 * pieces.len(),
            Self::Commit | Self::Wait(_) | Self::Arrive | Self::Exit(_) => 0,
        };
        size_of::<Self>() + more
    }

    /// The access to memory, or the copy, that it is.
    pub fn request(&self) -> Option<&Request> {
        if let Self::Request(request) = self { Some(request) } else { None }
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
