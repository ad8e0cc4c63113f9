//! Every form of every instruction that computes, operands for it, and a kernel that applies it to them. The test compares the
//! results with recorded ones, and the example `instructions` writes everything to files for a GPU.

use simt::{Arg, Error, GlobalMemory, InstructionSet, Kernel, LaunchConfig, Module};

/// The number of operand groups for each form.
pub const COUNT: usize = 1024;

/// The number of results that share a hash.
pub const GROUP: usize = 128;

/// Returns the FNV-1a hash of the words, folded to 32 bits.
pub fn hash(words: impl IntoIterator<Item = u64>) -> u32 {
    let bytes = words.into_iter().flat_map(u64::to_le_bytes);
    let hash =
        bytes.fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    (hash ^ hash >> 32) as u32
}

/// Returns a 16-bit hash of each group of results, in hexadecimal.
pub fn hashes(results: &[u64]) -> String {
    let hashes = results.chunks(GROUP).map(|results| hash(results.iter().copied()) as u16);
    hashes.fold(String::new(), |text, hash| text + &format!("{hash:04x}"))
}

/// A statement to test, with the types of its operands.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// The instruction with its modifiers and types.
    pub opcode: String,
    /// The types of the result and of the operands.
    pub types: Vec<String>,
    /// The kinds of their registers, which have the size of the type or are wider.
    pub registers: Vec<&'static str>,
    /// The constant that is the last operand, if there is one.
    pub number: Option<u8>,
}

/// Returns the smallest kind of register for a type.
fn register(kind: &str) -> &'static str {
    match kind.trim_start_matches(|c: char| c.is_ascii_alphabetic()) {
        _ if kind == "pred" => "pred",
        "32" | "16x2" => "b32",
        "64" => "b64",
        _ => "b16",
    }
}

impl Case {
    pub fn new(opcode: &str, types: &[&str]) -> Self {
        let (number, types) = match types {
            [types @ .., "number"] => (Some(0), types),
            types => (None, types),
        };
        let registers = types.iter().map(|kind| register(kind)).collect();
        Self { opcode: opcode.into(), types: types.iter().map(|&kind| kind.into()).collect(), registers, number }
    }

    /// Returns the statement and its registers, as a key that is different for every case.
    pub fn key(&self) -> String {
        let number = self.number.map_or(String::new(), |number| format!(" {number}"));
        format!("{} in {}{number}", self.opcode, self.registers.join(" "))
    }

    pub fn name(&self) -> String {
        self.key().replace(" in ", " ").replace(|c: char| !c.is_ascii_alphanumeric(), "_")
    }

    /// Returns the statement. If the opcode already contains operands, it is one or more whole statements and is returned unchanged.
    pub fn statement(&self) -> String {
        if self.opcode.contains('%') {
            return self.opcode.clone();
        }
        // A comparison of packed numbers has two results.
        let pair = self.opcode.starts_with("setp") && self.opcode.ends_with("x2");
        let to = if pair { "%d|%e" } else { "%d" };
        let from: Vec<_> = ["%a", "%b", "%c", "%x"][..self.types.len() - 1].iter().map(|&name| name.into()).collect();
        let number = self.number.iter().map(ToString::to_string);
        let all: Vec<String> = std::iter::once(to.into()).chain(from).chain(number).collect();
        format!("{} {};", self.opcode, all.join(", "))
    }

    /// Returns a kernel that applies the statement to arrays of 64-bit elements.
    pub fn kernel(&self) -> String {
        let mut registers = String::new();
        let mut loads = String::new();
        for (name, kind) in ["d", "a", "b", "c", "x"].into_iter().zip(&self.registers) {
            registers += &format!(".reg .{kind} %{name}; ");
            if name != "d" {
                loads += &format!("ld.param.u64 %base, [{name}]; add.u64 %base, %base, %at; ");
                loads += &match *kind {
                    "pred" => format!("ld.global.u32 %t, [%base]; and.b32 %t, %t, 1; setp.ne.u32 %{name}, %t, 0;\n"),
                    kind => format!("ld.global.{kind} %{name}, [%base];\n"),
                };
            }
        }
        let store = match self.registers[0] {
            "pred" => "selp.u32 %t, 1, 0, %d; selp.u32 %n, 1, 0, %e; st.global.v2.u32 [%base], {%t, %n};",
            // Only 16 bits are stored, because the other bits of a wider register are undefined.
            "b16" => "st.global.b64 [%base], 0; st.global.b16 [%base], %d;",
            "b32" => "st.global.v2.b32 [%base], {%d, %n};",
            _ => "st.global.b64 [%base], %d;",
        };
        let text = include_str!("case.ptx").replace("NAME", &self.name()).replace("REGISTERS", &registers);
        text.replace("LOADS\n", &loads).replace("STATEMENT", &self.statement()).replace("STORE", store)
    }

    fn lowered(&self) -> Result<Kernel, Error> {
        Module::parse(&format!("{HEADER}{}", self.kernel()))?.kernel(&self.name())
    }

