//! The plan: which GPU computes which block of C, the panels of K in order, who sends each panel to whom, and how much memory that
//! takes. It is plain data.
//!
//! C is cut into P × Q blocks, one for each GPU of a grid. Panel p of A is a band of columns, and panel p of B is a band of rows.
//! The GPUs of a row of the grid own its panels of A in turn, and the GPUs of a column own its panels of B in turn, so no GPU ever
//! has all of A or B.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use anyhow::{Result, ensure};
use common::basics::Side;

/// P × Q GPUs. GPU (i, j) has rank i·Q + j and computes block (i, j) of C.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// P, the number of bands of rows into which C is cut.
    pub rows: usize,
    /// Q, the number of bands of columns into which C is cut.
    pub cols: usize,
}

/// Piece `i` if `0..size` is cut into `parts` nearly equal pieces. The first ones are longer by one if `parts` does not divide
/// `size`.
fn piece(size: u64, parts: usize, i: usize) -> Range<u64> {
    let (parts, i) = (parts as u64, i as u64);
    let start = |i: u64| i * (size / parts) + i.min(size % parts);
    start(i)..start(i + 1)
}

impl Grid {
    /// The grid of `gpus` GPUs that is closest to a square, with P ≤ Q. The closer to a square, the less data travels.
    pub fn of(gpus: usize) -> Self {
        let rows = (1..=gpus.isqrt()).rev().find(|rows| gpus.is_multiple_of(*rows)).unwrap_or(1);
        Self { rows, cols: gpus / rows }
    }

    pub fn gpus(&self) -> usize {
        self.rows * self.cols
    }

    fn place(&self, rank: usize) -> (usize, usize) {
        (rank / self.cols, rank % self.cols)
    }

    /// The ranks with which a rank shares panels, itself included: for A its row from left to right, for B its column from top to
    /// bottom.
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

/// A product M×N×K on a grid of GPUs, in panels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    pub grid: Grid,
    /// M, N, K.
    pub size: [u64; 3],
    /// Steps of K in a panel.
    pub depth: u64,
    /// Columns of A and rows of B of each panel, in the order in which they are multiplied.
    pub panels: Vec<Range<u64>>,
}

pub fn length(range: &Range<u64>) -> u64 {
    range.end - range.start
}

impl Plan {
    /// Cuts K into panels of `depth`; the last one has the rest. Nothing hides the journey of the first panel, so it is an eighth
    /// as deep, unless there is only one GPU or `depth` is so small that it makes no difference.
    pub fn new(grid: Grid, size: [u64; 3], depth: u64) -> Result<Self> {
        let [m, n, k] = size;
        let depth = depth.min(k);
        for (size, parts, name) in [(m, grid.rows, "rows"), (n, grid.cols, "columns")] {
            ensure!(
                size >= parts as u64,
                "C has {size} {name} and the grid {grid} cuts them into {parts} bands; choose fewer GPUs or a larger --size"
            );
        }
        let first = if depth < 64 || grid.gpus() == 1 { depth } else { (depth / 8).next_multiple_of(8) };
        let starts = (1..).map(|p| first + (p - 1) * depth).take_while(|&start| start < k);
        let starts: Vec<u64> = std::iter::once(0).chain(starts).chain([k]).collect();
        Ok(Self { grid, size, depth, panels: starts.windows(2).map(|ends| ends[0]..ends[1]).collect() })
    }

    /// Rows and columns of C that a rank computes.
    pub fn block(&self, rank: usize) -> [Range<u64>; 2] {
        let ([m, n, _], (row, col)) = (self.size, self.grid.place(rank));
        [piece(m, self.grid.rows, row), piece(n, self.grid.cols, col)]
    }

    /// Rows and columns of a rank's part of a panel of A, or of B.
    pub fn part(&self, side: Side, panel: usize, rank: usize) -> [Range<u64>; 2] {
        let ([rows, cols], k) = (self.block(rank), self.panels[panel].clone());
        if side == Side::A { [rows, k] } else { [k, cols] }
    }

    /// The position, from the left or from the top, of the GPU that sends a panel to its line.
    pub fn root(&self, side: Side, panel: usize) -> usize {
        panel % if side == Side::A { self.grid.cols } else { self.grid.rows }
    }

    /// The rank from which a rank gets this panel: itself, or another rank of its line.
    pub fn sender(&self, side: Side, panel: usize, rank: usize) -> usize {
        self.grid.line(side, rank)[self.root(side, panel)]
    }

    /// The panels that this rank has from the start, in order.
    pub fn own(&self, side: Side, rank: usize) -> impl Iterator<Item = usize> {
        (0..self.panels.len()).filter(move |&panel| self.sender(side, panel, rank) == rank)
    }

