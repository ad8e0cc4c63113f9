//! The plan: the panels of K in order, and who sends each of them to whom. Plain data, the same on every GPU.
//!
//! Panel p of A is a band of columns, panel p of B a band of rows. The panels of a row of the grid are dealt out to its
//! GPUs in turn, and so are those of a column: no GPU ever has all of A or of B.

use std::ops::Range;

use super::grid::{Grid, Line};

/// One panel of A and one of B, and the piece of K that both are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Panel {
    /// Columns of A, rows of B.
    pub k: Range<u64>,
    /// Column of the grid whose GPUs have this panel of A.
    pub a_from: usize,
    /// Row of the grid whose GPUs have this panel of B.
    pub b_from: usize,
}

impl Panel {
    pub fn depth(&self) -> u64 {
        self.k.end - self.k.start
    }
}

/// All panels of a product.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Panels {
    pub grid: Grid,
    /// In the order in which they are multiplied.
    pub panels: Vec<Panel>,
}

impl Panels {
    /// Cuts `k` into panels of `depth`, the last one with the rest. Nothing hides the journey of the first panel: it is an eighth
    /// as deep, if there is a journey and `depth` is not so small that it makes no difference.
    pub fn new(grid: Grid, k: u64, depth: u64) -> Self {
        let first = if depth < 64 || grid.gpus() == 1 { depth } else { (depth / 8).next_multiple_of(8) };
        let mut panels: Vec<Panel> = Vec::new();
        let mut start = 0;
        while start < k {
            let p = panels.len();
            let end = k.min(start + if p == 0 { first } else { depth });
            panels.push(Panel { k: start..end, a_from: p % grid.cols, b_from: p % grid.rows });
            start = end;
        }
        Self { grid, panels }
    }

    /// Which GPU of a line sends a panel, counted from the left or from the top.
    pub fn root(&self, panel: usize, line: Line) -> usize {
        let panel = &self.panels[panel];
        if line == Line::Row { panel.a_from } else { panel.b_from }
    }

    /// The rank that sends a panel along this line, seen from a rank of the line.
    pub fn sender(&self, panel: usize, line: Line, rank: usize) -> usize {
        self.grid.line(line, rank)[self.root(panel, line)]
    }

    /// Panels of a line that this rank has from the start, in order.
    pub fn own(&self, line: Line, rank: usize) -> Vec<usize> {
        (0..self.panels.len()).filter(|&panel| self.sender(panel, line, rank) == rank).collect()
    }

    /// Steps of K of the panels of a line that come before `panel` in this rank's own store.
    pub fn own_depth_before(&self, line: Line, rank: usize, panel: usize) -> u64 {
        self.own(line, rank).iter().take_while(|&&own| own < panel).map(|&own| self.panels[own].depth()).sum()
    }

    /// The deepest panel, in steps of K.
    pub fn deepest(&self) -> u64 {
        self.panels.iter().map(Panel::depth).max().unwrap_or(0)
    }
}

/// The usual depth of a panel, in steps of K: deep, because every panel is a launch and is added to C, but not so deep that the
/// buffers take much memory.
pub fn usual_depth(k: u64, gpus: usize) -> u64 {
    if gpus == 1 {
        return k;
    }
    (k / 2).clamp(1, 16_384).next_multiple_of(8).min(k.next_multiple_of(8))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn four_gpus_take_turns() {
        let plan = Panels::new(Grid { rows: 2, cols: 2 }, 10, 4);
        let k: Vec<_> = plan.panels.iter().map(|panel| panel.k.clone()).collect();
        assert_eq!(k, [0..4, 4..8, 8..10]);
        // Panel 1 of A comes from the right column, panel 1 of B from the lower row.
        assert_eq!((plan.sender(1, Line::Row, 2), plan.sender(1, Line::Column, 2)), (3, 2));
        assert_eq!((plan.own(Line::Row, 0), plan.own(Line::Column, 3)), (vec![0, 2], vec![1]));
        let depths: Vec<u64> = Panels::new(plan.grid, 1000, 256).panels.iter().map(Panel::depth).collect();
        assert_eq!(depths, [32, 256, 256, 256, 200]);
        // One GPU alone has nothing to wait for.
        assert_eq!(Panels::new(Grid { rows: 1, cols: 1 }, 1000, 1000).panels.len(), 1);
        assert_eq!((plan.own_depth_before(Line::Row, 0, 2), plan.deepest()), (4, 4));
        assert_eq!(
            (usual_depth(8192, 4), usual_depth(64, 4), usual_depth(3, 2), usual_depth(99, 1)),
            (4096, 32, 8, 99)
        );
    }

    proptest! {
        /// Every panel has one sender on each line, the panels cover K once, and a store is dealt out evenly.
        #[test]
        fn panels_cover_k_and_each_has_one_sender(rows in 1_usize..6, cols in 1_usize..6, k in 1_u64..300, depth in 1_u64..80) {
            let grid = Grid { rows, cols };
            let plan = Panels::new(grid, k, depth);
            prop_assert_eq!(plan.panels.iter().map(Panel::depth).sum::<u64>(), k);
            prop_assert!(plan.panels.windows(2).all(|two| two[0].k.end == two[1].k.start));
            for rank in 0..grid.gpus() {
                for line in Line::BOTH {
                    let members = plan.grid.line(line, rank);
                    prop_assert!(members.contains(&rank));
                    for panel in 0..plan.panels.len() {
                        let sender = plan.sender(panel, line, rank);
                        prop_assert!(members.contains(&sender));
                        prop_assert!(members.iter().all(|&other| plan.sender(panel, line, other) == sender));
                    }
                    let own: Vec<usize> = members.iter().map(|&other| plan.own(line, other).len()).collect();
                    prop_assert_eq!(own.iter().sum::<usize>(), plan.panels.len());
                    prop_assert!(own.iter().max().unwrap() - own.iter().min().unwrap() <= 1);
                }
            }
        }
    }
}