    /// Returns values for the operands: first pairs of special values, then random ones.
    pub fn operands(&self) -> [Vec<u64>; 4] {
        std::array::from_fn(|which| {
            let kind = self.types.get(which + 1).map_or("b64", String::as_str);
            let mut random = Random(which as u64 + 1);
            let special = specials(kind);
            let at = |index: usize| match which {
                0 => index,
                1 => index / special.len(),
                2 => index / 3,
                _ => index / 7,
            };
            let pairs = special.len().pow(2).min(COUNT * 3 / 4);
            (0..COUNT)
                .map(|index| match index {
                    _ if index < pairs => special[at(index) % special.len()],
                    _ => random.value(kind),
                })
                .collect()
        })
    }

    pub fn run(&self, set: InstructionSet) -> Result<Vec<u64>, Error> {
        let kernel = self.lowered()?;
        let mut memory = GlobalMemory::new();
        let mut arguments = vec![];
        for data in std::iter::once(&vec![0; COUNT]).chain(&self.operands()) {
            let pointer = memory.alloc("data", 8 * COUNT as u64, 8)?;
            memory.upload(pointer, 0, data)?;
            arguments.push(Arg::Pointer(pointer));
        }
        let mut config = LaunchConfig::new(COUNT as u32 / 128, 128);
        (config.instruction_set, config.threads) = (set, 1);
        let out = memory.allocations()[0].base;
        simt::launch(&kernel, &mut memory, &config, &arguments, &mut ())?;
        let mut result = vec![0; COUNT];
        memory.download(out, 0, &mut result)?;
        Ok(result)
    }
}

pub const HEADER: &str = ".version 8.1\n.target sm_90\n.address_size 64\n";

/// Returns the bits of the fraction and of the exponent of a floating-point type, or `None` for other types.
pub fn format(kind: &str) -> Option<(u32, u32)> {
    match kind {
        "f16" | "f16x2" => Some((10, 5)),
        "bf16" | "bf16x2" => Some((7, 8)),
        "f32" => Some((23, 8)),
        "f64" => Some((52, 11)),
        _ => None,
    }
}

/// Returns values for which implementations of instructions are often wrong.
fn specials(kind: &str) -> Vec<u64> {
    let Some((fraction, exponent)) = format(kind) else {
        let bits = if kind.ends_with("64") { 64 } else { 32 };
        let edges = [0, 1, 2, 3, 5, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 127, 128, 255, 256, 32767, 32768, 65535];
        let top = u64::MAX >> (64 - bits);
        let large = [top, top - 1, top >> 1, (top >> 1) + 1, (top >> 1) - 1, top - 127, top - 32768];
        return edges.into_iter().chain(large).collect();
    };
    let (one, sign) = (((1 << (exponent - 1)) - 1) << fraction, 1u64 << (fraction + exponent));
    let infinity = ((1 << exponent) - 1) << fraction;
    let unit = 1 << fraction;
    // The first values meet as all three operands, for products and quotients a little below the smallest normal number.
    let near = [0, unit, one - 1, one + 1, unit + 1, one - 2, one];
    let small = [1, 2, unit / 2, unit - 1];
    let usual = [one + unit, one + unit / 2, one - unit, one + (u64::from(fraction) << fraction)];
    // The reciprocal of the first value is a little too small to be normal.
    let large = [infinity - 2 * unit + 1, infinity - 1, infinity - unit, infinity];
    let nans = [infinity + 1, infinity + unit / 2 - 1, infinity + unit / 2];
    // Near the smallest normal number of single precision: one value that rounds to it, and one that does not.
    let singles: &[u64] = if kind == "f64" { &[0x380f_ffff_f000_0000, 0x380f_ffff_e000_0000] } else { &[] };
    let large = large.into_iter().chain(nans).chain(singles.iter().copied());
    let all: Vec<_> =
        near.into_iter().chain(small).chain(usual).chain(large).flat_map(|bits| [bits, bits | sign]).collect();
    // The upper half of a packed number gets another value, so that both halves are tested.
    let last = all.len();
    let other = |index: usize| if kind.ends_with("x2") { all[(index * 5 + 3) % last] << 16 } else { 0 };
    all.iter().enumerate().map(|(index, bits)| bits | other(index)).collect()
}

struct Random(u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed ^ mixed >> 29
    }

    /// Returns random bits, or a number whose sums and products are near a tie or near the limits of the type.
    fn value(&mut self, kind: &str) -> u64 {
        let Some((fraction, exponent)) = format(kind) else {
            return match self.bits() % 4 {
                0 => self.bits() % 70,
                1 => self.bits() >> (self.bits() % 64),
                _ => self.bits(),
            };
        };
        let mut one = || {
            let bits = self.bits();
            let ends = (1u64 << fraction) - 1;
            let digits = match bits % 4 {
                0 => bits >> 8 & ends & !(ends >> (fraction / 2)),
                1 => bits >> 8 & 3 | (ends / 2) & !3,
                _ => bits >> 8 & ends,
            };
            let middle = 1 << (exponent - 1);
            let power = match bits >> 62 {
                0 => self.bits() % (2 * middle),
                1 => middle - 2 + self.bits() % 4,
                2 => self.bits() % u64::from(fraction),
                _ => middle - u64::from(fraction) / 2 + self.bits() % u64::from(fraction),
            };
            (bits >> 4 & 1) << (fraction + exponent) | power.min(2 * middle - 1) << fraction | digits
        };
        let low = one();
        if kind.ends_with("x2") { one() << 16 | low } else { low }
    }
}

