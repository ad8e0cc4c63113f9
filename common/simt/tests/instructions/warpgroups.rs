//! Products of matrices by four warps, `wgmma`, in every form that is accepted, and what no warpgroup may do.

use super::matrices::{Product, array, bytes, list, run_on};
use std::fmt::Write as _;

/// How an operand lies in shared memory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stored {
    /// Bytes of a row of the swizzle pattern; 16 if there is none.
    row: usize,
    /// The elements of a column of A, or of a row of B, follow each other.
    transposed: bool,
}

/// Where A comes from.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Left {
    Registers,
    Shared(Stored),
}

#[derive(Debug, Clone, Copy)]
struct Case {
    kind: &'static str,
    sum: &'static str,
    n: usize,
    left: Left,
    right: Stored,
    /// As it stands in the instruction: a number or the predicate `%p`, which is true, or `%q`, which is false.
    scale: &'static str,
    signs: [i64; 2],
    /// Sums of integers stop at the ends of their type.
    finite: bool,
}

const PLAIN: Stored = Stored { row: 16, transposed: false };
const FIRST: Case = Case {
    kind: "tf32",
    sum: "f32",
    n: 8,
    left: Left::Registers,
    right: Stored { row: 128, transposed: false },
    scale: "1",
    signs: [1, 1],
    finite: false,
};

impl Case {
    fn bytes(&self) -> usize {
        bytes(self.kind)
    }

    fn k(&self) -> usize {
        32 / self.bytes()
    }
}

