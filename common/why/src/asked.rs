//! What is asked of a kernel: the products whose sum each element of C is. That is A·B, or a task which differs from it.
//!
//! An element of A is named by its row, and an element of B by its column, as in A·B, each with its k: wherever the task has it
//! in memory. Products of a batch lie one below the other. Of the sums of rows, each pair of k and column counts as a k.

use std::collections::BTreeSet;

use plan::Problem;
use serde::Deserialize;

pub use verify::matrix::Side;

/// The row of A or the column of B, and the k.
pub type Place = (u64, u64);

/// Which product is computed; each may be weighted, as C = α·A·B + β·C.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// C = A·B.
    Product,
    /// C = Aᵀ·B, where A lies K×M.
    TransposedA,
    /// C = A·Bᵀ, where B lies N×K.
    TransposedB,
    /// The sum of each row of A·B.
    RowSums,
    /// C = A·B, where A has nothing above its diagonal.
    Lower,
    /// C = A·Aᵀ.
    Symmetric,
    /// Several products.
    Batch,
}

/// A task at a size.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    /// The sizes of one product.
    pub problem: Problem,
    /// What is computed.
    pub kind: Kind,
    /// How many products.
    pub batch: u64,
    /// Factors of the product, and of what C was before.
    pub weights: [f32; 2],
}

impl Asked {
    /// C = A·B.
    pub fn product(problem: &Problem) -> Self {
        Self { problem: *problem, kind: Kind::Product, batch: 1, weights: [1.0, 0.0] }
    }

    /// Whether the product has a factor, and what was in C is part of the result.
    pub fn is_scaled(&self) -> bool {
        self.weights[1].to_bits() != 0
    }

    /// Rows of C, those of all products.
    pub fn rows(&self) -> u64 {
        self.batch * self.problem.m
    }

    /// Columns of C.
    pub fn columns(&self) -> u64 {
        if self.kind == Kind::RowSums { 1 } else { self.problem.n }
    }

    /// Products that an element of this row of C is the sum of.
    pub fn depth(&self, row: u64) -> u64 {
        match self.kind {
            Kind::Lower => self.problem.k.min(row + 1),
            Kind::RowSums => self.problem.k * self.problem.n,
            _ => self.problem.k,
        }
    }

    /// `k = 0 to 15, 32 and 40 to 44`. For row sums, the words say whether whole columns or whole k are meant.
    pub fn ks(&self, all: &[u64]) -> String {
        let n = self.problem.n;
        let numbers = |part: fn(u64, u64) -> u64| all.iter().map(|&pair| part(pair, n)).collect::<BTreeSet<u64>>();
        let (ks, columns) = (numbers(|pair, n| pair / n), numbers(|pair, n| pair % n));
        match self.kind {
            Kind::RowSums if self.are_columns(all) => format!("col = {}", ranges(columns)),
            Kind::RowSums if ks.len() * n as usize == all.len() => format!("k = {}", ranges(ks)),
            Kind::RowSums => format!("k = {} with col = {}", ranges(ks), ranges(columns)),
            _ => format!("k = {}", ranges(all.iter().copied())),
        }
    }

    /// Whether these are whole columns in the sum of a row.
    pub fn are_columns(&self, all: &[u64]) -> bool {
        let columns: BTreeSet<u64> = all.iter().map(|pair| pair % self.problem.n).collect();
        self.kind == Kind::RowSums && columns.len() * self.problem.k as usize == all.len()
    }

    /// The row of A and the column of B that an element of C needs.
    pub fn needs(&self, index: u64) -> [u64; 2] {
        let (row, col) = (index / self.columns(), index % self.columns());
        [row, row / self.problem.m * self.columns() + col]
    }

    /// The element of C of a row of A and a column of B.
    pub fn name_of(&self, (row, col): Place) -> String {
        self.name_of_c(row * self.columns() + col % self.columns())
    }

    /// An element of C as the kernel finds it.
    pub fn name_of_c(&self, index: u64) -> String {
        let (row, col) = (index / self.columns(), index % self.columns());
        match self.kind {
            Kind::RowSums => format!("C[{row}]"),
            Kind::Batch => format!("C[{}][{}][{col}]", row / self.problem.m, row % self.problem.m),
            _ => format!("C[{row}][{col}]"),
        }
    }

    /// Whether the k of an operand lie next to each other.
    fn is_by_lines(&self, side: Side) -> bool {
        let turned = [Kind::TransposedA, Kind::TransposedB, Kind::Symmetric].contains(&self.kind);
        let of_b = turned && self.kind != Kind::TransposedA;
        if side == Side::A { self.kind != Kind::TransposedA } else { of_b }
    }

