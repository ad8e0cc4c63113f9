//! What learners do across the steps: where they stand, labs, comparing, the difference between two steps.
//!
//! The program `cargo course` is a thin shell around this crate; the maintainers' program, `cargo x`, uses it too.

pub mod book;
pub mod compare;
pub mod difference;
pub mod doctor;
pub mod explore;
pub mod files;
pub mod grade;
pub mod lab;
pub mod least;
pub mod mine;
mod paper;
mod progress;
pub mod record;
pub mod review;
pub mod standing;
pub mod steps;
