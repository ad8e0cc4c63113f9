//! `cargo x ptx`: regenerates the committed PTX with the pinned NVRTC, or compares it with what the sources give.

mod assembled;

use std::hint::black_box;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
use beyond::{STEP, several};
use common::basics::{json, output, packed, workspace};
use common::code::assembled::Assembled;
use common::code::{Source, file_of, find_nvrtc, find_rustc, folder_of};
use compile::nvrtc::PINNED_PACKAGE;
use course::steps::STEPS;
use plan::{Specialisation, Step, Variant};

use crate::generated::Generated;
use assembled::{PACKAGES, Tools};

#[derive(clap::Args)]
pub struct Options {
    /// Change nothing; exit with 1 if a file is missing, left over or not what its source gives
    #[arg(long)]
    pub check: bool,
    /// Only these steps (by the start of their names)
    pub steps: Vec<String>,
}

/// The version of NVRTC whose PTX (8.1) every driver since 2023 loads.
const PINNED: (u32, u32) = (12, 1);

/// Kernels with the specialisations for which PTX is committed.
type Sources = Vec<(Source, Vec<Specialisation>)>;

fn of<'a>(step: &Step, variants: impl Iterator<Item = Option<&'a Variant>>) -> Result<Sources> {
    variants.map(|variant| Ok((Source::read(&file_of(step, variant))?, step.committed_of(variant)))).collect()
}

/// Runs the command. Returns `false` if the check fails.
pub fn run(options: &Options) -> Result<bool> {
    let nvrtc = find_nvrtc()?;
    let (path, name, (major, minor)) = (nvrtc.path.display(), nvrtc.name(), PINNED);
    let install = format!("pip install {PINNED_PACKAGE} into .venv");
    ensure!(nvrtc.version == PINNED, "{path} is {name}, and the committed PTX is made by {major}.{minor}; {install}");
    let tools = Tools::beside(nvrtc);
    let mut generated = Generated::new(options.check);
    let mut folders: Vec<(PathBuf, Sources, bool)> = Vec::new();
    let wanted =
        |step: &str| options.steps.is_empty() || options.steps.iter().any(|name| step.starts_with(name.as_str()));
    if wanted("beyond") {
        // What learners do not read is packed.
        folders.push((several::folder("ptx"), of(&STEP, STEP.variants.iter().map(Some))?, true));
        folders.push((several::folder("several/ptx"), several::sources()?, true));
    }
    for step in STEPS.iter().filter(|step| wanted(step.name)) {
        let variants = std::iter::once(None).chain(step.variants.iter().map(Some));
        folders.push((folder_of(step).join("ptx"), of(step, variants)?, false));
    }
    for (folder, sources, is_packed) in folders {
        let known = Assembled::read(&folder);
        let mut made = Assembled::default();
        for (source, specialisations) in sources {
            for specialisation in &specialisations {
                let name = source.committed_name(specialisation);
                let file = folder.join(&name);
                let file = if is_packed { packed::packed(&file) } else { file };
                let fresh = if source.is_rust() {
                    compile_rust(&source, specialisation, &file, options.check)?
                } else {
                    compile(&source, specialisation, &file)?
                };
                if generated.file(&file, &fresh)?
                    && let Some(tools) = &tools
                {
                    tools.add(&mut made, &known, name, &fresh)?;
                }
            }
        }
        if tools.is_some() && made != known {
            generated.file(&folder.join(Assembled::FILE), &json::lines(&made, 2)?)?;
        }
        generated.left_over(&folder)?;
    }
    let install = || format!("; nothing was assembled; to do that as well, pip install {}", PACKAGES.join(" "));
    let missing = if tools.is_some() { String::new() } else { install() };
    let verdict = generated.verdict("files of PTX and what is assembled of it", "ptx");
    output::print(&format!("{}{verdict}{missing}\n", generated.text))?;
    Ok(generated.ok())
}

/// The PTX of a kernel: the committed text, if it is one of those that the compiler gives.
///
/// NVRTC 12.1 visits some sets in the order of their addresses, so it sometimes gives different PTX for the same large kernel (in 1
/// process of 15 for `every_shape`'s largest tiles). It is called again with the heap moved, unless the source or its constants
/// differ.
fn compile(source: &Source, specialisation: &Specialisation, file: &Path) -> Result<String> {
    const ATTEMPTS: usize = 8;
    const HEADER_LINES: usize = 3;
    let fresh = source.compile_to_commit(specialisation)?;
    let committed = packed::read(file).unwrap_or_default().replace("\r\n", "\n");
    if committed == fresh || !committed.lines().take(HEADER_LINES).eq(fresh.lines().take(HEADER_LINES)) {
        return Ok(fresh);
    }
    let mut moved: Vec<Vec<u8>> = Vec::new();
    for attempt in 1..=ATTEMPTS {
        moved.extend((0..100 * attempt).map(|block| black_box(vec![0; 16 + 37 * block])));
        if source.compile_to_commit(specialisation)? == committed {
            return Ok(committed);
        }
    }
    Ok(fresh)
}

/// The PTX of a kernel in Rust. Compilers differ, so a check only requires that the committed PTX was made from this source with
/// these constants. The same holds if rustc has no core library for GPUs.
fn compile_rust(source: &Source, specialisation: &Specialisation, file: &Path, check: bool) -> Result<String> {
    let committed = packed::read(file).unwrap_or_default().replace("\r\n", "\n");
    match find_rustc() {
        Ok(_) if !check => source.compile_to_commit(specialisation),
        _ if source.gave(specialisation, &committed) => Ok(committed),
        Err(error) => bail!("{} is stale, and {error}", workspace::display(file)),
        Ok(_) => bail!("{} is stale; regenerate it with cargo x ptx", workspace::display(file)),
    }
}
