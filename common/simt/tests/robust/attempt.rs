//! Runs whatever a text is: errors are welcome, panics are not, and what a launch computes depends neither on who watches it nor on
//! the host's instructions.

use simt::{
    Analyses, Analysis, Arg, Counters, Dim3, GlobalMemory, Hazards, InstructionSet, Kernel, LaunchConfig, Module, Trace,
};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};

/// Kernels that were launched so far.
pub static KERNELS: AtomicU64 = AtomicU64::new(0);
/// Launches of them, and those without an error.
pub static LAUNCHES: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

/// Grids and blocks.
const SHAPES: [([u32; 3], [u32; 3]); 10] = [
    ([1, 1, 1], [32, 1, 1]),
    ([2, 1, 1], [64, 1, 1]),
    ([2, 2, 1], [16, 3, 1]),
    ([1, 1, 1], [1, 1, 1]),
    ([3, 1, 1], [33, 1, 1]),
    ([4, 1, 1], [32, 1, 1]),
    ([1, 2, 2], [4, 4, 4]),
    ([1, 1, 3], [2, 7, 5]),
    ([2, 1, 1], [16, 16, 1]),
    ([2, 1, 1], [128, 1, 1]),
];
const LIMITS: [u64; 4] = [2000, 2000, 1000, 300];
/// One launch in 32 is large; more of them would take most of the time.
const LARGE: ([u32; 3], [u32; 3]) = ([1, 1, 1], [1024, 1, 1]);
const LARGE_LIMITS: [u64; 2] = [10_000, 50_000];
const SETS: [InstructionSet; 3] = [InstructionSet::Best, InstructionSet::Avx2, InstructionSet::Plain];
/// Bytes of arrays, how far arguments point past the start, and other arguments.
const ARRAYS: [u64; 4] = [4096, 4096, 256, 52];
const OFFSETS: [i64; 8] = [0, 0, 0, 0, 4, 16, 1, -4];
const NUMBERS: [u64; 8] = [1, 16, 8, 33, 0, 1000, u64::MAX, 0x3f80_0000_3f80_0000];
const DYNAMIC_BYTES: [u32; 4] = [256, 0, 4096, 100];

/// Reads, lowers and launches every kernel of the text: with every observer, with none, with each. The text itself chooses shapes
/// and arguments.
pub fn attempt(text: &str) {
    let Ok(module) = Module::parse(text) else { return };
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    let mut random = Random(hasher.finish());
    let first = Dim3::new(0, 0, 0);
    let names: Vec<String> = module.kernel_names().map(Into::into).collect();
    for name in names {
        let Ok(kernel) = module.kernel(&name) else { continue };
        KERNELS.fetch_add(1, Ordering::Relaxed);
        let config = chosen(&kernel, &mut random);
        let arguments = random.bits();
        let mut hazards = Hazards::new();
        if random.once_in(4) {
            hazards = hazards.output(simt::DevicePointer(1 << 46));
        }
        let traced = Trace::new([(first, first), ((1, 0).into(), (3, 1).into())]);
        let mut all = Analyses { counters: Some(Counters::new()), hazards: Some(hazards), trace: Some(traced) };
        let watched = launch(&kernel, &config, arguments, &mut all);
        if let Analyses { counters: Some(counters), hazards: Some(hazards), trace: Some(trace) } = &all {
            let _ = (counters.lines(), counters.works(), hazards.found(), trace.threads());
        }
        let set = any(&mut random, &SETS);
        let alone = launch(&kernel, &LaunchConfig { instruction_set: set, ..config }, arguments, &mut ());
        // A clock tells the time.
        if config.threads == 1 && !text.contains("clock") && !text.contains("globaltimer") {
            assert_eq!(watched, alone, "the result depends on the observers, or on the host's instructions ({set:?})");
        }
        // In other shapes, with one observer at a time.
        again(&kernel, &mut random, &mut ());
        again(&kernel, &mut random, &mut Counters::new());
        again(&kernel, &mut random, &mut Hazards::new());
        again(&kernel, &mut random, &mut Trace::new([(first, first)]));
    }
}

/// One of the list.
fn any<T: Copy + Default>(random: &mut Random, list: &[T]) -> T {
    random.pick(list).copied().unwrap_or_default()
}

/// A launch that the kernel allows, if it declares no unusual block.
fn chosen(kernel: &Kernel, random: &mut Random) -> LaunchConfig {
    let large = random.once_in(32);
    let (grid, block) = if large { LARGE } else { any(random, &SHAPES) };
    let limits: &[u64] = if large { &LARGE_LIMITS } else { &LIMITS };
    let [x, y, z] = kernel.required_threads().or(kernel.max_threads()).unwrap_or(block);
    LaunchConfig {
        dynamic_shared_bytes: any(random, &DYNAMIC_BYTES),
        instruction_limit: any(random, limits),
        // Making threads takes longer than most launches.
        threads: if random.once_in(16) { 2 } else { 1 },
        instruction_set: any(random, &SETS),
        ..LaunchConfig::new((grid[0], grid[1], grid[2]), (x, y, z))
    }
}

/// Launches in any shape.
fn again(kernel: &Kernel, random: &mut Random, analysis: &mut dyn Analysis) {
    launch(kernel, &chosen(kernel, random), random.bits(), analysis);
}

/// Launches, and gives what is printed and what is in memory then, if there was no error.
fn launch(
    kernel: &Kernel,
    config: &LaunchConfig,
    arguments: u64,
    analysis: &mut dyn Analysis,
) -> Option<(String, Vec<Vec<u32>>)> {
    let mut random = Random(arguments);
    let mut memory = GlobalMemory::new();
    let mut values = vec![];
    for param in kernel.params() {
        if param.bytes == 8 {
            let bytes = any(&mut random, &ARRAYS);
            let pointer = memory.alloc(&param.name, bytes, 4).expect("a page");
            let start: Vec<u32> = (0..bytes as u32 / 16).map(|number| number | 0x3c00_0000).collect();
            memory.upload(pointer, 0, &start).expect("it is large enough");
            values.push(Arg::Pointer(pointer.offset(any(&mut random, &OFFSETS))));
        } else {
            let number = any(&mut random, &NUMBERS).to_le_bytes();
            values.push(Arg::Bytes((0..param.bytes as usize).map(|byte| number[byte % 8]).collect()));
        }
    }
    let result = simt::launch(kernel, &mut memory, config, &values, analysis);
    LAUNCHES[0].fetch_add(1, Ordering::Relaxed);
    result.ok()?;
    LAUNCHES[1].fetch_add(1, Ordering::Relaxed);
    let contents = memory.allocations().iter().map(|allocation| {
        let mut words = vec![0; allocation.bytes().min(1 << 16) as usize / 4];
        memory.download(allocation.base(), 0, &mut words).expect("it is large enough");
        words
    });
    let contents = contents.collect();
    Some((memory.take_printed(), contents))
}

/// A generator of numbers, splitmix64, by its state.
pub struct Random(pub u64);

impl Random {
    /// Any 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A number below `end`, or 0.
    pub fn below(&mut self, end: usize) -> usize {
        (self.bits() % end.max(1) as u64) as usize
    }

    /// True once in this number of times.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    pub fn pick<'a, T>(&mut self, list: &'a [T]) -> Option<&'a T> {
        list.get(self.below(list.len()))
    }
}
