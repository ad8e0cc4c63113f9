//! Who plans the launches of a kernel, as a page carries it: a step, and what changes its plan.

use plan::{Arg, DeviceInfo, Launch, OwnLaunch, Plan, Problem, Specialisation};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use simt::{Kernel, Module, Param, Type};

use crate::steps::find;

/// Largest size of the matrices that are explored.
pub const LARGEST: u32 = 64;

/// Who plans the launches of a kernel.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Planner {
    /// The step's name; `None` if the kernel's file describes the launch by itself.
    pub step: Option<String>,
    /// The step's variant; none for its own kernel.
    pub variant: Option<String>,
    /// Whether the kernel was compiled for this page, so that more than what is committed can be planned.
    pub compiled: bool,
    /// The launch that a learner's file describes.
    pub own: Option<OwnLaunch>,
    /// A smaller tile in place of the step's.
    pub smaller: Option<SmallerTile>,
    /// The launch of pasted PTX, which no step plans.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub launch: Option<PtxLaunch>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PtxLaunch {
    pub entry: String,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    #[serde(default)]
    pub shared_bytes: u32,
    /// `A`, `B`, `C`, `M`, `N`, `K`, `scratch` or a number each.
    pub args: Vec<Value>,
    #[serde(default)]
    pub tile: Option<[u32; 2]>,
    #[serde(default)]
    pub output: Output,
}

/// What C is to a kernel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Output {
    /// It is to become the product, and holds nothing before.
    #[default]
    Product,
    /// It is to become the product, and holds zeros before, which the kernel may read.
    Added,
    /// It may become anything, and holds zeros before.
    Any,
}

/// Elements of `scratch`.
const SCRATCH: u64 = 16 << 10;

impl PtxLaunch {
    /// A launch to begin with, for 64×64×64: pointers are A, B and C (of two or one the last is C, and then it may become anything),
    /// whole numbers M, N and K, and fractions the factors of the product and of the C before it.
    fn guess(name: &str, params: &[Param], kernel: Option<&Kernel>) -> Self {
        let count = params.iter().filter(|param| param.bytes == 8 && param.kind != Type::F64).count();
        let known = match count {
            0 | 1 => &["C"][..],
            2 => &["A", "C"],
            _ => &["A", "B", "C"],
        };
        let mut pointers = known.iter().copied().chain(std::iter::repeat("scratch"));
        let (mut sizes, mut factors) = (["M", "N", "K"].into_iter(), 1..=1);
        let output = match (count, params.iter().filter(|param| matches!(param.kind, Type::F32 | Type::F64)).count()) {
            (..3, _) => Output::Any,
            (_, 2..) => Output::Added,
            _ => Output::Product,
        };
        let argument = |param: &Param| match (param.kind, param.bytes) {
            (Type::F32 | Type::F64, _) => json!(factors.next().unwrap_or(0)),
            (_, 8) => json!(pointers.next()),
            _ => sizes.next().map_or(json!(0), |name| json!(name)),
        };
        let args = params.iter().map(argument).collect();
        let required = kernel.and_then(Kernel::required_threads);
        let most = kernel.and_then(Kernel::max_threads).map_or(1024, |most| most.iter().product::<u32>());
        let block = required.unwrap_or(if most >= 1024 { [32, 32, 1] } else { [most, 1, 1] });
        let grid = [64_u32.div_ceil(block[0].max(1)), 64_u32.div_ceil(block[1].max(1)), 1];
        // How much dynamic shared memory it needs the PTX does not say: as much as there is without being asked for.
        let arrays = kernel.map_or(&[][..], Kernel::shared_arrays);
        let shared_bytes = if arrays.iter().any(|array| array.bytes == 0) { 48 << 10 } else { 0 };
        Self { entry: name.into(), grid, block, shared_bytes, args, tile: None, output }
    }

