//! The product C = A·B to compute: its sizes, its element type, and how A and B are filled.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Element type of A, B and C.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum Dtype {
    /// 32-bit floating point, checked against an error bound.
    #[default]
    F32,
    /// 32-bit integers that wrap around, checked exactly.
    I32,
}

impl Dtype {
    /// Returns the C type that the kernel knows as `ELEMENT`.
    pub fn c_type(self) -> &'static str {
        if self == Self::F32 { "float" } else { "int" }
    }

    /// Returns the value that every byte of C is set to before a launch. No kernel leaves that pattern by accident: it makes an
    /// `f32` NaN, and an `i32` 2139062143, which is too large for a small product.
    pub fn poison_byte(self) -> u8 {
        if self == Self::F32 { 0xFF } else { 0x7F }
    }

    /// Returns the 32-bit word that marks an element of C as never written.
    pub fn poison(self) -> u32 {
        u32::from_ne_bytes([self.poison_byte(); 4])
    }

    /// Returns the value of an element's bits.
    pub fn value(self, bits: u32) -> f64 {
        if self == Self::F32 { f32::from_bits(bits).into() } else { (bits as i32).into() }
    }

    /// Returns the bits of the element for a number.
    pub fn bits(self, number: f64) -> u32 {
        if self == Self::F32 { (number as f32).to_bits() } else { number as i32 as u32 }
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self == Self::F32 { "f32" } else { "i32" })
    }
}

/// Values of the elements of A and B.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum Fill {
    /// Uniform in [-1, 1); with `i32`, integers over the whole range of the type.
    #[default]
    Uniform,
    /// Integers so small that every sum is exact in `f32`: the product is checked exactly.
    Integers,
}

impl fmt::Display for Fill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self == Self::Uniform { "uniform" } else { "integers" })
    }
}

/// C (M×N) = A (M×K) · B (K×N), all row-major.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// Rows of A and of C. The sizes are from 1 to 2³¹−1.
    pub m: u64,
    /// Columns of B and of C.
    pub n: u64,
    /// Columns of A and rows of B.
    pub k: u64,
    /// The element type.
    #[serde(default)]
    pub dtype: Dtype,
    /// How A and B are filled.
    #[serde(default)]
    pub fill: Fill,
    /// The seed for the elements.
    #[serde(default)]
    pub seed: u64,
}

impl Problem {
    /// Returns the usual problem with these sizes [M, N, K]: `f32`, uniform elements, seed 1.
    pub const fn uniform([m, n, k]: [u64; 3]) -> Self {
        Self { m, n, k, dtype: Dtype::F32, fill: Fill::Uniform, seed: 1 }
    }

    /// Returns M, N and K as a kernel's parameters have them.
    pub fn sizes(&self) -> [u32; 3] {
        [self.m, self.n, self.k].map(|size| size as u32)
    }

    /// Returns the number of elements of A.
    pub fn a_elements(&self) -> u64 {
        self.m * self.k
    }

    /// Returns the number of elements of B.
    pub fn b_elements(&self) -> u64 {
        self.k * self.n
    }

    /// Returns the bytes of A, B, C and a workspace with this many elements.
    pub fn device_bytes(&self, workspace_elements: u64) -> u64 {
        let elements = [self.a_elements(), self.b_elements(), self.c_elements(), workspace_elements];
        elements.iter().fold(0_u64, |sum, &elements| sum.saturating_add(elements.saturating_mul(4)))
    }

    /// Returns the number of elements of C.
    pub fn c_elements(&self) -> u64 {
        self.m * self.n
    }

    /// Returns the floating-point (or integer) operations of the product: one multiplication and one addition for each of M·N·K.
    pub fn flop(&self) -> f64 {
        2.0 * self.m as f64 * self.n as f64 * self.k as f64
    }

    /// Returns the number of multiply-adds, M·N·K.
    pub fn multiply_adds(&self) -> u128 {
        u128::from(self.m) * u128::from(self.n) * u128::from(self.k)
    }
}
