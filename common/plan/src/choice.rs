//! One of several plans for a problem, and what its time depends on.

use serde::{Deserialize, Serialize};

use crate::plan::Plan;
use crate::problem::Problem;

/// Elements of a cache line.
const LINE: u64 = 32;

/// What a plan makes a GPU do, as far as its time depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Work {
    /// Blocks, those of all slices.
    pub blocks: u64,
    /// Steps of k that each block multiplies.
    pub depth: u64,
    /// Slices of K.
    pub slices: u64,
    /// Elements of C.
    pub elements: u64,
    /// Bytes of A and B.
    pub read_bytes: u64,
    /// Whether each row of B and of C starts on a cache line.
    pub aligned: bool,
}

/// One of several plans for a problem.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    /// The plan.
    pub plan: Plan,
    /// Its work.
    pub work: Work,
    /// Its time in µs by the step's model: measured on a GPU of this name, or of another.
    pub expected_us: f64,
}

impl Work {
    /// The work of a tiled kernel whose blocks multiply so many steps of k each.
    pub fn of(plan: &Plan, problem: &Problem, depth: u64) -> Self {
        let blocks = plan.launches.iter().filter(|launch| launch.entry == "matmul");
        let slices = plan.launches.first().map_or(1, |launch| u64::from(launch.grid[2]));
        Self {
            blocks: blocks.map(|launch| launch.grid.iter().map(|&side| u64::from(side)).product::<u64>()).sum(),
            depth,
            slices,
            elements: problem.c_elements(),
            read_bytes: (problem.a_elements() + problem.b_elements()) * 4,
            aligned: problem.n.is_multiple_of(LINE),
        }
    }

    /// The share of A and B that device memory has to give, if so many bytes of them stay in the cache.
    pub fn cold(&self, cached_bytes: u64) -> f64 {
        1.0 - cached_bytes.min(self.read_bytes) as f64 / self.read_bytes.max(1) as f64
    }
}
