//! Matrices in the registers of a warp: which element is in which place of which lane's registers.

use crate::ast::Type;

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
