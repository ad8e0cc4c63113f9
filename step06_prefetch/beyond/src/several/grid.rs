//! The grid of GPUs: C is cut into P × Q blocks, one for each GPU.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use common::basics::matrix::Side;

/// P × Q GPUs. GPU (i, j) has rank i·Q + j and computes block (i, j) of C.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// P: into how many bands of rows C is cut.
    pub rows: usize,
    /// Q: into how many bands of columns C is cut.
    pub cols: usize,
}

/// Which of `parts` nearly equal pieces of `0..size` is piece `i`. The first ones are longer by one if `parts` does not
/// divide `size`.
pub fn piece(size: u64, parts: usize, i: usize) -> Range<u64> {
    let (parts, i) = (parts as u64, i as u64);
    let start = |i: u64| i * (size / parts) + i.min(size % parts);
    start(i)..start(i + 1)
}

impl Grid {
    /// The grid of `gpus` GPUs that is closest to a square, with P ≤ Q: the squarer it is, the less travels.
    pub fn of(gpus: usize) -> Self {
        let rows = (1..=gpus).take_while(|rows| rows * rows <= gpus).filter(|rows| gpus.is_multiple_of(*rows)).last();
        let rows = rows.unwrap_or(1);
        Self { rows, cols: gpus / rows }
    }

    pub fn gpus(&self) -> usize {
        self.rows * self.cols
    }

    pub fn place(&self, rank: usize) -> (usize, usize) {
        (rank / self.cols, rank % self.cols)
    }

    /// The ranks that a rank shares panels with, itself among them: of A those of its row from left to right, of B those of its
    /// column from top to bottom.
    pub fn line(&self, side: Side, rank: usize) -> Vec<usize> {
        let (row, col) = self.place(rank);
        match side {
            Side::A => (0..self.cols).map(|col| row * self.cols + col).collect(),
            Side::B => (0..self.rows).map(|row| row * self.cols + col).collect(),
        }
    }
}

impl fmt::Display for Grid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}×{}", self.rows, self.cols)
    }
}

impl FromStr for Grid {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let sides: Vec<Option<usize>> = text.split(['x', '×']).map(|side| side.parse().ok()).collect();
        match sides.as_slice() {
            [Some(rows @ 1..=4096), Some(cols @ 1..=4096)] => Ok(Self { rows: *rows, cols: *cols }),
            _ => Err("not a grid; give rows and columns of GPUs, e.g. 2x2".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_are_as_square_as_they_can_be() {
        let grids = [1, 2, 3, 4, 6, 7, 8, 12, 64, 1024].map(|gpus| Grid::of(gpus).to_string());
        assert_eq!(grids, ["1×1", "1×2", "1×3", "2×2", "2×3", "1×7", "2×4", "3×4", "8×8", "32×32"]);
        assert_eq!("2x3".parse(), Ok(Grid { rows: 2, cols: 3 }));
        for wrong in ["", "2", "2x", "0x1", "2x2x2", "-1x2"] {
            assert!(wrong.parse::<Grid>().unwrap_err().contains("give rows"), "{wrong}");
        }
    }

    #[test]
    fn pieces_follow_each_other_and_differ_by_one_at_most() {
        for (size, parts) in [(10, 3), (7, 7), (16, 4), (1000, 6)] {
            let pieces: Vec<_> = (0..parts).map(|i| piece(size, parts, i)).collect();
            assert_eq!((pieces[0].start, pieces[parts - 1].end), (0, size));
            assert!(pieces.windows(2).all(|two| two[0].end == two[1].start));
            let lengths = pieces.iter().map(|piece| piece.end - piece.start);
            assert!(lengths.clone().max().unwrap() - lengths.min().unwrap() <= 1);
        }
    }
}
