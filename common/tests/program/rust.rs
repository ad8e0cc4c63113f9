//! Kernels in Rust: mistakes in them are shown in the lines of their source, with remedies in Rust.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use common::code::find_rustc;
use libtest_mimic::Trial;

use super::{folder, needing, program, root, trial};

pub fn trials() -> Vec<Trial> {
    let compiles = [
        trial("rust::one_of_your_own_is_right_at_any_shape", one_of_your_own_is_right_at_any_shape),
        trial("rust::what_does_not_compile_is_shown_as_rustc_shows_it", what_does_not_compile_is_shown),
    ];
    let mut trials = needing("rustc for GPUs", find_rustc().map(drop), compiles);
    trials.push(trial("rust::a_missing_barrier_or_wait_is_shown_in_rust", a_missing_barrier_or_wait_is_shown));
    trials
}

/// What the program prints about a file, on both outputs, and its exit status.
fn says(file: &Path, arguments: &[&str]) -> Result<(String, Option<i32>)> {
    let output = program().args(["--device", "sim", "--check", "--kernel"]).arg(file).args(arguments).output();
    let output = output.context("the program does not start")?;
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    Ok((text, output.status.code()))
}

/// Runs the committed PTX without its first barrier, or its last wait, beside the source that it names.
fn a_missing_barrier_or_wait_is_shown() -> Result<()> {
    let tiled =
        ["data race", "writes As", "As.store(y, x, ", "reads As", "As.load(y, k)", "a sync_threads() that all threads"];
    let prefetch = ["has landed", "copies to it", "As.copy::<1>(", "reads As", "As.load4(", "has waited for it"];
    let launch = ["--size", "17x33x70", "--block", "32,1", "--tile", "32,16"];
    for (step, form, instruction, launch, words) in [
        ("step04_tiled", "f32.sm75", "bar.sync", &["--size", "65x67x33"][..], tiled),
        ("step06_prefetch", "f32-16x32v1.sm80", "cp.async.wait", &launch, prefetch),
    ] {
        let (folder, step) = (folder(&format!("rust_{step}"))?, root().join(step));
        let ptx = fs::read_to_string(step.join(format!("ptx/kernel_rust-{form}.ptx")))?;
        let at = if instruction == "bar.sync" { ptx.find(instruction) } else { ptx.rfind(instruction) };
        let (before, after) = ptx.split_at(at.with_context(|| format!("no {instruction} in the PTX"))?);
        let (after, _) = after.rsplit_once("\t.file").context("the PTX names its source")?;
        fs::copy(step.join("kernel.rs"), folder.join("kernel.rs"))?;
        let file = folder.join("faulty.ptx");
        fs::write(&file, format!("{before}// {after}\t.file\t1 \"kernel.rs\"\n"))?;
        let (text, status) = says(&file, launch)?;
        ensure!(status == Some(1) && !text.contains("__syncthreads"), "{text}");
        for words in words {
            ensure!(text.contains(words), "{words} is missing: {text}");
        }
    }
    Ok(())
}

fn one_of_your_own_is_right_at_any_shape() -> Result<()> {
    let file = folder("rust_own")?.join("mine.rs");
    let text = fs::read_to_string(root().join("step04_tiled/kernel.rs"))?;
    // A constant in the file takes the place of the host's.
    let own = text.replace("use host::*;", "use host::*;\n// launch: block 16,16 tile 16,16\nconst TILE: u32 = 16;");
    fs::write(&file, own)?;
    for size in ["1", "17x33x70", "64"] {
        for dtype in ["f32", "i32"] {
            let (text, status) = says(&file, &["--size", size, "--dtype", dtype, "--verbose"])?;
            let shown = ["compiled by rustc", "hazards    none"].iter().all(|words| text.contains(words));
            ensure!(status == Some(0) && shown, "{text}");
        }
    }
    fs::write(&file, text.replace("        sync_threads();\n        k0", "        k0") + "const TILE: u32 = 32;\n")?;
    let (text, status) = says(&file, &["--size", "65x67x70"])?;
    ensure!(status == Some(1) && text.contains("thread (1,0) of block (0,0) reads"), "{text}");
    // The book shows this report; its lines must be the same, except the name of the file.
    let page = fs::read_to_string(root().join("docs/src/rust-kernels.md"))?;
    let (_, rest) = page.split_once("```text\nerror: data race").context("the page shows no race")?;
    let (shown, _) = rest.split_once("\n```").context("the listing does not end")?;
    for line in shown.lines().filter(|line| !line.starts_with("  -->")) {
        ensure!(text.contains(line), "the page shows {line:?}, and the program says {text}");
    }
    Ok(())
}

fn what_does_not_compile_is_shown() -> Result<()> {
    let file = folder("rust_wrong")?.join("mine.rs");
    let text = fs::read_to_string(root().join("step04_tiled/kernel.rs"))?;
    let endless = "use host::*;\nconst X: u32 = { let mut i = 0; while i < 9 { i %= 7; } i };\nstatic Y: u32 = X;";
    for (right, wrong, words) in [
        ("As.load(y, k)", "As.load(y)", ["mine.rs:40:26", "argument #2 of type `u32` is missing"]),
        ("use host::*;", "use std::fs;", ["mine.rs:5:5", "unresolved import"]),
        ("// One block", "#![feature(no_core)]\n// One block", ["mine.rs:1:12", "not in the list of allowed features"]),
        ("use host::*;", "mod other;\nuse host::*;", ["mine.rs:5:1", "file not found"]),
        ("use host::*;", endless, ["mine.rs", "long time"]),
        ("k0 += TILE;", "k0 += TILE / (N - M);", ["calls ", "divide by constants"]),
    ] {
        fs::write(&file, text.replace(right, wrong))?;
        let (text, status) = says(&file, &["--size", "32"])?;
        ensure!(status == Some(2) && words.iter().all(|word| text.contains(word)), "{words:?}: {text}");
        ensure!(!text.contains("kernel.rs") && !text.contains("/.tmp"), "{text}");
    }
    Ok(())
}
