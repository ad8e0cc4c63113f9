//! Products of matrices by four warps (`wgmma`), in every form that the simulator accepts, and what a warpgroup must not do.
//!
//! A line of `products.txt` is `wgmma N D.A LEFT RIGHT SCALE SIGN SIGN`. LEFT is `registers` or, like RIGHT, a layout in shared memory:
//! the bytes of a row of the swizzle pattern (16 if there is none), followed by `t` if the elements of a column of A, or of a row of B,
//! are contiguous.

use super::matrices::{Product, array, bytes, list, moves};
use std::fmt::Write as _;

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
        let mut text = format!(
            ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 a, .param .u64 words, \
             .param .u64 descriptors, .param .u64 c, .param .u64 d)\n{{\n.reg .b64 %at, %base, %left, %right; \
             .reg .b32 %t, %i, %v, %s; .reg .pred %p, %q, %r; .reg .b32 %a<4>; .reg .b32 %d<{sums}>;\n\
             .shared .align 1024 .b8 s[{}];\nmov.u32 %t, %tid.x;\nsetp.lt.u32 %p, %t, 1024; setp.ge.u32 %q, %t, 1024;\n\
             ld.param.u64 %base, [words]; mov.u32 %i, %t;\n\
             L: setp.lt.u32 %r, %i, {words}; mul.wide.u32 %at, %i, 4; add.u64 %at, %at, %base; @%r ld.global.b32 %v, [%at];\n\
             shl.b32 %s, %i, 2; @%r st.shared.b32 [%s], %v; add.u32 %i, %i, 128; @%r bra L;\n\
             ld.param.u64 %base, [descriptors]; ld.global.b64 %left, [%base]; ld.global.b64 %right, [%base+8];\n{}{}",
            4 * words,
            moves("ld", "a", ("a", 4, "b32")),
            moves("ld", "c", d),
        );
        let transposed = left.into_iter().chain([right]).map(|stored| format!(", {}", i32::from(stored.transposed)));
        let flags: String = if bytes(kind) == 2 { transposed.collect() } else { String::new() };
        // Products of integers have no sign operands.
        let signs = if sum == "s32" { String::new() } else { format!(", {one}, {other}") };
        let word = if finite { ".satfinite" } else { "" };
        let first = if left.is_none() { list("a", 4) } else { "%left".into() };
        writeln!(
            text,
            "fence.proxy.async;\nbar.sync 0;\nwgmma.fence.sync.aligned;\n\
             wgmma.mma_async.sync.aligned.m64n{n}k{k}{word}.{sum}.{kind}.{kind} {}, {first}, %right, {scale}{signs}{flags};\n\
             wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n{}ret;\n}}",
            list("d", sums),
            moves("st", "d", d),
        )
        .unwrap();
        text
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
