//! Lanes of one access that meet in one place. Of a store, with the same value that does no harm, but one of them has done the other's
//! work. Of a load, they are looked at together: many lanes of a product's kernels read one element.

use crate::Access;
use crate::lanes::each;

/// Two lanes of one store meet in a unit of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Meeting {
    pub first: u32,
    pub second: u32,
    /// Where the unit starts.
    pub address: u64,
    /// Both store the same there.
    pub same: bool,
}

/// Where lanes of a store meet, each place once for each lane after the first; units are of `1 << unit` bytes.
pub(super) fn meetings(access: &Access<'_>, unit: u32) -> Vec<Meeting> {
    let (addresses, bytes) = (access.addresses, u64::from(access.bytes));
    let mut last = None;
    // Mostly every lane stores behind the one before.
    let apart = |lane: usize| last.replace(addresses[lane]).is_none_or(|last| addresses[lane] >= last + bytes);
    if each(access.lanes).all(apart) {
        return vec![];
    }
    let mut meetings = vec![];
    for lane in each(access.lanes) {
        let start = addresses[lane];
        for address in (start..start + bytes).step_by(1 << unit) {
            let holds = |&other: &usize| (addresses[other]..addresses[other] + bytes).contains(&address);
            if let Some(first) = each(access.lanes & ((1 << lane) - 1)).find(holds) {
                let same = same(access, first, lane, address, (1 << unit).min(access.bytes));
                meetings.push(Meeting { first: first as u32, second: lane as u32, address, same });
            }
        }
    }
    meetings
}

/// Whether two lanes store the same bytes to a place.
fn same(access: &Access<'_>, first: usize, second: usize, address: u64, bytes: u32) -> bool {
    let Some(data) = access.data else { return false };
    let byte = |lane: usize, at: u64| {
        let at = (at - access.addresses[lane]) as usize;
        data[lane].get(at / 4).map(|word| word >> (8 * (at % 4)) & 0xff)
    };
    (address..address + u64::from(bytes)).all(|at| byte(first, at) == byte(second, at))
}

/// The first lane and the mask of each group of lanes that have one address, as far as neighbours or rows of eight show it:
/// lanes of one address may still be in several groups.
pub(super) fn groups(addresses: &[u64; 32], lanes: u32) -> impl Iterator<Item = (usize, u32)> {
    // Rows of eight lanes that read the same as the first row.
    let rows = lanes == u32::MAX && addresses[8..] == addresses[..24];
    let mut left = if rows { 0xff } else { lanes };
    std::iter::from_fn(move || {
        let first = left.trailing_zeros() as usize;
        let address = *addresses.get(first)?;
        let mut mask = 0;
        let mut lane = first;
        while left >> lane & 1 != 0 && addresses[lane] == address {
            mask |= 1 << lane;
            left &= !(1 << lane);
            lane += 1;
            if lane == 32 {
                break;
            }
        }
        Some((first, if rows { mask * 0x0101_0101 } else { mask }))
    })
}
