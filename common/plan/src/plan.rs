//! A plan: which specialisation of its kernel a step needs, and how it is launched.
//!
//! A plan is plain data. The step makes it from the problem and the device. The programs that run it (the step's own program, a
//! benchmark, the comparison of all steps) need to know nothing else about the step.

use serde::{Deserialize, Serialize};

use crate::problem::{Dtype, Problem};

/// The largest `gridDim.y` and `gridDim.z` of every CUDA device so far.
pub const MAX_GRID_YZ: u64 = 65_535;

/// An argument of a kernel. Offsets are in elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arg {
    /// Matrix A, starting at this element.
    A(u64),
    /// Matrix B, starting at this element.
    B(u64),
    /// Matrix C, starting at this element.
    C(u64),
    /// Scratch memory (see `workspace_elements` of the plan), starting at this element.
    Workspace(u64),
    /// A 32-bit integer.
    Int(i32),
}

impl Arg {
    /// Returns what one of two functions makes of it: of the array that it points to (0 is A, 1 B, 2 C, 3 the workspace) and the
    /// element at which it starts, or of the number that it is.
    pub fn either<T>(self, pointer: impl FnOnce(usize, u64) -> T, number: impl FnOnce(i32) -> T) -> T {
        match self {
            Self::A(offset) => pointer(0, offset),
            Self::B(offset) => pointer(1, offset),
            Self::C(offset) => pointer(2, offset),
            Self::Workspace(offset) => pointer(3, offset),
            Self::Int(value) => number(value),
        }
    }

    /// Returns the array that it points to, and the element at which it starts; `None` for a number.
    pub fn array(self) -> Option<(usize, u64)> {
        self.either(|array, offset| Some((array, offset)), |_| None)
    }
}

/// One launch of one kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launch {
    /// Name of the `extern "C" __global__` function.
    pub entry: String,
    /// Number of blocks in x, y and z.
    pub grid: [u32; 3],
    /// Threads per block in x, y and z.
    pub block: [u32; 3],
    /// Dynamic shared memory per block in bytes, without static arrays.
    pub shared_bytes: u32,
    /// The arguments, in order.
    pub args: Vec<Arg>,
}

impl From<u32> for Arg {
    /// A size of the problem, as the kernel's `int`.
    fn from(size: u32) -> Self {
        Self::Int(size as i32)
    }
}

/// A band of rows of A and of C, all of B's columns wide: what one launch computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rows {
    /// The band's first row.
    pub first: u64,
    /// Rows of the band: the M of its launch.
    pub count: u32,
    /// N and K of the problem, and so of every band.
    pub sizes: [u32; 2],
}

impl Rows {
    /// Returns the argument that is A, beginning with the band's first row.
    pub fn of_a(&self) -> Arg {
        Arg::A(self.first * u64::from(self.sizes[1]))
    }

    /// Returns the argument that is C, beginning with the band's first row.
    pub fn of_c(&self) -> Arg {
        Arg::C(self.first * u64::from(self.sizes[0]))
    }
}

/// Makes a launch for each band of rows of a problem, for blocks that cover `block_rows` rows of C each. There is one band, unless
/// C is so tall that the grid would have more than [`MAX_GRID_YZ`] blocks in y.
pub fn launches_by_rows(problem: &Problem, block_rows: u32, launch: impl Fn(Rows) -> Launch) -> Vec<Launch> {
    let most = MAX_GRID_YZ * u64::from(block_rows);
    let band = |i| {
        let (first, [m, n, k]) = (i * most, problem.sizes());
        launch(Rows { first, count: (u64::from(m) - first).min(most) as u32, sizes: [n, k] })
    };
    (0..problem.m.div_ceil(most)).map(band).collect()
}

impl Launch {
    /// Returns the launch that sums the products of slices of K. They are in the workspace, one after the other, starting at
    /// `from`.
    pub fn sum_slices(problem: &Problem, slices: u64, from: u64) -> Self {
        let sizes = [problem.m, problem.n, slices].map(|size| Arg::Int(size as i32));
        Self {
            entry: "sum_slices".into(),
            grid: [problem.c_elements().div_ceil(256).min(4096) as u32, 1, 1],
            block: [256, 1, 1],
            shared_bytes: 0,
            args: [Arg::Workspace(from), Arg::C(0)].into_iter().chain(sizes).collect(),
        }
    }
}

