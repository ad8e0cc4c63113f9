//! The shapes at which a kernel is graded: their names, the hidden ones, and those for the hazard check.

use common::basics::mix::mix;

use crate::lab::task::Random;

/// Shapes as people write them, with commas between them.
pub fn names(sizes: &[[u64; 3]]) -> String {
    sizes.iter().map(|[m, n, k]| format!("{m}×{n}×{k}")).collect::<Vec<_>>().join(", ")
}

/// The smallest shape that is larger than a warp along two axes at least, for the hazard check; else the largest.
pub fn smallest_ragged(shapes: &[[u64; 3]]) -> Vec<[u64; 3]> {
    let volume = |shape: &[u64; 3]| shape.iter().product::<u64>();
    let ragged =
        shapes.iter().filter(|[m, n, k]| *m > 1 && *n > 1 && m * n > 32 && (m % 32 != 0 || n % 32 != 0) && *k > 1);
    // The whole tiles of the largest one let warps overtake each other.
    let mut chosen: Vec<[u64; 3]> = ragged.min_by_key(|shape| volume(shape)).into_iter().copied().collect();
    chosen.extend(shapes.iter().max_by_key(|shape| volume(shape).min(600_000)));
    chosen.dedup();
    chosen
}

/// Shapes that nobody can have prepared for, because they follow from the seed.
pub fn hidden(random: &Random, seed: u64) -> Vec<[u64; 3]> {
    let edge = |i: u64, axis: usize| {
        let steps = (random.most[axis] / random.multiple).max(1);
        random.multiple * (1 + mix(seed ^ (i * 3 + axis as u64)) % steps)
    };
    (0..random.count).map(|i| [0, 1, 2].map(|axis| edge(i, axis))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_shapes_follow_their_seed_and_stay_within_bounds() {
        let random = Random { count: 3, most: [100, 7, 1], multiple: 1 };
        assert_eq!(hidden(&random, 5), hidden(&random, 5));
        assert_ne!(hidden(&random, 5), hidden(&random, 6));
        for seed in 0..200 {
            for shape in hidden(&random, seed) {
                assert!((0..3).all(|axis| (1..=random.most[axis]).contains(&shape[axis])), "{shape:?}");
            }
            for shape in hidden(&Random { multiple: 32, most: [100, 96, 32], ..random.clone() }, seed) {
                assert!(shape.iter().all(|edge| [32, 64, 96].contains(edge)) && shape[2] == 32, "{shape:?}");
            }
        }
    }
}
