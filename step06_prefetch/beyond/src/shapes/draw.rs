//! Random shapes: sides from 64 to 8192, small ones as likely as large ones.

/// The least and the greatest side.
const SIDES: [f64; 2] = [64.0, 8192.0];
/// The greatest K to which the rule is fitted: where a small C is deep, what a step of k costs decides how K is sliced.
const DEEPEST: f64 = 32_768.0;

/// So many shapes, in turns of two: sides that are multiples of 4, and sides none of which is. The same seed gives the same.
pub fn shapes(seed: u64, count: usize) -> Vec<[u64; 3]> {
    drawn(seed, count, SIDES[1])
}

/// So many shapes, drawn like those of [`shapes`], with a K of up to [`DEEPEST`].
pub fn deep_shapes(seed: u64, count: usize) -> Vec<[u64; 3]> {
    drawn(seed, count, DEEPEST)
}

fn drawn(seed: u64, count: usize, deepest: f64) -> Vec<[u64; 3]> {
    let mut state = seed;
    let [least, greatest] = SIDES;
    (0..count)
        .map(|at| {
            let mut side = |greatest: f64| {
                let side = (least.ln() + unit(&mut state) * (greatest / least).ln()).exp().round() as u64;
                match side % 4 {
                    rest if at % 2 == 0 => (side - rest).max(64),
                    0 => side + 1,
                    _ => side,
                }
            };
            [side(greatest), side(greatest), side(deepest)]
        })
        .collect()
}

/// A number from 0 to 1: splitmix64.
fn unit(state: &mut u64) -> f64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ z >> 31) >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_shapes_have_no_side_that_is_a_multiple_of_4() {
        let drawn = shapes(1, 400);
        for (at, sides) in drawn.iter().enumerate() {
            assert!(sides.iter().all(|side| (64..=8193).contains(side)), "{sides:?}");
            assert!(sides.iter().all(|side| side.is_multiple_of(4) == (at % 2 == 0)), "{sides:?}");
        }
        assert_eq!(drawn, shapes(1, 400));
        assert_ne!(drawn, shapes(2, 400));
        // What the rule is fitted to has the same sides, and goes deeper.
        let deep = deep_shapes(1, 400);
        assert!(deep.iter().zip(&drawn).all(|(deep, side)| deep[..2] == side[..2] && deep[2] >= side[2]));
        assert!(deep.iter().any(|deep| deep[2] > 16_384) && deep.iter().all(|deep| deep[2] <= 32_769));
        // As many below the geometric middle, 724, as above it.
        let small = drawn.iter().flatten().filter(|&&side| side < 724).count();
        assert!((500..700).contains(&small), "{small}");
    }
}
