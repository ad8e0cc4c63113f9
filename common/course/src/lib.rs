//! What learners do across the steps: where they stand, labs, comparing, the difference between two steps.
//!
//! The program `cargo course` is a thin shell around this crate; the maintainers' program, `cargo x`, uses it too.

#![allow(missing_docs, reason = "what has no sentence is said by its name")]

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
pub mod record;
pub mod review;
pub mod secret;
pub mod standing;
pub mod steps;
