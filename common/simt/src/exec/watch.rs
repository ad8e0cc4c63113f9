//! What an observer sees of a warp's registers.

use super::registers::{Registers, Word};
use crate::lower::Home;
use crate::observe::RegisterFile;

/// The registers of a warp, for somebody who may ask for any place: those outside are zero.
pub(super) struct WarpRegisters<'a> {
    pub registers: Registers<'a>,
    pub planes: u32,
    pub predicates: &'a [u32],
}

impl WarpRegisters<'_> {
    fn read<W: Word>(&self, offset: u32) -> [W; 32] {
        let end = u64::from(offset) + 8 * size_of::<W>() as u64;
        let inside = offset.is_multiple_of(32) && end <= 32 * u64::from(self.planes);
        if inside { self.registers.read(offset) } else { [W::default(); 32] }
    }
}

impl RegisterFile for WarpRegisters<'_> {
    fn values(&self, home: Home) -> [u64; 32] {
        match home {
            Home::Predicate(number) => {
                let bits = self.predicates.get(number as usize).copied().unwrap_or(0);
                std::array::from_fn(|lane| u64::from(bits >> lane & 1))
            }
            Home::Word(offset) => self.read::<u32>(offset).map(u64::from),
            Home::Double(offset) => self.read::<u64>(offset),
        }
    }
}