/// A kernel's source, with the constants that it is compiled with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Specialisation {
    /// The kernel's file without `.cu`, if a variant uses the kernel of another variant in its folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Distinguishes the specialisations with one source and element type in file names. Empty if there is only one.
    pub name: String,
    /// The element type. It defines `ELEMENT` as `float` or `int`.
    pub dtype: Dtype,
    /// Constants passed as `-D NAME=VALUE`, without `ELEMENT`.
    pub defines: Vec<(String, String)>,
    /// The lowest compute capability that the kernel needs (75, 80, ...). The committed PTX is for that one, and newer devices can
    /// load it too.
    pub target: u32,
    /// Whether it needs instructions that only this compute capability has, so that it is compiled for `sm_90a` instead of `sm_90`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub only: bool,
}

impl Specialisation {
    /// Makes the only specialisation of a source. It has no name, and PTX for compute capability 7.5 and newer.
    pub fn single(dtype: Dtype, defines: &[(&str, u32)]) -> Self {
        Self::named("", dtype, defines)
    }

    /// Makes a named specialisation with PTX for compute capability 7.5 and newer.
    pub fn named(name: impl Into<String>, dtype: Dtype, defines: &[(&str, u32)]) -> Self {
        let defines = defines.iter().map(|(name, value)| ((*name).to_owned(), value.to_string())).collect();
        Self { source: None, name: name.into(), dtype, defines, target: 75, only: false }
    }

    /// Chooses PTX for this compute capability and newer.
    #[must_use]
    pub fn for_target(self, target: u32) -> Self {
        Self { target, ..self }
    }

    /// Chooses PTX for this compute capability only.
    #[must_use]
    pub fn for_only(self, target: u32) -> Self {
        Self { only: true, ..self.for_target(target) }
    }

    /// Uses this source, for a variant with a different name.
    #[must_use]
    pub fn of(self, source: &str) -> Self {
        Self { source: Some(source.to_owned()), ..self }
    }

    /// Returns the compute capability as in the options of compilers and in file names: `80` or `90a`.
    pub fn architecture(&self) -> String {
        format!("{}{}", self.target, if self.only { "a" } else { "" })
    }

    /// Returns the stem of the committed PTX file: `kernel-f32` or `kernel-f32-64x64x16`.
    pub fn stem(&self, source: &str) -> String {
        let dash = if self.name.is_empty() { "" } else { "-" };
        format!("{source}-{}{dash}{}", self.dtype, self.name)
    }
}

/// Everything that a device needs to compute C = A·B with a step's kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The kernel and its constants.
    pub specialisation: Specialisation,
    /// Columns and rows of C that one block computes, for the diagnosis ("tile (3,1) was never written").
    pub tile: [u32; 2],
    /// Steps of K in one pass of the kernel's main loop, for the diagnosis ("the last K tile is missing").
    pub tile_k: u32,
    /// The size of the scratch memory, in elements.
    pub workspace_elements: u64,
    /// The launches, in order, on one stream.
    pub launches: Vec<Launch>,
}

/// How a kernel divides the work, as far as the diagnosis of a wrong product needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Columns and rows of C that one block computes.
    pub tile: [u32; 2],
    /// Steps of K in one pass of the main loop.
    pub tile_k: u32,
}

impl Shape {
    /// Returns the shape with all of C in one tile, for kernels that divide the work in an unknown way.
    pub fn whole(problem: &Problem) -> Self {
        Self { tile: [problem.n as u32, problem.m as u32], tile_k: 1 }
    }
}

impl Plan {
    /// Returns whether a launch must write all of C, and whether it must write all of the workspace. It need not if launches share
    /// C, or if the workspace has several parts or has already been written.
    pub fn must_write(&self, launch: usize) -> [bool; 2] {
        let c = |launch: &&Launch| launch.args.iter().any(|arg| matches!(arg, Arg::C(_)));
        let workspace = |launch: &Launch| launch.args.iter().filter(|arg| matches!(arg, Arg::Workspace(_))).count();
        let (before, this) = (&self.launches[..launch], &self.launches[launch]);
        let only = self.launches.iter().filter(c).count() == 1;
        [only && c(&this), workspace(this) == 1 && before.iter().all(|launch| workspace(launch) == 0)]
    }

