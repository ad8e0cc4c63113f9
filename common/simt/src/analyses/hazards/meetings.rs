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

    #[test]
    fn every_lane_is_in_one_group_of_its_address() {
        let mut state = 1u32;
        let mut random = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state >> 16
        };
        for case in 0..200 {
            let some: [u64; 32] = std::array::from_fn(|_| u64::from(random() % 3));
            let addresses: [u64; 32] = std::array::from_fn(|lane| match case % 4 {
                0 => some[lane],
                1 => some[lane % 8],
                2 => some[0],
                _ => lane as u64,
            });
            let lanes = if case % 3 == 0 { random() << 16 | random() } else { u32::MAX };
            let mut seen = 0;
            for (first, mask) in groups(&addresses, lanes) {
                assert_eq!((seen & mask, mask.trailing_zeros() as usize), (0, first));
                assert!((0..32).all(|lane| mask >> lane & 1 == 0 || addresses[lane] == addresses[first]));
                seen |= mask;
            }
            assert_eq!(seen, lanes);
        }
        assert_eq!(groups(&[0; 32], u32::MAX).collect::<Vec<_>>(), [(0, u32::MAX)]);
        let rows: [u64; 32] = std::array::from_fn(|lane| lane as u64 % 8 / 4);
        assert_eq!(groups(&rows, u32::MAX).collect::<Vec<_>>(), [(0, 0x0f0f_0f0f), (4, 0xf0f0_f0f0)]);
    }
}
