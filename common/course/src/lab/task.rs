//! What a lab asks, as its file says it: plain data.

use common::findings::why::Kind;
use serde::Deserialize;

/// A lab as its file describes it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Data {
    /// The variant whose launches the learner's kernel has, if they are not those of the kernel that the lab leads to.
    pub launched_as: Option<String>,
    pub gain: Gain,
    /// What a teacher may count.
    pub points: Points,
    /// What is still wrong with a kernel that has passed, which the next chapter takes up.
    pub after: Option<String>,
    /// Tasks of which a seed draws one.
    #[serde(default)]
    pub transfer: Vec<Template>,
    /// The learner develops one file through all of them; what a task asks stays asked in those after it.
    pub tasks: Vec<Task>,
}

/// What each required task is worth. The points of a part are shared equally among its lines of the checklist, and each
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
    /// The kernel of the course that stands for the lab's start, if the start itself is not right yet.
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
    /// What is timed if there is a GPU.
    pub speed: Option<Speed>,
    /// The kernel that passes this task and is no further, to compare with afterwards: one of the course by its name, or a
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
    /// A term of counters, and of what the grader derives from a run.
    pub counter: String,
    pub at_most: Option<f64>,
    pub at_least: Option<f64>,
    /// What to look at if it is missed.
    pub next: String,
}

/// A task of which a seed chooses the details, as `lab.json` describes it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Template {
    pub kind: Kind,
    /// What is to be computed, in a few words, in which `{alpha}`, `{beta}` and `{batch}` stand for what is drawn.
    pub name: String,
    /// The same in a few lines, for the head of the learner's file.
    pub about: Vec<String>,
    /// Edges of a tile, one of which is drawn. Goals in flop per byte are for a tile of 32, and follow it.
    #[serde(default)]
    pub tiles: Vec<u32>,
    /// What the start's launch line asks for, if there are no tiles and the step's own launch does not suit.
    pub launch: Option<String>,
    pub shapes: Vec<[u64; 3]>,
    pub hidden: Random,
    pub goals: Vec<Goal>,
    pub hints: Vec<String>,
}
