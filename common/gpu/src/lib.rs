//! What a kernel in Rust needs beside the language; for targets other than `nvptx64-nvidia-cuda` this crate is empty.
//!
//! What Rust promises ends here. All threads of a launch run one function on the same memory, and the compiler does not know it:
//! that two of them write one element, or that one reads before another has written, is no error. So a kernel and all that reads
//! and writes memory by an index is `unsafe`: the index lies inside, a pack begins at a multiple of its size, and between two
//! threads that touch one element, one of them writing, is a barrier. `--device sim --check` finds where that is not so.

#![no_std]
#![cfg(target_arch = "nvptx64")]
#![feature(asm_experimental_arch, core_intrinsics, stdarch_nvptx)]

use core::arch::{asm, nvptx};
use core::intrinsics::{abort, fmaf32};
use core::ops::{Index, IndexMut};
use core::{marker::PhantomData, mem::transmute_copy};

/// An index or an extent in x, y and z; lanes of a warp differ in x first.
#[allow(missing_docs)]
pub struct Dim3 {
    pub x: u32,
    pub y: u32,
    pub z: u32,
}

macro_rules! special_registers {
    ($($name:ident: $x:ident $y:ident $z:ident, $doc:literal;)*) => {$(
        #[doc = $doc]
        pub fn $name() -> Dim3 {
            // SAFETY: it reads a register that every thread has.
            unsafe { Dim3 { x: nvptx::$x() as u32, y: nvptx::$y() as u32, z: nvptx::$z() as u32 } }
        }
    )*};
}

special_registers! {
    thread_idx: _thread_idx_x _thread_idx_y _thread_idx_z, "The thread's place in its block.";
    block_idx: _block_idx_x _block_idx_y _block_idx_z, "The block's place in the grid.";
    block_dim: _block_dim_x _block_dim_y _block_dim_z, "Threads of a block.";
}

/// Waits until all threads of the block are here; then each sees what the others have stored.
pub fn sync_threads() {
    // SAFETY: it touches no memory; that all threads reach it is for the kernel to see to, and the simulator looks.
    unsafe { nvptx::_syncthreads() }
}

/// Waits until all copies that this thread has started have arrived.
pub fn wait() {
    // SAFETY: it touches nothing that was not given to a copy.
    unsafe { asm!("cp.async.wait_all;") };
}

/// What the matrices hold: numbers of 32 bits.
pub trait Number: Copy {
    /// Zero.
    const ZERO: Self;
    /// `a * b + c`.
    fn fma(a: Self, b: Self, c: Self) -> Self;
}

impl Number for f32 {
    const ZERO: Self = 0.0;
    fn fma(a: Self, b: Self, c: Self) -> Self {
        fmaf32(a, b, c)
    }
}

impl Number for i32 {
    const ZERO: Self = 0;
    fn fma(a: Self, b: Self, c: Self) -> Self {
        a.wrapping_mul(b).wrapping_add(c)
    }
}

/// `a * b + c`, in one instruction. The compiler never makes one of two by itself.
pub fn fma<T: Number>(a: T, b: T, c: T) -> T {
    T::fma(a, b, c)
}

/// Up to four neighbouring elements that one instruction moves.
#[repr(C, align(16))]
pub struct Pack<T, const COUNT: u32>([T; 4]);

impl<T: Number, const COUNT: u32> Pack<T, COUNT> {
    /// Zeros.
    pub const ZERO: Self = Self([T::ZERO; 4]);

    /// Reads them from global memory.
    pub unsafe fn load(from: *const T) -> Self {
        // SAFETY: the caller says that so many lie there.
        unsafe { if COUNT == 4 { from.cast::<Self>().read() } else { Self([*from, T::ZERO, T::ZERO, T::ZERO]) } }
    }
}

/// A matrix in global memory, row by row.
#[derive(Clone, Copy)]
pub struct Matrix<T> {
    first: *mut T,
    rows: u32,
    cols: u32,
}

impl<T: Number> Matrix<T> {
    /// The matrix of so many elements at `first`, none of which is written by one thread and touched by another.
    pub const unsafe fn new(first: *const T, rows: u32, cols: u32) -> Self {
        Self { first: first.cast_mut(), rows, cols }
    }

    /// Where an element lies, or would lie if the matrix were larger.
    pub fn at(&self, row: u32, col: u32) -> *const T {
        self.first.wrapping_add(row as usize * self.cols as usize + col as usize)
    }

    /// The element, or zero beyond the edge.
    pub fn get(&self, row: u32, col: u32) -> T {
        // SAFETY: it lies inside.
        if row < self.rows && col < self.cols { unsafe { *self.at(row, col) } } else { T::ZERO }
    }

    /// Writes the element; beyond the edge nothing.
    pub fn set(&self, row: u32, col: u32, value: T) {
        if row < self.rows && col < self.cols {
            // SAFETY: it lies inside, and no other thread touches it.
            unsafe { *self.at(row, col).cast_mut() = value }
        }
    }
}

/// An array in registers, if all loops that index it unroll: a register has no index.
#[derive(Clone, Copy)]
pub struct Registers<T, const COUNT: usize>(pub [T; COUNT]);

impl<T: Number, const COUNT: usize> Registers<T, COUNT> {
    /// Sets four neighbours.
    pub fn set4(&mut self, at: u32, four: Pack<T, 4>) {
        (at..).zip(four.0).for_each(|(at, one)| self[at] = one);
    }
}

