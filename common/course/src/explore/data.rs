//! What a page of the explorer carries: chapters, kernels and their forms, as the page reads them.

use common::code::Source;
use explorer::planner::Planner;
use explorer::request::{self, RunRequest, problem};
use plan::{Dtype, Plan};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Everything.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Data {
    /// Of this form of the data.
    pub version: u32,
    /// The chapters, in order.
    pub chapters: Vec<Chapter>,
    /// The kernels of all chapters.
    pub kernels: Vec<Kernel>,
    /// What A and B can hold.
    pub fills: Vec<String>,
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
    /// The step's number.
    pub number: u32,
    /// Its kernels, in the order of the path.
    pub kernels: Vec<String>,
    /// What the reader is asked, as `common/explorer/page/questions.json` has it.
    pub questions: Vec<Value>,
}

/// A kernel.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Kernel {
    /// The step's name, and for a variant a slash and its name.
    pub id: String,
    /// The step.
    pub step: String,
    /// Its own name.
    pub name: String,
    /// `step`, `rung`, `counter-example`, `beyond` or `own`.
    pub role: String,
    /// The first comment of the file.
    pub about: String,
    /// The file.
    pub file: String,
    /// Its text.
    pub source: String,
    /// The size that the page shows first: M, N, K.
    pub size: [u32; 3],
    /// What it is compiled to.
    pub forms: Vec<Form>,
}

impl Kernel {
    /// A kernel of that source in these forms, at the size that suits it.
    pub fn new(id: String, step: String, name: String, role: &str, source: &Source, forms: Vec<Form>) -> Self {
        let mut kernel = Self {
            id,
            step,
            name,
            role: role.to_owned(),
            about: source.comment(),
            file: source.display.clone(),
            source: source.text.clone(),
            size: [0; 3],
            forms,
        };
        kernel.choose_size();
        kernel
    }

    /// Chooses the size that the page shows first: a large one, unless a thread computes so much of it by itself that a reader would
    /// have to wait.
    fn choose_size(&mut self) {
        let fits = |size: &[u32; 3]| {
            let plan = self.forms.first().and_then(|form| form.plan(*size, &self.source));
            plan.is_some_and(|plan| {
                let threads =
                    plan.launches.iter().map(|launch| launch.grid.iter().chain(&launch.block).product::<u32>());
                size.iter().product::<u32>() / threads.max().unwrap_or(1).max(1) <= LONGEST
            })
        };
        let sizes = [[64, 64, 64], [32, 32, 64], [32, 32, 32], [16, 16, 16], [8, 8, 8]];
        // A form for a size of its own is there to be seen.
        let own = self.forms.iter().find_map(|form| form.sizes.first().copied());
        self.size = own.or_else(|| sizes.into_iter().find(fits)).unwrap_or([8, 8, 8]);
    }

    /// A request to run a form of the kernel.
    pub fn request(&self, form: &Form, [m, n, k]: [u32; 3]) -> RunRequest {
        let (source, file) = (self.source.clone(), self.file.clone());
        let kernel = request::Kernel { ptx: form.ptx.clone(), source, file, planner: form.planner.clone() };
        RunRequest { kernel, m, n, k, dtype: form.dtype, ..RunRequest::default() }
    }
}

/// Multiply-adds that a thread may make in the run that a page begins with.
const LONGEST: u32 = 8192;

/// A kernel with the constants it was compiled with, and who plans its launches.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Form {
    /// Tells it from the kernel's other forms.
    pub id: String,
    /// The name of the specialisation that a plan must have to be run in this form.
    pub specialisation: String,
    /// The element type.
    pub dtype: Dtype,
    /// The PTX.
    pub ptx: String,
    /// The tiling that the course uses.
    pub usual: bool,
    /// Who plans its launches.
    pub planner: Planner,
    /// The sizes that it is for, if it is not for all: M, N, K.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sizes: Vec<[u32; 3]>,
}

impl Form {
    /// The plan of a product in this form; none if it is run in another one, or not at all. `text` is the kernel's source.
    pub fn plan(&self, size: [u32; 3], text: &str) -> Option<Plan> {
        let plan = self.planner.plan(&problem(size, self.dtype), text).ok()?;
        (plan.specialisation.name == self.specialisation).then_some(plan)
    }
}

/// A counter, explained.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Counter {
    /// Its name.
    pub name: String,
    /// What it counts.
    pub words: String,
    /// The profiler's metric that it equals or is like.
    pub metric: Option<String>,
}
