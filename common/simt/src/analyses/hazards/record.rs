//! One access in five bytes: which thread, when in the block's time, which instruction.

/// The block's clock restarts when it reaches this.
pub(super) const LAST_TIME: u16 = (1 << 14) - 1;

/// The latest access of one sort: 10 bits of thread, 14 of time, 15 of instruction, and whether there is one at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Record([u8; 5]);

impl Record {
    pub(super) fn new(thread: u32, time: u16, instruction: u32) -> Self {
        let bits = 1
            + (u64::from(thread & 1023) << 1)
            + (u64::from(time & LAST_TIME) << 11)
            + (u64::from(instruction.min(0x7fff)) << 25);
        let bytes = bits.to_le_bytes();
        Self([bytes[0], bytes[1], bytes[2], bytes[3], bytes[4]])
    }

    #[inline]
    fn bits(self) -> u64 {
        let [a, b, c, d, e] = self.0;
        u64::from_le_bytes([a, b, c, d, e, 0, 0, 0])
    }

    /// Whether there was an access.
    #[inline]
    pub(super) fn some(self) -> bool {
        self.0[0] & 1 != 0
    }

    #[inline]
    pub(super) fn thread(self) -> u32 {
        (self.bits() >> 1) as u32 & 1023
    }

    #[inline]
    pub(super) fn time(self) -> u16 {
        (self.bits() >> 11) as u16 & LAST_TIME
    }

    #[inline]
    pub(super) fn instruction(self) -> u32 {
        (self.bits() >> 25) as u32 & 0x7fff
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_gives_back_what_it_was_made_of() {
        assert!(!Record::default().some());
        for (thread, time, instruction) in [(0, 0, 0), (1, 2, 3), (1023, LAST_TIME, 0x7fff), (341, 5461, 0x2aaa)] {
            let record = Record::new(thread, time, instruction);
            assert!(record.some());
            assert_eq!((record.thread(), record.time(), record.instruction()), (thread, time, instruction));
        }
        assert_eq!(Record::new(0, 0, 0x8000).instruction(), 0x7fff);
    }
}
