//! Matrices in the registers of a warp: which element is in which place of which lane's registers.

use super::warpgroup::WarpgroupOp;
use crate::ast::{Space, Type};

/// How a matrix is spread over the lanes. The first three are those of `mma`, which the PTX manual draws; the others are
/// ours, where the manual leaves open what the fragments of `wmma` hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spread {
    /// The left and the right operand of a product, and its result.
    Left,
    Right,
    Sum,
    /// Every lane holds elements that follow each other in a row, or in a column. If there is more room than elements, they
    /// are there several times.
    Rows,
    Columns,
}

/// A matrix in the registers of a warp.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fragment {
    pub kind: Type,
    pub rows: u32,
    pub columns: u32,
    pub spread: Spread,
    /// Registers of a lane.
    pub registers: u32,
}

impl Fragment {
    pub fn new(kind: Type, (rows, columns): (u32, u32), spread: Spread) -> Self {
        let mut fragment = Self { kind, rows, columns, spread, registers: 0 };
        fragment.registers = (rows * columns / 32).div_ceil(fragment.parts());
        fragment
    }

    /// Elements in a register.
    pub const fn parts(&self) -> u32 {
        if self.kind.bytes() >= 4 { 1 } else { 4 / self.kind.bytes() }
    }

    /// Row and column of a part of a lane's register.
    pub const fn element(&self, lane: u32, register: u32, part: u32) -> (u32, u32) {
        let (group, member, parts) = (lane / 4, lane % 4, self.parts());
        match self.spread {
            Spread::Left => (group + 8 * (register % 2), parts * member + part + 4 * parts * (register / 2)),
            Spread::Right => (parts * member + part + 4 * parts * register, group),
            Spread::Sum => {
                let at = register * parts + part;
                (group + 8 * (at / 2 % 2), 2 * member + at % 2 + 8 * (at / 4))
            }
            Spread::Rows | Spread::Columns => {
                let own = self.rows * self.columns / 32;
                let at = lane * own + (register * parts + part) % own;
                if matches!(self.spread, Spread::Rows) {
                    (at / self.columns, at % self.columns)
                } else {
                    (at % self.rows, at / self.rows)
                }
            }
        }
    }
}

/// What a warp does with matrices.
#[derive(Debug, Clone, Copy)]
pub(crate) enum MatrixOp {
    /// D = A·B + C: the fragments of D, A, B and C.
    Multiply([Fragment; 4]),
    /// `ldmatrix`: so many matrices of 8 × 8 elements of 16 bits; rows and columns may be exchanged.
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
