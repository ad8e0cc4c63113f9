//! The base of all rooms, which uses none of them: where the course is, the properties of this machine, the elements of A and B,
//! units, and text and progress on the terminal.

pub mod driver;
pub mod files;
pub mod host;
pub mod json;
pub mod nvidia_smi;
pub mod output;
pub mod packed;
pub mod process;
pub mod table;
pub mod units;
pub mod workspace;

pub use output::{escape, io_reason, print, print_whole, wrapped};
pub use units::{grouped, ms, number};
pub use verify::matrix::{Operands, Side};
pub use verify::mix::mix;
pub use verify::progress::Progress;
pub use verify::{matrix, mix, progress};
