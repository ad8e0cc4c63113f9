//! Lanes of one instruction that access one place. If lanes store the same value there, it does no harm, but one of the stores is
//! needless. Lanes that load one place are checked together, because in kernels that multiply matrices many lanes read one element.

use crate::Access;
use crate::lanes::each;

/// Two lanes of one store that write the same unit of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Meeting {
    pub lanes: [usize; 2],
    /// The address at which the unit starts.
    pub address: u64,
    /// Whether both store the same bytes there.
    pub same: bool,
}

/// Returns the units that several lanes of a store write: one meeting for each lane but the first. A unit has `1 << unit` bytes.
pub(super) fn meetings(access: &Access<'_>, unit: u32) -> Vec<Meeting> {
    let (addresses, bytes) = (access.addresses, u64::from(access.bytes));
    let mut last = None;
    // Usually each lane stores to a higher address than the one before, and then no two lanes meet.
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
                meetings.push(Meeting { lanes: [first, lane], address, same });
            }
        }
    }
    meetings
}

fn same(access: &Access<'_>, first: usize, second: usize, address: u64, bytes: u32) -> bool {
    let Some(data) = access.data else { return false };
    let byte = |lane: usize, at: u64| {
        let at = (at - access.addresses[lane]) as usize;
        data[lane].get(at / 4).map(|word| word >> (8 * (at % 4)) & 0xff)
    };
    (address..address + u64::from(bytes)).all(|at| byte(first, at) == byte(second, at))
}

/// Groups lanes that have the same address, and returns the first lane and the mask of each group. It only compares neighbouring
/// lanes, or rows of eight lanes, so lanes with one address may still be in several groups.
pub(super) fn groups(addresses: &[u64; 32], lanes: u32) -> impl Iterator<Item = (usize, u32)> {
    // Whether every row of eight lanes has the addresses of the first row.
    let rows = lanes == u32::MAX && addresses[8..] == addresses[..24];
    let mut left = if rows { 0xff } else { lanes };
    std::iter::from_fn(move || {
        let first = left.trailing_zeros() as usize;
        let address = *addresses.get(first)?;
        let mut mask = 0;
        let mut lane = first;
        while lane < 32 && left >> lane & 1 != 0 && addresses[lane] == address {
            mask |= 1 << lane;
            left &= !(1 << lane);
            lane += 1;
        }
        Some((first, if rows { mask * 0x0101_0101 } else { mask }))
    })
}
