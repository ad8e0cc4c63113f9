//! Products of matrices in the registers of a warp, in every shape, type and layout that is accepted, against plain loops.
//! Where the elements of `mma` lie is written here as the PTX manual has it; where those of `wmma` lie is nobody's business,
//! so they come from memory and go back to it.

use simt::{Arg, DevicePointer, Error, GlobalMemory, LaunchConfig, Module};
use std::fmt::Write as _;

type Shape = (usize, usize, usize);

/// Types of D, A, B and C.
type Types = [&'static str; 4];

const HEAD: &str = ".version 8.1\n.target sm_80\n.address_size 64\n";

pub fn bytes(kind: &str) -> usize {
    match kind {
        "f64" => 8,
        "f32" | "tf32" | "s32" => 4,
        "f16" | "bf16" => 2,
        _ => 1,
    }
}

/// The bits of a whole number. In the small formats it must have few digits.
pub fn encode(value: i64, kind: &str) -> u64 {
    let single = (value as f32).to_bits();
    match kind {
        "f64" => (value as f64).to_bits(),
        "f32" | "tf32" => single.into(),
        "bf16" => (single >> 16).into(),
        "f16" if value == 0 => 0,
        "f16" => {
            u64::from(single >> 16 & 0x8000 | (single >> 23 & 0xff).wrapping_sub(112) << 10 | single >> 13 & 0x3ff)
        }
        _ => value as u64 & (u64::MAX >> (64 - 8 * bytes(kind))),
    }
}

/// Whole numbers: of the floating-point types small ones, so that all sums are exact, of the others any.
pub fn values(count: usize, kind: &str, seed: u64) -> Vec<i64> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as i64
    };
    let draw = |random: i64| match kind {
        "u8" => random & 0xff,
        "s8" => (random & 0xff) - 128,
        // Sums of these wrap.
        "s32" => i64::from(random as u32 as i32).wrapping_add(i64::from(i32::MAX)).clamp(0, i32::MAX.into()),
        "f64" => random % 2000 - 1000,
        _ => random % 9 - 4,
    };
    (0..count).map(|_| draw(next())).collect()
}

/// D = A·B + C, in row order.
pub fn product((m, n, k): Shape, [a, b, c]: &[Vec<i64>; 3]) -> Vec<i64> {
    let sum = |row: usize, column: usize| (0..k).map(|at| a[row * k + at] * b[at * n + column]).sum::<i64>();
    (0..m * n).map(|at| c[at] + sum(at / n, at % n)).collect()
}

/// Bytes in memory.
pub fn pack(elements: impl IntoIterator<Item = u64>, bytes: usize) -> Vec<u32> {
    let all: Vec<u8> = elements.into_iter().flat_map(|element| element.to_le_bytes()[..bytes].to_vec()).collect();
    all.chunks(4).map(|word| u32::from_le_bytes(std::array::from_fn(|at| word.get(at).copied().unwrap_or(0)))).collect()
}

/// Runs a kernel of one warp on arrays of these words, and gives back the last of them.
fn run(ptx: &str, arrays: &[Vec<u32>]) -> Result<Vec<u32>, Error> {
    run_on(32, ptx, arrays)
}

/// Runs a kernel of one block on arrays of these words, and gives back the last of them.
pub fn run_on(threads: u32, ptx: &str, arrays: &[Vec<u32>]) -> Result<Vec<u32>, Error> {
    let kernel = Module::parse(ptx)?.kernel("k")?;
    let mut memory = GlobalMemory::new();
    let mut arguments = vec![];
    let mut last = (DevicePointer(0), 0);
    for words in arrays {
        let pointer = memory.alloc("array", 4 * words.len() as u64, 4)?;
        memory.upload(pointer, 0, words)?;
        arguments.push(Arg::Pointer(pointer));
        last = (pointer, words.len());
    }
    simt::launch(&kernel, &mut memory, &LaunchConfig::new(1, threads), &arguments, &mut ())?;
    let mut result = vec![0_u32; last.1];
    memory.download(last.0, 0, &mut result)?;
    Ok(result)
}