    /// Bytes of a panel of this depth on a rank, for its rows of A or its columns of B.
    fn bytes_of(&self, side: Side, depth: u64, rank: usize) -> u64 {
        4 * depth * length(&self.block(rank)[side as usize])
    }

    pub fn panel_bytes(&self, side: Side, panel: usize, rank: usize) -> u64 {
        self.bytes_of(side, length(&self.panels[panel]), rank)
    }

    /// Bytes of each of the two buffers for panels of other ranks; 0 if there are no others.
    pub fn buffer_bytes(&self, side: Side, rank: usize) -> u64 {
        let deepest = self.panels.iter().map(length).max().unwrap_or(0);
        if self.grid.line(side, rank).len() == 1 { 0 } else { self.bytes_of(side, deepest, rank) }
    }

    /// Bytes that a rank takes on its GPU: its block of C, its panels of A, its panels of B, and all four buffers.
    pub fn bytes(&self, rank: usize) -> [u64; 4] {
        let c = self.block(rank).iter().map(length).product::<u64>() * 4;
        let [a, b] = Side::BOTH.map(|side| self.own(side, rank).map(|panel| self.panel_bytes(side, panel, rank)).sum());
        [c, a, b, 2 * Side::BOTH.map(|side| self.buffer_bytes(side, rank)).iter().sum::<u64>()]
    }
}

/// The usual depth of a panel, in steps of K: deep, because every panel costs a launch and an addition to C, but not so deep that
/// the buffers take much memory.
pub fn usual_depth(k: u64, gpus: usize) -> u64 {
    if gpus == 1 { k } else { (k / 2).clamp(1, 16_384).next_multiple_of(8).min(k.next_multiple_of(8)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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

    #[test]
    fn four_gpus_take_turns() {
        let grid = Grid { rows: 2, cols: 2 };
        let plan = Plan::new(grid, [5, 7, 10], 4).unwrap();
        assert_eq!(plan.panels, [0..4, 4..8, 8..10]);
        assert_eq!((plan.block(1), plan.block(2)), ([0..3, 4..7], [3..5, 0..4]));
        // Panel 1 of A comes from the right column, panel 1 of B from the lower row.
        assert_eq!((plan.sender(Side::A, 1, 2), plan.sender(Side::B, 1, 2)), (3, 2));
        assert!(plan.own(Side::A, 0).eq([0, 2]) && plan.own(Side::B, 3).eq([1]));
        // Three rows of A, three columns of B.
        assert_eq!(plan.bytes(1), [4 * 3 * 3, 4 * 3 * 4, 4 * 3 * 6, 4 * 4 * 3 * 4]);
        let depths = |grid, k, depth| -> Vec<u64> {
            Plan::new(grid, [8, 8, k], depth).unwrap().panels.iter().map(length).collect()
        };
        assert_eq!(depths(grid, 1000, 256), [32, 256, 256, 256, 200]);
        // A single GPU has no journey to wait for.
        assert_eq!(depths(Grid { rows: 1, cols: 1 }, 1000, 1000), [1000]);
        let usual = [(8192, 4), (64, 4), (3, 2), (99, 1)].map(|(k, gpus)| usual_depth(k, gpus));
        assert_eq!(usual, [4096, 32, 8, 99]);
        let error = Plan::new(Grid { rows: 3, cols: 2 }, [2, 4, 9], 4).unwrap_err().to_string();
        assert!(error.starts_with("C has 2 rows and the grid 3×2"), "{error}");
    }

    proptest! {
        /// Every panel has one sender on each line, the panels cover K once, and each line shares them out evenly.
        #[test]
        fn panels_cover_k_and_each_has_one_sender(rows in 1_usize..6, cols in 1_usize..6, k in 1_u64..300, depth in 1_u64..80) {
            let grid = Grid { rows, cols };
            let plan = Plan::new(grid, [9, 9, k], depth).unwrap();
            prop_assert_eq!(plan.panels.iter().map(length).sum::<u64>(), k);
            prop_assert!(plan.panels.windows(2).all(|two| two[0].end == two[1].start && length(&two[1]) > 0));
            for (rank, side) in (0..grid.gpus()).flat_map(|rank| Side::BOTH.map(|side| (rank, side))) {
                let members = grid.line(side, rank);
                prop_assert!(members.contains(&rank));
                for panel in 0..plan.panels.len() {
                    let sender = plan.sender(side, panel, rank);
                    prop_assert!(members.contains(&sender));
                    prop_assert!(members.iter().all(|&other| plan.sender(side, panel, other) == sender));
                }
                let own: Vec<usize> = members.iter().map(|&other| plan.own(side, other).count()).collect();
                prop_assert_eq!(own.iter().sum::<usize>(), plan.panels.len());
                prop_assert!(own.iter().max().unwrap() - own.iter().min().unwrap() <= 1);
            }
        }
    }
}
