//! What the addresses of the 32 lanes of an access have in common.

/// What the addresses of a request have in common.
#[derive(Clone, Copy)]
pub(crate) struct Summary {
    pub low: u64,
    pub high: u64,
    /// All bits that are set in any of them.
    pub bits: u64,
    /// All the same.
    pub same: bool,
    /// Each 4 above the one before.
    pub next: bool,
}

/// Where the lanes' addresses of a base lie, in words.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct Pattern {
    pub index: [u32; 32],
    pub kind: Arrangement,
}

/// The frequent arrangements of 32 addresses.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arrangement {
    /// All the same.
    Broadcast,
    /// One word after the other.
    Contiguous,
    Scattered,
}
