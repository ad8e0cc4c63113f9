//! What every program here asks of the machine that it runs on: files that others wrote, processes with a limit, text for a
//! terminal, numbers for people. It knows no kernel, no GPU and no course.

pub mod files;
#[cfg(feature = "line")]
pub mod line;
pub mod output;
pub mod process;
pub mod units;

pub use output::{escape, escaped, io_reason, print, print_whole, wrapped};
pub use units::{grouped, ms, number};
