//! From a kernel's source to code that a device can load: NVRTC or rustc where it is found, else the committed PTX.

pub mod assembled;
pub(crate) mod child;
mod headers;
mod includes;
pub mod libraries;
pub mod nvrtc;
pub mod places;
pub mod rustc;
mod source;

pub use child::NotStarted;
pub use source::{Code, Source, check_signature, file_of, folder_of, hash};