    /// Where an element lies in its array.
    pub fn index(&self, side: Side, (own, k): Place) -> u64 {
        let Problem { m, n, k: depth, .. } = self.problem;
        match side {
            _ if self.kind == Kind::RowSums => [own * depth + k / n, k][side as usize],
            _ if self.is_by_lines(side) => own * depth + k,
            Side::A => k * m + own,
            Side::B => (own / n * depth + k) * n + own % n,
        }
    }

    /// Which element lies there.
    pub fn place(&self, side: Side, index: u64) -> Place {
        let Problem { m, n, k: depth, .. } = self.problem;
        match side {
            Side::A if self.kind == Kind::RowSums => (index / depth, index % depth * n),
            Side::B if self.kind == Kind::RowSums => (0, index),
            _ if self.is_by_lines(side) => (index / depth, index % depth),
            Side::A => (index % m, index / m),
            // An index beyond the end of B is in a row that would follow.
            Side::B if self.batch == 1 => (index % n, index / n),
            Side::B => (index / (depth * n) * n + index % n, index / n % depth),
        }
    }

    /// The array that an operand is.
    pub fn array(&self, side: Side) -> &'static str {
        if side == Side::A || self.kind == Kind::Symmetric { "A" } else { "B" }
    }

    /// An element as the kernel finds it: `A[3][7]`.
    pub fn name(&self, side: Side, place: Place) -> String {
        let index = self.index(side, place);
        let [rows, columns] = self.extents(side).map(|(_, extent)| extent);
        let (row, column) = (index / columns, index % columns);
        if self.batch == 1 {
            return format!("{}[{row}][{column}]", self.array(side));
        }
        format!("{}[{}][{}][{column}]", self.array(side), row / rows, row % rows)
    }

    /// Rows and columns of an operand in memory, each with its name.
    pub fn extents(&self, side: Side) -> [(&'static str, u64); 2] {
        let Problem { m, n, k, .. } = self.problem;
        let own = if side == Side::B && self.kind != Kind::Symmetric { ("N", n) } else { ("M", m) };
        if self.is_by_lines(side) { [own, ("K", k)] } else { [("K", k), own] }
    }

    /// How far apart neighbours lie that differ in their row or column, or in their k.
    pub fn strides(&self, side: Side) -> (i64, i64) {
        let columns = self.extents(side)[1].1 as i64;
        if self.is_by_lines(side) { (columns, 1) } else { (1, columns) }
    }

    /// The sizes of the operands in words.
    pub fn sizes(&self) -> String {
        let [a, b] = Side::BOTH.map(|side| {
            let [(rows, _), (columns, _)] = self.extents(side);
            format!("{} has {rows} rows and {columns} columns", self.array(side))
        });
        if a == b { a } else { format!("{a}, {b}") }
    }
}

/// Numbers that follow each other as one range, and no more than a few of them.
fn ranges(all: impl IntoIterator<Item = u64>) -> String {
    let mut parts: Vec<(u64, u64)> = vec![];
    for number in all {
        match parts.last_mut() {
            Some(part) if part.1 + 1 == number => part.1 = number,
            _ => parts.push((number, number)),
        }
    }
    let more = parts.len() > 4;
    parts.truncate(if more { 3 } else { 4 });
    let text = |&(from, to): &(u64, u64)| if from == to { from.to_string() } else { format!("{from} to {to}") };
    let parts: Vec<String> = parts.iter().map(text).collect();
    format!("{}{}", parts.join(", "), if more { " and so on" } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_element_of_an_operand_has_its_place() {
        use Kind::{Batch, Lower, Product, RowSums, Symmetric, TransposedA, TransposedB};
        for kind in [Product, TransposedA, TransposedB, RowSums, Lower, Symmetric, Batch] {
            let (n, batch) = (5, if kind == Batch { 3 } else { 1 });
            let asked = Asked { kind, batch, ..Asked::product(&Problem::uniform([4, n, 7])) };
            for side in Side::BOTH {
                let count = batch * 7 * if asked.array(side) == "A" { 4 } else { n };
                for index in 0..count {
                    assert_eq!(asked.index(side, asked.place(side, index)), index, "{kind:?}");
                }
            }
        }
        let turned = Asked { kind: TransposedB, ..Asked::product(&Problem::uniform([4, 5, 7])) };
        assert_eq!(turned.name(Side::B, (2, 6)), "B[2][6]");
    }
}
