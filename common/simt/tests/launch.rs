//! Launches a program whose first line is `// launch GRIDX,GRIDY BLOCKX,BLOCKY DYNAMIC_SHARED_BYTES M N K`.

use findings::declarations::shared_extents;
use simt::{Arg, Error, GlobalMemory, Hazard, Hazards, LaunchConfig, Module};

/// Returns `count` numbers that `of` makes from pseudo-random bits.
pub fn numbers(count: usize, seed: u32, of: fn(u32) -> f32) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        of(state)
    };
    (0..count).map(|_| next()).collect()
}

/// The outcome of a program's launch: the threads of its blocks, how it ended, the hazards found, what it printed, and C.
#[allow(dead_code)] // not every test looks at all of it
pub struct Launched {
    pub block: [u32; 3],
    pub result: Result<(), Error>,
    pub hazards: Vec<Hazard>,
    pub printed: String,
    pub c: Vec<f32>,
}

/// Launches a program as its first line says, on numbers that `of` makes. If that line has no matrix sizes, they are 64.
pub fn launch(
    ptx: &str,
    source: Option<&str>,
    (threads, limit): (usize, u64),
    of: fn(u32) -> f32,
) -> Result<Launched, Error> {
    let header = ptx.lines().next().unwrap_or_default();
    let words: Vec<u32> = header.split([' ', ',']).filter_map(|word| word.parse().ok()).collect();
    let [gx, gy, bx, by, shared, ref sizes @ ..] = words[..] else { panic!("no launch line: {header}") };
    let [m, n, k] = sizes.try_into().unwrap_or([64; 3]);
    let kernel = Module::parse(ptx)?.kernel("matmul")?;
    let mut memory = GlobalMemory::new();
    let elements = [m * k, k * n, m * n];
    let mut arguments = vec![];
    for (index, name) in ["A", "B", "C"].into_iter().enumerate() {
        let count = elements[index];
        let pointer = memory.alloc(name, 4 * u64::from(count), 4)?;
        if name == "C" {
            memory.fill(pointer, f32::NAN)?;
        } else {
            memory.upload(pointer, 0, &numbers(count as usize, index as u32 + 1, of))?;
        }
        arguments.push(Arg::Pointer(pointer));
    }
    let output = memory.allocations()[2].base;
    arguments.extend([m, n, k].map(|size| Arg::I32(size as i32)));
    let mut config = LaunchConfig::new((gx, gy), (bx, by));
    (config.dynamic_shared_bytes, config.instruction_limit, config.threads) = (shared, limit, threads);
    let mut hazards = Hazards::new().output(output);
    for (name, extents) in source.map_or(vec![], |source| shared_extents(source, &[])) {
        hazards = hazards.extents(&name, extents);
    }
    let result = simt::launch(&kernel, &mut memory, &config, &arguments, &mut hazards).map(drop);
    let mut c = vec![0.0; elements[2] as usize];
    memory.download(output, 0, &mut c)?;
    Ok(Launched { block: [bx, by, 1], result, hazards: hazards.found().to_vec(), printed: memory.take_printed(), c })
}
