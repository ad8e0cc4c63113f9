//! Products of matrices in the registers of a warp, in every shape, type and layout that is accepted.
//!
//! `products.txt` has a hash of each result. An H100 gave the same 977 results on 2026-11-24. The operands are small whole numbers, so
//! that no sum depends on an order. `SIMT_BLESS=1` writes the hashes again, to be reviewed as a diff. `SIMT_PRODUCTS=FILE` writes all
//! products to a file, and `ask_tensor_cores.py --products FILE` prints the hashes of what a GPU gives.

use serde_json::json;
use simt::{Arg, DevicePointer, Error, GlobalMemory, LaunchConfig, Module};
use std::fmt::Write as _;
use std::path::Path;

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

/// Bytes in memory.
pub fn pack(elements: impl IntoIterator<Item = u64>, bytes: usize) -> Vec<u32> {
    let all: Vec<u8> = elements.into_iter().flat_map(|element| element.to_le_bytes()[..bytes].to_vec()).collect();
    all.chunks(4).map(|word| u32::from_le_bytes(std::array::from_fn(|at| word.get(at).copied().unwrap_or(0)))).collect()
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

/// A vector of the first registers of a name.
pub fn list(name: &str, count: usize) -> String {
    format!("{{{}}}", (0..count).map(|at| format!("%{name}{at}")).collect::<Vec<_>>().join(", "))
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
        operands[part] = list(name, count);
        moves[part] = format!("ld.param.u64 %base, [{name}]; mad.wide.u32 %at, %t, {}, %base;\n", step * count);
        for at in 0..count {
            let (register, place) = (format!("%{name}{at}"), format!("[%at+{}]", step * at));
            let (store, to, from) = if part == 0 { ("st", place, register) } else { ("ld", register, place) };
            writeln!(moves[part], "{store}.global.{kind} {to}, {from};").unwrap();
        }
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
        operands[part] = list(name, count);
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

/// A product: what tells it from others, its kernel, and the arrays that this works on, of which the last one is the result.
pub struct Product {
    pub name: String,
    pub kernel: String,
    pub threads: u32,
    pub arrays: Vec<Vec<u32>>,
}

/// Elements of a matrix, as they come.
pub fn array(elements: usize, kind: &str, seed: u64) -> Vec<u32> {
    pack(values(elements, kind, seed).into_iter().map(|value| encode(value, kind)), bytes(kind))
}

fn of_registers() -> impl Iterator<Item = Product> {
    mma_cases().into_iter().flat_map(|(shape, types)| {
        let elements = |part: usize| size(part, shape).0 * size(part, shape).1;
        let parts = [1, 2, 3].map(|part| array(elements(part), types[part], part as u64 + 6));
        let result = vec![0; elements(0) * bytes(types[0]) / 4];
        ["", "satfinite."].into_iter().filter(move |word| word.is_empty() || types[0] == "s32").map(move |word| {
            Product {
                name: format!("mma {word}{shape:?} {}", types.join(" ")),
                kernel: mma_kernel(shape, types).replace("row.col.", &format!("row.col.{word}")),
                threads: 32,
                arrays: parts.iter().cloned().chain([result.clone()]).collect(),
            }
        })
    })
}

fn in_memory() -> impl Iterator<Item = Product> {
    wmma_cases().into_iter().flat_map(|(shape, types)| {
        (0..16_u32).map(move |layouts| {
            let by_column: [bool; 4] = std::array::from_fn(|at| layouts >> at & 1 != 0);
            let elements =
                |part: usize| STRIDE * if by_column[part] { size(part, shape).1 } else { size(part, shape).0 };
            let parts = [1, 2, 3].map(|part| array(elements(part), types[part], part as u64 + 69));
            Product {
                name: format!("wmma {shape:?} {} {by_column:?}", types.join(" ")),
                kernel: wmma_kernel(shape, types, by_column),
                threads: 32,
                arrays: parts.into_iter().chain([vec![0; elements(0) * bytes(types[0]) / 4]]).collect(),
            }
        })
    })
}

/// Every product gives what is recorded of it.
#[test]
fn products() {
    let text = include_str!("products.txt");
    let mut found = String::new();
    let all = of_registers().chain(in_memory()).chain(super::warpgroups::products());
    if let Some(file) = std::env::var_os("SIMT_PRODUCTS") {
        let line = |Product { name, kernel, threads, arrays }| {
            format!("{}\n", json!({"name": name, "kernel": kernel, "threads": threads, "arrays": arrays}))
        };
        return std::fs::write(file, all.map(line).collect::<String>()).unwrap();
    }
    for Product { name, kernel, threads, arrays } in all {
        let result = run_on(threads, &kernel, &arrays).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_ne!(result, arrays[arrays.len() - 1], "{name}: nothing was stored");
        writeln!(found, "{name}: {:08x}", super::hash(result.into_iter().map(u64::from))).unwrap();
    }
    if std::env::var_os("SIMT_BLESS").is_some() {
        return std::fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/instructions/products.txt"), found)
            .unwrap();
    }
    for (found, recorded) in found.lines().zip(text.lines()) {
        assert_eq!(found, recorded);
    }
    assert_eq!(found.lines().count(), text.lines().count());
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
