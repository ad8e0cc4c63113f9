//! The record of what was measured at random shapes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The record of one run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Measured {
    /// The GPU, the versions of what took part, and the day.
    pub provenance: String,
    pub hash: String,
    pub seed: u64,
    /// The ideas that the kernel can do without, each with its name and title.
    #[serde(default)]
    pub ideas: Vec<(String, String)>,
    pub shapes: Vec<Shape>,
}

/// A plan that was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timed {
    pub name: String,
    pub slices: u32,
    /// The time in µs that the model expects; `None` for plans that it does not cover.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_us: Option<f64>,
    /// The median of the samples, in µs.
    pub us: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Shape {
    pub size: [u64; 3],
    /// The time of cuBLAS, in µs.
    pub cublas_us: f64,
    /// Whether the product of the chosen plan was right.
    pub right: bool,
    /// The plan that the rule chose.
    pub chosen: Timed,
    /// The fastest of all plans that were measured.
    pub best: Timed,
    /// For each idea that the chosen plan uses, the fastest measured plan without it.
    #[serde(default)]
    pub without: BTreeMap<String, Timed>,
}

impl Shape {
    /// The time of cuBLAS over that of the chosen plan; above 1, the kernel is faster.
    pub fn ratio(&self) -> f64 {
        self.cublas_us / self.chosen.us
    }

    /// Whether all sides are multiples of 4.
    pub fn is_even(&self) -> bool {
        self.size.iter().all(|side| side.is_multiple_of(4))
    }
}
