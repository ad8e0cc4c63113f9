//! One product on several GPUs: panels of A and B travel while the panels before them are multiplied.
//!
//! C is cut into blocks over a `grid` of GPUs. The `plan` deals the panels of A and B out to them; a
//! `link` carries each panel to the GPUs of a row or a column, and `multiply` is step 6's pipeline with
//! panels for tiles. NCCL moves the data between GPUs; between simulated ones, messages do.

mod grid;
mod kernels;
mod link;
mod multiply;
mod nccl;
mod options;
mod plan;
mod post;
mod report;
mod run;
mod start;
pub(crate) mod tables;
#[cfg(test)]
mod tests;
mod verify;

pub use kernels::{folder, sources};
pub use nccl::set_multicast;
pub use options::Args;
pub use start::main;
