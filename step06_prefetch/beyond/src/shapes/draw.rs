//! Random shapes: sides from 64 to 8192, small ones as likely as large ones.

use common::basics::mix;

/// The least and the greatest side.
const SIDES: [f64; 2] = [64.0, 8192.0];
/// The greatest K to which the rule is fitted. For a small, deep C the cost of a step of k decides how K is sliced.
const DEEPEST: f64 = 32_768.0;

/// `count` shapes: in turn, one whose sides are all multiples of 4 and one with no such side. The same seed gives the same shapes;
/// with `are_deep`, only their K is different.
pub fn shapes(seed: u64, count: usize, are_deep: bool) -> Vec<[u64; 3]> {
    let [least, greatest] = SIDES;
    let side = |number: usize, greatest: f64| {
        // SplitMix64, whose state is the seed plus `number` times the golden ratio.
        let bits = mix(seed.wrapping_add((number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        let unit = (bits >> 11) as f64 / (1_u64 << 53) as f64;
        let side = (least.ln() + unit * (greatest / least).ln()).exp().round() as u64;
        match side % 4 {
            rest if (number / 3).is_multiple_of(2) => (side - rest).max(64),
            0 => side + 1,
            _ => side,
        }
    };
    let deepest = if are_deep { DEEPEST } else { greatest };
    let shape = |at: usize| [side(3 * at, greatest), side(3 * at + 1, greatest), side(3 * at + 2, deepest)];
    (0..count).map(shape).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_shapes_have_no_side_that_is_a_multiple_of_4() {
        let drawn = shapes(1, 400, false);
        for (at, sides) in drawn.iter().enumerate() {
            assert!(sides.iter().all(|side| (64..=8193).contains(side)), "{sides:?}");
            assert!(sides.iter().all(|side| side.is_multiple_of(4) == (at % 2 == 0)), "{sides:?}");
        }
        assert_eq!(drawn, shapes(1, 400, false));
        assert_ne!(drawn, shapes(2, 400, false));
        // Records name only the seed, so it must keep giving these shapes.
        assert_eq!(shapes(20_261_124, 3, false), [[728, 188, 4300], [301, 438, 1946], [5824, 3828, 268]]);
        // The shapes to which the rule is fitted have the same M and N, and a larger K.
        let deep = shapes(1, 400, true);
        assert!(deep.iter().zip(&drawn).all(|(deep, side)| deep[..2] == side[..2] && deep[2] >= side[2]));
        assert!(deep.iter().any(|deep| deep[2] > 16_384) && deep.iter().all(|deep| deep[2] <= 32_769));
        // About as many sides are below the geometric middle, 724, as above it.
        let small = drawn.iter().flatten().filter(|&&side| side < 724).count();
        assert!((500..700).contains(&small), "{small}");
    }
}
