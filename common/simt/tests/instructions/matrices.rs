//! Products of matrices in the registers of one warp (`mma`, `wmma`) and of four warps (`wgmma`), in every shape, type and layout
//! that the simulator accepts.
//!
//! `products.txt` has a line for each, with a hash of its result: `mma M N K D.A.B.C` with the four types, and for `wmma` also the four
//! layouts in memory; `warpgroups` explains the lines of `wgmma`. The operands are small whole numbers, so that no sum depends on the
//! order of addition. `SIMT_BLESS=1` records what the simulator computes, to be reviewed as a diff. `SIMT_PRODUCTS=FILE` writes all
//! products to a file, about which `ask_tensor_cores.py --products FILE` asks a GPU, and marks what it gave as well.

use super::warpgroups;
use serde_json::json;
use simt::{Arg, Counters, DevicePointer, Error, GlobalMemory, LaunchConfig, Module};
use std::fmt::Write as _;

const PRODUCTS: &str = include_str!("products.txt");

/// Elements from one row (or column) of a matrix to the next in memory: more than a row has.
const STRIDE: usize = 48;

pub fn bytes(kind: &str) -> usize {
    match kind {
        "f64" => 8,
        "f32" | "tf32" | "s32" => 4,
        "f16" | "bf16" => 2,
        _ => 1,
    }
}

/// Returns the bits of a whole number in a type. For a small floating-point type, the number must have few digits.
fn encode(value: i64, kind: &str) -> u64 {
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

/// Returns whole numbers. For floating-point types they are small, so that all sums are exact.
fn values(count: usize, kind: &str, seed: u64) -> Vec<i64> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as i64
    };
    let draw = |random: i64| match kind {
        "u8" => random & 0xff,
        "s8" => (random & 0xff) - 128,
        // These are so large that sums wrap.
        "s32" => i64::from(random as u32 as i32).wrapping_add(i64::from(i32::MAX)).clamp(0, i32::MAX.into()),
        "f64" => random % 2000 - 1000,
        _ => random % 9 - 4,
    };
    (0..count).map(|_| draw(next())).collect()
}

/// Returns the elements of a matrix as words in memory.
pub fn array(elements: usize, kind: &str, seed: u64) -> Vec<u32> {
    let bits = values(elements, kind, seed).into_iter().map(|value| encode(value, kind));
    let all: Vec<u8> = bits.flat_map(|element| element.to_le_bytes()[..bytes(kind)].to_vec()).collect();
    all.chunks(4).map(|word| u32::from_le_bytes(std::array::from_fn(|at| word.get(at).copied().unwrap_or(0)))).collect()
}

/// A product: a kernel for one block, and the kernel's arrays. The last array is the result.
pub struct Product {
    pub kernel: String,
    pub threads: u32,
    pub arrays: Vec<Vec<u32>>,
    /// The passes in which the tensor cores read shared memory. They are not requests.
    pub passes: u64,
}

impl Product {
    pub fn run(&self) -> Result<Vec<u32>, Error> {
        let mut counters = Counters::new();
        let kernel = Module::parse(&self.kernel)?.kernel("k")?;
        let mut memory = GlobalMemory::new();
        let mut arguments = vec![];
        let mut last = (DevicePointer(0), 0);
        for words in &self.arrays {
            let pointer = memory.alloc("array", 4 * words.len() as u64, 4)?;
            memory.upload(pointer, 0, words)?;
            arguments.push(Arg::Pointer(pointer));
            last = (pointer, words.len());
        }
        simt::launch(&kernel, &mut memory, &LaunchConfig::new(1, self.threads), &arguments, &mut counters)?;
        let mut result = vec![0_u32; last.1];
        memory.download(last.0, 0, &mut result)?;
        let counts = counters.total();
        let passes = [counts.shared_load_wavefronts, counts.shared_load_requests, counts.shared_load_bank_conflicts];
        assert_eq!(passes, [u64::from(self.threads / 128) * self.passes, 0, 0], "{}", self.kernel);
        Ok(result)
    }
}

/// Returns a PTX vector of the first `count` registers with a name.
pub fn list(name: &str, count: usize) -> String {
    format!("{{{}}}", (0..count).map(|at| format!("%{name}{at}")).collect::<Vec<_>>().join(", "))
}

/// Returns PTX by which each thread loads (or stores) the first registers with a name from (or to) its own piece of an array.
pub fn moves(verb: &str, array: &str, (name, count, kind): (&str, usize, &str)) -> String {
    let step = if kind == "f64" { 8 } else { 4 };
    let each = (0..count).map(|at| {
        let (register, place) = (format!("%{name}{at}"), format!("[%at+{}]", step * at));
        let (to, from) = if verb == "st" { (place, register) } else { (register, place) };
        format!("{verb}.global.{kind} {to}, {from};\n")
    });
    let each: String = each.collect();
    format!("ld.param.u64 %base, [{array}]; mad.wide.u32 %at, %t, {}, %base;\n{each}", step * count)
}