    fn plan(&self, problem: &Problem) -> Result<Plan, String> {
        let argument = |argument: &Value| {
            Ok(match argument.as_str() {
                Some("A") => Arg::A(0),
                Some("B") => Arg::B(0),
                Some("C") => Arg::C(0),
                Some("scratch") => Arg::Workspace(0),
                Some("M") => Arg::Int(problem.m as i32),
                Some("N") => Arg::Int(problem.n as i32),
                Some("K") => Arg::Int(problem.k as i32),
                None if argument.is_number() => Arg::Int(argument.as_f64().unwrap_or_default() as i32),
                _ => return Err(format!("{argument} is no argument; choose A, B, C, M, N, K, scratch or a number")),
            })
        };
        let args = self.args.iter().map(argument).collect::<Result<Vec<_>, _>>()?;
        let tile = self.tile.unwrap_or([self.block[0], self.block[1]]).map(|side| side.max(1));
        let mut plan = Plan::tiled(problem, Specialisation::single(problem.dtype, &[]), [1, 1], tile);
        let (entry, shared_bytes) = (self.entry.clone(), self.shared_bytes);
        plan.launches = vec![Launch { entry, grid: self.grid, block: self.block, shared_bytes, args }];
        plan.workspace_elements = if self.args.iter().any(|argument| argument == "scratch") { SCRATCH } else { 0 };
        Ok(plan)
    }
}

/// The kernels of pasted PTX, each with a first guess of its launch.
pub fn entries(ptx: &str) -> Result<Value, String> {
    let module = Module::parse(ptx).map_err(|error| error.to_string())?;
    let entry = |name: &str| {
        let params = module.params(name).unwrap_or_default();
        // If the simulator does not support it, that is reported when the kernel is run.
        let kernel = module.kernel(name).ok();
        let mut launch = json!(PtxLaunch::guess(name, &params, kernel.as_ref()));
        // A product has three matrices and three sizes. How many threads another kernel wants, nobody can know: the reader is asked.
        let sizes =
            params.iter().filter(|param| param.bytes < 8 && !matches!(param.kind, Type::F32 | Type::F64)).count();
        if params.len() < 6 || sizes < 3 {
            launch["grid"] = json!([]);
            if kernel.is_none_or(|kernel| kernel.required_threads().is_none()) {
                launch["block"] = json!([]);
            }
        }
        let types: Vec<String> = params.iter().map(|param| param.kind.to_string()).collect();
        json!({ "name": name, "types": types, "launch": launch })
    };
    Ok(json!({ "entries": module.kernel_names().map(entry).collect::<Value>() }))
}

/// A tile for which the kernel was compiled so that a small C has several.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SmallerTile {
    /// Columns and rows of C per block.
    pub tile: [u32; 2],
    /// Steps of K that one pass of the main loop covers.
    pub tile_k: u32,
    /// Threads of a block in x and y.
    pub block: [u32; 2],
    pub defines: Vec<(String, String)>,
}

impl Planner {
    /// The plan of a product; the error says why it cannot be run. `text` is the kernel's source.
    pub fn plan(&self, problem: &Problem, text: &str) -> Result<Plan, String> {
        let [m, n, k] = [problem.m, problem.n, problem.k];
        if [m, n, k].iter().any(|&side| side == 0 || side > LARGEST.into()) {
            return Err(format!("{m}×{n}×{k} cannot be explored; choose M, N and K from 1 to {LARGEST}"));
        }
        if let Some(launch) = &self.launch {
            return launch.plan(problem);
        }
        let steps = self.steps_plan(problem);
        let plan = match self.own {
            Some(own) => own.plan(text, problem, steps)?,
            None => steps?,
        };
        let Some(SmallerTile { tile, tile_k, block, defines }) = &self.smaller else { return Ok(plan) };
        let specialisation = Specialisation { defines: defines.clone(), ..plan.specialisation };
        Ok(Plan::tiled(problem, specialisation, *block, *tile).with_tile_k(*tile_k))
    }

    fn steps_plan(&self, problem: &Problem) -> Result<Plan, String> {
        let name = self.step.as_ref().ok_or("no step plans this kernel; give it a line // launch: block 32,32")?;
        let (step, variant) = find(name, self.variant.as_deref())?;
        let device = DeviceInfo { compiles: self.compiled, ..DeviceInfo::simulated(1 << 32) };
        step.plan_of(variant)(problem, &device).map_err(|error| format!("{error:#}"))
    }
}
