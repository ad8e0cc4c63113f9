//! The instructions of the kernels of a run: their text, their lines, and what they write.

use simt::{Kernel, Location, Space, WarpgroupProduct};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Register {
    pub name: String,
    /// Bytes per lane; 0 for a predicate.
    pub bytes: u32,
    pub float: bool,
    /// The memory that it is an address of, if an instruction uses it as one.
    pub base: Option<Space>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instruction {
    /// As written in the PTX.
    pub text: String,
    /// The line of the source that it comes from; for an instruction of another file the line that used it.
    pub line: Option<u32>,
    /// Number of its line among the lines of all kernels.
    pub key: usize,
    pub is_fma: bool,
    /// The registers that it writes, by number.
    pub writes: Vec<usize>,
}

impl Instruction {
    /// Equal for instructions of one line: a line of the source, or of another file if no line of the source uses it.
    pub fn place(&self) -> (Option<u32>, usize) {
        (self.line, if self.line.is_some() { 0 } else { self.key })
    }
}

/// The instructions and registers of one kernel.
#[derive(Debug, Clone)]
pub struct Program {
    pub kernel: Kernel,
    pub instructions: Vec<Instruction>,
    /// All registers that are written.
    pub registers: Vec<Register>,
    /// By instruction number: what four warps multiply.
    pub products: BTreeMap<u32, WarpgroupProduct>,
}

/// The text without its guard.
fn bare(text: &str) -> &str {
    if text.starts_with('@') { text.split_once(' ').map_or("", |(_, rest)| rest) } else { text }
}

/// The first word of that.
fn operation(text: &str) -> &str {
    bare(text).split_whitespace().next().unwrap_or("")
}

/// The operands of an instruction, those in braces one by one: `{%f1, %f2}, [%rd1+16]` has three.
pub fn operands(text: &str) -> Vec<&str> {
    let rest = bare(text).split_once(char::is_whitespace).map_or("", |(_, rest)| rest);
    let parts = rest.split([',', ';']).map(|part| part.trim_matches(|c: char| c.is_whitespace() || "{}".contains(c)));
    parts.filter(|part| !part.is_empty()).collect()
}

/// The last part of a path.
pub fn file_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// The line of the source at a place, if the place is in the source. If the source is PTX, it is the line of the PTX.
pub fn own_line(location: &Location, file: &str) -> Option<u32> {
    if Path::new(file).extension().is_some_and(|extension| extension == "ptx") {
        return Some(location.ptx_line);
    }
    let own = location.file.as_deref().is_some_and(|name| file_name(name) == file_name(file));
    location.line.filter(|_| own)
}

impl Program {
    /// Reads a kernel whose source is `file`. Adds its lines to `lines`.
    pub fn new(kernel: &Kernel, file: &str, lines: &mut Vec<String>) -> Self {
        let mut program =
            Self { kernel: kernel.clone(), instructions: vec![], registers: vec![], products: BTreeMap::new() };
        let mut numbers: HashMap<String, usize> = HashMap::new();
        let mut keys: HashMap<String, usize> = lines.iter().cloned().zip(0..).collect();
        let mut latest = None;
        for index in 0..kernel.instruction_count() {
            let location = kernel.location(index);
            let own = own_line(&location, file);
            let line = own.or(location.line).unwrap_or(0);
            let line_name = match location.file.as_deref().filter(|_| own.is_none()) {
                Some(file) => format!("{}:{line}", file_name(file)),
                None => line.to_string(),
            };
            latest = own.or(latest);
            let writes = kernel.registers_written(index).map(|register| {
                *numbers.entry(register.name.clone()).or_insert_with(|| {
                    let (name, bytes, float) = (register.name.clone(), register.bytes(), register.float);
                    program.registers.push(Register { name, bytes, float, base: None });
                    program.registers.len() - 1
                })
            });
            if operation(&location.instruction).starts_with("wgmma") {
                program.products.extend(kernel.warpgroup_product(index).map(|product| (index, product)));
            }
            program.instructions.push(Instruction {
                is_fma: ["fma", "mad.lo"].iter().any(|start| operation(&location.instruction).starts_with(start)),
                key: *keys.entry(line_name).or_insert_with_key(|name| {
                    lines.push(name.clone());
                    lines.len() - 1
                }),
                line: latest,
                text: location.instruction,
                writes: writes.collect(),
            });
        }
        for instruction in &program.instructions {
            let places = operands(&instruction.text).into_iter().enumerate();
            for (at, place) in places.filter_map(|(at, operand)| Some((at, operand.strip_prefix('[')?))) {
                let name = place.trim_end_matches(']').split(['+', '-']).next().unwrap_or_default();
                let Some(&register) = numbers.get(name) else { continue };
                // A copy has both: where it writes, and where it reads.
                let copies = operation(&instruction.text).starts_with("cp.async");
                let is = |space: &str| instruction.text.contains(space);
                let shared = if copies { at == 0 } else { is(".shared") };
                let global = if copies { at > 0 } else { is(".global") };
                let base = if shared { Some(Space::Shared) } else { global.then_some(Space::Global) };
                program.registers[register].base = base.or(program.registers[register].base);
            }
        }
        program
    }
}
