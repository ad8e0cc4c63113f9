//! Sizes of problems: their names, and those that are there for the saw-tooth only.

/// The sizes that show the tiles' steps.
pub fn saw_tooth() -> Vec<[u64; 3]> {
    (1000..=1100).step_by(4).map(|edge| [edge; 3]).collect()
}

/// Whether a size is there for the saw-tooth only: 1000³ and 1024³ stand for themselves as well.
pub fn only_in_saw_tooth(size: [u64; 3]) -> bool {
    saw_tooth().contains(&size) && size[0] != 1000 && size[0] != 1024
}

/// `4096³` or `1000×777×513`.
pub fn size_words([m, n, k]: [u64; 3]) -> String {
    if m == n && n == k { format!("{m}³") } else { format!("{m}×{n}×{k}") }
}
