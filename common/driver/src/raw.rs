//! What the C interface hands over: places to read from and to write to.
//!
//! All that is unsafe about the interface is here. A C function promises nothing that could be tested, so each place is what the
//! caller says it is; this is the contract of the driver's interface, and the only reason of every block below.

use crate::errors::{Answer, INVALID_VALUE};
use std::ffi::{CStr, c_char};
use std::io::Read;

/// Where a function writes a result; null if the caller does not want it.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub struct Out<T>(*mut T);

impl<T: Copy> Out<T> {
    /// Writes the result.
    pub fn set(self, value: T) -> Answer {
        if self.0.is_null() {
            return Err(INVALID_VALUE);
        }
        self.set_if(value);
        Ok(())
    }

    /// Writes the result if the caller wants it.
    pub fn set_if(self, value: T) {
        if !self.0.is_null() {
            // SAFETY: a place for a result, as the interface demands.
            unsafe { self.0.write_unaligned(value) }
        }
    }

    /// What is there now.
    pub fn get(self) -> Answer<T> {
        In(self.0.cast_const()).get()
    }

    /// The place `index` places further on.
    pub fn at(self, index: usize) -> Self {
        Self(self.0.wrapping_add(index))
    }

    /// The place where a result of another type is written.
    pub fn cast<U>(self) -> Out<U> {
        Out(self.0.cast())
    }

    /// Whether there is no place.
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// No place: the result is not wanted.
    pub fn none() -> Self {
        Self(std::ptr::null_mut())
    }
}

/// What a function reads.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub struct In<T>(*const T);

impl<T: Copy> In<T> {
    /// What is there.
    pub fn get(self) -> Answer<T> {
        if self.0.is_null() {
            return Err(INVALID_VALUE);
        }
        // SAFETY: a value of this type, as the interface demands.
        Ok(unsafe { self.0.read_unaligned() })
    }

    /// The value `index` places further on.
    pub fn at(self, index: usize) -> Answer<T> {
        if self.0.is_null() { Err(INVALID_VALUE) } else { Self(self.0.wrapping_add(index)).get() }
    }

    /// The first `count` values; none if the place is null and `count` 0.
    pub fn list(self, count: usize) -> Answer<Vec<T>> {
        (0..count).map(|index| self.at(index)).collect()
    }

    /// Whether there is no place.
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// What an address holds.
    pub fn from(address: u64) -> Self {
        Self(address as *const T)
    }
}

/// A text that ends with a zero.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub struct Text(*const c_char);

impl Text {
    /// The text, with other characters in place of what is not UTF-8.
    pub fn get(self) -> Answer<String> {
        Ok(String::from_utf8_lossy(ended(self.0 as u64)?).into_owned())
    }
}

/// The bytes at an address up to the first zero.
pub fn ended(address: u64) -> Answer<&'static [u8]> {
    if address == 0 {
        return Err(INVALID_VALUE);
    }
    // SAFETY: the caller gives a text that ends with a zero.
    Ok(unsafe { CStr::from_ptr(address as *const c_char) }.to_bytes())
}

/// Bytes of the host's memory that a copy reads.
pub fn host(address: u64, count: usize) -> &'static [u8] {
    if count == 0 {
        return &[];
    }
    // SAFETY: the caller lets the driver read these bytes.
    unsafe { std::slice::from_raw_parts(address as *const u8, count) }
}

/// Bytes of the host's memory that a copy writes.
pub fn host_mut(address: u64, count: usize) -> &'static mut [u8] {
    if count == 0 {
        return &mut [];
    }
    // SAFETY: the caller lets the driver write these bytes.
    unsafe { std::slice::from_raw_parts_mut(address as *mut u8, count) }
}

/// Copies bytes of the host's memory within it.
pub fn host_copy(to: u64, from: u64, count: usize) {
    // SAFETY: the caller lets the driver read and write these bytes.
    unsafe { std::ptr::copy(from as *const u8, to as *mut u8, count) }
}

