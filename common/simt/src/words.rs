//! The words of an allocation: memory of the simulator's own, or memory of the host that kernels may access as well.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::AtomicU32;

/// Words that kernels access.
pub enum Words {
    Own(Box<[AtomicU32]>),
    Host(&'static mut [AtomicU32]),
}

impl Words {
    /// The `count` words at a place of the host's memory.
    ///
    /// # Safety
    /// They must be valid for as long as these words exist, and aligned to 4 bytes. Whoever else accesses them meanwhile must not
    /// do so while a kernel runs or a copy is made.
    pub unsafe fn of_host(start: *mut u32, count: usize) -> Self {
        // SAFETY: the caller promises what is needed; an atomic word has the size and alignment of a word.
        Self::Host(unsafe { std::slice::from_raw_parts_mut(start.cast(), count) })
    }
}

impl Words {
    /// All bytes, for who has them alone.
    pub fn bytes(&mut self) -> &mut [u8] {
        let words: &mut [AtomicU32] = self;
        // SAFETY: an atomic word has four bytes, any of which may have any value, and nobody else has the words meanwhile.
        unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), 4 * words.len()) }
    }
}

impl Deref for Words {
    type Target = [AtomicU32];

    fn deref(&self) -> &[AtomicU32] {
        match self {
            Self::Own(words) => words,
            Self::Host(words) => words,
        }
    }
}

impl DerefMut for Words {
    fn deref_mut(&mut self) -> &mut [AtomicU32] {
        match self {
            Self::Own(words) => words,
            Self::Host(words) => words,
        }
    }
}

impl<'a> IntoIterator for &'a Words {
    type Item = &'a AtomicU32;
    type IntoIter = std::slice::Iter<'a, AtomicU32>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
