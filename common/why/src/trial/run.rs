//! A kernel is run on the simulator at a size, and its product is judged.

use plan::{Arg, Dtype, Fill, Plan, Problem};
use simt::{GlobalMemory, LaunchConfig, Module};
use verify::gamma;
use verify::matrix::Operands;

use super::unit;

/// A size at which kernels are tried, with what is right there.
#[derive(Debug)]
pub struct Size {
    /// What is multiplied.
    pub problem: Problem,
    /// How it is launched.
    pub plan: Plan,
    operands: Operands,
    expected: Vec<f64>,
    bounds: Vec<f64>,
}

/// What a kernel did at a size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Elements of C that are wrong.
    pub wrong: u64,
    /// Hazards, warnings not counted.
    pub hazards: u64,
    /// Whether the launch ended early, or could not begin: all elements count as wrong then.
    pub broken: bool,
}

impl Outcome {
    /// Whether nothing is wrong.
    pub fn is_right(self) -> bool {
        !self.broken && self.wrong == 0 && self.hazards == 0
    }
}

/// Seconds after which a launch is stopped.
const SECONDS: u64 = 5;

impl Size {
    /// Draws A and B, and multiplies them; none if the host has no memory for that.
    pub fn new(problem: Problem, plan: Plan) -> Option<Self> {
        let operands = Operands::new(&problem).ok()?;
        let (n, k) = (problem.n as usize, problem.k as usize);
        let total = problem.m as usize * n;
        let (mut expected, mut bounds) = (vec![0.0; total], vec![0.0; total]);
        match &operands {
            Operands::F32 { a, b } => {
                for (row, (sums, sizes)) in expected.chunks_mut(n).zip(bounds.chunks_mut(n)).enumerate() {
                    for (factor, b) in a[row * k..][..k].iter().map(|&a| f64::from(a)).zip(b.chunks(n)) {
                        for ((sum, size), &b) in sums.iter_mut().zip(sizes.iter_mut()).zip(b) {
                            *sum += factor * f64::from(b);
                            *size += (factor * f64::from(b)).abs();
                        }
                    }
                }
                let rounds = if problem.fill == Fill::Uniform { gamma(problem.k) * 1.001 } else { 0.0 };
                for bound in &mut bounds {
                    *bound *= rounds;
                }
            }
            Operands::I32 { a, b } => {
                for (row, sums) in expected.chunks_mut(n).enumerate() {
                    let mut whole = vec![std::num::Wrapping(0_i32); n];
                    for (factor, b) in a[row * k..][..k].iter().zip(b.chunks(n)) {
                        whole.iter_mut().zip(b).for_each(|(sum, b)| *sum += factor * b);
                    }
                    sums.iter_mut().zip(whole).for_each(|(sum, whole)| *sum = f64::from(whole.0));
                }
            }
        }
        Some(Self { problem, plan, operands, expected, bounds })
    }

    /// Multiply-adds.
    pub fn work(&self) -> u64 {
        u64::try_from(self.problem.multiply_adds()).unwrap_or(u64::MAX)
    }

    /// Multiply-adds of all lanes, idle or not.
    pub fn cost(&self) -> u64 {
        let area: u64 = self.plan.tile.into_iter().map(u64::from).product();
        let of_launch = |launch: &plan::Launch| {
            let count = |edges: [u32; 3]| edges.into_iter().map(u64::from).product::<u64>().max(1);
            let (blocks, threads) = (count(launch.grid), count(launch.block));
            blocks * area * self.problem.k * threads.next_multiple_of(32) / threads
        };
        self.plan.launches.iter().map(of_launch).sum()
    }

    /// M, N and K.
    pub fn name(&self) -> [u64; 3] {
        [self.problem.m, self.problem.n, self.problem.k]
    }

    /// Runs the kernel with this number of a unit, with the launch of this plan. `hazards` says whether they are looked for.
    pub fn run(&self, module: &Module, number: usize, plan: &Plan, hazards: bool) -> Outcome {
        let elements = self.problem.m * self.problem.n;
        let broken = Outcome { wrong: elements, hazards: 0, broken: true };
        self.ran(module, number, plan, hazards).unwrap_or(broken)
    }

