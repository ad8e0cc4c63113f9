//! The rule of outputs: every element must be written. A second store to an element is needless, which is a warning.

use super::hazard::{Hazard, HazardKind};
use super::setup::{Array, Setup};
use crate::Place;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// The most elements that a message about an output lists by name.
const LISTED: usize = 3;

/// An output's number among the arrays, and how often each of its elements has been written, up to 2. All atomic operations on an
/// element together count as one write, because a sum may need any number of them.
type Output = (usize, Box<[AtomicU8]>);

/// How often the elements of outputs have been written, by all blocks together.
#[derive(Debug, Default)]
pub(super) struct Coverage(Vec<Output>);

impl Coverage {
    pub(super) fn new(setup: &Setup) -> Self {
        let elements = |array: &Array| (0..array.bytes / u64::from(array.element_bytes)).map(|_| AtomicU8::new(0));
        let outputs = setup.arrays.iter().enumerate().filter(|(_, array)| array.output);
        Self(outputs.map(|(number, array)| (number, elements(array).collect())).collect())
    }

    /// Notes that a thread writes to a place, by a store or an atomic operation. Every element that begins there counts.
    #[inline]
    pub(super) fn written(&self, setup: &Setup, address: u64, bytes: u32, store: bool) {
        let most = if store { 2 } else { 1 };
        for (number, writes) in &self.0 {
            let Array { base, bytes: size, element_bytes, .. } = setup.arrays[*number];
            let Some(start) = address.checked_sub(base).filter(|&start| start < size) else { continue };
            let [start, end] = [start, start + u64::from(bytes)].map(|at| at.div_ceil(element_bytes.into()));
            for element in start..end {
                let Some(writes) = writes.get(element as usize) else { break };
                // The update stops at `most`, even if several blocks write at the same time.
                let _ = writes.fetch_update(Relaxed, Relaxed, |writes| (writes < most).then_some(writes + 1));
            }
        }
    }

    /// Returns the hazards of outputs with elements that were never written, or written more than once.
    pub(super) fn hazards(&self, setup: &Setup) -> Vec<Hazard> {
        let kinds = [(HazardKind::NeverWritten, 0), (HazardKind::WrittenTwice, 2)];
        let all = self.0.iter().flat_map(|output| kinds.map(|kind| (output, kind)));
        let hazard = |((number, writes), (kind, times)): (&Output, (HazardKind, u8))| {
            let mut elements = (0..).zip(writes).filter(|(_, writes)| writes.load(Relaxed) == times);
            let first: Vec<u64> = elements.by_ref().take(LISTED).map(|(index, _)| index).collect();
            let count = (first.len() + elements.count()) as u64;
            let place = Place::Elements { array: setup.arrays[*number].named(), first, count, of: writes.len() as u64 };
            (count > 0).then(|| Hazard { kind, place, parties: vec![], count, time: None })
        };
        all.filter_map(hazard).collect()
    }
}
