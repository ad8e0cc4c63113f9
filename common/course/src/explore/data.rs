//! The data of a page of the explorer: chapters, kernels and their forms, which are their code for the sizes that the page can show, and
//! smaller tiles. The explorer's INTERFACE.md says what the page makes of it.

use std::path::PathBuf;

use common::basics::{packed, workspace};
use common::code::Source;
use explorer::planner::{LARGEST, Planner, SmallerTile};
use explorer::request::{self, Order, RunRequest};
use plan::{Dtype, Plan, Problem, Specialisation};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::steps::Role;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Data {
    pub chapters: Vec<Chapter>,
    pub kernels: Vec<PageKernel>,
    /// The counters, in the order in which reports have them.
    pub counters: Vec<Counter>,
    /// The kernel that the page is about, if it is about one.
    pub own: Option<String>,
    /// Of a page that is written again when its kernel changes: the version that it shows, and the script that names the latest one.
    pub version_text: Option<String>,
    /// See `version_text`.
    pub version_script: Option<String>,
}

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

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct PageKernel {
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

impl PageKernel {
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
        let kernel = request::KernelCode { ptx: form.ptx.clone(), source, file, planner: form.planner.clone() };
        RunRequest { kernel, problem: form.problem(size), order: Order::default(), limit: None }
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

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Counter {
    pub name: String,
    pub words: String,
    /// The profiler's metric that it equals or is like.
    pub metric: Option<String>,
}

/// Sides of the products for which a page has code. A kernel that chooses its tile by the size may need other code at other sizes.
const SIDES: [u64; 5] = [64, 48, 33, 32, 16];

/// The specialisations that a planner takes for these products, the one for the largest first.
pub fn specialisations(planner: &Planner, dtype: Dtype, text: &str) -> Vec<Specialisation> {
    let mut found: Vec<Specialisation> = vec![];
    for size in SIDES.iter().flat_map(|&m| SIDES.iter().flat_map(move |&n| SIDES.map(|k| [m, n, k]))) {
        let plan = planner.plan(&Problem { dtype, ..Problem::uniform(size) }, text);
        found.extend(plan.ok().map(|plan| plan.specialisation).filter(|one| !found.contains(one)));
    }
    found
}

pub fn form(planner: &Planner, specialisation: &Specialisation, ptx: String) -> Form {
    let name = &specialisation.name;
    Form {
        id: if name.is_empty() { "usual".into() } else { name.clone() },
        specialisation: name.clone(),
        dtype: specialisation.dtype,
        ptx,
        usual: true,
        planner: planner.clone(),
        code: Some(specialisation.clone()),
    }
}

/// A tile for kernels whose own is too large to look at: its rows and columns, and constants that replace the kernel's.
type Smaller = ([u32; 2], &'static [(&'static str, u32)]);

/// For the kernels that have the first of these constants.
const SMALLER: [Smaller; 2] = [
    ([8, 8], &[("TILE", 8)]),
    ([16, 32], &[("TILE_M", 16), ("TILE_N", 32), ("TILE_K", TILE_K), ("THREAD_M", 4), ("THREAD_N", 4)]),
];
/// Steps of K in one pass of their main loops.
const TILE_K: u32 = 8;

/// The folder of the PTX with smaller tiles, which no step runs: committed for the page alone.
pub fn smaller_folder() -> PathBuf {
    workspace::root().join("common/explorer/ptx")
}

/// A form with a smaller tile, if the usual one is large: the file of its PTX, and the form without that.
pub fn smaller(kernel: &PageKernel, usual: &Form, source: &Source) -> Option<(PathBuf, Form)> {
    let specialisation = usual.code.as_ref()?;
    // A product of an N that is no multiple of 4 takes any form.
    let plan = [[64, 64, 64], [64, 63, 64]].into_iter().find_map(|size| usual.plan(size, ""))?;
    let has = |name: &str| specialisation.defines.iter().any(|(known, _)| known == name);
    let is_large = plan.tile.iter().all(|&side| side >= 32);
    let ([rows, columns], constants) = SMALLER.into_iter().find(|(_, constants)| is_large && has(constants[0].0))?;
    let value = |name: &str| constants.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
    let define = |(name, now): &(String, String)| {
        (name.clone(), value(name).map_or_else(|| now.clone(), |value| value.to_string()))
    };
    let defines: Vec<(String, String)> = specialisation.defines.iter().map(define).collect();
    // A thread computes one element, or as many as the constants say.
    let each: u32 = ["THREAD_M", "THREAD_N"].into_iter().filter(|name| has(name)).filter_map(value).product();
    let block = if each == 1 { [columns, rows] } else { [rows * columns / each, 1] };
    let tile = SmallerTile { tile: [columns, rows], tile_k: TILE_K, block, defines: defines.clone() };
    let name = format!("{}small{rows}x{columns}", usual.specialisation);
    let smaller = Specialisation { name, defines, ..specialisation.clone() };
    let file = packed::packed(&smaller_folder().join(&kernel.step).join(source.committed_name(&smaller)));
    // The form for any N and the one for multiples of 4 may have the same tile.
    let wide = if usual.specialisation.ends_with("v4") { " v4" } else { "" };
    let form = Form {
        id: format!("small {rows}x{columns}{wide}"),
        usual: false,
        planner: Planner { smaller: Some(tile), ..usual.planner.clone() },
        code: Some(smaller),
        ..usual.clone()
    };
    Some((file, form))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(step: &str, variant: Option<&str>) -> Planner {
        Planner { step: Some(step.into()), variant: variant.map(str::to_owned), ..Planner::default() }
    }

    #[test]
    fn a_page_carries_what_its_products_take() {
        let names = |planner: &Planner, dtype| -> Vec<String> {
            specialisations(planner, dtype, "").into_iter().map(|one| one.name).collect()
        };
        assert_eq!(names(&of("step05_thread_tile", None), Dtype::F32), ["v4", "v1"]);
        assert_eq!(names(&of("step05_thread_tile", None), Dtype::I32), ["v1"]);
        assert_eq!(names(&of("step04_tiled", Some("1_multiples")), Dtype::F32), [""]);
        assert_eq!(names(&of("step06_prefetch", None), Dtype::F32), ["16x32v4", "16x32v1"]);
    }

    #[test]
    fn a_large_tile_has_smaller_ones() {
        let forms = |step: &str| {
            let (planner, kernel) = (of(step, None), PageKernel::default());
            let source = Source::read(&workspace::root().join(step).join("kernel.cu")).unwrap();
            let all = specialisations(&planner, Dtype::F32, "");
            let forms = all.iter().map(|one| smaller(&kernel, &form(&planner, one, String::new()), &source).is_some());
            forms.collect::<Vec<_>>()
        };
        assert_eq!(forms("step04_tiled"), [true]);
        assert_eq!(forms("step05_thread_tile"), [true, true]);
        assert_eq!(forms("step06_prefetch"), [false, false]);
    }
}