/// Rows and columns of D, A, B or C.
fn size(part: usize, (m, n, k): Shape) -> (usize, usize) {
    match part {
        1 => (m, k),
        2 => (k, n),
        _ => (m, n),
    }
}

/// Row and column of element `i` of a lane, by the drawings of the PTX manual: a matrix is made of squares of eight by eight
/// places of 4 bytes (of D and C: of two elements); lane / 4 is the row (of B the column) of the square, and the lane's elements
/// in it follow each other. The second square of A and C is the lower one.
fn element(part: usize, kind: &str, shape: Shape, lane: usize, i: usize) -> (usize, usize) {
    let (group, member) = (lane / 4, lane % 4);
    let width = if matches!(part, 0 | 3) { 2 } else { (4 / bytes(kind)).max(1) };
    let (square, at) = (i / width, member * width + i % width);
    match part {
        1 if shape.0 == 8 => (group, at + 4 * width * square),
        1 => (group + 8 * (square % 2), at + 4 * width * (square / 2)),
        2 => (at + 4 * width * square, group),
        _ => (group + 8 * square, at),
    }
}

/// Every product by `mma` that is accepted.
fn mma_cases() -> Vec<(Shape, Types)> {
    let mut cases = vec![((8, 8, 4), ["f64"; 4])];
    for k in [8, 16] {
        cases.extend(["f16", "f32"].map(|sum| ((16, 8, k), [sum, "f16", "f16", sum])));
        cases.push(((16, 8, k), ["f32", "bf16", "bf16", "f32"]));
        cases.push(((16, 8, k / 2), ["f32", "tf32", "tf32", "f32"]));
    }
    for shape in [(8, 8, 16), (16, 8, 16), (16, 8, 32)] {
        for (a, b) in [("s8", "s8"), ("s8", "u8"), ("u8", "s8"), ("u8", "u8")] {
            cases.push((shape, ["s32", a, b, "s32"]));
        }
    }
    cases
}

/// Registers of a lane, and their type.
fn registers(elements: usize, kind: &str) -> (usize, &'static str) {
    if kind == "f64" { (elements, "b64") } else { ((elements * bytes(kind)).div_ceil(4), "b32") }
}

/// A kernel in which every lane loads its registers, multiplies, and stores its registers.
fn mma_kernel(shape: Shape, types: Types) -> String {
    let (m, n, k) = shape;
    let mut text = format!(
        "{HEAD}.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d)\n{{\n\
         .reg .b64 %at, %base; .reg .b32 %t;\nmov.u32 %t, %tid.x;\n"
    );
    let mut operands = [const { String::new() }; 4];
    let mut moves = [const { String::new() }; 4];
    for (part, name) in ["d", "a", "b", "c"].into_iter().enumerate() {
        let (rows, columns) = size(part, shape);
        let (count, kind) = registers(rows * columns / 32, types[part]);
        let step = if kind == "b64" { 8 } else { 4 };
        writeln!(text, ".reg .{kind} %{name}<{count}>;").unwrap();
        let names: Vec<_> = (0..count).map(|at| format!("%{name}{at}")).collect();
        operands[part] = format!("{{{}}}", names.join(", "));
        let lane = format!("ld.param.u64 %base, [{name}]; mad.wide.u32 %at, %t, {}, %base;\n", step * count);
        moves[part] = names.iter().enumerate().fold(lane, |text, (at, register)| {
            let place = format!("[%at+{}]", step * at);
            text + &if part == 0 {
                format!("st.global.{kind} {place}, {register};\n")
            } else {
                format!("ld.global.{kind} {register}, {place};\n")
            }
        });
    }
    let [d, a, b, c] = types;
    writeln!(
        text,
        "{}{}{}mma.sync.aligned.m{m}n{n}k{k}.row.col.{d}.{a}.{b}.{c} {};\n{}ret;\n}}",
        moves[1],
        moves[2],
        moves[3],
        operands.join(", "),
        moves[0]
    )
    .unwrap();
    text
}

