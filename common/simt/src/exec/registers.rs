//! The registers of a warp: the lowest layer, and the only place where register memory is touched.
//!
//! A 32-bit register is 32 consecutive words, one for each lane; a 64-bit register is 32 double words. Instructions hold word
//! offsets that the lowering computed, so they are in range by construction. Debug builds check them.

use crate::observe::RegisterFile;
use ptx::lower::Home;
use std::marker::PhantomData;

/// 32 lanes of a 32-bit register, aligned to a cache line.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct Plane(pub [u32; 32]);

/// What a register holds for a lane: `u32` or `u64`.
pub(crate) trait Word: Copy + Default {}
impl Word for u32 {}
impl Word for u64 {}

/// A view of one warp's registers, borrowed while the warp runs. Copies of it see and change the same registers.
#[derive(Clone, Copy)]
pub(crate) struct Registers<'a> {
    base: *mut u32,
    #[cfg(debug_assertions)]
    words: usize,
    planes: PhantomData<&'a mut [Plane]>,
}

impl<'a> Registers<'a> {
    pub fn new(planes: &'a mut [Plane]) -> Self {
        Self {
            base: planes.as_mut_ptr().cast(),
            #[cfg(debug_assertions)]
            words: planes.len() * 32,
            planes: PhantomData,
        }
    }

    #[inline(always)]
    pub fn get<W: Word>(self, offset: u32) -> *mut [W; 32] {
        #[cfg(debug_assertions)]
        assert!(offset as usize + 8 * size_of::<W>() <= self.words, "register offset {offset} of {}", self.words);
        // SAFETY: the lowering hands out offsets inside the planes this view was made from; planes are aligned to 64 bytes,
        // and a register starts at a plane.
        unsafe { self.base.add(offset as usize).cast() }
    }

    #[inline(always)]
    pub fn read<W: Word>(self, offset: u32) -> [W; 32] {
        // SAFETY: `get` is in range and aligned, and no reference to register memory outlives an instruction.
        unsafe { *self.get(offset) }
    }

    #[inline(always)]
    pub fn lane<W: Word>(self, offset: u32, lane: usize) -> W {
        // SAFETY: as above; the index is checked.
        unsafe { (*self.get(offset))[lane] }
    }

    #[inline(always)]
    pub fn set<W: Word>(self, offset: u32, lane: usize, value: W) {
        // SAFETY: as above; the index is checked.
        unsafe { (*self.get(offset))[lane] = value }
    }

    /// Writes the lanes of `mask`.
    #[inline(always)]
    pub fn write<W: Word>(self, offset: u32, mask: u32, value: &[W; 32]) {
        let to = self.get(offset);
        if mask == u32::MAX {
            // SAFETY: `get` is in range and aligned; `value` is a local of the caller.
            unsafe { *to = *value }
        } else {
            for (lane, value) in value.iter().enumerate() {
                // SAFETY: as above.
                let to = unsafe { &mut (*to)[lane] };
                *to = if mask >> lane & 1 != 0 { *value } else { *to };
            }
        }
    }

    /// Returns a lane of a register, which has 64 bits if it is `wide`.
    #[inline(always)]
    pub fn bits(self, offset: u32, wide: bool, lane: usize) -> u64 {
        if wide { self.lane(offset, lane) } else { u64::from(self.lane::<u32>(offset, lane)) }
    }

    /// Sets a lane of a register, which has 64 bits if it is `wide`.
    #[inline(always)]
    pub fn set_bits(self, offset: u32, wide: bool, lane: usize, value: u64) {
        if wide { self.set(offset, lane, value) } else { self.set(offset, lane, value as u32) }
    }

    /// Writes the lanes of `mask` of a register, which has 64 bits if it is `wide`.
    #[inline(always)]
    pub fn write_bits(self, offset: u32, wide: bool, mask: u32, value: &[u64; 32]) {
        if wide { self.write(offset, mask, value) } else { self.write(offset, mask, &value.map(|value| value as u32)) }
    }

    /// Loads one word for each lane: lane `i` gets `words[index[i]]`, if it is in `mask`.
    ///
    /// # Panics
    /// If an index is not inside `words`.
    #[inline(always)]
    pub fn gather(self, offset: u32, mask: u32, words: &[u32], index: &[u32; 32]) {
        let last = index.iter().fold(0, |last, &index| last.max(index));
        assert!((last as usize) < words.len(), "word {last} of {}", words.len());
        let mut out = [0u32; 32];
        for (out, &index) in out.iter_mut().zip(index) {
            // SAFETY: no index is beyond `last`, which is inside.
            *out = unsafe { *words.get_unchecked(index as usize) };
        }
        self.write(offset, mask, &out);
    }
}

/// The registers of a warp for observers, which may ask for any offset. Those outside are zero.
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
