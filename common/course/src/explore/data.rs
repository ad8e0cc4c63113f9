//! The data of a page of the explorer: chapters, kernels and their forms.

use common::code::Source;
use explorer::planner::{LARGEST, Planner};
use explorer::request::{self, Order, RunRequest};
use plan::{Dtype, Plan, Problem, Specialisation};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::steps::Role;

/// Everything.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Data {
    pub chapters: Vec<Chapter>,
    pub kernels: Vec<Kernel>,
    /// The counters, in the order in which reports have them.
    pub counters: Vec<Counter>,
    /// The kernel that the page is about, if it is about one.
    pub own: Option<String>,
    /// Of a page that is written again when its kernel changes: the version that it shows, and the script that names the latest one.
    pub version_text: Option<String>,
    /// See `version_text`.
    pub version_script: Option<String>,
}

/// A chapter of the book.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Chapter {
    /// The step's name.
    pub id: String,
    /// The step in one line.
    pub title: String,
    pub number: u32,
    /// Its kernels, in the order of the path.
    pub kernels: Vec<String>,
    /// The stops of its tour: each says what to look at, and asks a question.
    pub tour: Vec<Value>,
}

/// A kernel.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Kernel {
    /// The step's name, and for a variant a slash and its name.
    pub id: String,
    pub step: String,
    pub name: String,
    pub role: Role,
    /// The first comment of the file.
    pub about: String,
    pub file: String,
    pub source: String,
    /// The size that the page shows first: M, N, K.
    pub size: [u32; 3],
    /// The form that the page shows first.
    pub form: String,
    pub forms: Vec<Form>,
    /// Times that were measured, each with its size, GPU and date.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub measured: Vec<String>,
}

impl Kernel {
    /// A kernel of this source in these forms, at a suitable size; the caller names it.
    pub fn of(source: &Source, forms: Vec<Form>) -> Self {
        let (about, file, source) = (source.comment(), source.display.clone(), source.text.clone());
        let mut kernel = Self { about, file, source, forms, ..Self::default() };
        kernel.choose_first();
        kernel
    }

    /// Chooses what the page shows first: the smallest tile, and about one block of it, so that a reader sees each element. Where a
    /// thread computes much of it by itself, the product is smaller.
    pub fn choose_first(&mut self) {
        let first = self.forms.first().map(|form| form.dtype);
        let form = self.forms.iter().find(|form| !form.usual && Some(form.dtype) == first).or(self.forms.first());
        let Some(form) = form else { return };
        let around = |asked: [u32; 3]| -> Option<[u32; 3]> {
            let plan = form.plan(asked, &self.source)?;
            let tile = [plan.tile[1], plan.tile[0], (2 * plan.tile_k).max(16)];
            let size: [u32; 3] = std::array::from_fn(|side| asked[side].max(tile[side]).min(LARGEST));
            let plan = form.plan(size, &self.source)?;
            let threads = plan.launches.iter().map(|launch| launch.grid.iter().chain(&launch.block).product::<u32>());
            (size.iter().product::<u32>() / threads.max().unwrap_or(1).max(1) <= LONGEST).then_some(size)
        };
        let asked = [[8, 8, 8], [32, 32, 32], [64, 64, 64]];
        let size = asked.into_iter().find_map(around).unwrap_or([8, 8, 8]);
        (self.form, self.size) = (form.id.clone(), size);
    }

    /// A request to run a form of the kernel.
    pub fn request(&self, form: &Form, size: [u32; 3]) -> RunRequest {
        let (source, file) = (self.source.clone(), self.file.clone());
        let kernel = request::Kernel { ptx: form.ptx.clone(), source, file, planner: form.planner.clone() };
        RunRequest { kernel, problem: form.problem(size), order: Order::WARPS, limit: None }
    }
}

/// Multiply-adds that a thread may make in the run that a page begins with.
const LONGEST: u32 = 1024;

/// A kernel with the constants it was compiled with, and who plans its launches.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Form {
    /// Tells it from the kernel's other forms.
    pub id: String,
    /// The name of the specialisation that a plan must have to be run in this form.
    pub specialisation: String,
    pub dtype: Dtype,
    pub ptx: String,
    /// The tiling that the course uses.
    pub usual: bool,
    pub planner: Planner,
    /// Its specialisation, which the page does not need.
    #[serde(skip)]
    pub code: Option<Specialisation>,
}

impl Form {
    fn problem(&self, size: [u32; 3]) -> Problem {
        Problem { dtype: self.dtype, ..Problem::uniform(size.map(u64::from)) }
    }

    /// The plan of a product in this form; none if it is run in another one, or not at all. `text` is the kernel's source.
    pub fn plan(&self, size: [u32; 3], text: &str) -> Option<Plan> {
        let plan = self.planner.plan(&self.problem(size), text).ok()?;
        (plan.specialisation.name == self.specialisation).then_some(plan)
    }
}

/// A counter, explained.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Counter {
    pub name: String,
    /// Its explanation.
    pub words: String,
    /// The profiler's metric that it equals or is like.
    pub metric: Option<String>,
}
