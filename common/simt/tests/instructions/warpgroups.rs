//! Products of matrices by four warps, `wgmma`, in every form that is accepted, against plain loops. Where elements lie in registers
//! and in shared memory is written here as the PTX manual draws it.

use super::matrices::{bytes, encode, fragment, pack, product, run_on, values};
use simt::Error;
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

/// A matrix of `lines` of `k` elements in shared memory: the position of each element in bytes, and the descriptor. It begins at
/// `start`. Distances are larger than they must be, so that they are told apart.
fn place(stored: Stored, start: usize, lines: usize, k: usize, bytes: usize) -> (Vec<usize>, u64) {
    let Stored { row, transposed } = stored;
    let per_piece = 16 / bytes;
    let square = 8 * row;
    let swizzled = row > 16;
    // Eight lines, or (across) the lines of a row of the pattern; half a line, or (across) eight places along it.
    let (by_lines, by_length) = match (transposed, swizzled) {
        (false, false) => (2 * square + 256, square),
        (false, true) => (square, 16),
        (true, false) => (square, square * (lines / 8 + 1)),
        (true, true) => (2 * square + row * 8, square),
    };
    let position = |line: usize, at: usize| {
        let straight = if transposed {
            let piece = line / 8;
            let in_row = row / 16;
            piece % in_row * 16 + piece / in_row * by_lines + line % 8 * bytes + at % 8 * row + at / 8 * by_length
        } else {
            line % 8 * row + line / 8 * by_lines + at / per_piece * by_length + at % per_piece * bytes
        };
        let address = start + straight;
        // The three bits from the eighth on are added to those from the fifth on.
        let mask = (row / 16 - 1) << 4;
        address ^ (address >> 3 & mask)
    };
    let positions = (0..lines * k).map(|i| position(i / k, i % k)).collect();
    let mode = [(16, 0_u64), (128, 1), (64, 2), (32, 3)].iter().find(|mode| mode.0 == row).unwrap().1;
    // What the manual calls leading and stride: where lines lie across a pattern, they change places.
    let (leading, stride) = if transposed && swizzled { (by_lines, by_length) } else { (by_length, by_lines) };
    let field = |bytes: usize| (bytes / 16) as u64;
    (positions, field(start) | field(leading) << 16 | field(stride) << 32 | mode << 62)
}

