//! From the text of a kernel to PTX: CUDA C by NVRTC, Rust by rustc, both found where this machine has them.
//!
//! A text is untrusted. It is compiled in a child process with limits on time and memory, and it includes only the headers that
//! are passed along with it ([`headers`] collects them). The child is the program itself: [`answer`], which a program calls before it
//! reads its command line, does the child's work. A program that does not call it compiles in its own process, without limits.
//!
//! ```no_run
//! use compile::{Job, Unit, compile, nvrtc};
//!
//! let nvrtc = nvrtc::find(&[])?;
//! let source = "extern \"C\" __global__ void nothing() {}".to_owned();
//! let options = vec!["--gpu-architecture=compute_80".to_owned()];
//! let unit = Unit { source, name: "nothing.cu".to_owned(), options, ..Unit::default() };
//! println!("{}", compile(&Job::Cuda(nvrtc.path.clone(), unit))?.ptx);
//! # anyhow::Ok(())
//! ```

mod child;
mod folder;
mod headers;
mod includes;
pub mod libraries;
pub mod nvrtc;
pub mod rustc;
mod unit;

pub use child::{Job, NotStarted, answer, compile};
pub use includes::{Headers, beside, headers};
pub use unit::{Compiled, Unit};
