//! The record of what was measured at random shapes, and the parts that compare the kernel for every shape with cuBLAS there.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use common::basics::table;
use common::measure::geometric_mean;
use serde::{Deserialize, Serialize};

use crate::record::read;
use step06_prefetch::STEP;

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
}

/// How all products were timed.
const HOW: &str = "in turns, L2 warm, median of 9 samples";

fn number(value: f64) -> String {
    format!("{value:.3}")
}

fn size([m, n, k]: [u64; 3]) -> String {
    format!("{m}×{n}×{k}")
}

/// Means and extremes of the ratios of a record, by its name.
pub fn summary(words: &[&str]) -> Result<String> {
    Ok(of(&read("shapes", words)?))
}

/// Means and extremes of the ratios, for each kind of shape.
pub fn of(record: &Measured) -> String {
    let is_even = |shape: &&Shape| shape.size.iter().all(|side| side.is_multiple_of(4));
    let (even, any): (Vec<&Shape>, Vec<&Shape>) = record.shapes.iter().partition(is_even);
    let kinds = [("all sides multiples of 4", &even), ("no side a multiple of 4", &any)];
    let mut rows = Vec::new();
    for (kind, shapes) in kinds.iter().filter(|(_, shapes)| !shapes.is_empty()) {
        let ratios: Vec<f64> = shapes.iter().map(|shape| shape.ratio()).collect();
        let below = |limit: f64| ratios.iter().filter(|ratio| **ratio < limit).count().to_string();
        let expected: Vec<f64> =
            shapes.iter().filter_map(|shape| Some(shape.chosen.us / shape.chosen.expected_us?)).collect();
        let best: Vec<f64> = shapes.iter().map(|shape| shape.chosen.us / shape.best.us).collect();
        rows.push(vec![
            (*kind).to_owned(),
            shapes.len().to_string(),
            number(geometric_mean(&ratios)),
            number(ratios.iter().copied().fold(f64::INFINITY, f64::min)),
            below(0.9),
            below(1.0),
            number(geometric_mean(&expected)),
            number(geometric_mean(&best)),
        ]);
    }
    let head =
        ["shapes", "number", "mean", "least", "below 0.9", "below 1", "measured ÷ expected", "chosen ÷ best plan"];
    let (table, provenance) = (table::markdown(&head, rows), &record.provenance);
    format!("{table}\nTimes of cuBLAS over ours; means are geometric.\n\n*{provenance}; both {HOW}.*\n")
}

/// How much longer products take without an idea, at the shapes whose plan uses it: how many these are, the mean, the most, and the
/// shape at which that is. `None` if no plan without the idea was measured.
fn worth(idea: &str, record: &Measured) -> Option<(usize, f64, f64, String)> {
    let cost = |shape: &Shape| Some((shape.without.get(idea)?.us / shape.best.us, shape.size));
    let costs: Vec<(f64, [u64; 3])> = record.shapes.iter().filter_map(cost).collect();
    let (most, at) = costs.iter().copied().max_by(|a, b| a.0.total_cmp(&b.0))?;
    let mean = geometric_mean(&costs.iter().map(|(cost, _)| *cost).collect::<Vec<_>>());
    Some((costs.len(), mean, most, size(at)))
}

/// What one idea is worth, in a sentence.
pub fn idea(words: &[&str]) -> Result<String> {
    let [record, idea] = words else { bail!("name a record and an idea") };
    let Some((shapes, mean, most, at)) = worth(idea, &read("shapes", &[record])?) else {
        return Ok(format!("*The plans without `{idea}` have not been measured yet; `beyond shapes OUT` does it.*"));
    };
    Ok(format!(
        "**Measured:** without `{idea}` the fastest plan takes {mean:.3} × as long in the mean over {shapes} shapes whose plan uses \
         it. The most is {most:.2} × at {at}."
    ))
}

/// What each idea is worth, in a table.
pub fn ideas(words: &[&str]) -> Result<String> {
    let record: Measured = read("shapes", words)?;
    let row = |(name, title): &(String, String)| {
        let (shapes, mean, most, at) = worth(name, &record)?;
        Some(vec![format!("`{name}`"), title.clone(), shapes.to_string(), number(mean), number(most), at])
    };
    let head = ["idea", "what it is", "shapes", "mean without ÷ with", "largest", "at M×N×K"];
    let table = table::markdown(&head, record.ideas.iter().filter_map(row));
    let (shapes, provenance) = (record.shapes.len(), &record.provenance);
    Ok(format!(
        "{table}\nThe time of the fastest plan without the idea, over that of the fastest plan of all: at those of {shapes} shapes whose \
         plan uses the idea and where one without it was measured. Means are geometric.\n\n*{provenance}; {HOW}.*\n"
    ))
}

/// How far each kernel's speed falls from one size to the next.
pub fn saw_tooth(words: &[&str]) -> Result<String> {
    let record: Measured = read("shapes", words)?;
    let row = |name: &str| {
        let speed = |square: &Shape| {
            let us = match name {
                "every_shape" => square.chosen.us,
                "cuBLAS" => square.cublas_us,
                name => square.without.get(name)?.us,
            };
            Some((square.size[0], 2.0 * (square.size[0] as f64).powi(3) / us / 1e6))
        };
        let speeds: Vec<(u64, f64)> = record.shapes.iter().filter_map(speed).collect();
        let mean = geometric_mean(&speeds.iter().map(|(_, speed)| *speed).collect::<Vec<_>>());
        let (at, least) = speeds.iter().copied().min_by(|a, b| a.1.total_cmp(&b.1))?;
        let falls = speeds.windows(2).map(|pair| (1.0 - pair[1].1 / pair[0].1, pair[1].0));
        let (fall, to) = falls.max_by(|a, b| a.0.total_cmp(&b.0))?;
        let fall = if fall >= 0.005 { format!("{:.0} %, to {to}³", fall * 100.0) } else { "–".to_owned() };
        Some(vec![name.to_owned(), format!("{mean:.1}"), format!("{least:.1} at {at}³"), fall])
    };
    let rows = ["every_shape", STEP.name, "cuBLAS"].into_iter().filter_map(row);
    let head = ["kernel", "mean TFLOP/s", "least", "largest fall from one size to the next"];
    Ok(format!("{}\n*{}; {HOW}.*\n", table::markdown(&head, rows), record.provenance))
}

/// Every shape, the worst first.
pub fn worst_first(words: &[&str]) -> Result<String> {
    let mut record: Measured = read("shapes", words)?;
    record.shapes.sort_by(|a, b| a.ratio().total_cmp(&b.ratio()));
    let us = |us: f64| format!("{us:.1}");
    let rows = record.shapes.iter().map(|shape| {
        let Timed { name, slices, expected_us, us: measured } = &shape.chosen;
        let plan = if *slices > 1 { format!("{name}, {slices} slices") } else { name.clone() };
        let expected = table::or_dash(*expected_us, us);
        vec![size(shape.size), plan, expected, us(*measured), us(shape.cublas_us), number(shape.ratio())]
    });
    Ok(table::markdown(&["M×N×K", "plan", "expected µs", "measured µs", "cuBLAS µs", "ratio"], rows))
}
