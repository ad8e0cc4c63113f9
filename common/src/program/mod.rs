//! A step's program: the command line, the calls of its host driver, the report and the exit status.

mod asked;
pub mod cli;
mod closing;
pub mod exit;
mod gpu;
mod host;
mod matrix;
pub mod report;
mod run;
mod slip;
mod standard;
mod verdict;

pub use asked::{Asked, Driver};
pub use closing::Times;
pub use gpu::{Compiled, Gpu};
pub use host::Host;
pub use matrix::{Matrix, random_matrices};
pub use run::{execute, reported, run};
pub use standard::on_device;