/// Returns all cases: the table of plain instructions, the forms of other families that the simulator accepts, and `statements.txt`.
pub fn all() -> Vec<Case> {
    let mut cases = vec![];
    for form in simt::forms() {
        let case = Case::new(&form.opcode, &form.operands);
        match case.number {
            Some(_) => cases.extend([0xe8, 0x96, 0x1b].map(|number| Case { number: Some(number), ..case.clone() })),
            None => cases.push(case),
        }
    }
    cases.extend(families().into_iter().filter(|case| case.lowered().is_ok()));
    let statements = include_str!("statements.txt").lines().filter_map(|line| line.split_once(": "));
    cases.extend(
        statements
            .filter(|(types, _)| !types.starts_with('#'))
            .map(|(types, text)| Case::new(text, &types.split(' ').collect::<Vec<_>>())),
    );
    cases
}

const TYPES: [&str; 20] = [
    "pred", "b8", "b16", "b32", "b64", "u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64", "f16", "f16x2", "bf16",
    "bf16x2", "f32", "f64", "tf32",
];

/// Returns forms that the simulator rejects as invalid PTX: known instructions with types and modifiers that they do not have.
#[allow(dead_code, reason = "for the example only")]
pub fn invalid() -> Vec<Case> {
    let mut names: Vec<(String, Vec<&str>)> = vec![];
    for form in simt::forms() {
        let name = form.opcode.split('.').next().unwrap_or_default().to_string();
        if !names.iter().any(|known| known.0 == name) {
            names.push((name, form.operands));
        }
    }
    let modifiers =
        ["", ".rn", ".rz.ftz", ".sat", ".lo", ".hi", ".wide", ".approx", ".full", ".wrap", ".NaN", ".relu", ".finite"];
    let mut cases = families();
    for (name, operands) in &names {
        for kind in TYPES {
            for modifier in modifiers {
                let types: Vec<_> =
                    operands.iter().map(|&operand| if operand == "number" { operand } else { kind }).collect();
                cases.push(Case::new(&format!("{name}{modifier}.{kind}"), &types));
            }
        }
    }
    cases.retain(|case| matches!(case.lowered(), Err(Error::Parse { .. })));
    cases
}

/// Returns a PTX file with a kernel `k` that contains a statement of `others.txt` or `refused.txt`.
pub fn file(statement: &str) -> String {
    let target = if statement.contains("wgmma") { "sm_90a" } else { "sm_90" };
    include_str!("statement.ptx").replace("TARGET", target).replace("STATEMENT", statement)
}

/// Returns the statements of `others.txt` with their marks, and a PTX file for each.
pub fn others() -> Vec<(&'static str, String)> {
    let statements = include_str!("others.txt").lines().filter(|line| !line.starts_with('#'));
    statements.map(|line| (line, file(&line[2..]))).collect()
}

/// Expands alternatives between braces: `a{b|c}` becomes `ab` and `ac`.
fn expanded(text: &str) -> Vec<String> {
    let Some((before, (words, after))) =
        text.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)))
    else {
        return vec![text.into()];
    };
    let after = expanded(after);
    words.split('|').flat_map(|word| after.iter().map(move |after| format!("{before}{word}{after}"))).collect()
}

fn families() -> Vec<Case> {
    let rows = include_str!("families.txt").lines().filter_map(|line| line.split_once(": "));
    let mut cases = vec![];
    for (opcodes, types) in rows.filter(|(opcodes, _)| !opcodes.starts_with('#')) {
        let pairs = TYPES.iter().flat_map(|&to| TYPES.iter().map(move |&from| (to, from)));
        for (to, from) in pairs.filter(|(to, from)| to == from || opcodes.contains("FROM")) {
            let named = |text: &str| text.replace("TO", to).replace("FROM", from);
            for opcode in expanded(&named(opcodes)) {
                let types = named(types);
                let mut types: Vec<&str> = types.split(' ').collect();
                if opcode.starts_with("cvt") {
                    types[0] = if to == "tf32" { "b32" } else { to };
                    types.truncate(if to.ends_with("x2") { 3 } else { 2 });
                }
                let case = Case::new(&opcode, &types);
                // Integers may be in registers that are wider than their type.
                let wider = opcode == format!("cvt.{to}.{from}") || opcode.starts_with("cvt.sat.");
                if wider && !to.contains('f') && !from.contains('f') {
                    let up = |register| ["b16", "b32", "b64"].into_iter().skip_while(move |&r| r != register);
                    let registers =
                        up(case.registers[0]).flat_map(|to| up(case.registers[1]).map(move |from| vec![to, from]));
                    cases.extend(registers.map(|registers| Case { registers, ..case.clone() }));
                } else {
                    cases.push(case);
                }
            }
        }
    }
    cases
}
