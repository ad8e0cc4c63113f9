//! What the four warps of a warpgroup do together: products of matrices that go on while the warps do.

use super::fragment::{Fragment, Spread};
use crate::ast::Type;

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
