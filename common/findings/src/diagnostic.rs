//! What is wrong with a kernel, shown as a compiler shows its errors: a title in plain words, the kernel's own lines
//! with the places underlined and labelled, and one thing to do about it.
//!
//! [`Diagnostic`] is plain data. [`hazard`], [`fault`] and [`limit`] write it from what the simulator found; [`render`]
//! draws it. Learners see the same picture in a step's report, on standard error and in a lab.

mod around;
mod calls;
mod found;
mod indices;
mod marks;
mod race;
mod remedy;
mod render;
mod situation;
mod source;
mod spot;
mod statements;
#[cfg(test)]
mod tests;
mod texts;
mod underline;

pub use around::{HEADS, LOOPS, Part, READ, STORE};
pub use found::{fault, hazard, limit};
pub use marks::{add, with_calls};
pub use race::apart;
pub use remedy::call;
pub use render::{Diagnostic, Underlined, plain, render};
pub use spot::Spot;
pub use statements::is_name;
pub use texts::{Word, help, text_of, words};
pub use underline::{Mark, array_name, element_of, unmangled};
