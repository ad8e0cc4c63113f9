//! A fast product of matrices on the processor, by a library.

#![allow(unsafe_code, reason = "the library takes matrices by their addresses")]

use std::sync::atomic::{AtomicPtr, Ordering};

use rayon::prelude::*;

/// The library's function: it takes m, k, n, a factor, A and B with their strides, a factor, and C with its strides.
type Gemm<T> =
    unsafe fn(usize, usize, usize, T, *const T, isize, isize, *const T, isize, isize, T, *mut T, isize, isize);

/// A type of number that the library can multiply.
pub trait Element: Copy + From<f32> + Send + Sync {
    const GEMM: Gemm<Self>;
}

impl Element for f32 {
    const GEMM: Gemm<Self> = matrixmultiply::sgemm;
}

impl Element for f64 {
    const GEMM: Gemm<Self> = matrixmultiply::dgemm;
}

/// `c` (m×n) += `a` (m×k) · `b` (k×n), all row-major. Each core computes a tile of `c` at a time.
pub fn add_product<T: Element>(c: &mut [T], a: &[T], b: &[T], [n, k]: [usize; 2]) {
    let rows = c.len() / n;
    assert!(a.len() == rows * k && b.len() == k * n && c.len() == rows * n, "matrices of other sizes");
    let cores = rayon::current_num_threads();
    // Bands of rows, and also of columns if there are too few rows for all cores. A band has at least as many rows as the library
    // packs at once; otherwise B would be packed more often than it is used.
    let height = rows.div_ceil(cores).max(64);
    let bands = rows.div_ceil(height);
    let width = n.div_ceil(cores.div_ceil(bands)).max(256);
    let [across, depth] = [n, k].map(usize::cast_signed);
    let c = AtomicPtr::new(c.as_mut_ptr());
    (0..bands * n.div_ceil(width)).into_par_iter().for_each(|tile| {
        let (row, col) = (tile % bands * height, tile / bands * width);
        let (height, width) = (height.min(rows - row), width.min(n - col));
        let (a, b) = (a[row * k..].as_ptr(), b[col..].as_ptr());
        // SAFETY: by the lengths above, `a` has height × k elements from `row` on, `b` k × width from `col` on and `c` height ×
        // width from both on, with these strides. `c` is borrowed mutably, so it overlaps neither, and no two tiles overlap.
        unsafe {
            let c = c.load(Ordering::Relaxed).add(row * n + col);
            (T::GEMM)(height, k, width, 1.0.into(), a, depth, 1, b, across, 1, 1.0.into(), c, across, 1);
        }
    });
}
