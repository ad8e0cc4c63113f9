//! Matrix instructions: which element of a matrix each lane's registers hold, and what a warp or a warpgroup (four warps) does
//! with matrices.

use crate::ast::Type;
use crate::place::Space;

/// How a matrix is spread over the lanes. The first three are the layouts of `mma`, which the PTX manual draws. The others are our
/// choice for the fragments of `wmma`, whose layout the manual leaves open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spread {
    /// Operands and result of a product: A is `Left`, B is `Right`, and D is `Sum`.
    Left,
    Right,
    Sum,
    /// Each lane holds consecutive elements of a row (or of a column). If there are more places than elements, the elements are
    /// repeated.
    Rows,
    Columns,
}

/// A matrix in the registers of a warp.
#[derive(Debug, Clone, Copy)]
pub struct Fragment {
    pub kind: Type,
    pub rows: u32,
    pub columns: u32,
    pub spread: Spread,
    /// Registers in each lane.
    pub registers: u32,
}

impl Fragment {
    pub fn new(kind: Type, (rows, columns): (u32, u32), spread: Spread) -> Self {
        let mut fragment = Self { kind, rows, columns, spread, registers: 0 };
        fragment.registers = (rows * columns / 32).div_ceil(fragment.parts());
        fragment
    }

    /// Returns how many elements a register holds.
    pub const fn parts(&self) -> u32 {
        if self.kind.bytes() >= 4 { 1 } else { 4 / self.kind.bytes() }
    }

    /// Returns all places of the fragment: lane, register, part of the register, and the element's number in row-major order.
    pub fn places(&self) -> impl Iterator<Item = (usize, usize, usize, usize)> {
        (0..32).flat_map(move |lane| {
            (0..self.registers).flat_map(move |register| {
                (0..self.parts()).map(move |part| {
                    let (row, column) = self.element(lane, register, part);
                    (lane as usize, register as usize, part as usize, (row * self.columns + column) as usize)
                })
            })
        })
    }

    /// Returns the row and column of the element in a part of a lane's register.
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

#[derive(Debug, Clone, Copy)]
pub enum MatrixOp {
    /// D = A·B + C: the fragments of D, A, B and C, and whether integer sums saturate.
    Multiply([Fragment; 4], bool),
    /// `ldmatrix` and `stmatrix`: `count` matrices of 8 × 8 elements of 16 bits. `exchanged` transposes them.
    Rows { count: u32, exchanged: bool, store: bool },
    /// Loads or stores a fragment. `by_column` says that the elements of a column, not of a row, are consecutive in memory.
    Move { fragment: Fragment, by_column: bool, space: Space, store: bool },
    /// An operation of four warps together.
    Warpgroup(WarpgroupOp),
}

impl MatrixOp {
    /// Returns the product of a warpgroup, if it is one.
    pub fn product(&self) -> Option<&Product> {
        if let Self::Warpgroup(WarpgroupOp::Multiply(product)) = self { Some(product) } else { None }
    }
}

/// The fixed part of a matrix instruction.
#[derive(Debug, Clone)]
pub struct Matrix {
    pub op: MatrixOp,
    /// The registers of all fragments in order. During decoding, the numbers of their values.
    pub registers: Vec<u32>,
    /// How many of the registers are results. They come first.
    pub results: u32,
    /// Offset from the address in `a` of the instruction. `wide` says that the address has 64 bits. `b` is the stride.
    pub offset: i64,
    pub wide: bool,
}

#[derive(Debug, Clone, Copy)]
pub enum WarpgroupOp {
    /// Lets later products access registers that were accessed before it.
    Fence,
    /// Closes a group of products.
    Commit,
    /// Waits until at most this many groups are in flight.
    Wait(u32),
    Multiply(Product),
}

/// The length of a row of A or a column of B in bytes, for any type.
const LINE: u32 = 32;

/// D = ±A · ±B, or D += ±A · ±B. The instruction has the descriptors of A (if it is in shared memory) and B in `a` and `b`. If only
/// a predicate tells whether D is added, it is in `c`.
#[derive(Debug, Clone, Copy)]
pub struct Product {
    /// The types of A and B. They differ if one of two integer types is signed and the other is not.
    pub kind: Type,
    pub right: Type,
    /// The type of C and D.
    pub sum: Type,
    /// Columns of B.
    pub columns: u32,
    pub in_registers: bool,
    /// Whether the elements of a column of A, and those of a row of B, are consecutive in memory.
    pub transposed: [bool; 2],
    pub negated: [bool; 2],
    /// Whether integer sums saturate.
    pub saturates: bool,
    pub scale: Scale,
}

/// Whether D is added: perhaps only if the predicate is true, or false if `negated`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    Never,
    Always,
    If { negated: bool },
}

impl Product {
    /// Returns the number of columns of A and rows of B.
    pub const fn length(&self) -> u32 {
        LINE / self.kind.bytes()
    }

    /// Returns the sixteen rows of D that a warp holds.
    pub fn result(&self) -> Fragment {
        Fragment::new(self.sum, (16, self.columns), Spread::Sum)
    }

    /// Returns the sixteen rows of A that a warp holds if A is in registers.
    pub fn left(&self) -> Fragment {
        Fragment::new(self.kind, (16, self.length()), Spread::Left)
    }
}

/// A product of four warps (`wgmma`), and which elements of its sixteen rows each lane of a warp holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WarpgroupProduct {
    /// Columns of B and of the sums.
    pub columns: u32,
    /// Columns of A and rows of B.
    pub length: u32,
    /// For each register of the sums, in the instruction's order: row and column of its (first) element in each lane.
    pub sums: Vec<[(u32, u32); 32]>,
    /// For each register of A, the row and column likewise. Empty if A is in shared memory.
    pub left: Vec<[(u32, u32); 32]>,
    /// Whether the elements of a column of B are consecutive in memory.
    pub by_column: bool,
}

impl WarpgroupProduct {
    pub fn of(product: &Product) -> Self {
        let places = |fragment: Fragment| {
            let of_register = |register| std::array::from_fn(|lane| fragment.element(lane as u32, register, 0));
            (0..fragment.registers).map(of_register).collect()
        };
        Self {
            columns: product.columns,
            length: product.length(),
            sums: places(product.result()),
            left: if product.in_registers { places(product.left()) } else { vec![] },
            by_column: !product.transposed[1],
        }
    }
}
