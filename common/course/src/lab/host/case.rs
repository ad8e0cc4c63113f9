//! What a host program is asked: its arguments, the matrices that it reads, and the one that it should write.
//!
//! All elements are small integers, so that any order of summation gives the same sum and the result is known exactly.

use common::basics::mix;

/// A transfer task that is drawn: a chain of two products, or a batch that shares B.
#[derive(Clone, Copy, Debug)]
pub struct Drawn {
    pub seed: u64,
    /// Which of the lab's transfer tasks it is: 0 the chain, 1 the batch.
    pub which: usize,
    /// Products of the batch, and streams that they go through.
    pub products: u64,
    pub streams: u64,
}

impl Drawn {
    pub fn new(seed: u64) -> Self {
        let drawn = |what: u64, count: u64| mix(seed ^ what << 32) % count;
        Self { seed, which: drawn(1, 2) as usize, products: 5 + drawn(2, 4), streams: 2 + drawn(3, 3) }
    }

    /// Fills what is drawn into a text.
    pub fn filled(&self, text: &str) -> String {
        text.replace("{products}", &self.products.to_string()).replace("{streams}", &self.streams.to_string())
    }

    /// The program that it begins with.
    pub fn start(&self, lab: &str, about: &[String]) -> String {
        let about: Vec<String> = about.iter().map(|line| format!("//! {}", self.filled(line))).collect();
        let (about, body) = (about.join("\n"), include_str!("../../../host/transfer.rs.txt"));
        format!("//! Lab {lab}, a transfer task.\n//!\n{about}\n//!\n{body}")
    }
}

/// One run of the program.
pub struct Case {
    /// Its arguments: what to do, and sizes.
    pub arguments: Vec<String>,
    /// The files that it reads.
    pub inputs: Vec<(&'static str, Vec<f32>)>,
    pub expected: Vec<f32>,
    /// Elements of a row of A.
    pub inner: usize,
    /// Columns of the result, in which it is told where it is wrong.
    pub columns: usize,
    /// Multiply-adds that it needs.
    pub products: u64,
    /// Bytes of all that must be copied to the GPU.
    pub needed: u64,
}

impl Case {
    pub fn new(mode: &str, [m, n, k]: [u64; 3], seed: u64, drawn: Option<&Drawn>) -> Self {
        let [m, n, k] = [m, n, k].map(|edge| edge as usize);
        let matrix = |name: u64, count: usize| -> Vec<f32> {
            (0..count as u64).map(|i| (mix(seed ^ name << 60 ^ i) % 7) as f32 - 3.0).collect()
        };
        // The last size of a transfer task: columns of the third factor, or products.
        let last = match drawn {
            Some(Drawn { which: 0, .. }) => 3 + k % 29,
            Some(drawn) => drawn.products as usize,
            None => 1,
        };
        let batch = if drawn.is_some_and(|drawn| drawn.which == 1) { last } else { 1 };
        let (a, b) = (matrix(1, batch * m * k), matrix(2, k * n));
        let mut expected: Vec<f32> = a.chunks(m * k).flat_map(|a| product(a, &b, n, k)).collect();
        let (mut products, mut columns) = (batch * m * n * k, n);
        let mut inputs = vec![("a.f32", a), ("b.f32", b)];
        let mut arguments: Vec<String> = [m, n, k].map(|edge| edge.to_string()).into();
        arguments.insert(0, mode.to_owned());
        if drawn.is_some() {
            arguments.push(last.to_string());
        }
        if drawn.is_some_and(|drawn| drawn.which == 0) {
            let third = matrix(3, n * last);
            expected = product(&expected, &third, last, n);
            (products, columns) = (products + m * n * last, last);
            inputs.push(("e.f32", third));
        }
        let needed = inputs.iter().map(|(_, elements)| elements.len() as u64 * 4).sum();
        Self { arguments, inputs, expected, inner: k, columns, products: products as u64, needed }
    }

    /// A product of zeros, whose result is never looked at.
    pub fn without_result(mode: &str, [m, n, k]: [u64; 3]) -> Self {
        let zeros = |count: u64| vec![0.0; count as usize];
        let arguments = std::iter::once(mode.to_owned()).chain([m, n, k].map(|edge| edge.to_string())).collect();
        let inputs = vec![("a.f32", zeros(m * k)), ("b.f32", zeros(k * n))];
        Self { arguments, inputs, expected: vec![], inner: k as usize, columns: n as usize, products: 1, needed: 1 }
    }

    /// What the run is called: the program's line of command.
    pub fn name(&self) -> String {
        format!("host {}", self.arguments.join(" "))
    }

    /// What is wrong with a result.
    pub fn wrong(&self, written: &[f32]) -> Option<String> {
        if written.len() != self.expected.len() {
            return Some(format!("c.f32 holds {} elements and should hold {}", written.len(), self.expected.len()));
        }
        // They should be integers. NaN is never far from anything.
        let differs = |(expected, found): (&f32, &f32)| found.is_nan() || (expected - found).abs() >= 0.5;
        let at = self.expected.iter().zip(written).position(differs)?;
        let (row, column) = (at / self.columns, at % self.columns);
        let (is, should) = (written[at], self.expected[at]);
        Some(format!("the element in row {row} and column {column} of the result is {is} and should be {should}"))
    }
}

/// A·B, where B has `n` columns and A `k`.
fn product(a: &[f32], b: &[f32], n: usize, k: usize) -> Vec<f32> {
    let element = |row: &[f32], col: usize| row.iter().zip(b[col..].iter().step_by(n)).map(|(a, b)| a * b).sum();
    a.chunks(k).flat_map(|row| (0..n).map(move |col| (row, col))).map(|(row, col)| element(row, col)).collect()
}
