//! What learners see, held by files: `outputs/*.trycmd` are commands and what they print.
//!
//! After a change on purpose, `TRYCMD=overwrite cargo test -p course outputs` writes them again; read the
//! difference before it is committed.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use common::basics::workspace;
use course::files::below;
use libtest_mimic::Trial;
use trycmd::TestCases;

use super::support::{self, PROGRAM, course, trial};

pub fn trials() -> Vec<Trial> {
    let labs = LABS.iter().map(|&(name, kernels)| {
        // Tensor cores are simulated for half a minute.
        let prefix = if name == "smaller" { "slow::" } else { "" };
        trial(format!("{prefix}outputs::lab_{name}"), move || lab(name, kernels))
    });
    let mut trials: Vec<_> = labs.map(support::needs_nvrtc).collect();
    for name in ["standing", "help", "diff", "compare", "doctor", "errors", "hints", "grade"] {
        trials.push(trial(format!("outputs::{name}"), move || outputs(name)));
    }
    trials
}

/// Runs the commands of a file, with a folder for the learner's files. A difference is a panic, which the harness shows.
fn run(file: &str, folder: &Path) -> Result<()> {
    let cases = TestCases::new();
    cases
        .register_bin("course", Path::new(PROGRAM))
        .insert_var("[MINE]", workspace::display(folder))
        .context("the name of a folder cannot be elided")?
        .env(course::mine::VARIABLE, folder.display().to_string())
        // Neither the width of a terminal nor what it can show may change what is compared, nor the length of a folder's name.
        .env("COLUMNS", "1000")
        .env("NO_COLOR", "1")
        .env("CLICOLOR_FORCE", "0");
    cases.case(Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/outputs/{file}.trycmd"))).run();
    Ok(())
}

fn outputs(name: &str) -> Result<()> {
    let folder = support::mine(&format!("outputs-{name}"))?;
    if name == "errors" {
        // A file as the folder for the learner's files.
        std::fs::remove_dir(&folder)?;
        std::fs::write(&folder, "")?;
    }
    run(name, &folder)
}

/// Labs, each with the learner's file, and the kernels of the course that are written into it one after the other; what comes first
/// and what follows each is in `lab/NAME.trycmd`, `lab/NAME1.trycmd` and so on.
const LABS: &[(&str, &[(&str, &str)])] = &[
    ("graded", &[]),
    (
        "begun",
        &[("step02.cu", "step02_gpu_naive/kernel.cu"), ("step02.cu", "step02_gpu_naive/variants/uncoalesced.cu")],
    ),
    ("gained", &[("step04.cu", "step04_tiled/rungs/1_multiples.cu"), ("step04.cu", "step04_tiled/kernel.cu")]),
    (
        "smaller",
        &[
            ("tensor_cores.cu", "step06_prefetch/beyond/lab/tensor_cores/1_three_products.cu"),
            ("tensor_cores.cu", "step06_prefetch/beyond/lab/tensor_cores/2_short_sums.cu"),
        ],
    ),
];

fn lab(name: &str, kernels: &[(&str, &str)]) -> Result<()> {
    let folder = support::mine(&format!("outputs-{name}"))?;
    run(&format!("lab/{name}"), &folder)?;
    for (number, (file, kernel)) in (1..).zip(kernels) {
        std::fs::copy(workspace::root().join(kernel), folder.join(file))?;
        run(&format!("lab/{name}{number}"), &folder)?;
    }
    // What passed a task was kept as it was.
    for kept in below(&folder, "cu").iter().filter(|file| file.to_string_lossy().contains(".task")) {
        let is_same = |(_, kernel): &(&str, &str)| {
            let said = course(&["diff", &kept.to_string_lossy(), kernel], &[], "");
            said.is_ok_and(|said| said.out.contains("\n0 lines gone, 0 lines new\n"))
        };
        ensure!(kernels.iter().any(is_same), "{} is none of the kernels", kept.display());
    }
    Ok(())
}