/// A product of one warp. Arrays of four are in the order D, A, B, C.
struct Case<'a> {
    /// Whether sums of integers saturate at the limits of their type.
    saturates: bool,
    shape: [usize; 3],
    types: [&'a str; 4],
    /// The layouts for `wmma`, which moves whole matrices. `None` for `mma`, whose fragments are moved register by register.
    layouts: Option<[&'a str; 4]>,
}

impl<'a> Case<'a> {
    fn new(name: &'a str) -> Self {
        let words: Vec<&str> = name.split(' ').collect();
        let four = |text: &'a str| text.split('.').collect::<Vec<_>>().try_into().unwrap();
        Self {
            saturates: words[0].ends_with("satfinite"),
            shape: [1, 2, 3].map(|at| words[at].parse().unwrap()),
            types: four(words[4]),
            layouts: words.get(5).map(|text| four(text)),
        }
    }

    /// Returns the rows and columns of a matrix.
    fn size(&self, part: usize) -> (usize, usize) {
        let [m, n, k] = self.shape;
        [(m, n), (m, k), (k, n), (m, n)][part]
    }

    /// Returns the number of elements that a matrix takes in memory, including gaps between rows or columns.
    fn elements(&self, part: usize) -> usize {
        let (rows, columns) = self.size(part);
        self.layouts.map_or(rows * columns, |layouts| STRIDE * if layouts[part] == "col" { columns } else { rows })
    }

    fn kernel(&self) -> String {
        let Self { saturates, shape: [m, n, k], types, layouts } = *self;
        let mut text = String::from(include_str!("matrix.ptx"));
        let (mut operands, mut moved) = ([const { String::new() }; 4], [const { String::new() }; 4]);
        for (part, name) in ["d", "a", "b", "c"].into_iter().enumerate() {
            let ((rows, columns), kind) = (self.size(part), types[part]);
            // In half precision, `wmma` fragments of A and B have sixteen elements for every size of the matrix.
            let sixteen = layouts.is_some() && kind == "f16" && matches!(part, 1 | 2);
            let elements = if sixteen { 16 } else { rows * columns / 32 };
            let (count, register) =
                if kind == "f64" { (elements, "f64") } else { ((elements * bytes(kind)).div_ceil(4), "b32") };
            writeln!(text, ".reg .{register} %{name}<{count}>;").unwrap();
            operands[part] = list(name, count);
            moved[part] = if let Some(layouts) = layouts {
                let how = format!("sync.aligned.{}.m{m}n{n}k{k}.global.{kind}", layouts[part]);
                let fragment = &operands[part];
                let (load, store) =
                    (format!("load.{name}.{how} {fragment}, [%base]"), format!("store.d.{how} [%base], {fragment}"));
                format!("ld.param.u64 %base, [{name}]; wmma.{}, {STRIDE};\n", if part == 0 { store } else { load })
            } else {
                moves(if part == 0 { "st" } else { "ld" }, name, (name, count, register))
            };
        }
        let [d, a, b, c] = types;
        let kinds = if layouts.is_some() && a == "f16" { format!("{d}.{c}") } else { types.join(".") };
        let rounded = layouts.is_some() && a == "f64";
        let word = match (saturates, rounded) {
            (true, _) => ".satfinite",
            (_, true) => ".rn",
            _ => "",
        };
        let shape = format!("m{m}n{n}k{k}");
        let multiply = match layouts {
            Some([_, a, b, _]) => format!("wmma.mma.sync.aligned.{a}.{b}.{shape}{word}.{kinds}"),
            None => format!("mma.sync.aligned.{shape}.row.col{word}.{d}.{a}.{b}.{c}"),
        };
        text + &moved[1..].concat() + &format!("{multiply} {};\n{}ret;\n}}", operands.join(", "), moved[0])
    }

    fn product(&self) -> Product {
        let seed = if self.layouts.is_some() { 69 } else { 6 };
        let parts = [1, 2, 3].map(|part| array(self.elements(part), self.types[part], part as u64 + seed));
        let result = vec![0; self.elements(0) * bytes(self.types[0]) / 4];
        Product { kernel: self.kernel(), threads: 32, arrays: parts.into_iter().chain([result]).collect(), passes: 0 }
    }
}

fn names() -> impl Iterator<Item = &'static str> {
    PRODUCTS.lines().filter_map(|line| line.split_once(": ")).map(|(name, _)| name)
}

#[test]
fn products() {
    let all = names().map(|name| match name.strip_prefix("wgmma") {
        Some(_) => (name, warpgroups::Case::new(name).product()),
        None => (name, Case::new(name).product()),
    });
    if let Some(file) = std::env::var_os("SIMT_PRODUCTS") {
        let line = |(name, Product { kernel, threads, arrays, .. })| {
            format!("{}\n", json!({"name": name, "kernel": kernel, "threads": threads, "arrays": arrays}))
        };
        return std::fs::write(file, all.map(line).collect::<String>()).unwrap();
    }
    let mut found = String::new();
    for (name, product) in all {
        let result = product.run().unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_ne!(result, product.arrays[product.arrays.len() - 1], "{name}: nothing was stored");
        writeln!(found, "{name}: {:08x}", super::cases::hash(result.into_iter().map(u64::from))).unwrap();
    }
    crate::compare("instructions/products.txt", &found);
}

/// Each product is refused for devices older than the first one for which `ptxas` accepts it.
#[test]
fn products_need_the_device_that_brought_them() {
    for name in names().filter(|name| !name.starts_with("wgmma")) {
        let case = Case::new(name);
        let least = match (case.types[1], case.layouts, case.shape) {
            ("f16", Some(_), _) => 70,
            ("s8" | "u8", Some(_), _) => 72,
            ("f16", None, [.., 8]) | ("s8" | "u8", None, [8, ..]) => 75,
            _ => 80,
        };
        for target in [70, 72, 75, 80] {
            let text = case.kernel().replace("sm_80", &format!("sm_{target}"));
            let taken = Module::parse(&text).and_then(|module| module.kernel("k"));
            assert_eq!(taken.is_ok(), target >= least, "{name} on sm_{target}");
            assert!(taken.err().is_none_or(|error| error.to_string().contains(&format!("sm_{least} or newer"))));
        }
    }
}
