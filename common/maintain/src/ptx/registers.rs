//! Registers of the committed PTX, as `ptxas` counts them: a GPU's driver would know, the simulator cannot.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use common::code::{self, Registers};
use common::nvrtc::Nvrtc;

/// The architecture that the simulated device stands for; with an `a` behind it for the instructions that no other has.
const ARCHITECTURE: &str = "sm_90";
/// The assembler's pip package, of the version that goes with the pinned NVRTC.
pub const PACKAGE: &str = "nvidia-cuda-nvcc-cu12==12.1.105";

/// The `ptxas` that pip put beside NVRTC, if there is one.
pub fn assembler(nvrtc: &Nvrtc) -> Option<PathBuf> {
    let wheels = nvrtc.path.ancestors().find(|folder| folder.file_name().is_some_and(|name| name == "nvidia"))?;
    let path = wheels.join("cuda_nvcc/bin").join(format!("ptxas{}", std::env::consts::EXE_SUFFIX));
    path.is_file().then_some(path)
}

/// Adds the registers of a PTX file, which `known` may hold already.
pub fn add(registers: &mut Registers, known: &Registers, file: &Path, ptx: &str, ptxas: &Path) -> Result<()> {
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let hash = code::hash(ptx);
    registers.architecture = ARCHITECTURE.into();
    registers.ptxas = PACKAGE.into();
    let same = known.files.get(&name).filter(|(of, _)| *of == hash && known.ptxas == registers.ptxas);
    let counts = match same {
        Some((_, counts)) => counts.clone(),
        None => count(file, ptx, ptxas)?,
    };
    registers.files.insert(name, (hash, counts));
    Ok(())
}

fn count(file: &Path, ptx: &str, ptxas: &Path) -> Result<BTreeMap<String, u32>> {
    let suffix = if ptx.contains("\n.target sm_90a") { "a" } else { "" };
    let output = Command::new(ptxas)
        .args(["--verbose", "--gpu-name", &format!("{ARCHITECTURE}{suffix}"), "--output-file"])
        .arg(if cfg!(windows) { "NUL" } else { "/dev/null" })
        .arg(file)
        .output()
        .with_context(|| format!("{} does not start; install it again with pip install {PACKAGE}", ptxas.display()))?;
    let log = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "ptxas rejects {}; correct the kernel: {}", file.display(), log.trim());
    // "Compiling entry function 'matmul' for 'sm_90'", and some lines on "Used 40 registers, ...".
    let mut counts = BTreeMap::new();
    let mut entry = None;
    for line in log.lines() {
        if let Some((_, rest)) = line.split_once("Compiling entry function '") {
            entry = rest.split('\'').next().map(str::to_owned);
        }
        if let (Some(name), Some((_, rest))) = (&entry, line.split_once("Used ")) {
            let registers = rest.split(' ').next().and_then(|number| number.parse().ok());
            counts
                .insert(name.clone(), registers.context("ptxas does not say it as expected; use the pinned version")?);
        }
    }
    Ok(counts)
}
