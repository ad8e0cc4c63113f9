//! The commonest mistakes in a product, and what each leaves in C.

use std::ops::Range;

use super::judge::Mismatch;
use super::reference::gamma;
use crate::basics::matrix::Operands;
use plan::Shape;
use plan::{Dtype, Problem};

/// What a mistake leaves in the element of a row and a column; `None` where it cannot be.
type Value = Box<dyn Fn(&Access, u64, u64) -> Option<f64>>;

/// The values of which a mistake leaves one in the element of a row and a column.
type Values = Box<dyn Fn(&Access, u64, u64) -> Vec<f64>>;

/// A mistake, and what C holds if it is made.
pub struct Cause {
    pub words: String,
    values: Values,
}

impl Cause {
    /// Whether the mistake leaves what was found in this element.
    pub fn explains(&self, problem: &Problem, operands: &Operands, sample: &Mismatch) -> bool {
        let access = Access { problem, operands };
        let Some(got) = sample.got else { return false };
        // Rounding of the sum; K terms of absolute value up to 1, or exact.
        let tolerance = match operands {
            Operands::F32 { .. } => gamma(problem.k) * access.magnitude(sample.row, sample.col),
            Operands::I32 { .. } => 0.0,
        };
        (self.values)(&access, sample.row, sample.col).iter().any(|value| (got - value).abs() <= tolerance)
    }
}

/// Elements and sums by index; `None` outside the matrices.
struct Access<'a> {
    problem: &'a Problem,
    operands: &'a Operands,
}

impl Access<'_> {
    /// Σ A[a(k)]·B[b(k)] over `range`, as linear indices.
    fn sum(&self, range: Range<u64>, a: impl Fn(u64) -> u64, b: impl Fn(u64) -> u64) -> Option<f64> {
        let (limit_a, limit_b) = (self.problem.a_elements(), self.problem.b_elements());
        let mut exact = 0_i64;
        let mut sum = 0.0;
        for k in range {
            let (a, b) = (a(k), b(k));
            if a >= limit_a || b >= limit_b {
                return None;
            }
            match self.operands {
                Operands::F32 { a: x, b: y } => sum += f64::from(x[a as usize]) * f64::from(y[b as usize]),
                Operands::I32 { a: x, b: y } => {
                    exact = exact.wrapping_add(i64::from(x[a as usize].0).wrapping_mul(i64::from(y[b as usize].0)));
                }
            }
        }
        Some(if self.problem.dtype == Dtype::I32 { f64::from(exact as i32) } else { sum })
    }

    /// The right element, over a range of K.
    fn element(&self, row: u64, col: u64, range: Range<u64>) -> Option<f64> {
        let (n, k) = (self.problem.n, self.problem.k);
        if row >= self.problem.m || col >= n {
            return None;
        }
        self.sum(range, |i| row * k + i, |i| i * n + col)
    }

    /// Sum of the absolute values of an element's terms, at most.
    fn magnitude(&self, row: u64, col: u64) -> f64 {
        let (n, k) = (self.problem.n, self.problem.k);
        let Operands::F32 { a, b } = self.operands else { return 0.0 };
        // Causes read other elements than the right ones; uniform values are at most 1, others scale with these.
        let terms =
            (0..k).map(|i| f64::from(a[(row * k + i) as usize]).abs() * f64::from(b[(i * n + col) as usize]).abs());
        2.0 * terms.sum::<f64>()
    }
}

/// The mistakes that are tried, the likeliest first.
pub fn causes(problem: &Problem, shape: Shape) -> Vec<Cause> {
    let Problem { m, n, k, .. } = *problem;
    let tile_k = u64::from(shape.tile_k.max(1));
    let last_tile = (k - 1) / tile_k * tile_k;
    let mut causes: Vec<Cause> = Vec::new();
    let mut add = |words: &str, value: Value| {
        let values: Values = Box::new(move |access, row, col| value(access, row, col).into_iter().collect());
        causes.push(Cause { words: words.to_owned(), values });
    };
    add("they are 0; the sum is never formed, or C was cleared and not written", Box::new(|_, _, _| Some(0.0)));
    add(
        "C equals its transpose; rows and columns are swapped where the kernel stores to C, or the axes of the grid are",
        Box::new(move |access, row, col| {
            let place = row * n + col;
            access.element(place % m, place / m, 0..k)
        }),
    );
    add(
        "the operands are swapped; C holds B·A",
        Box::new(move |access, row, col| {
            let square = m == n && n == k;
            square.then(|| access.sum(0..k, |i| i * n + col, |i| row * k + i)).flatten()
        }),
    );
    add(
        "A is read transposed; its element (row, k) is A[row * K + k]",
        Box::new(move |access, row, col| access.sum(0..k, |i| i * m + row, |i| i * n + col)),
    );
    add(
        "B is read transposed; its element (k, col) is B[k * N + col]",
        Box::new(move |access, row, col| access.sum(0..k, |i| row * k + i, |i| col * k + i)),
    );
    // The sum over a part of K.
    let mut part = |words: &str, over: Range<u64>| {
        add(words, Box::new(move |access, row, col| access.element(row, col, over.clone())));
    };
    if last_tile > 0 && tile_k > 1 {
        let last = if k.is_multiple_of(tile_k) {
            "the last K tile is missing; check how often the loop over K runs"
        } else {
            "the last, partial K tile is missing; K is not a multiple of the tile, so round the number of tiles up and load zeros beyond the edge"
        };
        part(last, 0..last_tile);
        part("the first K tile is missing; check where the loop over K starts", tile_k..k);
        part("only the first K tile is summed; check that the loop over K goes on", 0..tile_k);
        part("only the last K tile is summed; the sum must be set to 0 once, before the loop over K", last_tile..k);
    }
    part("the last k is missing; the loop must run while k < K", 0..k - 1);
    part("the first k is missing; the loop must start at k = 0", 1..k);
    for (words, factor) in [
        ("they are twice the product; the sum is added to what was there, or each term is counted twice", 2.0),
        ("they have the wrong sign", -1.0),
    ] {
        add(words, Box::new(move |access, row, col| Some(factor * access.element(row, col, 0..k)?)));
    }
    for (name, down, right) in
        [("row below", 1, 0), ("row above", -1, 0), ("column to the right", 0, 1), ("column to the left", 0, -1)]
    {
        add(
            &format!("they belong to the {name}; an index is off by one"),
            Box::new(move |access, row, col| {
                access.element(row.checked_add_signed(down)?, col.checked_add_signed(right)?, 0..k)
            }),
        );
    }
    if shape.tile[0] == shape.tile[1] {
        let tile = u64::from(shape.tile[0].max(1));
        add(&format!("row and col are swapped where the tiles are loaded; {AXES}"), swapped_in_tiles(*problem, tile));
    }
    causes.extend(strides(problem));
    causes
}

