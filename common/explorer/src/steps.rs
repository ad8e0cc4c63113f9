//! The steps of the course, in order. A step of your own joins by a line here and one in this crate's `Cargo.toml`.

use plan::Step;

/// The steps.
pub const STEPS: &[&Step] = &[
    &step01_cpu_naive::STEP,
    &step02_gpu_naive::STEP,
    &step03_single_block::STEP,
    &step04_tiled::STEP,
    &step05_thread_tile::STEP,
    &step06_prefetch::STEP,
];
