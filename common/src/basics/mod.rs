//! The base of all rooms, which uses none of them: where the course is, the properties of this machine, the elements of A and B,
//! units, and text and progress on the terminal.

pub mod driver;
pub mod files;
pub mod host;
pub mod json;
pub mod nvidia_smi;
pub mod packed;
pub mod table;
pub mod workspace;

pub use system::{escape, grouped, io_reason, line, ms, number, output, print, print_whole, process, units, wrapped};
pub use verify::matrix::{Operands, Side};
pub use verify::mix::mix;
pub use verify::progress::Progress;
pub use verify::{matrix, mix, progress};
