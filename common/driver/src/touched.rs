//! Which bytes of global memory a kernel reads and writes.

use crate::ranges::Ranges;
use simt::{Access, AccessKind, Analysis, BlockInfo, BulkCopy, CopyAccess, LaunchInfo, Observer, Space};
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes that were read, written, and updated by atomic operations.
#[derive(Debug, Clone, Default)]
pub struct Bytes {
    pub read: Ranges,
    pub written: Ranges,
    pub updated: Ranges,
}

/// The analysis; others may watch with it.
pub struct Touched<'a> {
    pub others: &'a mut dyn Analysis,
    bytes: Arc<Mutex<Bytes>>,
}

impl<'a> Touched<'a> {
    /// An analysis that has seen nothing.
    pub fn new(others: &'a mut dyn Analysis) -> Self {
        Self { others, bytes: Arc::default() }
    }

    /// What the launch touched.
    pub fn bytes(&self) -> Bytes {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Analysis for Touched<'_> {
    fn begin(&mut self, launch: &LaunchInfo<'_>) {
        self.others.begin(launch);
    }

    fn steps(&self) -> bool {
        self.others.steps()
    }

    fn in_order(&self) -> bool {
        self.others.in_order()
    }

    // What other orders of the threads touch does not count.
    fn second(&mut self) -> Option<&mut dyn Analysis> {
        self.others.second()
    }

    fn block(&self, block: &BlockInfo) -> Vec<Box<dyn Observer>> {
        let own: Box<dyn Observer> = Box::new(OfBlock { all: self.bytes.clone(), lists: Default::default() });
        let mut observers = self.others.block(block);
        observers.push(own);
        observers
    }
}

/// Ranges that a block keeps before it merges them.
const MOST: usize = 1 << 14;

struct OfBlock {
    all: Arc<Mutex<Bytes>>,
    lists: [Vec<(u64, u64)>; 3],
}

impl OfBlock {
    fn note(&mut self, which: usize, lanes: u32, addresses: &[u64; 32], bytes: u64) {
        let list = &mut self.lists[which];
        for lane in (0..32).filter(|lane| lanes >> lane & 1 == 1) {
            let (start, end) = (addresses[lane], addresses[lane] + bytes);
            match list.last_mut() {
                // Most warps access one place after the other.
                Some(last) if start >= last.0 && start <= last.1 => last.1 = last.1.max(end),
                _ => list.push((start, end)),
            }
        }
        if list.len() > MOST {
            *list = Ranges::of(std::mem::take(list)).list().to_vec();
            if list.len() > MOST / 2 {
                self.merge();
            }
        }
    }

    fn merge(&mut self) {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let Bytes { read, written, updated } = &mut *all;
        for (ranges, list) in [read, written, updated].into_iter().zip(&mut self.lists) {
            if !list.is_empty() {
                ranges.add(&Ranges::of(std::mem::take(list)));
            }
        }
    }
}

impl Observer for OfBlock {
    fn access(&mut self, access: &Access<'_>) {
        if access.space != Space::Global {
            return;
        }
        let which = match access.kind {
            AccessKind::Load | AccessKind::CopySource => 0,
            AccessKind::Atomic => 2,
            _ => 1,
        };
        self.note(which, access.lanes, access.addresses, access.bytes.into());
    }

    fn copy(&mut self, copy: &CopyAccess<'_>) {
        for lane in (0..32).filter(|lane| copy.lanes >> lane & 1 == 1) {
            self.note(0, 1 << lane, copy.from, copy.source_bytes[lane].into());
        }
    }

    fn bulk_copy(&mut self, copy: &BulkCopy) {
        self.lists[0].push((copy.from, copy.from + u64::from(copy.bytes)));
    }

    fn end(mut self: Box<Self>) {
        self.merge();
    }
}