/// The descriptor of a matrix of `lines` lines (rows of A, columns of B) in shared memory. It begins at `start`. Distances are larger
/// than they must be, so that they are told apart.
fn place(Stored { row, transposed }: Stored, start: usize, lines: usize) -> u64 {
    let square = 8 * row;
    let swizzled = row > 16;
    // What the manual calls leading and stride: where lines lie across a pattern, they change places.
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

/// A kernel of four warps. Its parameters: registers of A, words of shared memory, descriptors, C and D by registers.
fn kernel(case: &Case, words: usize) -> String {
    let Case { kind, sum, n, left, right, scale, signs, finite } = *case;
    let k = case.k();
    let sums = n * bytes(sum) / 8;
    let moves = |count: usize, each: &dyn Fn(usize) -> String| (0..count).map(each).collect::<String>();
    let mut text = format!(
        ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 a, .param .u64 words, \
         .param .u64 descriptors, .param .u64 c, .param .u64 d)\n{{\n.reg .b64 %at, %base, %left, %right; \
         .reg .b32 %t, %i, %v, %s; .reg .pred %p, %q, %r; .reg .b32 %a<4>; .reg .b32 %d<{sums}>;\n\
         .shared .align 1024 .b8 s[{}];\nmov.u32 %t, %tid.x;\nsetp.lt.u32 %p, %t, 1024; setp.ge.u32 %q, %t, 1024;\n\
         ld.param.u64 %base, [words]; mov.u32 %i, %t;\n\
         L: setp.lt.u32 %r, %i, {words}; mul.wide.u32 %at, %i, 4; add.u64 %at, %at, %base; @%r ld.global.b32 %v, [%at];\n\
         shl.b32 %s, %i, 2; @%r st.shared.b32 [%s], %v; add.u32 %i, %i, 128; @%r bra L;\n\
         ld.param.u64 %base, [descriptors]; ld.global.b64 %left, [%base]; ld.global.b64 %right, [%base+8];\n\
         ld.param.u64 %base, [a]; mad.wide.u32 %at, %t, 16, %base;\n{}\
         ld.param.u64 %base, [c]; mad.wide.u32 %at, %t, {}, %base;\n{}",
        4 * words,
        moves(4, &|at| format!("ld.global.b32 %a{at}, [%at+{}];\n", 4 * at)),
        4 * sums,
        moves(sums, &|at| format!("ld.global.b32 %d{at}, [%at+{}];\n", 4 * at)),
    );
    let flags = match (kind, left) {
        ("tf32" | "s8" | "u8", _) => String::new(),
        (_, Left::Registers) => format!(", {}", i32::from(right.transposed)),
        (_, Left::Shared(left)) => format!(", {}, {}", i32::from(left.transposed), i32::from(right.transposed)),
    };
    // Integers are not negated.
    let signs = if sum == "s32" { String::new() } else { format!(", {}, {}", signs[0], signs[1]) };
    let words = if finite { ".satfinite" } else { "" };
    let first = if left == Left::Registers { list("a", 4) } else { "%left".into() };
    writeln!(
        text,
        "fence.proxy.async;\nbar.sync 0;\nwgmma.fence.sync.aligned;\n\
         wgmma.mma_async.sync.aligned.m64n{n}k{k}{words}.{sum}.{kind}.{kind} {}, {first}, %right, {scale}{signs}{flags};\n\
         wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n\
         ld.param.u64 %base, [d]; mad.wide.u32 %at, %t, {}, %base;\n{}ret;\n}}",
        list("d", sums),
        4 * sums,
        moves(sums, &|at| format!("st.global.b32 [%at+{}], %d{at};\n", 4 * at)),
    )
    .unwrap();
    text
}

/// A case as a product of whatever lies in registers and in shared memory.
fn product(case: &Case) -> Product {
    // Not at the start of the pattern, but 32 bytes into its rows if they are as wide as that.
    let skip = |stored: Stored| if stored.row > 32 && !stored.transposed { 32 } else { 0 };
    let right = place(case.right, 16 * 1024 + skip(case.right), case.n);
    let left = match case.left {
        Left::Shared(left) => place(left, 1024 + skip(left), 64),
        Left::Registers => 0,
    };
    let words = array(48 * 1024 / case.bytes(), case.kind, 8);
    let sums = array(64 * case.n, case.sum, 9);
    Product {
        name: format!("wgmma {case:?}"),
        kernel: kernel(case, words.len()),
        threads: 128,
        arrays: vec![
            array(64 * case.k(), case.kind, 7),
            words,
            descriptors([left, right]),
            sums.clone(),
            vec![0; sums.len()],
        ],
    }
}

fn descriptors(both: [u64; 2]) -> Vec<u32> {
    both.into_iter().flat_map(|bits| [bits as u32, (bits >> 32) as u32]).collect()
}

fn cases() -> Vec<Case> {
    let rows = [16, 32, 64, 128];
    let mut cases: Vec<Case> = (8..=256).step_by(8).map(|n| Case { n, ..FIRST }).collect();
    for (kind, sum) in [("tf32", "f32"), ("f16", "f32"), ("bf16", "f32"), ("f16", "f16")] {
        let case = Case { kind, sum, ..FIRST };
        for transposed in [false, true] {
            if transposed && kind == "tf32" {
                continue;
            }
            for row in rows {
                let right = Stored { row, transposed };
                for n in [8, 24, 64, 136, 256] {
                    cases.push(Case { n, right, ..case });
                    cases.push(Case { n, left: Left::Shared(right), ..case });
                    cases.push(Case { n, left: Left::Shared(PLAIN), right, ..case });
                }
            }
        }
        for scale in ["0", "1", "%p", "%q"] {
            for signs in [[1, 1], [1, -1], [-1, 1], [-1, -1]] {
                cases.push(Case { scale, signs, ..case });
            }
        }
    }
    for (kind, finite) in [("s8", false), ("s8", true), ("u8", false)] {
        for row in rows {
            let case = Case { kind, sum: "s32", finite, right: Stored { row, transposed: false }, ..FIRST };
            cases.extend([8, 24, 32, 256].map(|n| Case { n, ..case }));
            cases.push(Case { left: Left::Shared(PLAIN), ..case });
        }
    }
    cases
}

pub fn products() -> impl Iterator<Item = Product> {
    cases().into_iter().map(|case| product(&case))
}

/// What is said of a case whose kernel is changed.
fn said(threads: u32, case: &Case, both: [u64; 2], changes: &[[&str; 2]]) -> String {
    let kernel = changes.iter().fold(kernel(case, 1024), |text, [from, to]| text.replace(from, to));
    let arrays = [vec![0; 1024], vec![0; 1024], descriptors(both), vec![0; 2048], vec![0; 2048]];
    run_on(threads, &kernel, &arrays).map_or_else(|error| error.to_string(), |_| String::new())
}

#[test]
fn what_no_warpgroup_may_do() {
    const GUARDED: [&str; 2] = ["wgmma.mma_async", "@%p wgmma.mma_async"];
    const BY_THREAD: [&str; 2] = ["wgmma.fence", "cvt.u64.u32 %at, %t; add.u64 %right, %right, %at;\nwgmma.fence"];
    const BY_WARP: [&str; 2] =
        ["wgmma.fence", "shr.u32 %i, %t, 5; cvt.u64.u32 %at, %i; add.u64 %right, %right, %at;\nwgmma.fence"];
    /// Where the predicate ends to hold.
    const AT: fn(&'static str) -> [&'static str; 2] = |threads| ["1024; setp", threads];
    let good = place(FIRST.right, 0, 8);
    let shared = Case { left: Left::Shared(PLAIN), ..FIRST };
    let scaled = Case { scale: "%p", ..FIRST };
    assert_eq!(said(128, &FIRST, [0, good], &[]), "");
    assert_eq!(said(256, &FIRST, [0, good], &[]), "");
    let by_descriptors = [
        (&FIRST, [0, good + 255], "wgmma reads B at s + 4096 bytes"),
        (&FIRST, [0, good + 256], "right past the end of the block's 4096 bytes of shared memory"),
        (&shared, [0x3fff, good], "wgmma reads A at"),
        (&FIRST, [0, good | 1 << 14], "descriptor of B, 0x40000040000"),
        (&shared, [1 << 60, good], "has bits outside its fields"),
    ];
    let by_kernel: [(u32, &Case, &[[&str; 2]], &str); 8] = [
        (96, &FIRST, &[], "wgmma in a block of 96 threads: four whole warps execute it together"),
        (128, &FIRST, &[GUARDED, AT("40; setp")], "names lanes 0xffffffff, but only lanes 0x000000ff"),
        (128, &FIRST, &[GUARDED, AT("32; setp")], "warps 0 and 1 of a warpgroup did not execute alike"),
        (128, &scaled, &[AT("40; setp")], "scale-d differs between the threads of a warp"),
        (128, &FIRST, &[BY_THREAD], "descriptor of B differs between the threads of a warp"),
        (128, &FIRST, &[BY_WARP], "warps 0 and 1 of a warpgroup did not execute alike"),
        (128, &FIRST, &[["sm_90a", "sm_90"]], "wgmma on sm_90: it needs .target sm_90a"),
        (128, &FIRST, &[["sm_90a", "sm_80"]], "fence.proxy.async on sm_80: it needs .target sm_90 or newer"),
    ];
    let by_descriptors = by_descriptors.map(|(case, both, words)| (said(128, case, both, &[]), words));
    let by_kernel = by_kernel.map(|(threads, case, changes, words)| (said(threads, case, [0, good], changes), words));
    for (found, words) in by_descriptors.into_iter().chain(by_kernel) {
        assert!(found.contains(words), "{found:?} has not {words:?}");
    }
}
