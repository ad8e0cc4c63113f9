//! Global memory: named allocations at invented addresses, so far apart that an index out of bounds does not reach another one.
//!
//! Words are atomic, so a race in a kernel is not undefined behaviour of the host; every access of a kernel is a
//! relaxed access of one or more whole words.

use crate::words::Words;
use bytemuck::allocation::try_zeroed_slice_box;
use ptx::ast::Variable;
use ptx::error::Error;
use ptx::place::{Array, Place, Space};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};

/// Address of the first allocation. It is too high for the sum of an index and a small offset to reach by accident.
const FIRST_ADDRESS: u64 = 1 << 46;
/// An address below this one comes from a null pointer and an index.
const NULL: u64 = 1 << 36;
/// Unused bytes after each allocation: more than a 32-bit index of 4-byte elements can go out of bounds.
const GUARD: u64 = 1 << 36;
/// Allocations start at multiples of this, as `cuMemAlloc`'s do.
const ALIGN: u64 = 256;
const LAST_ADDRESS: u64 = 1 << 60;

/// The address of an allocation, or of a place in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DevicePointer(pub u64);

impl DevicePointer {
    /// This address moved by `bytes`.
    #[must_use]
    pub const fn offset(self, bytes: i64) -> Self {
        Self(self.0.wrapping_add_signed(bytes))
    }
}

/// Types that can be copied to and from device memory: numbers, and arrays of numbers (`[f32; 4]` is CUDA's `float4`).
pub trait Element: bytemuck::Pod {}

macro_rules! elements {
    ($($scalar:ty),*) => { $(impl Element for $scalar {})* };
}
elements!(u8, i8, u16, i16, u32, i32, u64, i64, f32, f64);

impl<T: Element, const COUNT: usize> Element for [T; COUNT] {}

// These loops over bytes are not generic, so they are compiled and optimised here, whatever type the caller's elements have.
// (The device stores the low byte of a number first, like the hosts that we know.)

/// Writes bytes from byte `first` of the words on.
#[inline(never)]
fn write(to: &mut [AtomicU32], first: usize, from: &[u8]) {
    let (head, rest) = from.split_at(from.len().min(first.wrapping_neg() % 4));
    let (whole, tail) = rest.as_chunks();
    let start = first + head.len();
    for (to, &word) in to[start / 4..].iter_mut().zip(whole) {
        *to.get_mut() = u32::from_ne_bytes(word);
    }
    let last = start + 4 * whole.len();
    for (at, &byte) in (first..).zip(head).chain((last..).zip(tail)) {
        let word = to[at / 4].get_mut();
        let mut bytes = word.to_ne_bytes();
        bytes[at % 4] = byte;
        *word = u32::from_ne_bytes(bytes);
    }
}

/// Reads bytes from byte `first` of the words on.
#[inline(never)]
fn read(from: &[AtomicU32], first: usize, to: &mut [u8]) {
    let (head, rest) = to.split_at_mut(to.len().min(first.wrapping_neg() % 4));
    let start = first + head.len();
    let (whole, tail) = rest.as_chunks_mut();
    for (to, word) in whole.iter_mut().zip(&from[start / 4..]) {
        *to = word.load(Ordering::Relaxed).to_ne_bytes();
    }
    let last = start + 4 * whole.len();
    for (at, byte) in (first..).zip(head).chain((last..).zip(tail)) {
        *byte = from[at / 4].load(Ordering::Relaxed).to_ne_bytes()[at % 4];
    }
}

/// Fills words with a value of any size, again and again. Four values, or a multiple of four, take whole words.
#[inline(never)]
fn fill(all: &mut [AtomicU32], value: &[u8]) {
    let many = value.repeat(4 * (64 / value.len().max(1)).max(1));
    let words: Vec<u32> = many.as_chunks().0.iter().map(|&word| u32::from_ne_bytes(word)).collect();
    for to in all.chunks_mut(words.len().max(1)) {
        for (to, &word) in to.iter_mut().zip(&words) {
            *to.get_mut() = word;
        }
    }
}