impl<T, const COUNT: usize> Index<u32> for Registers<T, COUNT> {
    type Output = T;
    fn index(&self, at: u32) -> &T {
        self.0.get(at as usize).unwrap_or_else(|| abort())
    }
}

impl<T, const COUNT: usize> IndexMut<u32> for Registers<T, COUNT> {
    fn index_mut(&mut self, at: u32) -> &mut T {
        self.0.get_mut(at as usize).unwrap_or_else(|| abort())
    }
}

/// Registers that begin with one value: `registers![0.0; THREAD_M, THREAD_N]` has `THREAD_M` rows.
#[macro_export]
macro_rules! registers {
    ($value:expr; $count:expr) => { $crate::Registers([$value; ($count) as usize]) };
    ($value:expr; $rows:expr, $cols:expr) => { $crate::registers![$crate::registers![$value; $cols]; $rows] };
}

/// An array in the block's shared memory, made by `shared!`.
#[derive(Clone, Copy)]
pub struct Shared<T, const ROWS: u32, const COLS: u32>(pub u32, pub PhantomData<T>);

/// `shared!(As: Element, ROWS, COLS)` declares an array in the block's shared memory, which nobody has written yet. Outside
/// of functions, `shared!(extern all: Element)` declares one row of as many elements as the host gives the block room for.
#[macro_export]
macro_rules! shared {
    (extern $name:ident: $element:ty) => {
        ::core::arch::global_asm!(concat!(".extern .shared .align 16 .b8 ", stringify!($name), "[];"));
        unsafe fn $name() -> $crate::Shared<$element, 1, 0> {
            let address: u32;
            // SAFETY: it takes the array's address.
            unsafe { ::core::arch::asm!(concat!("mov.u32 {}, ", stringify!($name), ";"), out(reg32) address) };
            $crate::Shared(address, ::core::marker::PhantomData)
        }
    };
    ($name:ident: $element:ty, $rows:expr, $cols:expr) => {
        let address: u32;
        // SAFETY: it declares the array and takes its address.
        unsafe {
            ::core::arch::asm!(
                concat!("{{ .shared .align 16 .b8 ", stringify!($name), "[{1}]; mov.u32 {0}, ", stringify!($name), "; }}"),
                out(reg32) address, const 4 * ($rows) * ($cols),
            );
        }
        let $name = $crate::Shared::<$element, { $rows }, { $cols }>(address, ::core::marker::PhantomData);
    };
}

impl<T: Number, const ROWS: u32, const COLS: u32> Shared<T, ROWS, COLS> {
    /// What begins so many elements further on.
    pub const fn skip(&self, elements: u32) -> Self {
        Self(self.0 + 4 * elements, self.1)
    }

    fn at(&self, row: u32, col: u32) -> u32 {
        self.0 + 4 * (row * COLS + col)
    }

    /// Reads an element.
    pub unsafe fn load(&self, row: u32, col: u32) -> T {
        let bits: u32;
        // SAFETY: the caller says that it lies inside, and that no other thread writes it meanwhile; so below. Any 32 bits are a number.
        unsafe {
            asm!("ld.shared.b32 {}, [{}];", out(reg32) bits, in(reg32) self.at(row, col));
            transmute_copy(&bits)
        }
    }

    /// Reads four neighbours.
    pub unsafe fn load4(&self, row: u32, col: u32) -> Pack<T, 4> {
        let (a, b, c, d): (u32, u32, u32, u32);
        // SAFETY: see `load`.
        unsafe {
            asm!("ld.shared.v4.b32 {{{}, {}, {}, {}}}, [{}];",
                out(reg32) a, out(reg32) b, out(reg32) c, out(reg32) d, in(reg32) self.at(row, col));
            transmute_copy(&[a, b, c, d])
        }
    }

    /// Stores an element.
    pub unsafe fn store(&self, row: u32, col: u32, value: T) {
        // SAFETY: see `load`.
        unsafe { self.store_pack(row, col, Pack::<T, 1>([value; 4])) }
    }

    /// Stores neighbours.
    pub unsafe fn store_pack<const COUNT: u32>(&self, row: u32, col: u32, pack: Pack<T, COUNT>) {
        let to = self.at(row, col);
        // SAFETY: see `load`; a number has 32 bits.
        unsafe {
            let [a, b, c, d]: [u32; 4] = transmute_copy(&pack);
            if COUNT == 4 {
                asm!("st.shared.v4.b32 [{}], {{{}, {}, {}, {}}};",
                    in(reg32) to, in(reg32) a, in(reg32) b, in(reg32) c, in(reg32) d);
            } else {
                asm!("st.shared.b32 [{}], {};", in(reg32) to, in(reg32) a);
            }
        }
    }

    /// Starts a copy of `COUNT` elements from global memory, or of zeros if not `inside`. It has arrived after `wait`.
    pub unsafe fn copy<const COUNT: u32>(&self, row: u32, col: u32, from: *const T, inside: bool) {
        // SAFETY: see `load`; if inside, so many elements lie at `from`.
        unsafe {
            asm!("cp.async.ca.shared.global [{}], [{}], {}, {};", in(reg32) self.at(row, col), in(reg64) from,
                const 4 * COUNT, in(reg32) if inside { 4 * COUNT } else { 0 });
        }
    }
}
