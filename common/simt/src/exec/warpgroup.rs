//! What the four warps of a warpgroup do together. Each warp computes its own sixteen rows at once when it gets there. Observers
//! keep track of what the hardware has not finished yet.
//!
//! The file also knows how `wgmma` finds matrices in shared memory: the descriptor, and the way from an element to its place.
//!
//! A matrix has lines (rows of A, columns of B) of 32 bytes along k, and memory holds it in pieces of 16 bytes. If the elements of
//! a line are contiguous (K-major), a piece is half a line. If those of a column of A or a row of B are, it is eight lines at one
//! k.
//!
//! Pieces lie in rows of 16, 32, 64 or 128 bytes, and eight consecutive rows are a square of the pattern. Rows of more than one
//! piece are swizzled: the number of the row is added, without carry, to the number of the piece in the row. The hardware takes
//! both numbers from the address.

use super::access::At;
use super::context::{Checked, Context, Outcome};
use super::matrix::{self, TensorCore, gather, multiplied, scatter, whole};
use super::warp::Warp;
use crate::observe::WarpgroupStep;
use ptx::error::FaultKind;
use ptx::lower::inst::{Inst, NONE, Op};
use ptx::lower::matrix::{MatrixOp, Product, Scale, WarpgroupOp};

const THREADS: u64 = 128;

#[inline(never)]
pub(super) fn warpgroup(warp: &mut Warp, context: &mut Context, at: At) -> Checked<()> {
    let At { inst, r, .. } = at;
    let threads = context.launch.config.block.count();
    if !threads.is_multiple_of(THREADS) {
        let text = format!(
            "wgmma in a block of {threads} threads: four whole warps execute it together, so launch a multiple of {THREADS},"
        );
        return Err(context.fault(FaultKind::Other(text), inst.pc, warp.number, None));
    }
    whole(context, at)?;
    let MatrixOp::Warpgroup(op) = context.code.matrices[inst.imm as usize].op else { return Ok(()) };
    let mut pieces = vec![];
    let step = match op {
        WarpgroupOp::Fence => WarpgroupStep::Fence,
        WarpgroupOp::Commit => WarpgroupStep::Commit,
        WarpgroupOp::Wait(pending) => WarpgroupStep::Wait { pending },
        WarpgroupOp::Multiply(product) => {
            let adds = match product.scale {
                Scale::Never => false,
                Scale::Always => true,
                Scale::If { negated } => adds(context, warp, inst, negated)?,
            };
            // A hash of the products and their descriptors, in order. `complete` compares it between warps.
            let descriptors = [inst.a, inst.b].map(|register| if register == NONE { 0 } else { r.lane(register, 0) });
            for part in [u64::from(inst.pc) << 1 | u64::from(adds), descriptors[0], descriptors[1]] {
                warp.together = (warp.together ^ part).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
            }
            let own = multiply(context, at, &product, adds, &mut pieces)?;
            WarpgroupStep::Multiply { pieces: &pieces, own }
        }
    };
    context.tell(|observer| observer.warpgroup(warp.number, inst.pc, step));
    Ok(())
}

/// Whether D is added. All threads of the warp must agree on it.
fn adds(context: &Context, warp: &Warp, inst: &Inst, negated: bool) -> Checked<bool> {
    match warp.predicates[inst.c as usize] {
        0 => Ok(negated),
        u32::MAX => Ok(!negated),
        bits => {
            let text =
                "wgmma whose scale-d differs between the threads of a warp: compute it from what all of them share,";
            let lane = if bits & 1 == 0 { bits.trailing_zeros() } else { bits.trailing_ones() };
            Err(context.fault(FaultKind::Other(text.into()), inst.pc, warp.number, Some(lane)))
        }
    }
}

/// Computes the warp's sixteen rows of D. Notes the pieces of shared memory that they need, and returns how many of these are of A.
fn multiply(context: &Context, at: At, product: &Product, adds: bool, pieces: &mut Vec<u32>) -> Checked<usize> {
    let At { inst, r, warp, .. } = at;
    let result = product.result();
    let (own, others) = context.code.matrices[inst.imm as usize].registers.split_at(result.registers as usize);
    let length = product.length() as usize;
    let columns = product.columns as usize;
    let mut left = if product.in_registers {
        gather(&product.left(), &others[..4], r)
    } else {
        lines(context, at, product, 0, 16 * (warp % 4), 16, pieces)?
    };
    let of_a = pieces.len();
    let mut right = lines(context, at, product, 1, 0, product.columns, pieces)?;
    let sign = 1 << (8 * product.kind.bytes() - 1);
    for (elements, negated) in [&mut left, &mut right].into_iter().zip(product.negated) {
        for bits in elements {
            *bits ^= if negated { sign } else { 0 };
        }
    }
    // `right` holds B column by column.
    let by_row: Vec<u64> = (0..length * columns).map(|at| right[at % columns * length + at / columns]).collect();
    let before = if adds { gather(&result, own, r) } else { vec![0; 16 * columns] };
    let kinds = [product.sum, product.kind, product.right, product.sum];
    let saturates = product.saturates;
    let operands = matrix::Product { a: &left, b: &by_row, c: &before, kinds, length, columns, saturates };
    scatter(&result, own, r, &multiplied(TensorCore::HOPPER, &operands));
    Ok(of_a)
}

