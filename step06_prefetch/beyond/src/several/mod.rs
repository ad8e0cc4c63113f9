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

use kernels::{At, Kernels, Sources, THREADS, launch};
pub use kernels::{folder, sources};
use multiply::{Gpu, Product, Share};
use nccl::Nccl;
pub use nccl::configure;
use outcome::{Outcome, gb};
use plan::{Grid, Plan, length, usual_depth};
pub use run::{Args, main};
use streams::{Span, Streams};
use verify::{Verdict, freivalds, sampled};