/// Which index counts what.
pub const AXES: &str = "row must follow from blockIdx.y and threadIdx.y, and col from blockIdx.x and threadIdx.x";

/// What a kernel with square tiles computes if threadIdx.x counts its rows: thread (x, y) stores A[row][k0 + x] at
/// As[y][x], so that As[y][k] is the same for every y, and Bs[k][x] for every x.
fn swapped_in_tiles(Problem { m, n, k, .. }: Problem, tile: u64) -> Value {
    Box::new(move |access, row, col| {
        let (row0, col0) = (row / tile * tile, col / tile * tile);
        let parts = (0..tile).filter(|i| row0 + i < m && col0 + i < n);
        let sums = parts.map(|i| {
            let steps = (k - k.min(i)).div_ceil(tile);
            let at = move |step: u64| step * tile + i;
            access.sum(0..steps, |step| (row0 + i) * k + at(step), |step| at(step) * n + col0 + i)
        });
        sums.sum()
    })
}

/// Matrices whose rows are taken for longer or shorter than they are.
fn strides(&Problem { m, n, k, .. }: &Problem) -> Vec<Cause> {
    let sizes = [("M", m), ("N", n), ("K", k)];
    let mut causes = Vec::new();
    let mut add = |words: &str, element: &str, right: u64, values: fn(&Access, u64, u64, u64) -> Vec<f64>| {
        for (name, stride) in sizes.into_iter().filter(|&(_, size)| size != right) {
            let words = format!("{words} as if it had {name}; its element {element}");
            causes.push(Cause { words, values: Box::new(move |access, row, col| values(access, stride, row, col)) });
        }
    };
    add("C has N columns, and is written", "(row, col) is C[row * N + col]", n, |access, stride, row, col| {
        let Problem { m, n, k, .. } = *access.problem;
        let place = row * n + col;
        // Of all elements that are stored here one came last.
        let first = place.saturating_sub(n).div_ceil(stride);
        let last = (place / stride).min(m - 1);
        (first..=last).filter_map(|row| access.element(row, place - row * stride, 0..k)).collect()
    });
    add("A has K columns, and is read", "(row, k) is A[row * K + k]", k, |access, stride, row, col| {
        let Problem { n, k, .. } = *access.problem;
        access.sum(0..k, |i| row * stride + i, |i| i * n + col).into_iter().collect()
    });
    add("B has N columns, and is read", "(k, col) is B[k * N + col]", n, |access, stride, row, col| {
        let k = access.problem.k;
        access.sum(0..k, |i| row * k + i, |i| i * stride + col).into_iter().collect()
    });
    causes
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::Fill;

    #[test]
    fn sums_stay_inside_the_matrices() {
        let operands =
            Operands::F32 { a: vec![1.0, -2.0, 3.0, 5.0, -7.0, 11.0], b: vec![13.0, 17.0, -19.0, 23.0, 29.0, -31.0] };
        let problem = Problem { m: 2, n: 2, k: 3, dtype: Dtype::F32, fill: Fill::Uniform, seed: 4 };
        let access = Access { problem: &problem, operands: &operands };
        assert_eq!(access.element(1, 1, 0..3), Some(5.0 * 17.0 - 7.0 * 23.0 - 11.0 * 31.0));
        assert_eq!(access.element(0, 1, 1..2), Some(-2.0 * 23.0));
        assert_eq!([access.element(2, 0, 0..0), access.element(0, 2, 0..0)], [None, None]);
        assert_eq!(access.sum(0..2, |i| 5 * i, |i| 5 * i), Some(13.0 - 11.0 * 31.0));
        assert_eq!([access.sum(0..2, |i| 6 * i, |_| 0), access.sum(0..2, |_| 0, |i| 6 * i)], [None, None]);
        let magnitudes = [access.magnitude(1, 1), access.magnitude(1, 0)].map(Some);
        let [first, second] = [5.0 * 17.0 + 7.0 * 23.0 + 11.0 * 31.0, 5.0 * 13.0 + 7.0 * 19.0 + 11.0 * 29.0];
        assert_eq!(magnitudes, [Some(2.0 * first), Some(2.0 * second)]);
    }
}