    /// Makes a plan with a grid of ceil(N / `tile[0]`) × ceil(M / `tile[1]`) blocks that run `matmul(A, B, C, M, N, K)`: that of a
    /// learner's kernel, of which only block and tile are known.
    pub fn tiled(problem: &Problem, specialisation: Specialisation, block: [u32; 2], tile: [u32; 2]) -> Self {
        let [_, n, k] = problem.sizes();
        let launch = |rows: Rows| Launch {
            entry: "matmul".into(),
            grid: [n.div_ceil(tile[0]), rows.count.div_ceil(tile[1]), 1],
            block: [block[0], block[1], 1],
            shared_bytes: 0,
            args: vec![rows.of_a(), Arg::B(0), rows.of_c(), rows.count.into(), n.into(), k.into()],
        };
        let launches = launches_by_rows(problem, tile[1], launch);
        Self { specialisation, tile, tile_k: 1, workspace_elements: 0, launches }
    }

    /// Sets how many steps of K one pass of the main loop takes.
    #[must_use]
    pub fn with_tile_k(self, tile_k: u32) -> Self {
        Self { tile_k, ..self }
    }

    /// Cuts the grid into bands of at most `widest` tiles in x, with one z index for each band. All blocks of a band start before
    /// those of the next one, so blocks that run at the same time share more of what they read.
    ///
    /// The kernel finds its column of tiles as `blockIdx.z * gridDim.x + blockIdx.x`. All bands have the same width, which is at
    /// least half of `widest`. The grid does not change if no such width divides it, or if z already has another use.
    #[must_use]
    pub fn in_bands(mut self, widest: u32) -> Self {
        for Launch { grid: [x, _, z], .. } in &mut self.launches {
            let width = (widest.div_ceil(2)..=widest).rev().find(|&width| width > 0 && x.is_multiple_of(width));
            if let Some(width) = width.filter(|&width| *z == 1 && u64::from(*x / width) <= MAX_GRID_YZ) {
                (*x, *z) = (width, *x / width);
            }
        }
        self
    }

    /// Cuts K into slices, with one z index for each slice. Each slice leaves its own product in the workspace, and
    /// `sum_slices(workspace, C, M, N, slices)` adds these products. The plan does not change if there is only one slice, or if C
    /// needs several launches.
    #[must_use]
    pub fn in_slices(mut self, problem: &Problem, slices: u64) -> Self {
        let (true, [launch]) = (slices > 1, self.launches.as_mut_slice()) else { return self };
        let elements = problem.c_elements();
        launch.grid[2] = slices as u32;
        launch.args[2] = Arg::Workspace(0);
        self.workspace_elements = slices * elements;
        self.launches.push(Launch::sum_slices(problem, slices, 0));
        self
    }

    /// Returns the launch that multiplies: the first one of `matmul`, or the first of all if none has that name.
    pub fn main(&self) -> Option<&Launch> {
        self.launches.iter().find(|launch| launch.entry == "matmul").or(self.launches.first())
    }

    /// Returns the number of slices into which K is cut.
    pub fn slices(&self) -> u32 {
        self.main().map_or(1, |launch| launch.grid[2])
    }

