//! What a kernel in Rust needs beside the language: which thread it is, shared memory, barriers and copies.
//!
//! A kernel is compiled by `rustc --target nvptx64-nvidia-cuda`, which writes PTX; for any other target this crate is empty.
//!
//! What Rust promises ends here. All threads of a launch run one function on the same memory, and no borrow tells the compiler so:
//! that two of them write one element, or that one reads before another has written, is no error of the compiler. Therefore
//! everything that touches memory is `unsafe`, and the simulator finds the races (`--device sim --check`).

#![no_std]
#![cfg(target_arch = "nvptx64")]
#![feature(asm_experimental_arch, core_intrinsics, stdarch_nvptx)]
#![allow(internal_features, reason = "no other way leads to the multiply-add of floating-point numbers")]
#![allow(unsafe_code, reason = "these few instructions are what the safe language does not have")]

use core::arch::{asm, nvptx};
use core::intrinsics::{abort, fmaf32};
use core::marker::PhantomData;
use core::ops::{Index, IndexMut};

/// An index or an extent in x, y and z.
#[derive(Clone, Copy)]
pub struct Dim3 {
    /// The fastest: lanes of a warp differ in it first.
    pub x: u32,
    /// See `x`.
    pub y: u32,
    /// See `x`.
    pub z: u32,
}

macro_rules! special_registers {
    ($($(#[$doc:meta])* $name:ident: $x:ident $y:ident $z:ident;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub fn $name() -> Dim3 {
            // SAFETY: it reads a register that every thread has.
            unsafe { Dim3 { x: nvptx::$x() as u32, y: nvptx::$y() as u32, z: nvptx::$z() as u32 } }
        }
    )*};
}

special_registers! {
    /// The thread's place in its block.
    thread_idx: _thread_idx_x _thread_idx_y _thread_idx_z;
    /// The block's place in the grid.
    block_idx: _block_idx_x _block_idx_y _block_idx_z;
    /// Threads of a block.
    block_dim: _block_dim_x _block_dim_y _block_dim_z;
    /// Blocks of the grid.
    grid_dim: _grid_dim_x _grid_dim_y _grid_dim_z;
}

/// Waits until all threads of the block are here; then each sees what the others have stored.
#[inline(always)]
pub fn sync_threads() {
    // SAFETY: it touches no memory; that all threads reach it is for the kernel to see to, and the simulator looks.
    unsafe { nvptx::_syncthreads() }
}

/// What the matrices hold.
pub trait Number: Copy {
    /// Zero.
    const ZERO: Self;
    /// `a * b + c`, in one instruction. The compiler never makes one of two by itself.
    fn fma(a: Self, b: Self, c: Self) -> Self;
    /// As an instruction moves it.
    fn bits(self) -> u32;
    /// The number of these bits.
    fn of_bits(bits: u32) -> Self;
}

impl Number for f32 {
    const ZERO: Self = 0.0;
    #[inline(always)]
    fn fma(a: Self, b: Self, c: Self) -> Self {
        fmaf32(a, b, c)
    }
    #[inline(always)]
    fn bits(self) -> u32 {
        self.to_bits()
    }
    #[inline(always)]
    fn of_bits(bits: u32) -> Self {
        Self::from_bits(bits)
    }
}

impl Number for i32 {
    const ZERO: Self = 0;
    #[inline(always)]
    fn fma(a: Self, b: Self, c: Self) -> Self {
        a.wrapping_mul(b).wrapping_add(c)
    }
    #[inline(always)]
    fn bits(self) -> u32 {
        self as u32
    }
    #[inline(always)]
    fn of_bits(bits: u32) -> Self {
        bits as Self
    }
}

/// `a * b + c`, in one instruction.
#[inline(always)]
pub fn fma<T: Number>(a: T, b: T, c: T) -> T {
    T::fma(a, b, c)
}

/// Up to four neighbouring elements that one instruction moves. They start at a multiple of their size.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
pub struct Pack<T, const COUNT: u32>([T; 4]);

impl<T: Number, const COUNT: u32> Pack<T, COUNT> {
    /// Zeros.
    pub const ZERO: Self = Self([T::ZERO; 4]);

