//! The analyses, driven by hand. Here is what these tests share: a kernel whose instructions are found by their text, and hand-made
//! accesses.

mod counters;
mod hazards;

use super::sections;
use simt::{Access, AccessKind, Arrival, DevicePointer, GlobalMemory, Kernel, LaunchConfig, LaunchInfo, Module, Space};

/// A kernel body in which tests find an instruction by how its text begins; `[%r5]` and `[%rd5]` are addresses of unknown origin.
const BODY: &str = include_str!("body.ptx");

/// [`BODY`] with instructions that let threads wait for each other elsewhere than at barriers of the whole block.
fn waiting_body() -> String {
    BODY.replace("    ret;", include_str!("waiting.ptx").trim_end())
}

fn kernel(body: &str) -> Kernel {
    let text = include_str!("module.ptx").replace("BODY", body);
    Module::parse(&text).and_then(|module| module.kernel("k")).unwrap()
}

/// Returns the number of the first instruction whose text begins with `start`. If it is lowered to several steps, that is the last
/// of them, which is the access itself.
fn number(kernel: &Kernel, start: &str) -> u32 {
    let text = |index: &u32| kernel.location(*index).instruction;
    let mut all = (0..kernel.instruction_count()).skip_while(|index| !text(index).starts_with(start)).peekable();
    let first = *all.peek().unwrap_or_else(|| panic!("no instruction `{start}`"));
    all.take_while(|index| text(index) == text(&first)).last().unwrap_or(first)
}

/// Returns memory with two arrays of 4-byte elements: A of 1,024 bytes and C of 40 bytes.
fn memory() -> (GlobalMemory, DevicePointer, DevicePointer) {
    let mut memory = GlobalMemory::new();
    let a = memory.alloc("A", 1024, 4).unwrap();
    let c = memory.alloc("C", 40, 4).unwrap();
    (memory, a, c)
}

/// Starts an analysis of eight blocks of three warps.
fn begin(analysis: &mut impl simt::Analysis, kernel: &Kernel, memory: &GlobalMemory) {
    let config = LaunchConfig::new(8, 96);
    analysis.begin(&LaunchInfo { kernel, config: &config, memory, shared_bytes: 1024, params: &[] });
}

/// An access to memory by the instruction whose text begins with `start`.
struct Request<'a> {
    start: &'a str,
    warp: u32,
    lanes: u32,
    addresses: [u64; 32],
    /// The words that each lane stores.
    data: Option<[[u32; 4]; 32]>,
}

impl Request<'_> {
    fn access(&self, kernel: &Kernel) -> Access<'_> {
        let Self { start, warp, lanes, addresses, data } = self;
        let kind = match &start[..2] {
            "ld" => AccessKind::Load,
            "st" => AccessKind::Store,
            _ => AccessKind::Atomic,
        };
        let space = if start.contains("shared") { Space::Shared } else { Space::Global };
        let bytes = match start {
            _ if start.contains("v2") => 8,
            _ if start.contains("u8") => 1,
            _ => 4,
        };
        let by = (*warp, number(kernel, start), *lanes);
        Access { data: data.as_ref(), ..Access::new(by, (kind, space), bytes, addresses) }
    }
}

/// A warp arrives at barrier 0 of the whole block.
fn arrival(warp: u32, instruction: u32) -> Arrival {
    Arrival { warp, instruction, lanes: u32::MAX, id: 0, threads: 0, waits: true, reduces: false }
}

/// Parses a set of lanes or warps: `all`, or a mask in binary or (after `0x`) in hexadecimal.
fn mask(word: &str) -> u32 {
    match word.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).unwrap(),
        None if word == "all" => u32::MAX,
        None => u32::from_str_radix(word, 2).unwrap(),
    }
}

/// Compares what `run` returns for each line of a file with the indented lines below that line.
fn script(name: &str, run: impl Fn(&str) -> Vec<String>) {
    let mut found = String::new();
    for line in sections::text(name).lines().filter(|line| !line.starts_with(' ')) {
        found += &format!("{line}\n");
        if !line.is_empty() && !line.starts_with('#') {
            for said in run(line) {
                found += &format!("    {said}\n");
            }
        }
    }
    super::compare(name, &found);
}
