//! Matrices in shared memory as `wgmma` takes them: the descriptor that says where, and the way from an element to its place.
//!
//! A matrix has lines (rows of A, columns of B) of 32 bytes along k. Memory keeps it in pieces of 16 bytes. Where the elements
//! of a line follow each other (K-major), a piece is half a line; where those of a column of A or a row of B do, it is
//! eight lines at one k.
//!
//! Pieces lie in rows of 16, 32, 64 or 128 bytes, and eight rows that follow each other are a square of the pattern. The
//! wider ones are swizzled: the number of the row is added, without carry, to the number of the piece in the row. The
//! hardware takes both from the address itself.

use crate::lower::matrix::Product;

/// The fields of a descriptor; addresses and distances in bytes.
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
    /// It goes on with the next line, not with the next k.
    across: bool,
}

impl Piece {
    /// The position of each of its elements, and which one that is, line after line.
    pub fn elements(self, product: &Product) -> impl Iterator<Item = (u32, usize)> {
        let (bytes, length) = (product.kind.bytes(), product.length());
        let apart = if self.across { length } else { 1 };
        let first = self.first.0 * length + self.first.1;
        (0..PIECE / bytes).map(move |part| (self.position + part * bytes, (first + part * apart) as usize))
    }
}

/// Bits that belong to no field.
const RESERVED: u64 = 0x3ff1_c000_c000_c000;

/// Bytes of a piece.
pub(super) const PIECE: u32 = 16;

impl Descriptor {
    /// None if there is something in it that is no field.
    pub fn read(bits: u64) -> Option<Self> {
        let distance = |from: u32| (bits >> from & 0x3fff) as u32 * PIECE;
        let pieces = [1, 8, 4, 2][(bits >> 62) as usize];
        let base = (bits >> 49 & 7) as u32;
        let fields = Self { start: distance(0), leading: distance(16), stride: distance(32), base, pieces };
        (bits & RESERVED == 0).then_some(fields)
    }

    /// The pieces of `count` lines from line `first` on.
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

    /// The position of piece `half` of a line, where the elements of a line follow each other.
    pub fn along(&self, line: u32, half: u32) -> u32 {
        // Swizzled rows hold both halves of a line.
        let apart = if self.pieces == 1 { self.leading } else { PIECE };
        self.swizzled(line % 8 * self.row() + line / 8 * self.stride + half * apart)
    }

    /// The position of the piece with eight lines (number `eight` of them) at one place `k` along them.
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