    /// Reads them from global memory.
    ///
    /// # Safety
    /// As many elements as it counts lie at `from`, and `from` is a multiple of their size.
    #[inline(always)]
    pub unsafe fn load(from: *const T) -> Self {
        // SAFETY: the caller vouches for them.
        unsafe {
            match COUNT {
                4 => *from.cast(),
                _ => Self([*from, T::ZERO, T::ZERO, T::ZERO]),
            }
        }
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
    /// The matrix at `first`.
    ///
    /// # Safety
    /// There lie `rows * cols` elements; if one is written, no other thread touches it.
    #[inline(always)]
    pub const unsafe fn new(first: *const T, rows: u32, cols: u32) -> Self {
        Self { first: first.cast_mut(), rows, cols }
    }

    /// Where an element lies, or would lie if the matrix were larger.
    #[inline(always)]
    pub fn at(&self, row: u32, col: u32) -> *const T {
        self.first.wrapping_add(row as usize * self.cols as usize + col as usize)
    }

    /// The element, or zero beyond the edge.
    #[inline(always)]
    pub fn get(&self, row: u32, col: u32) -> T {
        // SAFETY: it lies inside.
        if row < self.rows && col < self.cols { unsafe { *self.at(row, col) } } else { T::ZERO }
    }

    /// Writes the element; beyond the edge nothing.
    #[inline(always)]
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
    #[inline(always)]
    pub fn set4(&mut self, at: u32, four: Pack<T, 4>) {
        for i in 0..4 {
            self[at + i] = four.0[i as usize];
        }
    }
}

impl<T, const COUNT: usize> Index<u32> for Registers<T, COUNT> {
    type Output = T;
    #[inline(always)]
    fn index(&self, at: u32) -> &T {
        self.0.get(at as usize).unwrap_or_else(|| abort())
    }
}

impl<T, const COUNT: usize> IndexMut<u32> for Registers<T, COUNT> {
    #[inline(always)]
    fn index_mut(&mut self, at: u32) -> &mut T {
        self.0.get_mut(at as usize).unwrap_or_else(|| abort())
    }
}

/// Registers that begin with one value: `registers![0.0; THREAD_M][THREAD_N]` has `THREAD_M` rows.
#[macro_export]
macro_rules! registers {
    ($value:expr; $count:expr) => { $crate::Registers([$value; ($count) as usize]) };
    ($value:expr; $rows:expr, $cols:expr) => { $crate::registers![$crate::registers![$value; $cols]; $rows] };
}

/// An array in the block's shared memory, made by `shared!`.
#[derive(Clone, Copy)]
pub struct Shared<T, const ROWS: u32, const COLS: u32> {
    address: u32,
    element: PhantomData<T>,
}

/// `shared!(As: Element, ROWS, COLS)` declares an array in the block's shared memory, which nobody has written yet. Outside
/// of functions, `shared!(extern all: Element)` declares one row of as many elements as the host gives the block room for.
#[macro_export]
macro_rules! shared {
    (extern $name:ident: $element:ty) => {
        ::core::arch::global_asm!(concat!(".extern .shared .align 16 .b8 ", stringify!($name), "[];"));
        #[inline(always)]
        unsafe fn $name() -> $crate::Shared<$element, 1, 0> {
            let address: u32;
            // SAFETY: it takes the array's address.
            unsafe {
                ::core::arch::asm!(concat!("mov.u32 {}, ", stringify!($name), ";"), out(reg32) address);
                $crate::Shared::of_address(address)
            }
        }
    };
    ($name:ident: $element:ty, $rows:expr, $cols:expr) => {
        let $name = {
            let address: u32;
            // SAFETY: it declares the array and takes its address.
            unsafe {
                ::core::arch::asm!(
                    concat!("{{ .shared .align 16 .b8 ", stringify!($name), "[{bytes}]; mov.u32 {address}, ", stringify!($name), "; }}"),
                    address = out(reg32) address,
                    bytes = const 4 * ($rows) * ($cols),
                );
                $crate::Shared::<$element, { $rows }, { $cols }>::of_address(address)
            }
        };
    };
}

impl<T: Number, const ROWS: u32, const COLS: u32> Shared<T, ROWS, COLS> {
    /// The array at an address of shared memory.
    ///
    /// # Safety
    /// So many elements lie there.
    #[inline(always)]
    pub const unsafe fn of_address(address: u32) -> Self {
        Self { address, element: PhantomData }
    }

