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

impl Summary {
    #[inline(always)]
    pub fn of(addresses: &[u64; 32]) -> Self {
        let mut summary = Self { low: u64::MAX, high: 0, bits: 0, same: true, next: true };
        let mut expected = addresses[0];
        for &address in addresses {
            summary.low = summary.low.min(address);
            summary.high = summary.high.max(address);
            summary.bits |= address;
            summary.same &= address == addresses[0];
            summary.next &= address == expected;
            expected = expected.wrapping_add(4);
        }
        summary
    }
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
