//! One product on several GPUs: panels of A and B travel while the panels before them are multiplied.
//!
//! C is cut into blocks over a grid of GPUs. `plan` distributes the panels of A and B over the GPUs, and `multiply` is step 6's
//! pipeline with panels in place of tiles. One thread gives work to all GPUs. NCCL moves panels between real GPUs; between
//! simulated ones they are copied.

mod kernels;
mod multiply;
mod nccl;
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
pub use run::{Args, main};