    /// What begins so many elements further on.
    ///
    /// # Safety
    /// There is so much.
    #[inline(always)]
    pub const unsafe fn skip(&self, elements: u32) -> Self {
        Self { address: self.address + 4 * elements, element: PhantomData }
    }

    #[inline(always)]
    fn at(&self, row: u32, col: u32) -> u32 {
        self.address + 4 * (row * COLS + col)
    }

    /// Reads an element.
    ///
    /// # Safety
    /// It lies inside and was stored before a barrier, or by this thread.
    #[inline(always)]
    pub unsafe fn load(&self, row: u32, col: u32) -> T {
        let bits: u32;
        // SAFETY: the caller vouches for it.
        unsafe { asm!("ld.shared.b32 {}, [{}];", out(reg32) bits, in(reg32) self.at(row, col)) };
        T::of_bits(bits)
    }

    /// Reads four neighbours, the first of them at a multiple of 16 bytes.
    ///
    /// # Safety
    /// As for `load`.
    #[inline(always)]
    pub unsafe fn load4(&self, row: u32, col: u32) -> Pack<T, 4> {
        let (a, b, c, d): (u32, u32, u32, u32);
        // SAFETY: the caller vouches for them.
        unsafe {
            asm!("ld.shared.v4.b32 {{{}, {}, {}, {}}}, [{}];", out(reg32) a, out(reg32) b, out(reg32) c, out(reg32) d,
                in(reg32) self.at(row, col));
        }
        Pack([a, b, c, d].map(T::of_bits))
    }

    /// Stores an element.
    ///
    /// # Safety
    /// It lies inside, and no other thread touches it before the next barrier.
    #[inline(always)]
    pub unsafe fn store(&self, row: u32, col: u32, value: T) {
        // SAFETY: the caller vouches for it.
        unsafe { asm!("st.shared.b32 [{}], {};", in(reg32) self.at(row, col), in(reg32) value.bits()) };
    }

    /// Stores neighbours, the first of them at a multiple of their size.
    ///
    /// # Safety
    /// As for `store`.
    #[inline(always)]
    pub unsafe fn store_pack<const COUNT: u32>(&self, row: u32, col: u32, pack: Pack<T, COUNT>) {
        let [a, b, c, d] = pack.0.map(T::bits);
        // SAFETY: the caller vouches for them.
        unsafe {
            match COUNT {
                4 => asm!("st.shared.v4.b32 [{}], {{{}, {}, {}, {}}};", in(reg32) self.at(row, col), in(reg32) a,
                    in(reg32) b, in(reg32) c, in(reg32) d),
                _ => asm!("st.shared.b32 [{}], {};", in(reg32) self.at(row, col), in(reg32) a),
            }
        }
    }

    /// Starts a copy of `COUNT` elements from global memory, which goes on beside the thread; zeros arrive if not `inside`.
    ///
    /// # Safety
    /// As for `store`, until `wait`; if `inside`, so many elements lie at `from`.
    #[inline(always)]
    pub unsafe fn copy<const COUNT: u32>(&self, row: u32, col: u32, from: *const T, inside: bool) {
        // SAFETY: the caller vouches for both sides.
        unsafe {
            asm!("cp.async.ca.shared.global [{}], [{}], {}, {};", in(reg32) self.at(row, col), in(reg64) from,
                const 4 * COUNT, in(reg32) if inside { 4 * COUNT } else { 0 });
        }
    }
}

/// Waits until all copies that this thread has started have arrived.
#[inline(always)]
pub fn wait() {
    // SAFETY: it touches nothing that was not given to a copy.
    unsafe { asm!("cp.async.wait_all;") };
}
