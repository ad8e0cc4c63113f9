//! The lab of host programs: its answer passes, each program that lacks an idea or is wrong fails at its line, and a class's programs run only
//! if the teacher says so. All are built in one folder and run on the stand-in that was built with this test.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use libtest_mimic::Trial;

use super::labs::{first_failed, is_refusal, root};
use super::mistakes::{self, Mistake};
use super::support::{self, Said, mine, needs_nvrtc, trial, unbroken};

pub fn trials() -> Vec<Trial> {
    let mut trials = vec![
        trial("host::the_answer_passes_and_the_start_does_not", answer),
        trial("host::programs_of_a_class_run_only_if_the_teacher_says_so", class),
        trial("host::transfer_tasks_are_drawn_and_graded", transfer),
    ];
    let wrong = mistakes::of_hosts();
    assert!(wrong.len() >= 28, "{} wrong programs", wrong.len());
    trials.extend(wrong.into_iter().map(|wrong| trial(format!("slow::host::{}", wrong.name), move || fails(&wrong))));
    // The stand-in is found by its name on Linux alone.
    let here = |test: Trial| if cfg!(target_os = "linux") { test } else { test.with_ignored_flag(true) };
    trials.into_iter().map(needs_nvrtc).map(here).collect()
}

fn course(arguments: &[&str], folder: &Path) -> Result<Said> {
    let library = std::env::current_exe()?.with_file_name(format!("{DLL_PREFIX}simt_driver{DLL_SUFFIX}"));
    support::course(arguments, &[("SIMT_LIBRARY", &library), (course::mine::VARIABLE, folder)], "")
}

fn grade(lab: &str, program: &Path) -> Result<(String, Option<i32>)> {
    let said =
        course(&["lab", lab, "--seed", "7", "--kernel", &program.display().to_string()], Path::new("no/folder"))?;
    Ok((said.text(), said.status))
}

fn file(name: &str) -> PathBuf {
    root().join("common/course/host").join(name)
}

fn answer() -> Result<()> {
    let (text, status) = grade("host", &file("answer.rs"))?;
    ensure!(status == Some(0) && text.contains("lab host is done") && !text.contains("FAILED"), "{text}");
    let folder = mine("host")?;
    let begun = course(&["lab", "host"], &folder)?;
    ensure!(begun.status == Some(0) && folder.join("host/kernel.cu").is_file(), "{}", begun.text());
    let said = course(&["lab", "host"], &folder)?;
    ensure!(said.status == Some(1) && said.out.contains("multiply is not written yet"), "{}", said.text());
    Ok(())
}

fn fails(wrong: &Mistake) -> Result<()> {
    let (text, status) = grade("host", &wrong.kernel(&format!("host_{}", wrong.name))?)?;
    let failed = first_failed(&text).unwrap_or_default();
    ensure!(status == Some(1) && failed.starts_with(&wrong.kind), "{:?} should fail: {text}", wrong.kind);
    let next = text.split_once("look at this next:").map_or("", |(_, next)| next);
    ensure!(unbroken(next).contains(&wrong.words), "{:?} is not in: {next}", wrong.words);
    Ok(())
}

fn class() -> Result<()> {
    let folder = mine("host_class")?;
    std::fs::create_dir_all(folder.join("bob/host/src"))?;
    std::fs::copy(file("start.rs"), folder.join("ada_host.rs"))?;
    std::fs::copy(file("answer.rs"), folder.join("bob/host/src/main.rs"))?;
    std::fs::copy(file("kernel.cu"), folder.join("bob/host/kernel.cu"))?;
    let place = folder.display().to_string();
    let refused = course(&["grade", &place], &folder)?;
    is_refusal(&refused.err, refused.status)?;
    ensure!(refused.err.contains("--run-programs"), "{}", refused.err);
    let said = course(&["grade", &place, "--run-programs", "--seed", "7"], &folder)?;
    let row = |who: &str| said.out.lines().find(|line| line.starts_with(who)).map(unbroken).context(said.out.clone());
    ensure!(
        row("bob")?.contains("4/4") && row("ada")?.contains("0 of") && said.out.contains("2 kernels"),
        "{}",
        said.text()
    );
    Ok(())
}

/// Seeds of both kinds of tasks, each with the body that solves it.
const TRANSFER: &str = include_str!("mistakes/host_transfer.txt");

fn transfer() -> Result<()> {
    let folder = mine("host_transfer")?;
    for part in TRANSFER.split("\n@ ").skip(1) {
        let (lab, body) = part.split_once('\n').unwrap_or_default();
        let begun = course(&["lab", lab], &folder)?;
        ensure!(begun.status == Some(0), "{}", begun.text());
        let main = folder.join(lab).join("src/main.rs");
        let start = std::fs::read_to_string(&main)?;
        let said = course(&["lab", lab, "--seed", "7"], &folder)?;
        ensure!(said.status == Some(1) && said.out.contains("solve is not written yet"), "{}", said.text());
        let empty = "    let _ = (a, b, m, n, k, x);\n    Err(\"solve is not written yet\".into())\n";
        ensure!(start.contains(empty), "{start}");
        std::fs::write(&main, start.replace(empty, body))?;
        let said = course(&["lab", lab, "--seed", "7"], &folder)?;
        ensure!(said.status == Some(0) && said.out.contains("is done"), "{}", said.text());
    }
    Ok(())
}
