//! The rule of outputs: every element is written. One that is stored to again has cost a store for nothing: a warning.

use super::hazard::{Hazard, HazardKind};
use super::setup::{Array, Setup};
use crate::Place;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// Largest number of elements that a message about an output lists by name.
const LISTED: usize = 3;

/// How often each element of the outputs has been written, by all blocks together.
#[derive(Debug, Default)]
pub(super) struct Coverage(Vec<Output>);

#[derive(Debug)]
struct Output {
    base: u64,
    bytes: u64,
    element_bytes: u64,
    /// Up to 2. Atomic operations count as one, because a sum takes as many as it takes.
    writes: Box<[AtomicU8]>,
}

impl Coverage {
    pub(super) fn new(setup: &Setup) -> Self {
        let output = |array: &Array| {
            let element_bytes = u64::from(array.element_bytes);
            let elements = (array.bytes / element_bytes) as usize;
            Output {
                base: array.base,
                bytes: array.bytes,
                element_bytes,
                writes: (0..elements).map(|_| AtomicU8::new(0)).collect(),
            }
        };
        Self(setup.arrays.iter().filter(|array| array.output).map(output).collect())
    }

    /// Bytes for the elements of outputs.
    pub(super) fn bytes(elements: u64) -> u64 {
        elements
    }

    /// A thread writes to a place, by a store or by an atomic operation: all elements that begin there count.
    #[inline]
    pub(super) fn written(&self, address: u64, bytes: u32, store: bool) {
        let most = if store { 2 } else { 1 };
        for output in &self.0 {
            let Some(start) = address.checked_sub(output.base).filter(|&start| start < output.bytes) else { continue };
            let end = start + u64::from(bytes);
            for element in start.div_ceil(output.element_bytes)..end.div_ceil(output.element_bytes) {
                let Some(writes) = output.writes.get(element as usize) else { break };
                // Three blocks at once leave it at 2 all the same.
                let _ = writes.fetch_update(Relaxed, Relaxed, |writes| (writes < most).then_some(writes + 1));
            }
        }
    }

    /// Elements of outputs that were never written, or more than once.
    pub(super) fn hazards(&self, setup: &Setup) -> Vec<Hazard> {
        let outputs = setup.arrays.iter().filter(|array| array.output);
        self.0.iter().zip(outputs).flat_map(|(output, array)| output.hazards(array)).collect()
    }
}

impl Output {
    fn hazards(&self, array: &Array) -> impl Iterator<Item = Hazard> {
        let hazard = |(kind, times)| {
            let mut elements = (0..).zip(&self.writes).filter(|(_, writes)| writes.load(Relaxed) == times);
            let first: Vec<u64> = elements.by_ref().take(LISTED).map(|(index, _)| index).collect();
            let count = (first.len() + elements.count()) as u64;
            let place = Place::Elements { array: array.named(), first, count, of: self.writes.len() as u64 };
            (count > 0).then(|| Hazard { kind, place, parties: vec![], count, time: None })
        };
        [(HazardKind::NeverWritten, 0), (HazardKind::WrittenTwice, 2)].into_iter().filter_map(hazard)
    }
}
