//! What was measured of accuracy, as a record keeps it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::errors::Errors;
use super::values::Values;

/// The record of one run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Measured {
    /// The GPU, the versions of what took part, and the day.
    pub provenance: String,
    pub hashes: BTreeMap<String, String>,
    /// Elements of C that were looked at in each product.
    pub elements: usize,
    pub speeds: Vec<Speed>,
    /// Errors over K, for each kind of values.
    pub errors: Vec<AtK>,
    /// Power at these sizes, each contender for two seconds.
    pub power: Vec<AtPower>,
}

/// All contenders at one size.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AtPower {
    /// M = N = K.
    pub size: u64,
    pub contenders: BTreeMap<String, Power>,
}

/// What a product draws when it is computed again and again.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Power {
    /// The power of the board in watts (median).
    pub watts: f64,
    /// The clock of its SMs in MHz (median).
    pub mhz: f64,
    /// The time of a product in µs (median).
    pub us: f64,
}

/// All contenders at one size, in turns.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Speed {
    /// M = N = K.
    pub size: u64,
    /// For each contender µs (least, median, most) and its errors with values of both signs.
    pub contenders: BTreeMap<String, ([f64; 3], Errors)>,
}

/// All contenders with one kind of values and one K.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AtK {
    /// What A and B hold.
    pub values: Values,
    /// Rows and columns of C.
    pub edge: u64,
    pub k: u64,
    pub contenders: BTreeMap<String, Errors>,
}
