//! What a lab asks, as its file says it, as plain data; and the shapes at which a kernel is graded: their names, the hidden ones, and those
//! for the hazard check.

use common::basics::mix;
use common::findings::why::Kind;
use serde::Deserialize;

/// A lab as its file describes it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Data {
    /// The variant whose launches the learner's kernel uses, if not those of the kernel that the lab leads to.
    pub launched_as: Option<String>,
    pub gain: Gain,
    /// The points of each task.
    pub points: Points,
    /// What the next chapter improves in a kernel that has passed.
    pub after: Option<String>,
    /// Tasks of which a seed draws one.
    #[serde(default)]
    pub transfer: Vec<Template>,
    /// The learner develops one file through all of them; later tasks still ask what earlier ones did.
    pub tasks: Vec<Task>,
}

/// The points of each required task. The points of a part are shared equally among its lines of the checklist, and each
/// line that passes brings its share; a task that asks nothing of a part is worth less by it. That a kernel compiles, and what
/// a GPU measures, is worth none. Nothing is asked after a wrong product.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Points {
    /// The product is right, at the shapes of the lab and at those that are not shown.
    pub correct: f64,
    /// The simulator finds no hazard.
    pub hazards: f64,
    /// The goals in counters.
    pub counters: f64,
}

/// How the gain of a task is shown: the counters before it and after it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gain {
    /// M, N, K of both runs.
    pub size: [u64; 3],
    /// The kernel of the course that replaces the lab's start in comparisons, if the start is not right yet.
    pub from: Option<String>,
    /// Whether the largest error is shown, too.
    #[serde(default)]
    pub errors: bool,
}

/// Shapes that are drawn again for each grading.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Random {
    pub count: u64,
    /// Largest M, N, K.
    pub most: [u64; 3],
    /// They are multiples of this.
    #[serde(default = "one")]
    pub multiple: u64,
}

fn one() -> u64 {
    1
}

/// A comparison of times on a GPU.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Speed {
    pub size: [u64; 3],
    /// The kernel of the course to be faster than.
    pub than: String,
    /// How many times as fast, at least.
    pub factor: f64,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// What to do, in a few words.
    pub name: String,
    /// M, N, K at which the product must be right from this task on.
    #[serde(default)]
    pub shapes: Vec<[u64; 3]>,
    /// Shapes that the learner does not know, at which it must be right as well.
    pub hidden: Option<Random>,
    #[serde(default)]
    pub goals: Vec<Goal>,
    /// The goal that is timed on a GPU, if there is one.
    pub speed: Option<Speed>,
    /// A kernel that passes this task and no later one, to compare with afterwards: one of the course by its name, or a
    /// file beside the lab.
    pub answer: Option<String>,
    #[serde(default)]
    pub hints: Vec<String>,
    /// An open challenge: the lab is done without it.
    #[serde(default)]
    pub open: bool,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Goal {
    pub words: String,
    /// M, N, K of the run that is counted.
    pub size: [u64; 3],
    /// A term of counters and of figures that the grader derives from a run.
    pub counter: String,
    pub at_most: Option<f64>,
    pub at_least: Option<f64>,
    /// Advice if it is missed.
    pub next: String,
}

/// A task of which a seed chooses the details, as `lab.json` describes it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Template {
    pub kind: Kind,
    /// The product in a few words, with `{alpha}`, `{beta}` and `{batch}` for the numbers that are drawn.
    pub name: String,
    /// The product in a few lines, for the head of the learner's file.
    pub about: Vec<String>,
    /// Edges of a tile, one of which is drawn. Goals in flop per byte are for a tile of 32, and follow it.
    #[serde(default)]
    pub tiles: Vec<u32>,
    /// The start's launch line, if there are no tiles and the step's own launch does not suit.
    pub launch: Option<String>,
    pub shapes: Vec<[u64; 3]>,
    pub hidden: Random,
    pub goals: Vec<Goal>,
    pub hints: Vec<String>,
}

/// Shapes as people write them, with commas between them.
pub fn names(sizes: &[[u64; 3]]) -> String {
    sizes.iter().map(|[m, n, k]| format!("{m}×{n}×{k}")).collect::<Vec<_>>().join(", ")
}

/// The smallest shape that is larger than a warp along two axes at least, for the hazard check, with one that is deep; else the largest.
pub fn smallest_ragged(shapes: &[[u64; 3]]) -> Vec<[u64; 3]> {
    let volume = |shape: &&[u64; 3]| shape.iter().product::<u64>();
    let is_ragged = |[m, n, k]: &&[u64; 3]| *m > 1 && *n > 1 && m * n > 32 && (m % 32 != 0 || n % 32 != 0) && *k > 1;
    let ragged = || shapes.iter().filter(is_ragged);
    let mut chosen: Vec<[u64; 3]> = ragged().min_by_key(volume).into_iter().copied().collect();
    // Only where there are many tiles is each of several buffers filled twice.
    chosen.extend(ragged().filter(|shape| shape[2] > 128).min_by_key(volume));
    // The whole tiles of the largest one let warps overtake each other.
    chosen.extend(shapes.iter().max_by_key(|shape| volume(shape).min(600_000)));
    chosen.dedup();
    chosen
}

/// Shapes that cannot be prepared for, because they follow from the seed.
pub fn hidden(random: &Random, seed: u64) -> Vec<[u64; 3]> {
    let edge = |i: u64, axis: usize| {
        let steps = (random.most[axis] / random.multiple).max(1);
        random.multiple * (1 + mix(seed ^ (i * 3 + axis as u64)) % steps)
    };
    (0..random.count).map(|i| [0, 1, 2].map(|axis| edge(i, axis))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_shapes_follow_their_seed_and_stay_within_bounds() {
        let random = Random { count: 3, most: [100, 7, 1], multiple: 1 };
        assert_eq!(hidden(&random, 5), hidden(&random, 5));
        assert_ne!(hidden(&random, 5), hidden(&random, 6));
        for seed in 0..200 {
            for shape in hidden(&random, seed) {
                assert!((0..3).all(|axis| (1..=random.most[axis]).contains(&shape[axis])), "{shape:?}");
            }
            for shape in hidden(&Random { multiple: 32, most: [100, 96, 32], ..random.clone() }, seed) {
                assert!(shape.iter().all(|edge| [32, 64, 96].contains(edge)) && shape[2] == 32, "{shape:?}");
            }
        }
    }
}