/// Writes a text and a zero into a buffer of the caller, cut off if it is too small.
pub fn write_text(to: Out<u8>, size: i32, text: &str) -> Answer {
    let room = usize::try_from(size).ok().filter(|&room| room > 0 && !to.is_null()).ok_or(INVALID_VALUE)?;
    let mut bytes = text.as_bytes().chain(&[0u8][..]);
    let mut byte = [0];
    for at in 0..room {
        if !matches!(bytes.read(&mut byte), Ok(1)) {
            break;
        }
        to.at(at).set(if at + 1 == room { 0 } else { byte[0] })?;
    }
    Ok(())
}

/// A function of the program.
#[derive(Clone, Copy, Debug)]
pub struct Callback {
    pub function: u64,
    pub data: u64,
    /// For `cuStreamAddCallback`, whose functions are also told the stream.
    pub stream: Option<u64>,
}

impl Callback {
    /// Calls it.
    pub fn call(self) {
        match self.stream {
            // SAFETY: the caller gave the address of a function with these parameters.
            None => unsafe { std::mem::transmute::<u64, extern "C" fn(u64)>(self.function)(self.data) },
            Some(stream) => {
                // SAFETY: as above.
                let function = unsafe { std::mem::transmute::<u64, extern "C" fn(u64, u32, u64)>(self.function) };
                function(stream, 0, self.data);
            }
        }
    }
}

/// Calls a function of the program that says how much shared memory a block of a size needs.
pub fn shared_of_block(function: u64, block: i32) -> usize {
    if function == 0 {
        return 0;
    }
    // SAFETY: the caller gave the address of a function with this parameter.
    unsafe { std::mem::transmute::<u64, extern "C" fn(i32) -> usize>(function)(block) }
}

/// Calls a function when the program ends.
pub fn at_exit(function: extern "C" fn()) {
    // SAFETY: the function exists for as long as this library is loaded, and is dropped with it.
    unsafe { libc::atexit(function) };
}

/// Whether the process has a function or variable of this name.
pub fn has_symbol(name: &CStr) -> bool {
    #[cfg(unix)]
    // SAFETY: only looks for a name.
    return unsafe { !libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()).is_null() };
    #[cfg(not(unix))]
    return name.is_empty();
}

/// Memory of the host in whole pages, which the simulator's kernels access at the same address.
#[derive(Debug)]
pub struct Pages {
    start: u64,
    layout: std::alloc::Layout,
}

/// Size of a page of memory in bytes, as most systems have it. With larger ones, pages are not guarded.
pub const PAGE: usize = if cfg!(target_os = "macos") { 16_384 } else { 4096 };

impl Pages {
    /// Zeroed memory of at least `bytes` bytes; `None` if the host has not so much.
    pub fn new(bytes: usize) -> Option<Self> {
        let size = bytes.max(1).checked_next_multiple_of(PAGE)?;
        let layout = std::alloc::Layout::from_size_align(size, PAGE).ok()?;
        // SAFETY: the size is not zero.
        let start = unsafe { std::alloc::alloc_zeroed(layout) } as u64;
        (start != 0).then_some(Self { start, layout })
    }

    /// Where the memory begins.
    pub fn start(&self) -> u64 {
        self.start
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout in `new`.
        unsafe { std::alloc::dealloc(self.start as *mut u8, self.layout) }
    }
}

/// Lets kernels access memory of the host.
pub fn adopt(memory: &mut simt::GlobalMemory, name: &str, start: u64, bytes: u64) -> Result<(), simt::Error> {
    // SAFETY: pages of ours, which are freed there first, or memory that the caller has registered and must unregister before it
    // is freed. That the host does not access it while a kernel runs is what CUDA demands of programs.
    unsafe { memory.adopt(name, start as *mut u32, bytes) }.map(|_| ())
}
