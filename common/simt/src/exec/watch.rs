//! What an observer sees of a warp's registers.

use super::registers::WarpPlanes;
use crate::lower::Place;
use crate::observe::RegisterFile;

/// The registers of a warp.
pub(super) struct WarpRegisters<'a> {
    pub planes: WarpPlanes<'a>,
    pub predicates: &'a [u32],
}

impl RegisterFile for WarpRegisters<'_> {
    fn values(&self, place: Place) -> [u64; 32] {
        match place {
            Place::Predicate(number) => {
                let bits = self.predicates.get(number as usize).copied().unwrap_or(0);
                std::array::from_fn(|lane| u64::from(bits >> lane & 1))
            }
            Place::Word(offset) => self.planes.read::<u32>(offset).map(u64::from),
            Place::Double(offset) => self.planes.read::<u64>(offset),
        }
    }
}
