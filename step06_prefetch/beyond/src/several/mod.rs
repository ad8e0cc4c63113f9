//! One product on several GPUs: panels of A and B travel while the panels before them are multiplied.
//!
//! C is cut into blocks over a [`grid`] of GPUs. The [`plan`] deals the panels of A and B out to them; a
//! [`link`] carries each panel to the GPUs of a row or a column, and [`multiply`] is step 6's pipeline with
//! panels for tiles. NCCL moves the data between GPUs; between simulated ones, messages do.

pub mod grid;
pub mod kernels;
pub mod link;
pub mod multiply;
pub mod nccl;
pub mod options;
pub mod plan;
pub mod post;
pub mod records;
pub mod report;
pub mod run;
pub mod start;
pub mod tables;
pub mod verify;
