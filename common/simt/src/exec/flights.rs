//! The asynchronous copies of a warp that are in flight: read, but not yet written.

use crate::lanes::{each, select};

/// The copies of an instruction.
pub(crate) struct Flight {
    pub instruction: u32,
    pub lanes: u32,
    pub bytes: u32,
    pub to: [u32; 32],
    pub data: [[u32; 4]; 32],
}

/// Copies of a warp that have not arrived.
const MOST: usize = 1024;

#[derive(Default)]
pub(crate) struct Flights {
    /// Each with the group of each lane's copy.
    all: Vec<(Flight, [u32; 32])>,
    /// Groups that each lane has closed.
    closed: [u32; 32],
}

impl Flights {
    /// Copies take off. They may arrive whenever they like: so that a kernel that never waits does not fill the host's memory, the older
    /// half of too many arrives now.
    pub fn start(&mut self, flight: Flight, mut write: impl FnMut(&Flight, u32)) {
        self.all.push((flight, self.closed));
        if self.all.len() > MOST {
            self.all.drain(..MOST / 2).for_each(|(flight, _)| write(&flight, flight.lanes));
        }
    }

    /// Lanes close a group.
    pub fn commit(&mut self, lanes: u32) {
        each(lanes).for_each(|lane| self.closed[lane] += 1);
    }

    /// Lands the copies of the lanes whose group is older than the `keep` latest closed ones, or all.
    pub fn land(&mut self, lanes: u32, keep: Option<u32>, mut write: impl FnMut(&Flight, u32)) {
        let closed = self.closed;
        self.all.retain_mut(|(flight, group)| {
            let is_old = |lane: usize| keep.is_none_or(|keep| group[lane].saturating_add(keep) < closed[lane]);
            let landed = select(flight.lanes & lanes, is_old);
            if landed != 0 {
                write(flight, landed);
                flight.lanes &= !landed;
            }
            flight.lanes != 0
        });
    }

    /// The copies that nobody has waited for never land.
    pub fn clear(&mut self) {
        self.all.clear();
    }
}
