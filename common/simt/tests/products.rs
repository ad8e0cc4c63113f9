//! Kernels that use the CUDA headers that learners use: half precision, tensor cores, cooperative groups. Each was compiled by NVRTC
//! and multiplies matrices of small whole numbers, so its product must be exact.
//!
//! The first line of a program is `// launch GRIDX,GRIDY BLOCKX,BLOCKY DYNAMIC_SHARED_BYTES`; `corpus/make_ptx.py` makes the PTX.

use super::launch::{launch, numbers};
use super::sections;

const SIZE: usize = 64;

/// Makes a whole number from -4 to 4 from random bits.
fn small(random: u32) -> f32 {
    (random >> 24) as f32 % 9.0 - 4.0
}

/// Runs a program, and returns its product and the simulator's messages.
fn run(ptx: &str) -> Result<(Vec<f32>, Vec<String>), simt::Error> {
    let launched = launch(ptx, None, (0, 50_000_000), small)?;
    launched.result?;
    // Some of the programs write C several times, on purpose.
    let hazards = launched.hazards.into_iter().filter(|hazard| !hazard.kind.is_coverage());
    Ok((launched.c, hazards.map(|hazard| hazard.to_string()).collect()))
}

#[test]
fn products_are_exact() {
    let [a, b] = [1, 2].map(|seed| numbers(SIZE * SIZE, seed, small));
    let exact: Vec<f32> =
        (0..SIZE * SIZE).map(|at| (0..SIZE).map(|k| a[at / SIZE * SIZE + k] * b[k * SIZE + at % SIZE]).sum()).collect();
    let mut messages = vec![];
    for (name, ptx) in sections::read("products.ptx") {
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

/// A thread that does not wait at a barrier in shared memory reads a tile before it has landed, or fills one that others still read.
#[test]
fn waiting_at_a_barrier_in_memory_orders_threads() {
    let all = sections::read("products.ptx");
    let (_, ptx) = all.into_iter().find(|(name, _)| name == "mbarrier").unwrap();
    for barrier in ["[%r43], %rd41", "[%r67], %rd6"] {
        let hasty = ptx.replace(&format!("mbarrier.test_wait.shared.b64 %p, {barrier};"), "setp.eq.u32 %p, 0, 0;");
        assert_ne!(hasty, ptx, "the program waits at {barrier}");
        let (_, hazards) = run(&hasty).unwrap();
        assert!(hazards.iter().any(|hazard| hazard.starts_with("data race")), "{barrier}: {hazards:?}");
    }
}
