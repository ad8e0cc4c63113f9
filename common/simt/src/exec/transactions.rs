//! What barriers in shared memory await of bulk copies. Plain data.

use crate::observe::BulkCopy;
use std::collections::HashMap;

/// What the barriers of a block await besides arrivals, by their positions in shared memory.
#[derive(Debug, Default)]
pub(super) struct Transactions(HashMap<u32, Awaited>);

/// What one barrier awaits.
#[derive(Debug, Default)]
pub(super) struct Awaited {
    /// Bytes that have been announced and have not arrived.
    pub bytes: i64,
    pub under_way: Vec<BulkCopy>,
}

impl Transactions {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn of(&mut self, barrier: u32) -> &mut Awaited {
        self.0.entry(barrier).or_default()
    }

    /// What a barrier awaits that has awaited anything.
    pub fn known(&mut self, barrier: u32) -> Option<&mut Awaited> {
        self.0.get_mut(&barrier)
    }

    /// A barrier awaits more bytes; gives how many it awaits now.
    pub fn expect(&mut self, barrier: u32, bytes: i64) -> i64 {
        if bytes == 0 && !self.0.contains_key(&barrier) {
            return 0;
        }
        let awaited = self.of(barrier);
        awaited.bytes = awaited.bytes.saturating_add(bytes);
        awaited.bytes
    }
}
