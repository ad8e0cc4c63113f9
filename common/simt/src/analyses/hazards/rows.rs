//! The shadows of shared memory, in rows of 32 units. Where the lanes of a warp access the units of a row one each and nobody accesses
//! less of it, one shadow stands for all of them.

use super::cell::{Cell, Lists};
use super::event::Event;
use super::extent::Extent;
use crate::Access;

/// Units of a row.
const UNITS: usize = 32;

/// A row: the shadow of its first unit if each of the others has that of the next lane; none if they differ.
type Row = Option<Cell>;

/// The shadows of a block's shared memory.
#[derive(Debug)]
pub(super) struct Rows {
    together: Vec<Row>,
    cells: Vec<Cell>,
    /// Units that there are.
    count: usize,
}

impl Rows {
    pub(super) fn new(count: usize) -> Self {
        let rows = count.div_ceil(UNITS);
        Self { together: vec![Some(Cell::default()); rows], cells: vec![Cell::default(); rows * UNITS], count }
    }

    /// Bytes for a number of units.
    pub(super) fn bytes(extent: &Extent, units: u64) -> u64 {
        let rows = units.div_ceil(UNITS as u64);
        Lists::bytes(extent, rows * UNITS as u64) + rows * size_of::<Row>() as u64
    }

    pub(super) fn restart(&mut self) {
        self.together.fill(Some(Cell::default()));
    }

    /// The row that an access takes, a unit for each lane, if it does.
    pub(super) fn of(&self, access: &Access<'_>, unit: u32) -> Option<usize> {
        let (first, bytes) = (access.addresses[0], 1 << unit);
        let next = |lane: usize| access.addresses[lane] == first + bytes * lane as u64;
        let whole = access.lanes == u32::MAX
            && u64::from(access.bytes) == bytes
            && (first >> unit).is_multiple_of(UNITS as u64);
        let at = (first >> unit) as usize;
        (whole && (0..UNITS).fold(true, |all, lane| all & next(lane)) && at + UNITS <= self.count).then_some(at / UNITS)
    }

    /// Notes that a warp reads a row; `new` is what its first lane does. See [`Cell::read_quickly`].
    pub(super) fn read_quickly(&mut self, row: usize, new: Event, known: &[u32], two_warps: bool) -> bool {
        self.together[row].as_mut().is_some_and(|cell| cell.read_quickly(new, 1, known, two_warps))
    }

    /// Notes that a warp writes a row. See [`Cell::write_quickly`].
    pub(super) fn write_quickly(&mut self, row: usize, new: Event, known: &[u32]) -> bool {
        let settled = match &self.together[row] {
            Some(cell) => cell.is_settled(new, known),
            None => self.cells[row * UNITS..][..UNITS].iter().all(|cell| cell.is_settled(new, known)),
        };
        if settled {
            self.together[row] = Some(Cell::written_by(new));
        }
        settled
    }

    /// The shadow of a unit by itself.
    #[inline]
    pub(super) fn get_mut(&mut self, index: usize) -> Option<&mut Cell> {
        if index >= self.count {
            return None;
        }
        if let Some(cell) = self.together[index / UNITS].take() {
            let cells = &mut self.cells[index / UNITS * UNITS..][..UNITS];
            cells.iter_mut().enumerate().for_each(|(lane, of_lane)| *of_lane = cell.of_lane(lane));
        }
        self.cells.get_mut(index)
    }
}