/// The words of a fragment: lane by lane, element by element.
pub fn fragment(part: usize, kind: &str, shape: Shape, values: &[i64]) -> Vec<u32> {
    let (rows, columns) = size(part, shape);
    let own = rows * columns / 32;
    let at = |i: usize| {
        let (row, column) = element(part, kind, shape, i / own, i % own);
        encode(values[row * columns + column], kind)
    };
    pack((0..32 * own).map(at), bytes(kind))
}

#[test]
fn products_of_registers() {
    let mut wrong = vec![];
    let cases = mma_cases();
    for &(shape, types) in &cases {
        let operands: [Vec<i64>; 3] = std::array::from_fn(|at| {
            let (rows, columns) = size(at + 1, shape);
            values(rows * columns, types[at + 1], 7 + at as u64)
        });
        let part = |at: usize| fragment(at, types[at], shape, &operands[at - 1]);
        let expected = fragment(0, types[0], shape, &product(shape, &operands));
        let arrays = [part(1), part(2), part(3), vec![0; expected.len()]];
        let kernel = mma_kernel(shape, types);
        match run(&kernel, &arrays) {
            Ok(found) if found == expected => {}
            Ok(_) => wrong.push(format!("{shape:?} {types:?} is wrong")),
            Err(error) => wrong.push(format!("{shape:?} {types:?}: {error}")),
        }
        if types[0] == "s32" {
            let finite: Vec<i64> =
                product(shape, &operands).iter().map(|&value| value.clamp(i32::MIN.into(), i32::MAX.into())).collect();
            let found = run(&kernel.replace("row.col.", "row.col.satfinite."), &arrays).unwrap();
            assert!(found == fragment(0, types[0], shape, &finite) && found != expected, "{shape:?} {types:?}");
        }
    }
    assert!(wrong.is_empty(), "{} of {}\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

/// Every product by `wmma` that is accepted.
fn wmma_cases() -> Vec<(Shape, Types)> {
    let mut cases = vec![((8, 8, 4), ["f64"; 4]), ((16, 16, 8), ["f32", "tf32", "tf32", "f32"])];
    for shape in [(16, 16, 16), (32, 8, 16), (8, 32, 16)] {
        for (d, c) in [("f16", "f16"), ("f16", "f32"), ("f32", "f16"), ("f32", "f32")] {
            cases.push((shape, [d, "f16", "f16", c]));
        }
        cases.push((shape, ["f32", "bf16", "bf16", "f32"]));
        cases.extend(["s8", "u8"].map(|kind| (shape, ["s32", kind, kind, "s32"])));
    }
    cases
}

/// Elements between the rows (or columns) of a matrix in memory, more than they have.
const STRIDE: usize = 48;

/// A matrix in memory: its rows or, by column, its columns are `STRIDE` elements apart.
fn in_memory(part: usize, kind: &str, shape: Shape, by_column: bool, values: &[i64]) -> Vec<u32> {
    let (rows, columns) = size(part, shape);
    let (lines, line) = if by_column { (columns, rows) } else { (rows, columns) };
    let at = |place: usize| {
        let (number, at) = (place / STRIDE, place % STRIDE);
        let (row, column) = if by_column { (at, number) } else { (number, at) };
        if at < line { encode(values[row * columns + column], kind) } else { 0 }
    };
    pack((0..lines * STRIDE).map(at), bytes(kind))
}

/// A kernel that loads three matrices, multiplies, and stores the fourth; `by_column` of D, A, B and C.
fn wmma_kernel(shape: Shape, types: Types, by_column: [bool; 4]) -> String {
    let (m, n, k) = shape;
    let layouts = by_column.map(|by_column| if by_column { "col" } else { "row" });
    let mut text = format!(
        "{HEAD}.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d)\n{{\n.reg .b64 %base;\n"
    );
    let mut operands = [const { String::new() }; 4];
    for (part, name) in ["d", "a", "b", "c"].into_iter().enumerate() {
        let (rows, columns) = size(part, shape);
        // The fragments of A and B in half precision have sixteen elements whatever their size.
        let elements = if types[part] == "f16" && matches!(part, 1 | 2) { 16 } else { rows * columns / 32 };
        let (count, kind) = registers(elements, types[part]);
        let kind = if kind == "b64" { "f64" } else { kind };
        writeln!(text, ".reg .{kind} %{name}<{count}>;").unwrap();
        let names: Vec<_> = (0..count).map(|at| format!("%{name}{at}")).collect();
        operands[part] = format!("{{{}}}", names.join(", "));
    }
    for (part, name) in ["d", "a", "b", "c"].into_iter().enumerate().skip(1) {
        let (layout, kind, to) = (layouts[part], types[part], &operands[part]);
        writeln!(
            text,
            "ld.param.u64 %base, [{name}]; \
             wmma.load.{name}.sync.aligned.{layout}.m{m}n{n}k{k}.global.{kind} {to}, [%base], {STRIDE};"
        )
        .unwrap();
    }
    let [d, a, b, c] = types;
    let kinds = if a == "f16" { format!("{d}.{c}") } else { format!("{d}.{a}.{b}.{c}") };
    let rounding = if a == "f64" { ".rn" } else { "" };
    writeln!(
        text,
        "wmma.mma.sync.aligned.{}.{}.m{m}n{n}k{k}{rounding}.{kinds} {};\nld.param.u64 %base, [d]; \
         wmma.store.d.sync.aligned.{}.m{m}n{n}k{k}.global.{d} [%base], {}, {STRIDE};\nret;\n}}",
        layouts[1],
        layouts[2],
        operands.join(", "),
        layouts[0],
        operands[0]
    )
    .unwrap();
    text
}

#[test]
fn products_of_matrices_in_memory() {
    let mut wrong = vec![];
    let mut count = 0;
    for (shape, types) in wmma_cases() {
        let operands: [Vec<i64>; 3] = std::array::from_fn(|at| {
            let (rows, columns) = size(at + 1, shape);
            values(rows * columns, types[at + 1], 70 + at as u64)
        });
        let result = product(shape, &operands);
        for layouts in 0..16_u32 {
            let by_column: [bool; 4] = std::array::from_fn(|at| layouts >> at & 1 != 0);
            let part = |at: usize| in_memory(at, types[at], shape, by_column[at], &operands[at - 1]);
            let expected = in_memory(0, types[0], shape, by_column[0], &result);
            let arrays = [part(1), part(2), part(3), vec![0; expected.len()]];
            count += 1;
            match run(&wmma_kernel(shape, types, by_column), &arrays) {
                Ok(found) if found == expected => {}
                Ok(_) => wrong.push(format!("{shape:?} {types:?} {by_column:?} is wrong")),
                Err(error) => wrong.push(format!("{shape:?} {types:?} {by_column:?}: {error}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {count}\n{}", wrong.len(), wrong.join("\n"));
}

/// What the assembler refuses for an older device is refused here, too: the oldest for each, as `ptxas` has it.
#[test]
fn products_need_the_device_that_brought_them() {
    let capability = |(m, _, k): Shape, kind: &str, wmma: bool| match kind {
        "f16" if wmma => 70,
        "s8" | "u8" if wmma => 72,
        "f16" if k == 8 => 75,
        "s8" | "u8" if m == 8 => 75,
        _ => 80,
    };
    let mma = mma_cases().into_iter().map(|(shape, types)| (shape, types, false));
    let wmma = wmma_cases().into_iter().map(|(shape, types)| (shape, types, true));
    for (shape, types, wmma) in mma.chain(wmma) {
        let text = if wmma { wmma_kernel(shape, types, [false; 4]) } else { mma_kernel(shape, types) };
        for target in [70, 72, 75, 80] {
            let text = text.replace("sm_80", &format!("sm_{target}"));
            let taken = Module::parse(&text).and_then(|module| module.kernel("k"));
            let least = capability(shape, types[1], wmma);
            assert_eq!(taken.is_ok(), target >= least, "{shape:?} {types:?} on sm_{target}");
            assert!(taken.err().is_none_or(|error| error.to_string().contains(&format!("sm_{least} or newer"))));
        }
    }
}