/// One named allocation.
#[allow(missing_docs)] // Only of fields: their names say enough.
#[non_exhaustive]
pub struct Allocation {
    pub name: String,
    pub base: DevicePointer,
    pub bytes: u64,
    /// Size of an element in bytes, as given at allocation; messages count in elements.
    pub element_bytes: u32,
    /// Whether it is constant memory, which kernels only read.
    pub(crate) constant: bool,
    /// The words, for kernels that run. The operating system zeroes these pages when they are first touched, so untouched pages cost
    /// nothing.
    pub(crate) words: Words,
}

impl std::fmt::Debug for Allocation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} at {:#x}, {} bytes", self.name, self.base.0, self.bytes)
    }
}

/// The device's global memory.
#[derive(Debug, Default)]
pub struct GlobalMemory {
    /// Sorted by address.
    allocations: Vec<Allocation>,
    next: u64,
    /// Addresses of the modules' variables that have been allocated, by module and number.
    variables: HashMap<(u64, u32), DevicePointer>,
    /// What kernels have printed and the caller has not yet taken.
    printed: String,
}

impl GlobalMemory {
    /// An empty memory.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty memory whose own allocations lie at `address` and above.
    pub fn starting_at(address: u64) -> Self {
        Self { next: address, ..Self::default() }
    }

    /// Allocates `bytes` bytes of zeros called `name`. Messages count in elements of `element_bytes` bytes.
    ///
    /// Pages are committed when they are first touched, so an allocation may be larger than the host's memory as long
    /// as the kernel leaves most of it alone.
    ///
    /// # Errors
    /// [`Error::Usage`] when `bytes` or `element_bytes` is zero, or the host has no memory left.
    pub fn alloc(&mut self, name: &str, bytes: u64, element_bytes: u32) -> Result<DevicePointer, Error> {
        if bytes == 0 || element_bytes == 0 {
            return Err(Error::usage(format!("allocation of {name}: the size must be at least one byte")));
        }
        let base = self.next.max(FIRST_ADDRESS);
        let failed = || Error::usage(format!("allocation of {name}: {bytes} bytes are not available on this host"));
        let end = base.checked_add(bytes).filter(|&end| end < LAST_ADDRESS).ok_or_else(failed)?;
        let words = usize::try_from(bytes.div_ceil(4)).ok().and_then(|count| try_zeroed_slice_box(count).ok());
        let words = words.ok_or_else(failed)?;
        self.next = (end + GUARD).next_multiple_of(ALIGN);
        let base = DevicePointer(base);
        let words = Words::Own(words);
        self.insert(Allocation { name: name.into(), base, bytes, element_bytes, constant: false, words });
        Ok(base)
    }

    /// Lets kernels access memory of the host, too: at its own address, which is a multiple of 4 bytes.
    ///
    /// # Safety
    /// `bytes` bytes, rounded up to a multiple of 4, must be valid at `start` until they are freed here. The host must not access
    /// them while a kernel runs or a copy is made.
    ///
    /// # Errors
    /// [`Error::Usage`] when there is no byte, or another allocation has some of these addresses.
    #[allow(unsafe_code, reason = "only the caller knows what else uses the memory")]
    pub unsafe fn adopt(&mut self, name: &str, start: *mut u32, bytes: u64) -> Result<DevicePointer, Error> {
        let address = start as u64;
        let before = self.at_or_before(address + bytes.max(1) - 1).map(|index| &self.allocations[index]);
        let free = before.is_none_or(|before| before.base.0 + before.bytes <= address);
        if bytes == 0 || !address.is_multiple_of(4) || !free {
            return Err(Error::usage(format!("{name}: {bytes} bytes at {address:#x} cannot be shared with the host")));
        }
        // SAFETY: the caller promises it.
        let words = unsafe { Words::of_host(start, bytes.div_ceil(4) as usize) };
        let base = DevicePointer(address);
        self.insert(Allocation { name: name.into(), base, bytes, element_bytes: 4, constant: false, words });
        Ok(base)
    }

