//! Edits of a wrong kernel that are tried: which of them make its product right?
//!
//! `lexer` cuts the source into tokens, `names`, `words`, `places` and `signs` propose small edits, `unit` puts
//! many edited kernels into one source for the compiler, `run` runs and judges them, and `search` decides which is best.

mod edges;
pub mod edit;
mod lexer;
mod names;
mod outline;
mod places;
pub mod run;
pub mod search;
mod signs;
mod unit;
mod words;

pub use edit::{Edit, LaunchEdit, LineEdit, Repair};
pub use search::{Bench, Found, Launched, Search};