    fn ran(&self, module: &Module, number: usize, plan: &Plan, watch: bool) -> Option<Outcome> {
        let mut memory = GlobalMemory::new();
        let [a, b] = self.operands.bytes();
        let elements = self.problem.m * self.problem.n;
        let poison = self.problem.dtype.poison();
        let mut arrays = vec![];
        for (name, bytes) in [("A", a), ("B", b)] {
            let pointer = memory.alloc(name, bytes.len() as u64, 4).ok()?;
            let words: Vec<u32> =
                bytes.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]])).collect();
            memory.upload(pointer, 0, &words).ok()?;
            arrays.push(pointer);
        }
        for (name, words) in [("C", elements), ("workspace", plan.workspace_elements)] {
            let pointer = memory.alloc(name, 4 * words.max(1), 4).ok()?;
            memory.fill(pointer, poison).ok()?;
            arrays.push(pointer);
        }
        let mut found = 0;
        for (at, launch) in plan.launches.iter().enumerate() {
            let kernel = module.kernel(&unit::entry(&launch.entry, number)).ok()?;
            let pointer = |array: usize, offset| simt::Arg::Pointer(arrays[array].offset(4 * offset as i64));
            let argument = |arg: &Arg| arg.either(pointer, simt::Arg::I32);
            let arguments: Vec<simt::Arg> = launch.args.iter().map(argument).collect();
            let [grid, block] = [launch.grid, launch.block].map(<(u32, u32, u32)>::from);
            let blocks: u64 = launch.grid.iter().map(|&edge| u64::from(edge)).product();
            let tile = u64::from(plan.tile[0]) * u64::from(plan.tile[1]);
            let mut config = LaunchConfig::new(grid, block).with_dynamic_shared(launch.shared_bytes);
            config.threads = 1;
            config.instruction_limit = 200_000 + blocks * tile.max(32) * (self.problem.k + 64) / 32 * 200;
            config.deadline = Some(simt::Deadline::after(SECONDS));
            if watch {
                let [of_c, of_workspace] = plan.must_write(at);
                let mut hazards = simt::Hazards::new();
                for (_, pointer) in [(of_c, arrays[2]), (of_workspace, arrays[3])].into_iter().filter(|it| it.0) {
                    hazards = hazards.output(pointer);
                }
                simt::launch(&kernel, &mut memory, &config, &arguments, &mut hazards).ok()?;
                found += hazards.found().iter().filter(|hazard| !hazard.kind.is_warning()).count() as u64;
            } else {
                simt::launch(&kernel, &mut memory, &config, &arguments, &mut ()).ok()?;
            }
        }
        let mut wrong = self.wrong(&memory, arrays[2])?;
        for (pointer, bytes) in arrays.iter().zip([a, b]) {
            let mut words = vec![0_u32; bytes.len() / 4];
            memory.download(*pointer, 0, &mut words).ok()?;
            let is_same = words.iter().flat_map(|word| word.to_le_bytes()).eq(bytes.iter().copied());
            // A kernel that writes to A or B is wrong everywhere.
            wrong = if is_same { wrong } else { elements };
        }
        Some(Outcome { wrong, hazards: found, broken: false })
    }

    fn wrong(&self, memory: &GlobalMemory, c: simt::DevicePointer) -> Option<u64> {
        let mut words = vec![0_u32; self.expected.len()];
        memory.download(c, 0, &mut words).ok()?;
        let value = |word: u32| match self.problem.dtype {
            Dtype::F32 => f64::from(f32::from_bits(word)),
            Dtype::I32 => f64::from(word as i32),
        };
        let is_right = |((word, expected), bound): ((&u32, &f64), &f64)| (value(*word) - expected).abs() <= *bound;
        let right = words.iter().zip(&self.expected).zip(&self.bounds).filter(|one| is_right(*one)).count();
        Some((words.len() - right) as u64)
    }
}
