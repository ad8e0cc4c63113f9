//! Products of matrices by four warps (`wgmma`), in every form that the simulator accepts, and what a warpgroup must not do.
//!
//! A line of `products.txt` is `wgmma N D.A LEFT RIGHT SCALE SIGN SIGN`. LEFT is `registers` or, like RIGHT, a layout in shared memory:
//! the bytes of a row of the swizzle pattern (16 if there is none), followed by `t` if the elements of a column of A, or of a row of B,
//! are contiguous.

use super::matrices::{Product, array, bytes, list, moves};

/// The layout of an operand in shared memory.
#[derive(Clone, Copy)]
struct Stored {
    row: usize,
    transposed: bool,
}

impl Stored {
    fn new(text: &str) -> Self {
        Self { row: text.trim_end_matches('t').parse().unwrap(), transposed: text.ends_with('t') }
    }

    /// Returns the descriptor of a matrix of `lines` lines (rows of A or columns of B) that begins at `start` in shared memory. The
    /// distances are larger than necessary and different, so that the test notices if they are confused.
    fn place(self, start: usize, lines: usize) -> u64 {
        let Self { row, transposed } = self;
        let square = 8 * row;
        let swizzled = row > 16;
        // The leading and stride offsets of the PTX manual. With a transposed layout, their roles are exchanged.
        let (leading, stride) = match (transposed, swizzled) {
            (false, false) => (square, 2 * square + 256),
            (false, true) => (16, square),
            (true, false) => (square * (lines / 8 + 1), square),
            (true, true) => (2 * square + row * 8, square),
        };
        let mode = [(16, 0_u64), (128, 1), (64, 2), (32, 3)].iter().find(|mode| mode.0 == row).unwrap().1;
        let field = |bytes: usize| (bytes / 16) as u64;
        field(start) | field(leading) << 16 | field(stride) << 32 | mode << 62
    }
}

pub struct Case<'a> {
    kind: &'a str,
    sum: &'a str,
    n: usize,
    /// Where A is in shared memory, if it is not in registers.
    left: Option<Stored>,
    right: Stored,
    /// The scale operand of the instruction: a number, or the predicate `%p`, which is true, or `%q`, which is false.
    scale: &'a str,
    signs: [&'a str; 2],
    /// Whether sums of integers saturate at the limits of their type.
    finite: bool,
}

impl<'a> Case<'a> {
    pub fn new(name: &'a str) -> Self {
        let [word, n, kinds, left, right, scale, ref signs @ ..] = name.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{name}")
        };
        let (sum, kind) = kinds.split_once('.').unwrap();
        Self {
            kind,
            sum,
            n: n.parse().unwrap(),
            left: (left != "registers").then(|| Stored::new(left)),
            right: Stored::new(right),
            scale,
            signs: signs.try_into().unwrap(),
            finite: word.ends_with("satfinite"),
        }
    }

    /// Returns a kernel of four warps. Its parameters: A in registers, words of shared memory, descriptors, C and D in registers.
    fn kernel(&self, words: usize) -> String {
        let Self { kind, sum, n, left, right, scale, signs: [one, other], finite } = *self;
        let k = 32 / bytes(kind);
        let sums = n * bytes(sum) / 8;
        let d = ("d", sums, "b32");
        let transposed = left.into_iter().chain([right]).map(|stored| format!(", {}", i32::from(stored.transposed)));
        let flags: String = if bytes(kind) == 2 { transposed.collect() } else { String::new() };
        // Products of integers have no sign operands.
        let signs = if sum == "s32" { String::new() } else { format!(", {one}, {other}") };
        let word = if finite { ".satfinite" } else { "" };
        let first = if left.is_none() { list("a", 4) } else { "%left".into() };
        let parts = [
            ("SUMS", sums.to_string()),
            ("BYTES", (4 * words).to_string()),
            ("WORDS", words.to_string()),
            ("LOADS", moves("ld", "a", ("a", 4, "b32")) + &moves("ld", "c", d)),
            ("SHAPE", format!("m64n{n}k{k}{word}.{sum}.{kind}.{kind}")),
            ("OPERANDS", format!("{}, {first}, %right, {scale}{signs}{flags}", list("d", sums))),
            ("STORES", moves("st", "d", d)),
        ];
        parts.iter().fold(include_str!("warpgroup.ptx").into(), |text: String, (name, part)| text.replace(name, part))
    }

    /// Returns the passes, each of 128 bytes: 32 bytes of each column of B, once for four warps, and 32 bytes of each of 64 rows of A.
    fn passes(&self) -> u64 {
        self.n as u64 / 4 + if self.left.is_some() { 16 } else { 0 }
    }

    /// Returns the product, with arrays that fill registers and shared memory.
    pub fn product(&self) -> Product {
        // If the rows of the pattern are wider than 32 bytes, the matrix starts 32 bytes into them.
        let skip = |stored: Stored| if stored.row > 32 && !stored.transposed { 32 } else { 0 };
        let right = self.right.place(16 * 1024 + skip(self.right), self.n);
        let left = self.left.map_or(0, |left| left.place(1024 + skip(left), 64));
        let words = array(48 * 1024 / bytes(self.kind), self.kind, 8);
        let sums = array(64 * self.n, self.sum, 9);
        let (kernel, result) = (self.kernel(words.len()), vec![0; sums.len()]);
        let a = array(64 * 32 / bytes(self.kind), self.kind, 7);
        let arrays = vec![a, words, descriptors([left, right]), sums, result];
        Product { kernel, threads: 128, arrays, passes: self.passes() }
    }
}

fn descriptors(both: [u64; 2]) -> Vec<u32> {
    both.into_iter().flat_map(|bits| [bits as u32, (bits >> 32) as u32]).collect()
}

/// Each row of `warpgroups.txt` is refused with the recorded message.
#[test]
fn what_no_warpgroup_may_do() {
    for line in include_str!("warpgroups.txt").lines().filter(|line| !line.starts_with('#')) {
        let [threads, how, left, right, changes, words] = line.split(" | ").collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        let (name, number) = (format!("wgmma 8 f32.tf32 {how} 1 1"), |text: &str| text.parse::<u64>().unwrap());
        let case = Case::new(&name);
        let both = descriptors([number(left), case.right.place(0, 8) + number(right)]);
        let changes = changes.split(" & ").filter_map(|change| change.split_once(" => "));
        let kernel = changes.fold(case.kernel(1024), |text, (from, to)| text.replace(from, to));
        let arrays = vec![vec![0; 1024], vec![0; 1024], both, vec![0; 2048], vec![0; 2048]];
        let product = Product { kernel, threads: number(threads) as u32, arrays, passes: case.passes() };
        let said = product.run().map_or_else(|error| error.to_string(), |_| "nothing".into());
        assert!(said.contains(words), "{said:?} has not {words:?}");
    }
}
