//! Lanes of one store that write the same place. With the same value that does no harm, and one of them has done the
//! other's work.

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AccessKind, Space};

    fn meetings_of(
        lanes: u32,
        bytes: u32,
        address: impl Fn(u64) -> u64,
        word: impl Fn(usize, usize) -> u32,
    ) -> Vec<Meeting> {
        let addresses = std::array::from_fn(|lane| address(lane as u64));
        let data = std::array::from_fn(|lane| std::array::from_fn(|part| word(lane, part)));
        let access = Access::new((0, 0, lanes), (AccessKind::Store, Space::Shared), bytes, &addresses);
        meetings(&Access { data: Some(&data), ..access }, if bytes < 4 { 0 } else { 2 })
    }

    fn meeting(first: u32, second: u32, address: u64, same: bool) -> Meeting {
        Meeting { first, second, address, same }
    }

    #[test]
    fn every_unit_is_compared() {
        assert_eq!(meetings_of(u32::MAX, 8, |lane| 8 * lane, |lane, _| lane as u32), []);
        assert_eq!(meetings_of(u32::MAX, 4, |lane| 400 - 4 * lane, |lane, _| lane as u32), []);
        let second = |lane: usize, part: usize| if part == 1 { lane as u32 } else { 7 };
        assert_eq!(
            meetings_of(0b1010, 8, |_| 32, second),
            [meeting(1, 3, 32, true), meeting(1, 3, 36, false)],
            "a vector's second element"
        );
        // Vectors that meet in part: the second word of lane 0 and the first of lane 1.
        let words = |lane: usize, part: usize| (lane + part) as u32;
        assert_eq!(meetings_of(0b11, 8, |lane| 4 * lane, words), [meeting(0, 1, 4, true)]);
        assert_eq!(meetings_of(0b111, 4, |_| 8, |_, _| 1), [meeting(0, 1, 8, true), meeting(0, 2, 8, true)]);
        assert_eq!(meetings_of(0b11, 1, |_| 6, |lane, _| 0x100 * lane as u32 + 5), [meeting(0, 1, 6, true)]);
    }
}
