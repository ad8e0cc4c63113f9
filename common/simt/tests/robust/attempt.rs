//! Runs any text as a program. Errors are fine, panics are not, and what a launch computes must depend neither on its observers nor
//! on the host's instruction set.

use simt::{
    Analyses, Analysis, Arg, Counters, Dim3, GlobalMemory, Hazards, InstructionSet, Kernel, LaunchConfig, Module, Trace,
};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};

/// Number of kernels that have been launched so far.
pub static KERNELS: AtomicU64 = AtomicU64::new(0);
/// Number of launches so far, and number of launches without an error.
pub static LAUNCHES: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

/// Pairs of grid and block.
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
/// One launch in 32 is large; if there were more, they would take most of the time.
const LARGE: ([u32; 3], [u32; 3]) = ([1, 1, 1], [1024, 1, 1]);
const LARGE_LIMITS: [u64; 2] = [10_000, 50_000];
const SETS: [InstructionSet; 3] = [InstructionSet::Best, InstructionSet::Avx2, InstructionSet::Plain];
/// Sizes of arrays in bytes, offsets of pointers from the start of their array, and values of other arguments.
const ARRAYS: [u64; 4] = [4096, 4096, 256, 52];
const OFFSETS: [i64; 8] = [0, 0, 0, 0, 4, 16, 1, -4];
const NUMBERS: [u64; 8] = [1, 16, 8, 33, 0, 1000, u64::MAX, 0x3f80_0000_3f80_0000];
const DYNAMIC_BYTES: [u32; 4] = [256, 0, 4096, 100];

/// Reads, lowers and launches every kernel of the text: with all observers, with none, and with each one alone. Shapes and arguments
/// are derived from a hash of the text.
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
        let mut plain = config;
        plain.instruction_set = set;
        let alone = launch(&kernel, &plain, arguments, &mut ());
        // With several host threads blocks may race, and a clock shows the time, so these launches are not compared.
        if config.threads == 1 && !text.contains("clock") && !text.contains("globaltimer") {
            assert_eq!(watched, alone, "the result depends on the observers, or on the host's instructions ({set:?})");
        }
        // Other shapes, with no observer and with one at a time.
        again(&kernel, &mut random, &mut ());
        again(&kernel, &mut random, &mut Counters::new());
        again(&kernel, &mut random, &mut Hazards::new());
        again(&kernel, &mut random, &mut Trace::new([(first, first)]));
    }
}

fn any<T: Copy + Default>(random: &mut Random, list: &[T]) -> T {
    random.pick(list).copied().unwrap_or_default()
}

/// Returns a launch that the kernel allows unless it declares an unusual block.
fn chosen(kernel: &Kernel, random: &mut Random) -> LaunchConfig {
    let large = random.once_in(32);
    let (grid, block) = if large { LARGE } else { any(random, &SHAPES) };
    let limits: &[u64] = if large { &LARGE_LIMITS } else { &LIMITS };
    let [x, y, z] = kernel.required_threads().or(kernel.max_threads()).unwrap_or(block);
    let mut config = LaunchConfig::new((grid[0], grid[1], grid[2]), (x, y, z));
    config.dynamic_shared_bytes = any(random, &DYNAMIC_BYTES);
    config.instruction_limit = any(random, limits);
    // Starting threads takes longer than most launches, so few launches use two.
    config.threads = if random.once_in(16) { 2 } else { 1 };
    config.instruction_set = any(random, &SETS);
    config
}

fn again(kernel: &Kernel, random: &mut Random, analysis: &mut dyn Analysis) {
    launch(kernel, &chosen(kernel, random), random.bits(), analysis);
}

/// Launches the kernel. Returns what it printed and the contents of memory, or `None` after an error.
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
        let mut words = vec![0; allocation.bytes.min(1 << 16) as usize / 4];
        memory.download(allocation.base, 0, &mut words).expect("it is large enough");
        words
    });
    let contents = contents.collect();
    Some((memory.take_printed(), contents))
}

/// The random number generator splitmix64; the field is its state.
pub struct Random(pub u64);

impl Random {
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// Returns a random number below `end`, or 0 if `end` is 0.
    pub fn below(&mut self, end: usize) -> usize {
        (self.bits() % end.max(1) as u64) as usize
    }

    /// Returns true once in `times` calls on average.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    pub fn pick<'a, T>(&mut self, list: &'a [T]) -> Option<&'a T> {
        list.get(self.below(list.len()))
    }
}