/// A kernel of four warps. Its parameters: registers of A, words of shared memory, descriptors, C and D by registers.
fn kernel(case: &Case, words: usize) -> String {
    let Case { kind, sum, n, left, right, scale, signs, finite } = *case;
    let k = case.k();
    let sums = n * bytes(sum) / 8;
    let list = |name: &str, count: usize| {
        let names: Vec<_> = (0..count).map(|at| format!("%{name}{at}")).collect();
        format!("{{{}}}", names.join(", "))
    };
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

/// The registers of a matrix whose rows four warps share.
fn by_warps(part: usize, kind: &str, (n, k): (usize, usize), columns: usize, values: &[i64]) -> Vec<u32> {
    let rows = values.chunks(16 * columns);
    rows.flat_map(|own| {
        // Of D and C a fragment of eight columns after the other.
        if part == 1 {
            return fragment(1, kind, (16, 8, k), own);
        }
        let parts: Vec<_> = (0..n / 8)
            .map(|eight| {
                let own: Vec<i64> = (0..16 * 8).map(|at| own[at / 8 * n + 8 * eight + at % 8]).collect();
                fragment(3, kind, (16, 8, k), &own)
            })
            .collect();
        let each = parts[0].len() / 32;
        (0..32).flat_map(|lane| parts.iter().flat_map(move |part| part[lane * each..][..each].to_vec())).collect()
    })
    .collect()
}

/// Whether a case gives what plain loops do.
fn check(case: &Case) -> Result<bool, Error> {
    let (n, k, bytes) = (case.n, case.k(), case.bytes());
    let (a, b, c) = (values(64 * k, case.kind, 7), values(k * n, case.kind, 8), values(64 * n, case.sum, 9));
    let b_lines: Vec<i64> = (0..n * k).map(|at| b[at % k * n + at / k]).collect();
    let mut memory = vec![0_u8; 48 * 1024];
    let mut store = |positions: &[usize], values: &[i64]| {
        for (&position, &value) in positions.iter().zip(values) {
            memory[position..position + bytes].copy_from_slice(&encode(value, case.kind).to_le_bytes()[..bytes]);
        }
    };
    // Not at the start of the pattern, but 32 bytes into its rows if they are as wide as that.
    let skip = |stored: Stored| if stored.row > 32 && !stored.transposed { 32 } else { 0 };
    let (positions, right) = place(case.right, 16 * 1024 + skip(case.right), n, k, bytes);
    store(&positions, &b_lines);
    let mut descriptors = [0, right];
    if let Left::Shared(left) = case.left {
        let (positions, descriptor) = place(left, 1024 + skip(left), 64, k, bytes);
        store(&positions, &a);
        descriptors[0] = descriptor;
    }
    let words = pack(memory.iter().map(|&byte| byte.into()), 1);
    let adds = matches!(case.scale, "1" | "%p");
    let signed = |values: &[i64], sign: i64| values.iter().map(|value| sign * value).collect();
    let before = if adds { c.clone() } else { vec![0; 64 * n] };
    let mut expected = product((64, n, k), &[signed(&a, case.signs[0]), signed(&b, case.signs[1]), before]);
    if case.finite {
        for value in &mut expected {
            *value = (*value).clamp(i32::MIN.into(), i32::MAX.into());
        }
    }
    let expected = by_warps(0, case.sum, (n, k), n, &expected);
    let arrays = [
        by_warps(1, case.kind, (n, k), k, &a),
        words.clone(),
        descriptors.iter().flat_map(|&bits| [bits as u32, (bits >> 32) as u32]).collect(),
        by_warps(3, case.sum, (n, k), n, &c),
        vec![0; expected.len()],
    ];
    Ok(run_on(128, &kernel(case, words.len()), &arrays)? == expected)
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

#[test]
fn products_of_four_warps() {
    let cases = cases();
    let wrong: Vec<_> = cases
        .iter()
        .filter_map(|case| match check(case) {
            Ok(true) => None,
            Ok(false) => Some(format!("{case:?} is wrong")),
            Err(error) => Some(format!("{case:?}: {error}")),
        })
        .collect();
    assert!(wrong.is_empty(), "{} of {}\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

/// What is said of a case whose kernel is changed.
fn fault(threads: u32, case: &Case, descriptors: [u64; 2], change: impl Fn(String) -> String) -> String {
    let split = |bits: u64| [bits as u32, (bits >> 32) as u32];
    let arrays =
        [vec![0; 1024], vec![0; 1024], descriptors.into_iter().flat_map(split).collect(), vec![0; 2048], vec![0; 2048]];
    run_on(threads, &change(kernel(case, 1024)), &arrays).map_or_else(|error| error.to_string(), |_| String::new())
}

#[test]
fn what_no_warpgroup_may_do() {
    let same = |text: String| text;
    let product = "wgmma.mma_async";
    let good = place(FIRST.right, 0, 8, 8, 4).1;
    let shared = Case { left: Left::Shared(PLAIN), ..FIRST };
    let said = |threads: u32, case: &Case, descriptors: [u64; 2], change: &dyn Fn(String) -> String| {
        fault(threads, case, descriptors, change)
    };
    assert_eq!(said(128, &FIRST, [0, good], &same), "");
    assert_eq!(said(256, &FIRST, [0, good], &same), "");
    for (found, words) in [
        (said(96, &FIRST, [0, good], &same), "wgmma in a block of 96 threads: four whole warps execute it together"),
        (said(128, &FIRST, [0, good + 255], &same), "wgmma reads B at s + 4096 bytes"),
        (said(128, &FIRST, [0, good + 256], &same), "right past the end of the block's 4096 bytes of shared memory"),
        (said(128, &shared, [0x3fff, good], &same), "wgmma reads A at"),
        (said(128, &FIRST, [0, good | 1 << 14], &same), "descriptor of B, 0x40000040000"),
        (said(128, &shared, [1 << 60, good], &same), "has bits outside its fields"),
        (
            said(128, &FIRST, [0, good], &|text| {
                text.replace(product, &format!("@%p {product}")).replace("1024; setp", "40; setp")
            }),
            "warp-wide instruction names lanes 0xffffffff, but only lanes 0x000000ff",
        ),
        (
            said(128, &FIRST, [0, good], &|text| {
                text.replace(product, &format!("@%p {product}")).replace("1024; setp", "32; setp")
            }),
            "warps 0 and 1 of a warpgroup did not execute alike",
        ),
        (
            said(128, &Case { scale: "%p", ..FIRST }, [0, good], &|text| text.replace("1024; setp", "40; setp")),
            "scale-d differs between the threads of a warp",
        ),
        (
            said(128, &FIRST, [0, good], &|text| {
                text.replace("wgmma.fence", "cvt.u64.u32 %at, %t; add.u64 %right, %right, %at;\nwgmma.fence")
            }),
            "descriptor of B differs between the threads of a warp",
        ),
        (
            said(128, &FIRST, [0, good], &|text| {
                text.replace(
                    "wgmma.fence",
                    "shr.u32 %i, %t, 5; cvt.u64.u32 %at, %i; add.u64 %right, %right, %at;\nwgmma.fence",
                )
            }),
            "warps 0 and 1 of a warpgroup did not execute alike",
        ),
        (
            said(128, &FIRST, [0, good], &|text| text.replace("sm_90a", "sm_90")),
            "wgmma on sm_90: it needs .target sm_90a",
        ),
        (
            said(128, &FIRST, [0, good], &|text| text.replace("sm_90a", "sm_80")),
            "fence.proxy.async on sm_80: it needs .target sm_90 or newer",
        ),
    ] {
        assert!(found.contains(words), "{found:?} has not {words:?}");
    }
}
