//! The sizes at which the kernels and drivers of all steps are tried.

/// M, N, K: single elements, rows and columns, multiples of every tile and of none, and one more or less.
pub(super) const SHAPES: &[[u64; 3]] = &[
    [1, 1, 1],
    [1, 1, 33],
    [1, 40, 3],
    [31, 33, 35],
    [32, 32, 32],
    [64, 64, 64],
    [65, 63, 17],
    [1, 150, 70],
    [150, 1, 70],
    [129, 67, 45],
    [70, 140, 200],
    [33, 132, 520],
    [66, 67, 513],
    [130, 257, 8],
];
/// Shapes that fit one block and its shared memory, for a step that cannot compute others.
pub(super) const SMALL_SHAPES: &[[u64; 3]] =
    &[[1, 1, 1], [7, 5, 3], [32, 32, 100], [1, 1000, 9], [13, 17, 400], [33, 31, 1]];
/// More rows than one launch's grid can cover with tiles of 16 rows: 65,535 × 16. Steps with larger tiles need one launch.
pub(super) const TALL: [u64; 3] = [1_050_000, 2, 3];