    fn insert(&mut self, allocation: Allocation) {
        let at = self.allocations.partition_point(|before| before.base < allocation.base);
        self.allocations.insert(at, allocation);
    }

    /// Allocates `count` zeros of a type. The limit of [`GlobalMemory::alloc`] holds.
    ///
    /// # Errors
    /// Those of [`GlobalMemory::alloc`].
    pub fn alloc_zeros<T: Element>(&mut self, name: &str, count: usize) -> Result<DevicePointer, Error> {
        let bytes = size_of::<T>() as u64;
        let all = bytes.checked_mul(count as u64).ok_or_else(|| {
            Error::usage(format!("allocation of {name}: {count} elements are more than any memory holds"))
        })?;
        self.alloc(name, all, bytes as u32)
    }

    /// Allocates memory called `name` for these elements, and copies them there.
    ///
    /// # Errors
    /// Those of [`GlobalMemory::alloc`]; there must be at least one element.
    pub fn alloc_from<T: Element>(&mut self, name: &str, data: &[T]) -> Result<DevicePointer, Error> {
        let pointer = self.alloc_zeros::<T>(name, data.len())?;
        self.upload(pointer, 0, data)?;
        Ok(pointer)
    }

    /// Frees an allocation. Its addresses are never used again.
    ///
    /// # Errors
    /// [`Error::Usage`] when `pointer` is not the start of an allocation.
    pub fn free(&mut self, pointer: DevicePointer) -> Result<(), Error> {
        let index = self.start_of(pointer)?;
        self.allocations.remove(index);
        Ok(())
    }

    /// Copies host elements into an allocation, from element `first` of the allocation on.
    ///
    /// # Errors
    /// [`Error::Usage`] when `pointer` is not the start of an allocation or the data do not fit.
    pub fn upload<T: Element>(&mut self, pointer: DevicePointer, first: u64, data: &[T]) -> Result<(), Error> {
        let (index, start) = self.elements::<T>(pointer, first, data.len())?;
        write(&mut self.allocations[index].words, start, bytemuck::cast_slice(data));
        Ok(())
    }

    /// Copies elements of an allocation, from element `first` on, into host memory.
    ///
    /// # Errors
    /// [`Error::Usage`] when `pointer` is not the start of an allocation or the range is not inside it.
    pub fn download<T: Element>(&self, pointer: DevicePointer, first: u64, data: &mut [T]) -> Result<(), Error> {
        let (index, start) = self.elements::<T>(pointer, first, data.len())?;
        read(&self.allocations[index].words, start, bytemuck::cast_slice_mut(data));
        Ok(())
    }

    /// All elements of an allocation; bytes at its end that are no whole element are left out.
    ///
    /// # Errors
    /// [`Error::Usage`] when `pointer` is not the start of an allocation.
    pub fn to_vec<T: Element>(&self, pointer: DevicePointer) -> Result<Vec<T>, Error> {
        let count = self.allocations[self.start_of(pointer)?].bytes / (size_of::<T>() as u64).max(1);
        let mut data = vec![T::zeroed(); count as usize];
        self.download(pointer, 0, &mut data)?;
        Ok(data)
    }

    /// The bytes at an address anywhere in an allocation, to be read and written by the caller.
    ///
    /// # Errors
    /// [`Error::Usage`] when they do not all lie in one allocation.
    pub fn bytes_mut(&mut self, at: DevicePointer, count: usize) -> Result<&mut [u8], Error> {
        let (index, start) = self.bytes_at(at, count)?;
        Ok(&mut self.allocations[index].words.bytes()[start..start + count])
    }

