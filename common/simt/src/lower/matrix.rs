//! Instructions on matrices: which element of a matrix is in which place of which lane's registers, and what a warp, or the four of a
//! warpgroup together, does with them.

use crate::ast::Type;
use crate::place::Space;

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

    /// All its places: lane, register, the part of that, and the element in row order.
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
    /// D = A·B + C: the fragments of D, A, B and C, and whether sums of integers stop at the ends of their type.
    Multiply([Fragment; 4], bool),
    /// `ldmatrix`, `stmatrix`: `count` matrices of 8 × 8 elements of 16 bits; rows and columns may be exchanged.
    Rows { count: u32, exchanged: bool, store: bool },
    /// A fragment loaded or stored, and whether its columns or its rows are what follows each other in memory.
    Move { fragment: Fragment, by_column: bool, space: Space, store: bool },
    /// What four warps do together.
    Warpgroup(WarpgroupOp),
}

impl MatrixOp {
    /// The product of a warpgroup, if it is one.
    pub fn product(&self) -> Option<&Product> {
        if let Self::Warpgroup(WarpgroupOp::Multiply(product)) = self { Some(product) } else { None }
    }
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

/// An instruction of a warpgroup.
#[derive(Debug, Clone, Copy)]
pub(crate) enum WarpgroupOp {
    /// Registers that were accessed before may be accessed by products from now on.
    Fence,
    /// Closes a group of products.
    Commit,
    /// Waits until at most this number of groups is under way.
    Wait(u32),
    Multiply(Product),
}

/// The length of a line of A or B in bytes, whatever the type.
const LINE: u32 = 32;

/// D = ±A · ±B, or that plus D. The instruction has the descriptors of A (if it is in shared memory) and of B in `a` and `b`,
/// and in `c` the predicate that says whether D is added, if that is not known.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Product {
    /// The type of A, and that of B, which is another one where one of two integers has a sign.
    pub kind: Type,
    pub right: Type,
    /// The type of C and D.
    pub sum: Type,
    /// Columns of B.
    pub columns: u32,
    /// A is in registers.
    pub in_registers: bool,
    /// The elements of a column of A, and of a row of B, follow each other in memory.
    pub transposed: [bool; 2],
    pub negated: [bool; 2],
    /// Sums of integers stop at the ends of their type.
    pub saturates: bool,
    pub scale: Scale,
}

/// Whether D is added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scale {
    Never,
    Always,
    /// Where the predicate holds, or (if negated) does not.
    If {
        negated: bool,
    },
}

impl Product {
    /// Columns of A and rows of B.
    pub const fn length(&self) -> u32 {
        LINE / self.kind.bytes()
    }

    /// The sixteen rows of D that a warp has.
    pub fn result(&self) -> Fragment {
        Fragment::new(self.sum, (16, self.columns), Spread::Sum)
    }

    /// The sixteen rows of A that a warp has, where they are in registers.
    pub fn left(&self) -> Fragment {
        Fragment::new(self.kind, (16, self.length()), Spread::Left)
    }
}

/// What four warps multiply (`wgmma`), and which elements each lane of a warp has of its sixteen rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WarpgroupProduct {
    /// Columns of B and of the sums.
    pub columns: u32,
    /// Columns of A and rows of B.
    pub length: u32,
    /// By register of the sums, in the order of the instruction: row and column of its (first) element, by lane.
    pub sums: Vec<[(u32, u32); 32]>,
    /// By register of A, likewise; nothing if A is in shared memory.
    pub left: Vec<[(u32, u32); 32]>,
    /// The elements of a column of B follow each other in memory.
    pub by_column: bool,
}

impl WarpgroupProduct {
    pub(crate) fn of(product: &Product) -> Self {
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
