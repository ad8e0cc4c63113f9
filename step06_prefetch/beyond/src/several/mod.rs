//! One product on several GPUs: panels of A and B travel while the panels before them are multiplied.
//!
//! C is cut into blocks over a grid of GPUs. The `plan` deals the panels of A and B out to them, and `multiply` is step
//! 6's pipeline with panels for tiles. One thread asks all GPUs for work. NCCL moves the panels between GPUs; between
//! simulated ones they are copied.

mod kernels;
mod multiply;
mod nccl;
mod options;
mod outcome;
mod plan;
mod run;
mod streams;
pub(crate) mod tables;
#[cfg(test)]
mod tests;
mod verify;

pub use kernels::{folder, sources};
pub use nccl::configure;
pub use options::Args;
pub use run::main;