    /// Copies bytes to an address anywhere in an allocation.
    ///
    /// # Errors
    /// [`Error::Usage`] when they do not all lie in one allocation.
    pub fn write_bytes(&mut self, to: DevicePointer, data: &[u8]) -> Result<(), Error> {
        let (index, start) = self.bytes_at(to, data.len())?;
        write(&mut self.allocations[index].words, start, data);
        Ok(())
    }

    /// Copies bytes from an address anywhere in an allocation.
    ///
    /// # Errors
    /// [`Error::Usage`] when they do not all lie in one allocation.
    pub fn read_bytes(&self, from: DevicePointer, data: &mut [u8]) -> Result<(), Error> {
        let (index, start) = self.bytes_at(from, data.len())?;
        read(&self.allocations[index].words, start, data);
        Ok(())
    }

    /// Sets every element of an allocation.
    ///
    /// # Errors
    /// [`Error::Usage`] when `pointer` is not the start of an allocation.
    pub fn fill<T: Element>(&mut self, pointer: DevicePointer, value: T) -> Result<(), Error> {
        let index = self.start_of(pointer)?;
        fill(&mut self.allocations[index].words, bytemuck::bytes_of(&value));
        Ok(())
    }

    /// Takes what kernels have printed since this was last asked: block after block of each launch, at most
    /// [`GlobalMemory::LARGEST_PRINT`] bytes of a launch.
    pub fn take_printed(&mut self) -> String {
        std::mem::take(&mut self.printed)
    }

    /// Bytes that a launch can print; the rest is lost, as it is on a GPU, whose buffer has this size unless told otherwise.
    pub const LARGEST_PRINT: usize = 1 << 20;

    pub(crate) fn print(&mut self, text: &str) {
        self.printed.push_str(text);
    }

    /// All allocations, by address.
    pub fn allocations(&self) -> &[Allocation] {
        &self.allocations
    }

    /// The address of a module's variable, and whether this call has allocated it.
    pub(crate) fn variable(&mut self, module: u64, number: u32, of: &Variable) -> Result<(DevicePointer, bool), Error> {
        if let Some(&known) = self.variables.get(&(module, number)) {
            return Ok((known, false));
        }
        let pointer = self.alloc(&of.name, of.bytes.max(1), of.element_bytes.max(1))?;
        let index = self.start_of(pointer)?;
        if let Some(allocation) = self.allocations.get_mut(index) {
            allocation.constant = of.space == Space::Constant;
        }
        self.variables.insert((module, number), pointer);
        Ok((pointer, true))
    }

    /// Frees the variables of a module.
    pub(crate) fn forget(&mut self, module: u64) {
        let (gone, kept): (HashMap<_, _>, HashMap<_, _>) =
            self.variables.drain().partition(|((of, _), _)| *of == module);
        self.variables = kept;
        self.allocations.retain(|allocation| !gone.values().any(|&base| base == allocation.base));
    }

    /// The allocation that holds all of `bytes` bytes at `address`.
    pub(crate) fn holding(&self, address: u64, bytes: u32) -> Option<&Allocation> {
        Some(&self.allocations[self.number(address, bytes)?])
    }

    /// The number of the allocation that holds all of `bytes` bytes at `address`.
    pub(crate) fn number(&self, address: u64, bytes: u32) -> Option<usize> {
        let number = self.at_or_before(address)?;
        let Allocation { base, bytes: size, .. } = self.allocations[number];
        let end = (address - base.0).checked_add(u64::from(bytes))?;
        (end <= size).then_some(number)
    }

    /// A copy of all words, if there are at most `most` of them.
    pub(crate) fn copy(&self, most: usize) -> Option<Vec<Vec<u32>>> {
        let count = self.allocations.iter().map(|allocation| allocation.words.len()).sum::<usize>();
        let words =
            |allocation: &Allocation| allocation.words.iter().map(|word| word.load(Ordering::Relaxed)).collect();
        (count <= most).then(|| self.allocations.iter().map(words).collect())
    }

