//! A model of the time: how the product goes on to more GPUs than were measured.
//!
//! A panel is multiplied in rounds: as many tiles of C at a time as the GPU has SMs; with overlap the last round of a panel has
//! tiles of the next one as well. A panel travels along its line as a
//! broadcast does that passes pieces on from GPU to GPU: at the rate of the slowest link on the way, after a delay for each
//! step. With overlap the longer of the two decides, and the first journey comes before everything.

use serde::{Deserialize, Serialize};

use super::grid::{Grid, Line};
use super::plan::{Panels, usual_depth};

/// Rows and columns of C in a tile of the kernel for large products.
const TILE: [u64; 2] = [128, 256];

/// What the model knows of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Streaming multiprocessors of a GPU.
    pub sms: u64,
    /// 10⁹ operations a second of one SM that always has a tile.
    pub gflops_per_sm: f64,
    /// Rate of a broadcast within a machine, in 10⁹ bytes a second.
    pub link_gb_per_s: f64,
    /// Delay of a broadcast for each GPU that passes it on, in microseconds.
    pub delay_us: f64,
    /// Rate at which a panel's product is added to C, in 10⁹ bytes of C a second.
    pub add_gb_per_s: f64,
    /// GPUs in one machine.
    pub gpus_per_machine: usize,
    /// Rate of each GPU's network adapter, in 10⁹ bytes a second.
    pub network_gb_per_s: f64,
}

impl Machine {
    /// Milliseconds for one panel of this depth on a block of C of m×n that is stored, with nothing else beside it.
    pub fn multiply_ms(&self, m: u64, n: u64, depth: u64) -> f64 {
        self.rounds(m, n).ceil() * self.round_ms(depth)
    }

    /// Milliseconds for one panel if the next panel's tiles follow as soon as an SM is free.
    fn followed_ms(&self, m: u64, n: u64, depth: u64) -> f64 {
        // There are two panels at a time at most.
        self.rounds(m, n).max(0.5) * self.round_ms(depth)
    }

    /// Tiles of a block of C for each SM.
    fn rounds(&self, m: u64, n: u64) -> f64 {
        (m.div_ceil(TILE[0]) * n.div_ceil(TILE[1])) as f64 / self.sms as f64
    }

    /// Milliseconds of one tile on each SM.
    fn round_ms(&self, depth: u64) -> f64 {
        2.0 * (TILE[0] * TILE[1] * depth) as f64 / self.gflops_per_sm / 1e6
    }

    /// Milliseconds more if the block is added.
    pub fn add_ms(&self, m: u64, n: u64) -> f64 {
        (m * n * 4) as f64 / self.add_gb_per_s / 1e6
    }

    /// Milliseconds that so many bytes take along a line of the grid. Ranks are numbered along the rows of the grid, and the
    /// first ranks are on the first machine.
    pub fn travel_ms(&self, grid: Grid, line: Line, bytes: u64) -> f64 {
        let members = if line == Line::Row { grid.cols } else { grid.rows };
        if members <= 1 {
            return 0.0;
        }
        let within = match line {
            Line::Row => grid.cols <= self.gpus_per_machine,
            Line::Column => grid.gpus() <= self.gpus_per_machine,
        };
        let rate = if within { self.link_gb_per_s } else { self.link_gb_per_s.min(self.network_gb_per_s) };
        bytes as f64 / rate / 1e6 + (members - 1) as f64 * self.delay_us / 1e3
    }

    /// Milliseconds of a product n×n×n in panels of the usual depth, or of another one.
    pub fn product_ms(&self, grid: Grid, n: u64, depth: Option<u64>, overlap: bool) -> f64 {
        let depth = depth.unwrap_or_else(|| usual_depth(n, grid.gpus())).min(n);
        let [rows, cols] = [n.div_ceil(grid.rows as u64), n.div_ceil(grid.cols as u64)];
        let mut total = 0.0;
        let panels = Panels::new(grid, n, depth);
        for (p, panel) in panels.panels.iter().enumerate() {
            let add = if p == 0 { 0.0 } else { self.add_ms(rows, cols) };
            // The second panel waits for the first one, which stores C.
            let followed = overlap && p > 0 && p + 1 < panels.panels.len();
            let of = if followed { Self::followed_ms } else { Self::multiply_ms };
            let multiply = of(self, rows, cols, panel.depth()) + add;
            let travel = |depth: u64| {
                self.travel_ms(grid, Line::Row, rows * depth * 4) + self.travel_ms(grid, Line::Column, cols * depth * 4)
            };
            let next = panels.panels.get(p + 1).map_or(0.0, |next| travel(next.depth()));
            if p == 0 {
                total += travel(panel.depth());
            }
            total += if overlap { multiply.max(next) } else { multiply + next };
        }
        total
    }

    /// The time of one GPU over the time of `grid`, for each of its GPUs: 1 is perfect. The one GPU has the same problem.
    pub fn strong(&self, grid: Grid, n: u64, overlap: bool) -> f64 {
        let alone = self.product_ms(Grid { rows: 1, cols: 1 }, n, None, true);
        alone / self.product_ms(grid, n, None, overlap) / grid.gpus() as f64
    }

    /// The speed of each GPU over that of one alone, for problems that grow with the memory of all GPUs: the one GPU has a problem n×n×n.
    pub fn weak(&self, grid: Grid, n: u64) -> f64 {
        let gpus = grid.gpus() as f64;
        let larger = ((n as f64 * gpus.sqrt()) as u64).next_multiple_of(128);
        let alone = self.product_ms(Grid { rows: 1, cols: 1 }, n, None, true);
        let work = (larger as f64 / n as f64).powi(3);
        alone * work / gpus / self.product_ms(grid, larger, None, true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MACHINE: Machine = Machine {
        sms: 132,
        gflops_per_sm: 400.0,
        link_gb_per_s: 300.0,
        delay_us: 20.0,
        add_gb_per_s: 2000.0,
        gpus_per_machine: 8,
        network_gb_per_s: 50.0,
    };

    #[test]
    fn a_panel_worked_out_by_hand() {
        // 33,792 × 128 are 132 × 2 tiles of 128×256: two rounds of 2·128·256·1000 operations at 400 GFLOP/s.
        let rounds = 2.0 * 2.0 * 128.0 * 256.0 * 1000.0 / 400.0 / 1e6;
        assert!((MACHINE.multiply_ms(264 * 128, 256, 1000) - rounds).abs() < 1e-9);
        assert!((MACHINE.add_ms(1000, 500_000) - 1.0).abs() < 1e-9);
        let grid = Grid { rows: 2, cols: 2 };
        assert!((MACHINE.travel_ms(grid, Line::Row, 300_000_000) - 1.02).abs() < 1e-9);
        // Across machines the network's adapter decides.
        let large = Grid { rows: 8, cols: 8 };
        assert!((MACHINE.travel_ms(large, Line::Column, 300_000_000) - 6.14).abs() < 1e-9);
        assert!(MACHINE.travel_ms(Grid { rows: 1, cols: 2 }, Line::Column, 1000).abs() < 1e-12);
    }

    #[test]
    fn overlap_helps_and_more_gpus_are_less_efficient() {
        let [two, four, many] = [2, 4, 1024].map(Grid::of);
        assert!(MACHINE.strong(two, 16_384, true) > MACHINE.strong(two, 16_384, false) + 0.01);
        assert!(MACHINE.strong(four, 32_768, true) > 0.97);
        assert!(MACHINE.strong(many, 32_768, true) < 0.5);
        assert!(MACHINE.weak(many, 16_384) > MACHINE.strong(many, 32_768, true));
    }
}
