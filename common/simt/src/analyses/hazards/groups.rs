//! Lanes of a load that read the same place, together: many lanes of a product's kernels read one element.

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