    /// Swaps all words of memory with those of a copy.
    pub(crate) fn exchange(&self, copy: &mut [Vec<u32>]) {
        let words = self.allocations.iter().flat_map(|allocation| &allocation.words);
        for (word, copied) in words.zip(copy.iter_mut().flatten()) {
            *copied = word.swap(*copied, Ordering::Relaxed);
        }
    }

    /// Index of the allocation that holds `address`, or of the last one before it.
    fn at_or_before(&self, address: u64) -> Option<usize> {
        self.allocations.partition_point(|allocation| allocation.base.0 <= address).checked_sub(1)
    }

    /// Where an address points: into which array, or how far outside the nearest one.
    pub(crate) fn place(&self, address: u64) -> Place {
        let Some(index) = self.at_or_before(address).or((!self.allocations.is_empty()).then_some(0)) else {
            return Place::NoMemory(address);
        };
        let distance = |allocation: &Allocation| {
            if address < allocation.base.0 {
                allocation.base.0 - address
            } else {
                address.saturating_add(1).saturating_sub(allocation.base.0 + allocation.bytes)
            }
        };
        // The gap between two allocations belongs to the nearer one.
        let next = self.allocations.get(index + 1).filter(|next| distance(next) < distance(&self.allocations[index]));
        let allocation = next.unwrap_or(&self.allocations[index]);
        let element = u64::from(allocation.element_bytes);
        let (array, of) = (Array { name: allocation.name.clone(), space: Space::Global }, allocation.bytes / element);
        let outside = distance(allocation);
        if outside == 0 {
            let offset = address - allocation.base.0;
            return Place::Element { array, index: vec![offset / element], bytes: offset % element };
        }
        if address < NULL {
            return Place::Null(address);
        }
        if outside > 1 << 40 {
            return Place::NoArray(address);
        }
        if address < allocation.base.0 {
            return Place::Outside { array, index: -(outside.div_ceil(element) as i64), bytes: outside, of };
        }
        let index = ((address - allocation.base.0) / element) as i64;
        Place::Outside { array, index, bytes: outside - 1, of }
    }

    fn start_of(&self, pointer: DevicePointer) -> Result<usize, Error> {
        self.allocations
            .binary_search_by_key(&pointer, |allocation| allocation.base)
            .map_err(|_| Error::usage(format!("{:#x} is not the start of an allocation", pointer.0)))
    }

    /// The index of an allocation, and the byte at which `count` elements begin, from element `first` on.
    fn elements<T: Element>(&self, at: DevicePointer, first: u64, count: usize) -> Result<(usize, usize), Error> {
        let index = self.start_of(at)?;
        let Allocation { name, bytes, .. } = &self.allocations[index];
        let size = size_of::<T>() as u64;
        let start = first.checked_mul(size);
        let end = start.and_then(|start| start.checked_add((count as u64).checked_mul(size)?));
        match start.zip(end) {
            Some((start, end)) if end <= *bytes => Ok((index, start as usize)),
            _ => {
                let what = format!("copy of {count} elements at element {first}");
                Err(Error::usage(format!("{what} does not fit {name}, which has {bytes} bytes")))
            }
        }
    }

    /// The index of the allocation that holds `count` bytes at an address, and at which of its bytes they begin.
    fn bytes_at(&self, address: DevicePointer, count: usize) -> Result<(usize, usize), Error> {
        let none =
            || Error::usage(format!("copy of {count} bytes at {:#x}: no allocation holds all of them", address.0));
        let index = self.at_or_before(address.0).ok_or_else(none)?;
        let Allocation { base, bytes, .. } = self.allocations[index];
        let start = address.0 - base.0;
        match start.checked_add(count as u64) {
            Some(end) if end <= bytes => Ok((index, start as usize)),
            _ => Err(none()),
        }
    }
}
