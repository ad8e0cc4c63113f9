//! The rule of outputs: every element is written exactly once.

use super::between::Summaries;
use super::plan::{Array, Plan};
use crate::analyses::report::{Hazard, HazardKind};

/// Largest number of elements that a message about an output lists by name.
const LISTED: usize = 3;

/// Elements of an array, the first few of them by name.
#[derive(Default)]
struct Elements {
    count: u64,
    first: Vec<String>,
}

impl Elements {
    fn push(&mut self, array: &Array, index: u64) {
        self.count += 1;
        if self.first.len() < LISTED {
            self.first.push(format!("{}[{index}]", array.name));
        }
    }

    /// The hazard that they are; none if there are no such elements.
    fn hazard(self, kind: HazardKind, elements: u64) -> Option<Hazard> {
        let Self { count, first } = self;
        let more = if count > first.len() as u64 { ", ..." } else { "" };
        let place = format!("{}{more} ({count} of {elements} elements)", first.join(", "));
        (count > 0).then(|| Hazard { kind, place, parties: vec![], count })
    }
}

/// Elements of outputs that were written more than once, or never.
pub(super) fn hazards(plan: &Plan, summaries: &Summaries) -> Vec<Hazard> {
    let outputs = plan.arrays.iter().filter(|array| array.output);
    outputs.flat_map(|array| of_array(plan, summaries, array)).collect()
}

fn of_array(plan: &Plan, summaries: &Summaries, array: &Array) -> impl Iterator<Item = Hazard> + use<> {
    let (mut never, mut twice) = (Elements::default(), Elements::default());
    let step = u64::from(array.element_bytes);
    let elements = array.bytes / step;
    for index in 0..elements {
        match summaries.writes(plan, array.base + index * step) {
            0 => never.push(array, index),
            1 => {}
            _ => twice.push(array, index),
        }
    }
    let twice = twice.hazard(HazardKind::WrittenTwice, elements);
    twice.into_iter().chain(never.hazard(HazardKind::NeverWritten, elements))
}
