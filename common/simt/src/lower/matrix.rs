//! Instructions on matrices.

use super::fragment::Fragment;
use super::warpgroup::WarpgroupOp;
use crate::ast::Space;

/// What a warp does with matrices.
#[derive(Debug, Clone, Copy)]
pub(crate) enum MatrixOp {
    /// D = A·B + C: the fragments of D, A, B and C, and whether sums of integers stop at the ends of their type.
    Multiply([Fragment; 4], bool),
    /// `ldmatrix`: `count` matrices of 8 × 8 elements of 16 bits; rows and columns may be exchanged.
    Rows { count: u32, exchanged: bool },
    /// A fragment loaded or stored, and whether its columns or its rows are what follows each other in memory.
    Move { fragment: Fragment, by_column: bool, space: Space, store: bool },
    /// What four warps do together.
    Warpgroup(WarpgroupOp),
}

/// The fixed part of an instruction on matrices.
#[derive(Debug, Clone)]
pub(crate) struct Matrix {
    pub op: MatrixOp,
    /// The registers, one fragment after the other; while decoding, the numbers of their values.
    pub registers: Vec<u32>,
    /// How many of them are results; they come first.
    pub results: u32,
    /// Added to the address in `a` of the instruction, which may be 64 bits wide; `b` is the stride.
    pub offset: i64,
    pub wide: bool,
}
