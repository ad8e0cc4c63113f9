//! Rows of C, wherever C is: how many of them are on the host at a time, and which are chosen if there are too many.

use anyhow::Result;

use crate::progress::Progress;
use plan::Problem;

/// Copies whole rows of C, wherever C is, from a row on, as the bits of the elements.
pub type Rows<'a> = dyn FnMut(u64, &mut [u32]) -> Result<()> + 'a;

/// C on the host, row-major, with `n` columns.
pub fn host_rows(words: &[u32], n: u64) -> impl FnMut(u64, &mut [u32]) -> Result<()> {
    move |first, rows| {
        let start = (first * n) as usize;
        rows.copy_from_slice(&words[start..start + rows.len()]);
        Ok(())
    }
}

/// The most elements of C that are on the host at a time.
const PANEL_ELEMENTS: u64 = 8 << 20;

/// Rows of C on the host at a time.
pub fn panel_rows(problem: &Problem) -> u64 {
    (PANEL_ELEMENTS / problem.n).clamp(1, problem.m)
}

/// Calls `look` for all rows of C, a panel at a time, with the number of the panel's first row. The progress bar shows `doing`.
pub fn each_panel(doing: &str, problem: &Problem, c: &mut Rows, mut look: impl FnMut(u64, &[u32])) -> Result<()> {
    let (panel, progress) = (panel_rows(problem), Progress::new(doing, problem.m));
    let mut words = vec![0_u32; (panel * problem.n) as usize];
    for first in (0..problem.m).step_by(panel as usize) {
        let rows = (problem.m - first).min(panel);
        let words = &mut words[..(rows * problem.n) as usize];
        c(first, words)?;
        look(first, words);
        progress.add(rows);
    }
    Ok(())
}

/// At most `most` of the items. The first half of them come from the start, the others are spread over the rest.
pub fn spread<T: Copy>(items: &[T], most: usize) -> Vec<T> {
    if items.len() <= most {
        return items.to_vec();
    }
    let (head, tail) = items.split_at(most / 2);
    let step = tail.len().div_ceil(most / 2);
    // Steps back from the end, so that the last item is among them.
    let spread: Vec<&T> = tail.iter().rev().step_by(step).collect();
    head.iter().chain(spread.into_iter().rev()).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_items_are_all_kept_and_of_many_the_first_half_and_the_last() {
        assert_eq!(spread(&[1, 2, 3, 4], 4), [1, 2, 3, 4]);
        assert_eq!(spread(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9], 4), [0, 1, 5, 9]);
        let items: Vec<u32> = (0..1000).collect();
        let spread = spread(&items, 64);
        assert!(spread.len() <= 64 && spread[..32] == items[..32] && spread.last() == Some(&999));
    }

    #[test]
    fn a_panel_is_some_rows_and_at_least_one() {
        const ALL: u64 = 8 << 20;
        let rows = |n| panel_rows(&Problem::uniform([9, n, 1]));
        assert_eq!([1, ALL / 2, ALL / 3, 2 * ALL].map(rows), [9, 2, 3, 1]);
    }
}
