//! What is wrong with a kernel, shown as a compiler shows its errors: a title in plain words, the kernel's own lines
//! with the places underlined and labelled, the rule behind it, and a remedy if one was tried.
//!
//! [`Diagnostic`] is plain data. [`hazard`], [`fault`] and [`limit`] write it from what the simulator found; [`render`]
//! draws it. Learners see the same picture in a step's report, on standard error and in a lab.

mod found;
mod render;
mod texts;
mod underline;

pub use found::{call, fault, hazard, limit, with_calls};
pub use render::{Diagnostic, Underlined, plain, render};
pub use underline::{Mark, Spot};
