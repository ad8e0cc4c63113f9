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

/// The number to show of a word. Whole numbers around zero, whose bits no usual `f32` has, are shown as such: words may hold counts.
/// All bits are set in a word that holds nothing.
pub fn shown(bits: u32, dtype: Dtype) -> f64 {
    let whole = bits as i32;
    if (1 - (1 << 23)..1 << 23).contains(&whole) && whole != -1 { f64::from(whole) } else { dtype.value(bits) }
}

/// The elements of matrix number `seed`, as bits: whole numbers from 1 to 9, or quarters from -2 to 2 (integers from -9 to 9), none of
/// them zero.
pub fn elements(seed: u32, count: u32, dtype: Dtype, fill: Fill) -> Vec<u32> {
    let element = |index: u32| {
        let word = mixed(seed, index);
        let sign = if word >> 16 & 1 == 0 { 1.0 } else { -1.0 };
        let number = match (dtype, fill) {
            (_, Fill::Integers) => f64::from(word % 9 + 1),
            (Dtype::I32, Fill::Uniform) => sign * f64::from(word % 9 + 1),
            (Dtype::F32, Fill::Uniform) => sign * f64::from(word % 8 + 1) / 4.0,
        };
        dtype.bits(number)
    };
    (0..count).map(element).collect()
}

/// C = A·B, as bits.
pub fn product(a: &[u32], b: &[u32], [m, n, k]: [u32; 3], dtype: Dtype) -> Vec<u32> {
    let [m, n, k] = [m, n, k].map(|side| side as usize);
    let element = |at: usize| {
        let pairs = (0..k).map(|i| [a[at / n * k + i], b[i * n + at % n]].map(|bits| dtype.value(bits)));
        dtype.bits(pairs.map(|[a, b]| a * b).sum())
    };
    (0..m * n).map(element).collect()
}

/// Whether two elements are equal as numbers: NaN is equal to nothing.
#[allow(clippy::float_cmp)] // Sums of such numbers are exact.
pub fn equal(one: u32, other: u32, dtype: Dtype) -> bool {
    dtype.value(one) == dtype.value(other)
}
