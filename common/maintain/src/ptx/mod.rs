//! `cargo x ptx`: the committed PTX, regenerated with the pinned NVRTC or compared with what the sources give.

mod registers;

use std::collections::BTreeSet;
use std::fs;

use anyhow::{Result, ensure};
use common::code::{Registers, Source};
use common::describe::Request;
use common::nvrtc::{self, PINNED_PACKAGE};
use common::{json, output, workspace};
use course::{files, steps};

/// Options of `cargo x ptx`.
#[derive(clap::Args)]
pub struct Options {
    /// Change nothing; exit with 1 if a file is missing, left over or not what its source gives
    #[arg(long)]
    check: bool,
    /// Only these steps (by the start of their names)
    steps: Vec<String>,
}

impl Options {
    /// All steps, checked.
    pub fn check() -> Self {
        Self { check: true, steps: Vec::new() }
    }
}

/// The version of NVRTC whose PTX every driver since 2023 loads (PTX 8.1).
const PINNED: (u32, u32) = (12, 1);

/// Runs the command; `false` if the check fails.
pub fn run(options: &Options) -> Result<bool> {
    let nvrtc = nvrtc::find()?;
    let (major, minor) = nvrtc.version;
    ensure!(
        nvrtc.version == PINNED,
        "{} is NVRTC {major}.{minor}, and the committed PTX is made by {}.{}; pip install {PINNED_PACKAGE} into .venv",
        nvrtc.path.display(),
        PINNED.0,
        PINNED.1
    );
    let ptxas = registers::assembler(nvrtc);
    let mut text = String::new();
    let (mut count, mut stale) = (0, 0);
    for step in steps::find()? {
        if !options.steps.is_empty() && !options.steps.iter().any(|name| step.name.starts_with(name.as_str())) {
            continue;
        }
        let folder = step.path.join("ptx");
        let mut kept = BTreeSet::new();
        let known = Registers::read(&folder);
        let mut counted = Registers::default();
        for (path, specialisations) in step.describe(&Request::default())?.sources {
            let source = Source::read(&step.path.join(&path))?;
            for specialisation in &specialisations {
                let name = source.committed_name(specialisation);
                let file = folder.join(&name);
                let fresh = source.compile_to_commit(specialisation, nvrtc)?;
                count += 1;
                // Git may have changed the line endings.
                let committed = fs::read_to_string(&file).unwrap_or_default().replace("\r\n", "\n");
                if committed != fresh {
                    stale += 1;
                    let word = if options.check { "stale:" } else { "made" };
                    text += &format!("{word} {}\n", workspace::display(&file));
                    if !options.check {
                        files::write(&file, &fresh)?;
                    }
                }
                kept.insert(name);
                if let (Some(ptxas), false) = (&ptxas, options.check && committed != fresh) {
                    registers::add(&mut counted, &known, &file, &fresh, ptxas)?;
                }
            }
        }
        if ptxas.is_some() && counted != known {
            stale += 1;
            let file = folder.join(Registers::FILE);
            text += &format!("{} {}\n", if options.check { "stale:" } else { "made" }, workspace::display(&file));
            if !options.check {
                files::write(&file, &json::lines(&counted, 2)?)?;
            }
        }
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if entry.path().extension().is_some_and(|extension| extension == "ptx") && !kept.contains(&name) {
                stale += 1;
                let what = if options.check { "left over:" } else { "removed" };
                text += &format!("{what} {}\n", workspace::display(&entry.path()));
                if !options.check {
                    fs::remove_file(entry.path())?;
                }
            }
        }
    }
    let verdict = match (options.check, stale) {
        (true, 0) => "all fresh".to_owned(),
        (true, stale) => format!("{stale} stale; regenerate them with cargo x ptx"),
        (false, stale) => format!("{stale} changed"),
    };
    let uncounted = match ptxas {
        Some(_) => String::new(),
        None => format!("; registers were not counted; to count them, pip install {}", registers::PACKAGE),
    };
    output::print(&format!("{text}{count} PTX files, {verdict}{uncounted}\n"))?;
    Ok(!options.check || stale == 0)
}
