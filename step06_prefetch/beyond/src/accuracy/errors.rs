//! How far a product is from the right one.

use chacha20::ChaCha8Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// Errors of some elements of C, each relative to |A|·|B|, the sum of the absolute values of its products.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Errors {
    pub worst: f64,
    /// Root of the mean square.
    pub rms: f64,
    /// Elements that are infinite or NaN although the right value is finite.
    pub lost: u32,
}

/// Some elements of a product: row and column, the exact sum, and |A|·|B|.
pub struct Expected(Vec<([usize; 2], [f64; 2])>);

impl Expected {
    /// The right values of `count` random elements of C (M×N), from A and B in row-major order. Each product of two `f32` is exact
    /// in `f64`, and a second sum collects the rounding errors of the first (Neumaier, "Rundungsfehleranalyse einiger Verfahren zur
    /// Summation endlicher Summen", 1974).
    pub fn of(a: &[f32], b: &[f32], [m, n, k]: [usize; 3], count: usize) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let mut below = |end: usize| (random.next_u64() % end as u64) as usize;
        let places: Vec<[usize; 2]> = (0..count).map(|_| [below(m), below(n)]).collect();
        let elements = places.into_par_iter().map(|[row, col]| {
            let (mut sum, mut lost, mut magnitude) = (0.0_f64, 0.0, 0.0);
            for (x, y) in a[row * k..(row + 1) * k].iter().zip(b[col..].iter().step_by(n)) {
                let product = f64::from(*x) * f64::from(*y);
                let next = sum + product;
                lost += if sum.abs() >= product.abs() { (sum - next) + product } else { (product - next) + sum };
                sum = next;
                magnitude += product.abs();
            }
            ([row, col], [sum + lost, magnitude])
        });
        Self(elements.collect())
    }

    /// The errors of C, which has `n` columns.
    pub fn errors(&self, c: &[f32], n: usize) -> Errors {
        let mut errors = Errors::default();
        let mut squares = 0.0;
        for &([row, col], [right, magnitude]) in &self.0 {
            let found = f64::from(c[row * n + col]);
            if !found.is_finite() {
                errors.lost += 1;
            } else if magnitude > 0.0 {
                let error = (found - right) / magnitude;
                errors.worst = errors.worst.max(error.abs());
                squares += error * error;
            }
        }
        let count = (self.0.len() as f64 - f64::from(errors.lost)).max(1.0);
        errors.rms = (squares / count).sqrt();
        errors
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_relative_to_what_was_added_up() {
        // 1·1 + 1·(-3) = -2, where |A|·|B| is 4.
        let expected = Expected::of(&[1.0, 1.0], &[1.0, -3.0], [1, 1, 2], 10);
        let errors = |c| expected.errors(&[c], 1);
        assert_eq!(errors(-2.0), Errors::default());
        assert_eq!(errors(-3.0), Errors { worst: 0.25, rms: 0.25, lost: 0 });
        assert_eq!(errors(-1.0), Errors { worst: 0.25, rms: 0.25, lost: 0 });
        assert_eq!(errors(f32::NAN).lost, 10);
    }

    #[test]
    fn the_expected_sum_keeps_what_float64_would_lose() {
        let big = 2_f32.powi(60);
        let expected = Expected::of(&[big, 1.0, -big], &[1.0; 3], [1, 1, 3], 1);
        assert_eq!(expected.0, [([0, 0], [1.0, 2.0 * f64::from(big) + 1.0])]);
    }
}
