//! What an observer sees of a warp's registers.

use super::registers::WarpPlanes;
use crate::lower::Home;
use crate::observe::RegisterFile;

/// The registers of a warp.
pub(super) struct WarpRegisters<'a> {
    pub planes: WarpPlanes<'a>,
    pub predicates: &'a [u32],
}

impl RegisterFile for WarpRegisters<'_> {
    fn values(&self, home: Home) -> [u64; 32] {
        match home {
            Home::Predicate(number) => {
                let bits = self.predicates.get(number as usize).copied().unwrap_or(0);
                std::array::from_fn(|lane| u64::from(bits >> lane & 1))
            }
            Home::Word(offset) => self.planes.read::<u32>(offset).map(u64::from),
            Home::Double(offset) => self.planes.read::<u64>(offset),
        }
    }
}
