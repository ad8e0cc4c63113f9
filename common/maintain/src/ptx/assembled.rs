//! The machine code of the committed PTX: `ptxas` assembles it and counts its registers, `nvdisasm` lists its instructions.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use common::code;
use common::code::assembled::{Assembled, CAPABILITY, Kernels, MachineCode};
use compile::nvrtc::Nvrtc;

/// The pip packages of the assembler, in the version of the pinned NVRTC, and of a disassembler.
pub const PACKAGES: [&str; 2] = ["nvidia-cuda-nvcc-cu12==12.1.105", "nvidia-cuda-nvdisasm==13.2.51"];

/// The programs that pip installed beside NVRTC.
pub struct Tools {
    ptxas: PathBuf,
    nvdisasm: PathBuf,
}

impl Tools {
    pub fn beside(nvrtc: &Nvrtc) -> Option<Self> {
        let wheels = nvrtc.path.ancestors().find(|folder| folder.file_name().is_some_and(|name| name == "nvidia"))?;
        let program = |path: &str| {
            let path = wheels.join(format!("{path}{}", std::env::consts::EXE_SUFFIX));
            path.is_file().then_some(path)
        };
        Some(Self { ptxas: program("cuda_nvcc/bin/ptxas")?, nvdisasm: program("cu13/bin/nvdisasm")? })
    }

    /// Adds the kernels of the PTX of this name; takes them from `known` if the file has not changed.
    pub fn add(&self, assembled: &mut Assembled, known: &Assembled, name: String, ptx: &str) -> Result<()> {
        let hash = code::hash(ptx);
        assembled.architecture = architecture("");
        assembled.tools = PACKAGES.map(str::to_owned).to_vec();
        let same = known.files.get(&name).filter(|(of, _)| *of == hash && known.tools == assembled.tools);
        let kernels = match same {
            Some((_, kernels)) => kernels.clone(),
            None => self.assemble(&name, ptx)?,
        };
        assembled.files.insert(name, (hash, kernels));
        Ok(())
    }

    fn assemble(&self, name: &str, ptx: &str) -> Result<Kernels> {
        let suffix = if ptx.contains("\n.target sm_90a") { "a" } else { "" };
        let folder = tempfile::tempdir()?;
        let [file, machine] = [name, "machine.cubin"].map(|name| folder.path().join(name));
        fs::write(&file, ptx)?;
        let architecture = architecture(suffix);
        let arguments = ["--verbose", "--gpu-name", &architecture, "--output-file"].map(OsStr::new);
        let log = output(&self.ptxas, arguments.into_iter().chain([machine.as_os_str(), file.as_os_str()]))?;
        let listing = output(&self.nvdisasm, [OsStr::new("--print-code"), machine.as_os_str()])?;
        let kernels = registers(&log)?.into_iter().map(|(name, registers)| {
            let (fma, others) = densest(&listing, &name);
            (name, MachineCode { registers, fma, others })
        });
        Ok(kernels.collect())
    }
}

fn architecture(suffix: &str) -> String {
    format!("sm_{CAPABILITY}{suffix}")
}

/// What a program prints on both outputs together.
fn output<'a>(program: &Path, arguments: impl IntoIterator<Item = &'a OsStr>) -> Result<String> {
    let output = Command::new(program).args(arguments).output().with_context(|| {
        format!("{} does not start; install it again with pip install {}", program.display(), PACKAGES.join(" "))
    })?;
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    ensure!(output.status.success(), "{} rejects a kernel; correct it: {}", program.display(), text.trim());
    Ok(text)
}

/// The registers of each kernel, from "Compiling entry function 'matmul' for 'sm_90'" and, lines later, "Used 40 registers, ...".
fn registers(log: &str) -> Result<Vec<(String, u32)>> {
    let mut counts = Vec::new();
    let mut entry = None;
    for line in log.lines() {
        if let Some((_, rest)) = line.split_once("Compiling entry function '") {
            entry = rest.split('\'').next().map(str::to_owned);
        }
        if let (Some(name), Some((_, rest))) = (&entry, line.split_once("Used ")) {
            let registers = rest.split(' ').next().and_then(|number| number.parse().ok());
            counts
                .push((name.clone(), registers.context("ptxas does not say it as expected; use the pinned version")?));
        }
    }
    Ok(counts)
}

/// The multiply-adds and the other instructions of the kernel's basic block that has the fewest others per multiply-add; zeros if
/// the kernel has no multiply-adds.
///
/// In a listing, a kernel begins with `.text.matmul:`, jumps lead to labels such as `.L_x_1:`, and an instruction is a line like
/// `        /*0150*/               @!P0 FFMA R1, R2, R3, R1 ;`.
fn densest(listing: &str, kernel: &str) -> (u32, u32) {
    const JUMPS: [&str; 10] = ["BRA", "BRX", "JMP", "JMX", "EXIT", "RET", "CALL", "BSYNC", "BREAK", "KILL"];
    let begins = format!(".text.{kernel}:");
    let lines = listing.lines().map(str::trim).skip_while(|line| *line != begins).skip(1);
    let mut blocks = vec![(0_u32, 0_u32)];
    for line in lines.take_while(|line| !line.starts_with(".text.")) {
        if line.starts_with(".L_") {
            blocks.push((0, 0));
        }
        let Some((_, instruction)) = line.split_once("*/").filter(|_| line.starts_with("/*")) else { continue };
        let mut words = instruction.split_whitespace().skip_while(|word| word.starts_with('@'));
        let opcode = words.next().and_then(|word| word.split(['.', ';']).next()).unwrap_or_default();
        let (fma, others) = blocks.last_mut().expect("it begins with one");
        match opcode {
            "FFMA" => *fma += 1,
            "" | "NOP" => {}
            opcode if accesses(opcode) => {}
            _ => *others += 1,
        }
        if JUMPS.contains(&opcode) {
            blocks.push((0, 0));
        }
    }
    let with_some = blocks.into_iter().filter(|&(fma, _)| fma > 0);
    let densest = with_some.reduce(|one, other| {
        let products = [other.1 * one.0, one.1 * other.0];
        if products[0] < products[1] { other } else { one }
    });
    densest.unwrap_or_default()
}

/// Whether an instruction may be one that the simulator counts as a memory access.
fn accesses(opcode: &str) -> bool {
    let memory = ["LD", "ST", "ATOM", "RED"].iter().any(|start| opcode.starts_with(start));
    memory && !["LDC", "LDCU", "REDUX"].contains(&opcode)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTING: &str = include_str!("../../tests/listing.txt");

    #[test]
    fn the_densest_basic_block_counts() {
        // After the loop there is one other instruction per multiply-add; in the loop there are two for three.
        assert_eq!(densest(LISTING, "matmul"), (3, 2));
        assert_eq!(densest(LISTING, "other"), (1, 0));
        assert_eq!(densest(LISTING, "none"), (0, 0));
    }

    #[test]
    fn registers_are_read_from_the_log() {
        let log = "ptxas info    : Compiling entry function 'matmul' for 'sm_90'\nptxas info    : Used 40 registers, 1 barriers\n";
        assert_eq!(registers(log).unwrap(), [("matmul".to_owned(), 40)]);
        assert!(registers(&log.replace("40", "forty")).is_err());
    }
}
