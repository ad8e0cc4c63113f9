//! A, B and C: small numbers whose sums are exact, so that a product is right or wrong and nothing in between.

use plan::{Dtype, Fill};

/// Their numbers among the arrays of a run.
pub(crate) const A: usize = 0;
pub(crate) const B: usize = 1;
pub(crate) const C: usize = 2;

/// A number that looks random, of two numbers.
fn mixed(seed: u32, index: u32) -> u32 {
    let mut x = index.wrapping_mul(0x9e37_79b9) ^ seed.wrapping_mul(0x85eb_ca6b);
    x = (x ^ x >> 16).wrapping_mul(0x7feb_352d);
    x = (x ^ x >> 15).wrapping_mul(0x846c_a68b);
    x ^ x >> 16
}

/// The elements of matrix number `seed`, as bits: whole numbers from 1 to 9, or quarters from -2 to 2 (integers from -9 to 9), none of
/// them zero.
pub fn elements(seed: u32, count: u32, dtype: Dtype, fill: Fill) -> Vec<u32> {
    let element = |index: u32| {
        let word = mixed(seed, index);
        let positive = (word % 9) as i32 + 1;
        match (dtype, fill) {
            (Dtype::I32, Fill::Integers) => positive as u32,
            (Dtype::F32, Fill::Integers) => (positive as f32).to_bits(),
            (Dtype::I32, Fill::Uniform) => (if word >> 16 & 1 == 0 { positive } else { -positive }) as u32,
            (Dtype::F32, Fill::Uniform) => {
                let quarters = (word % 8) as f32 + 1.0;
                (if word >> 16 & 1 == 0 { quarters } else { -quarters } / 4.0).to_bits()
            }
        }
    };
    (0..count).map(element).collect()
}

/// C = A·B, as bits.
pub fn product(a: &[u32], b: &[u32], [m, n, k]: [u32; 3], dtype: Dtype) -> Vec<u32> {
    let (m, n, k) = (m as usize, n as usize, k as usize);
    let mut c = Vec::with_capacity(m * n);
    for row in 0..m {
        for column in 0..n {
            let pairs = (0..k).map(|i| (a[row * k + i], b[i * n + column]));
            c.push(match dtype {
                Dtype::F32 => {
                    let double = |bits: u32| f64::from(f32::from_bits(bits));
                    (pairs.map(|(a, b)| double(a) * double(b)).sum::<f64>() as f32).to_bits()
                }
                Dtype::I32 => pairs.fold(0_u32, |sum, (a, b)| sum.wrapping_add(a.wrapping_mul(b))),
            });
        }
    }
    c
}

/// Whether two elements are equal as numbers: NaN is equal to nothing.
#[allow(clippy::float_cmp)] // Sums of such numbers are exact.
pub fn equal(one: u32, other: u32, dtype: Dtype) -> bool {
    match dtype {
        Dtype::F32 => f32::from_bits(one) == f32::from_bits(other),
        Dtype::I32 => one == other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_exact_in_single_precision_and_no_element_is_zero() {
        for fill in [Fill::Uniform, Fill::Integers] {
            let a = elements(1, 4096, Dtype::F32, fill);
            // Quarters times quarters: a sum of sixteenths, and all of them fit 24 bits.
            assert!(a.iter().all(|&bits| (f32::from_bits(bits) * 4.0).fract() == 0.0 && bits << 1 != 0));
            assert!(a.iter().all(|&bits| f32::from_bits(bits).abs() <= 9.0), "64 * 81 * 16 < 2^24");
        }
        assert_ne!(elements(1, 64, Dtype::I32, Fill::Uniform), elements(2, 64, Dtype::I32, Fill::Uniform));
        assert!(!equal(Dtype::F32.poison(), Dtype::F32.poison(), Dtype::F32));
    }
}
