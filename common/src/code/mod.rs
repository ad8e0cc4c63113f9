//! From a kernel's source to code that a device can load: compiled if there is a compiler, else the committed PTX.

pub mod assembled;
mod compilers;
mod rust;
mod source;

pub use compilers::{environments, find_nvrtc, find_rustc};
pub use source::{Code, Source, check_signature, file_of, folder_of, hash};
