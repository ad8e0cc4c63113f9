//! A product of matrices on the processor, as fast as a library makes it.

#![allow(unsafe_code, reason = "the library takes matrices by their addresses")]

use rayon::prelude::*;

/// What the library multiplies: sizes, a factor, A and B with their strides, a factor, and C with its strides.
type Gemm<T> =
    unsafe fn(usize, usize, usize, T, *const T, isize, isize, *const T, isize, isize, T, *mut T, isize, isize);

/// A number that the library multiplies.
pub trait Element: Copy + Send + Sync {
    const GEMM: Gemm<Self>;
    const ONE: Self;
}

impl Element for f32 {
    const GEMM: Gemm<Self> = matrixmultiply::sgemm;
    const ONE: Self = 1.0;
}

impl Element for f64 {
    const GEMM: Gemm<Self> = matrixmultiply::dgemm;
    const ONE: Self = 1.0;
}

/// `c` (m×n) += `a` (m×k) · `b` (k×n), all row-major, a band of rows on each core.
pub fn add_product<T: Element>(c: &mut [T], a: &[T], b: &[T], [n, k]: [usize; 2]) {
    let rows = c.len() / n;
    // Not fewer rows than a kernel of the library packs at once, so that B is not packed more often than it is used.
    let band = rows.div_ceil(rayon::current_num_threads()).max(64);
    assert!(a.len() == rows * k && b.len() == k * n && c.len() == rows * n, "matrices of other sizes");
    let [width, depth] = [n, k].map(usize::cast_signed);
    c.par_chunks_mut(band * n).zip(a.par_chunks(band * k)).for_each(|(c, a)| {
        let rows = c.len() / n;
        let (a, b, c) = (a.as_ptr(), b.as_ptr(), c.as_mut_ptr());
        // SAFETY: by the lengths above, `a` holds rows × k elements, `b` k × n and `c` rows × n, with these strides, and
        // `c` is borrowed mutably, so that it overlaps neither.
        unsafe { (T::GEMM)(rows, k, n, T::ONE, a, depth, 1, b, width, 1, T::ONE, c, width, 1) }
    });
}