/// Returns the bits of some lines of an operand (0 is A, 1 is B) in shared memory, line after line.
fn lines(
    context: &Context,
    At { inst, r, warp, .. }: At,
    product: &Product,
    operand: usize,
    first: u32,
    count: u32,
    pieces: &mut Vec<u32>,
) -> Checked<Vec<u64>> {
    let (name, register) = [("A", inst.a), ("B", inst.b)][operand];
    let fault = |text, lane| Err(context.fault(FaultKind::Other(text), inst.pc, warp, Some(lane)));
    let bits: [u64; 32] = r.read(register);
    if let Some(lane) = bits.iter().position(|&other| other != bits[0]) {
        let text = format!(
            "wgmma whose descriptor of {name} differs between the threads of a warp: compute it from what all of them share,"
        );
        return fault(text, lane as u32);
    }
    let Some(descriptor) = Descriptor::read(bits[0]) else {
        let text = format!(
            "wgmma whose descriptor of {name}, {:#x}, has bits outside its fields: addresses and offsets go into it as (bytes & 0x3ffff) >> 4,",
            bits[0]
        );
        return fault(text, 0);
    };
    let mut elements = vec![0; (count * product.length()) as usize];
    for piece in descriptor.pieces(product, operand, first, count) {
        let total = context.launch.shared_bytes;
        if piece.position.checked_add(PIECE).is_none_or(|end| end > total) {
            let place = context.shared_place(piece.position.into());
            let text = format!(
                "wgmma reads {name} at {place}: check the start, the offsets and the swizzle in its descriptor,"
            );
            return fault(text, 0);
        }
        pieces.push(piece.position);
        for (at, element) in piece.elements(product) {
            elements[element] = u64::from(context.shared[at as usize / 4] >> (8 * (at % 4)));
        }
    }
    Ok(elements)
}

/// Checks that all four warps of each warpgroup have executed the same products.
pub(super) fn complete(warps: &[Warp], context: &Context) -> Result<(), Outcome> {
    for four in warps.chunks(4) {
        if let Some(other) = four.iter().find(|warp| warp.together != four[0].together) {
            let text = format!(
                "wgmma that warps {} and {} of a warpgroup did not execute alike: all four of its warps must execute each, with the same descriptors,",
                four[0].number, other.number
            );
            let matrices = &context.code.matrices;
            let is_product =
                |inst: &&Inst| inst.op == Op::Warpgroup && matrices[inst.imm as usize].op.product().is_some();
            let pc = context.code.insts.iter().find(is_product).map_or(0, |inst| inst.pc);
            return Err(*context.fault(FaultKind::Other(text), pc, other.number, Some(0)));
        }
    }
    Ok(())
}

/// The fields of a descriptor, with addresses and distances in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Descriptor {
    start: u32,
    /// The distances that the manual calls leading and stride.
    leading: u32,
    stride: u32,
    /// The number that the first row of a pattern has.
    base: u32,
    /// Pieces of 16 bytes in a row.
    pieces: u32,
}

/// Sixteen bytes of an operand in shared memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Piece {
    pub position: u32,
    /// The line and the k of its first element.
    first: (u32, u32),
    /// Whether its elements lie in consecutive lines, instead of at consecutive k.
    across: bool,
}

impl Piece {
    /// Returns the position of each of its elements, and the number of that element, line after line.
    pub fn elements(self, product: &Product) -> impl Iterator<Item = (u32, usize)> {
        let (bytes, length) = (product.kind.bytes(), product.length());
        let apart = if self.across { length } else { 1 };
        let first = self.first.0 * length + self.first.1;
        (0..PIECE / bytes).map(move |part| (self.position + part * bytes, (first + part * apart) as usize))
    }
}

/// Bits that belong to no field.
const RESERVED: u64 = 0x3ff1_c000_c000_c000;

pub(super) const PIECE: u32 = 16;

impl Descriptor {
    /// Returns the fields, or `None` if bits outside the fields are set.
    pub fn read(bits: u64) -> Option<Self> {
        let distance = |from: u32| (bits >> from & 0x3fff) as u32 * PIECE;
        let pieces = [1, 8, 4, 2][(bits >> 62) as usize];
        let base = (bits >> 49 & 7) as u32;
        let fields = Self { start: distance(0), leading: distance(16), stride: distance(32), base, pieces };
        (bits & RESERVED == 0).then_some(fields)
    }

    /// Returns the pieces of `count` lines, beginning with line `first`.
    pub fn pieces(&self, product: &Product, operand: usize, first: u32, count: u32) -> impl Iterator<Item = Piece> {
        let across = product.transposed[operand];
        let steps = if across { product.length() } else { 2 };
        let each = PIECE / product.kind.bytes();
        (0..if across { count / 8 } else { count }).flat_map(move |at| {
            (0..steps).map(move |step| {
                if across {
                    Piece { position: self.across(first / 8 + at, step), first: (8 * at, step), across }
                } else {
                    Piece { position: self.along(first + at, step), first: (at, step * each), across }
                }
            })
        })
    }

    /// Returns the position of piece `half` of a line whose elements are contiguous.
    pub fn along(&self, line: u32, half: u32) -> u32 {
        // Swizzled rows hold both halves of a line.
        let apart = if self.pieces == 1 { self.leading } else { PIECE };
        self.swizzled(line % 8 * self.row() + line / 8 * self.stride + half * apart)
    }

    /// Returns the position of the piece with eight lines (group number `eight`) at place `k` along them.
    pub fn across(&self, eight: u32, k: u32) -> u32 {
        let (lines, length) = if self.pieces == 1 { (self.stride, self.leading) } else { (self.leading, self.stride) };
        let (square, piece) = (eight / self.pieces, eight % self.pieces);
        self.swizzled(piece * PIECE + square * lines + k % 8 * self.row() + k / 8 * length)
    }

    const fn row(&self) -> u32 {
        PIECE * self.pieces
    }

    const fn swizzled(&self, distance: u32) -> u32 {
        let position = self.start + distance;
        let number = (position >> 7).wrapping_sub(self.base) & (self.pieces - 1);
        position ^ (number * PIECE)
    }
}

#[cfg(test)]
mod tests;
