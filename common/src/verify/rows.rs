//! Rows of C, wherever C is, and how many of them are on the host at a time.

use anyhow::Result;

use crate::problem::Problem;

/// Rows of C, wherever C is.
pub trait Rows {
    /// Copies whole rows of C, from row `first` on, into `words`: the bits of the elements.
    fn read(&mut self, first: u64, words: &mut [u32]) -> Result<()>;
}

/// C on the host, row-major.
pub struct HostRows<'a> {
    /// The bits of all elements.
    pub words: &'a [u32],
    /// Columns.
    pub n: u64,
}

impl Rows for HostRows<'_> {
    fn read(&mut self, first: u64, words: &mut [u32]) -> Result<()> {
        let start = (first * self.n) as usize;
        words.copy_from_slice(&self.words[start..start + words.len()]);
        Ok(())
    }
}

/// Elements of C that are on the host at a time, at most.
const PANEL_ELEMENTS: u64 = 8 << 20;

/// Rows of C on the host at a time.
pub fn panel_rows(problem: &Problem) -> u64 {
    (PANEL_ELEMENTS / problem.n).clamp(1, problem.m)
}
