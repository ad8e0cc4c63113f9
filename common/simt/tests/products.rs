//! Kernels compiled by NVRTC from the headers that learners use: half precision, tensor cores, cooperative groups. Each multiplies
//! matrices of small whole numbers, so that its product must be exact.
//!
//! The first line of a program is `// launch GRIDX,GRIDY BLOCKX,BLOCKY DYNAMIC_SHARED_BYTES`; `corpus/make_ptx.py` makes the PTX.

use super::sections;
use simt::{Arg, GlobalMemory, Hazards, LaunchConfig, Module};
use std::path::Path;

const SIZE: usize = 64;

/// Whole numbers from -4 to 4, different in every place.
fn data(seed: u32) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as f32 % 9.0 - 4.0
    };
    (0..SIZE * SIZE).map(|_| next()).collect()
}

/// The product of a program, and what the simulator says of it.
fn run(ptx: &str) -> Result<(Vec<f32>, Vec<String>), simt::Error> {
    let header = ptx.lines().next().unwrap_or_default();
    let numbers: Vec<u32> = header.split([' ', ',']).filter_map(|word| word.parse().ok()).collect();
    let [gx, gy, bx, by, shared] = numbers[..] else { panic!("no launch line: {header}") };
    let kernel = Module::parse(ptx)?.kernel("matmul")?;
    let mut memory = GlobalMemory::new();
    let mut arguments = vec![];
    for (name, values) in [("A", data(1)), ("B", data(2)), ("C", vec![f32::NAN; SIZE * SIZE])] {
        let pointer = memory.alloc(name, 4 * values.len() as u64, 4)?;
        memory.upload(pointer, 0, &values)?;
        arguments.push(Arg::Pointer(pointer));
    }
    let output = memory.allocations()[2].base();
    arguments.extend([SIZE; 3].map(|size| Arg::I32(size as i32)));
    let mut config = LaunchConfig::new((gx, gy), (bx, by));
    (config.dynamic_shared_bytes, config.instruction_limit) = (shared, 50_000_000);
    let mut hazards = Hazards::new().output(output);
    simt::launch(&kernel, &mut memory, &config, &arguments, &mut hazards)?;
    let mut product = vec![0.0; SIZE * SIZE];
    memory.download(output, 0, &mut product)?;
    // Some write C several times, on purpose.
    let hazards = hazards.found().into_iter().filter(|hazard| !hazard.kind.is_coverage());
    Ok((product, hazards.map(|hazard| hazard.to_string()).collect()))
}

#[test]
fn products_are_exact() {
    let (a, b) = (data(1), data(2));
    let exact: Vec<f32> =
        (0..SIZE * SIZE).map(|at| (0..SIZE).map(|k| a[at / SIZE * SIZE + k] * b[k * SIZE + at % SIZE]).sum()).collect();
    let mut messages = vec![];
    for (name, ptx) in sections::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/products.ptx")) {
        match run(&ptx) {
            Ok((product, hazards)) => {
                let wrong =
                    product.iter().zip(&exact).filter(|(found, exact)| found.to_bits() != exact.to_bits()).count();
                if wrong > 0 || !hazards.is_empty() {
                    messages.push(format!("{name}: {wrong} elements are wrong; {}", hazards.join("; ")));
                }
            }
            Err(error) => messages.push(format!("{name}: {error}")),
        }
    }
    assert!(messages.is_empty(), "{}", messages.join("\n"));
}

/// Who does not wait for a barrier in shared memory reads a tile before it has landed, or fills one that others still read.
#[test]
fn waiting_at_a_barrier_in_memory_orders_threads() {
    let all = sections::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/products.ptx"));
    let (_, ptx) = all.into_iter().find(|(name, _)| name == "mbarrier").unwrap();
    for barrier in ["[%r43], %rd41", "[%r67], %rd6"] {
        let hasty = ptx.replace(&format!("mbarrier.test_wait.shared.b64 %p, {barrier};"), "setp.eq.u32 %p, 0, 0;");
        assert_ne!(hasty, ptx, "the program waits at {barrier}");
        let (_, hazards) = run(&hasty).unwrap();
        assert!(hazards.iter().any(|hazard| hazard.starts_with("data race")), "{barrier}: {hazards:?}");
    }
}
