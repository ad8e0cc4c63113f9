//! The contenders of a chart: which they are, how each looks, and its speed in words.

use course::record::{CUBLAS, Record};

use crate::picture::{Colour, INK, SERIES};

/// How a contender is told from the others.
#[derive(Clone, Copy)]
pub struct Look {
    /// Its place among all, which decides the shape of its marker.
    pub place: usize,
    pub colour: Colour,
    pub library: bool,
}

/// How a contender looks: by its place among all.
pub fn look(record: &Record, name: &str) -> Look {
    match record.steps.iter().position(|step| step.name == name) {
        Some(place) => Look { place, colour: SERIES[place % SERIES.len()], library: false },
        None => Look { place: record.steps.len(), colour: INK, library: name == CUBLAS },
    }
}

/// All contenders but those of the host, whose line would lie on the axis.
pub fn on_gpu(record: &Record) -> Vec<&str> {
    let host = |name: &&str| record.steps.iter().any(|step| step.host && step.name == **name);
    record.names().into_iter().filter(|name| !host(name)).collect()
}

/// A speed in words.
pub fn tflops(gflops: f64) -> String {
    if gflops >= 1e3 { format!("{:.1} TFLOP/s", gflops / 1e3) } else { format!("{gflops:.1} GFLOP/s") }
}