    /// Sets the dynamic shared memory of every launch, in bytes.
    #[must_use]
    pub fn with_shared_bytes(mut self, bytes: u32) -> Self {
        self.launches.iter_mut().for_each(|launch| launch.shared_bytes = bytes);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tiled(problem: &Problem, block: [u32; 2], tile: [u32; 2]) -> Plan {
        Plan::tiled(problem, Specialisation::single(problem.dtype, &[]), block, tile)
    }

    #[test]
    fn bands_cover_the_grid() {
        for (tiles, grid) in [
            (1, [1, 1, 1]),
            (32, [32, 1, 1]),
            (33, [33, 1, 1]), // no width from 16 to 32 divides 33
            (40, [20, 1, 2]),
            (127, [127, 1, 1]),
            (128, [32, 1, 4]),
            // A grid has at most 65,535 layers, which limits the number of bands.
            (65_535 * 32, [32, 1, 65_535]),
            (65_536 * 32, [65_536 * 32, 1, 1]),
        ] {
            for columns in [32 * tiles, 32 * tiles - 1] {
                let whole = tiled(&Problem::uniform([32, columns, 32]), [32, 32], [32, 32]);
                let banded = whole.clone().in_bands(32);
                assert_eq!(banded.launches[0].grid, grid, "{columns} columns");
                assert_eq!(banded.clone().in_bands(32), banded, "cut once only");
            }
        }
        // Layers that count something else stay, and so does an empty grid.
        let mut plan = tiled(&Problem::uniform([32, 4096, 32]), [32, 32], [32, 32]);
        for (grid, widest) in [([128, 1, 3], 32), ([0, 1, 1], 0)] {
            plan.launches[0].grid = grid;
            assert_eq!(plan.clone().in_bands(widest), plan);
        }
    }

    #[test]
    fn a_tall_product_takes_a_launch_for_each_band_of_rows() {
        let (n, k) = (5, 3);
        let problem = Problem::uniform([2 * 131_070 + 3, n, k]);
        let plan = tiled(&problem, [4, 8], [4, 2]);
        let expected = [(0, 131_070, 65_535), (131_070, 131_070, 65_535), (262_140, 3, 2)].map(|(first, rows, y)| {
            let sizes = [rows, n as i32, k as i32].map(Arg::Int);
            let args = [&[Arg::A(first * k), Arg::B(0), Arg::C(first * n)][..], &sizes].concat();
            Launch { entry: "matmul".into(), grid: [2, y, 1], block: [4, 8, 1], shared_bytes: 0, args }
        });
        assert_eq!(plan.launches, expected);
        let shared = plan.with_shared_bytes(64).with_tile_k(7);
        assert!(shared.launches.iter().all(|launch| launch.shared_bytes == 64));
        assert_eq!((shared.tile, shared.tile_k), ([4, 2], 7));
        assert_eq!(Shape::whole(&problem), Shape { tile: [5, 262_143], tile_k: 1 });
    }

    #[test]
    fn slices_of_k_are_summed_by_a_launch_of_its_own() {
        let problem = Problem::uniform([70, 1000, 50]);
        assert_eq!(problem.flop() as u64, 7_000_000, "as many additions as multiplications");
        let whole = tiled(&problem, [16, 16], [16, 16]);
        assert_eq!((whole.clone().in_slices(&problem, 1), whole.must_write(0)), (whole.clone(), [true, false]));
        let mut sliced = whole.in_slices(&problem, 3);
        let Launch { grid, args, .. } = &sliced.launches[1];
        assert_eq!((sliced.slices(), sliced.workspace_elements, *grid), (3, 210_000, [274, 1, 1]));
        assert_eq!(args, &[Arg::Workspace(0), Arg::C(0), Arg::Int(70), Arg::Int(1000), Arg::Int(3)]);
        assert_eq!([0, 1].map(|launch| sliced.must_write(launch)), [[false, true], [true, false]]);
        // A launch need not write all of a C that several launches share, or of a workspace in two parts.
        sliced.launches[0].args.extend([Arg::Workspace(9), Arg::C(7)]);
        assert_eq!([0, 1].map(|launch| sliced.must_write(launch)), [[false; 2]; 2]);
    }

    #[test]
    fn files_are_named_by_type_and_specialisation() {
        let named = Specialisation::named("64x64", Dtype::F32, &[("TILE", 64), ("DEPTH", 8)]).for_target(80);
        let said = [named.stem("kernel"), named.architecture(), named.clone().for_only(90).architecture()];
        assert_eq!(said, ["kernel-f32-64x64", "80", "90a"]);
        let defines = [("TILE", "64"), ("DEPTH", "8")].map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!((named.defines, named.target), (defines.to_vec(), 80));
        assert_eq!(Specialisation::single(Dtype::I32, &[]).stem("uncoalesced"), "uncoalesced-i32");
    }
}
