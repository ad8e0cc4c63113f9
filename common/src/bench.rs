//! Criterion benches of a step: the same groups and sizes in every step, so that their figures stand side by side.

use crate::step::Step;

/// Benches a step.
pub fn run(_step: &Step) {}
