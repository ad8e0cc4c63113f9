//! The grading of the labs: each task's answer passes it and fails the next, each start fails what it should, and plausible
//! wrong answers fail at the right line with the right words.
//!
//! A wrong answer is a kernel of the course with a piece of text replaced, so that it follows the kernel when that changes: see
//! `mistakes`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
pub use common::basics::workspace::root;
use libtest_mimic::Trial;

use super::mistakes::{self, Mistake};
use super::right;
use super::support::{self, PROGRAM, STEP, course, mine, trial, unbroken};

pub fn trials() -> Vec<Trial> {
    let answers = mistakes::answers();
    let mut trials: Vec<Trial> = Vec::new();
    for (at, case) in answers.iter().enumerate() {
        // One answer of each lab is quick enough for everybody, if no tensor cores are simulated; hundreds of kernels take minutes.
        let slow = answers.get(at + 1).is_none_or(|next| next.lab == case.lab);
        let name = format!("{}_{}::{}", case.lab, case.name, stem(&case.kernel));
        let case = case.clone();
        trials.push(trial(format!("{}answer::{name}", if slow { "slow::" } else { "" }), move || answer(&name, &case)));
    }
    trials.extend(mistakes::trials());
    trials.extend(right::trials());
    trials.extend(mistakes::lines());
    trials.extend([
        trial("the_command_of_a_failure_shows_the_same", || shows_why(&SHOWN[..4])),
        trial("slow::the_command_of_a_failure_beyond_the_course_shows_the_same", || shows_why(&SHOWN[4..])),
        trial("a_screen_is_cleared_only_if_there_is_one", watched),
    ]);
    let mut trials: Vec<Trial> = trials.into_iter().map(support::needs_nvrtc).collect();
    trials.extend([
        trial("a_copy_is_made_once_and_never_overwritten", copies),
        trial("without_nvrtc_one_sentence_says_how_to_get_it", no_nvrtc),
    ]);
    trials
}

pub fn stem(kernel: &str) -> &str {
    kernel.rsplit('/').next().unwrap_or(kernel).trim_end_matches(".cu")
}

/// Writes a kernel into cargo's folder for tests.
pub fn write(name: &str, source: &str) -> Result<PathBuf> {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.cu"));
    std::fs::write(&path, source)?;
    Ok(path)
}

/// What the grader says of a kernel, and the exit status.
pub fn grade(lab: &str, kernel: &Path) -> Result<(String, Option<i32>)> {
    let said = course(&["lab", lab, "--seed", "7", "--no-trial", "--kernel", &kernel.display().to_string()], &[], "")?;
    Ok((said.text(), said.status))
}

/// An answer passes its tasks, and fails the task after them for the right reason.
fn answer(name: &str, case: &Mistake) -> Result<()> {
    let (text, status) = grade(&case.lab, &case.kernel(&format!("answer_{}", name.replace("::", "_")))?)?;
    let passed = text.lines().filter(|line| line.starts_with("  passed       task ")).count();
    ensure!(passed.to_string() == case.name, "{passed} tasks have passed and {} should: {text}", case.name);
    let (done, failed) = (case.kind.is_empty(), first_failed(&text));
    let as_said = failed.is_none() == done && failed.unwrap_or_default().starts_with(&case.kind);
    ensure!(as_said, "{} should fail: {text}", case.kind);
    // An open challenge may be left.
    ensure!(status == Some(i32::from(!done && !text.contains("an open challenge"))), "status {status:?}: {text}");
    let to_compare = !case.kernel.contains("challenges");
    ensure!(!done || text.contains("\n  cargo course diff ") == to_compare, "{text}");
    Ok(())
}

pub fn first_failed(text: &str) -> Option<&str> {
    text.lines().find_map(|line| line.trim_start().strip_prefix("FAILED")).map(str::trim_start)
}

/// A lab, the package of its step, a kernel that fails it (one of the mistakes, or a file), and what its command must show.
const SHOWN: [[&str; 4]; 5] = [
    ["5", "step05_thread_tile", "column_without_barrier", "race"],
    ["5", "step05_thread_tile", "step05_thread_tile/lab/start.cu", "shared_load_requests"],
    ["2", "step02_gpu_naive", "never_ends", "does a loop never end"],
    ["2", "step02_gpu_naive", "transposed_output", "sum stored in another element"],
    ["tensor_cores", "beyond", "not_published", "without a proxy fence"],
];

/// The command that a failed lab prints runs, launches the kernel as the lab does, and shows the same failure.
fn shows_why(cases: &[[&str; 4]]) -> Result<()> {
    for &[lab, step, kernel, shown] in cases {
        let kernel = if kernel.contains('/') { root().join(kernel) } else { mistakes::kernel(kernel)? };
        let (text, _) = grade(lab, &kernel)?;
        let prefix = format!("  cargo run --release -p {step} -- ");
        let command = text.lines().find_map(|line| line.strip_prefix(&prefix)).context(text.clone())?;
        let (printed, _) = run_step(step, &command.split(' ').collect::<Vec<_>>())?;
        ensure!(unbroken(&printed).contains(shown), "{shown:?} is not in what {command} prints: {printed}");
        ensure!(!printed.contains("out of bounds"), "the launch is not that of the lab: {printed}");
    }
    Ok(())
}

/// Runs a step's program, which this one is, too.
pub fn run_step(step: &str, arguments: &[&str]) -> Result<(String, Option<i32>)> {
    let said = support::said(Command::new(std::env::current_exe()?).args(arguments).env(STEP, step), "")?;
    Ok((said.text(), said.status))
}

/// `--watch` into a file: a grading at each save, and no command to a terminal in it.
fn watched() -> Result<()> {
    let folder = mine("watched")?;
    let copy = folder.join("step01.cu");
    std::fs::copy(root().join("step01_cpu_naive/lab/start.cu"), &copy)?;
    let output = folder.join("output.txt");
    let mut command = Command::new(PROGRAM);
    command.args(["lab", "1", "--watch"]).env(course::mine::VARIABLE, &folder).env("COLUMNS", "1000");
    let mut child = command.stdout(std::fs::File::create(&output)?).stderr(Stdio::null()).spawn()?;
    let printed = |words: &str| -> Result<String> {
        for _ in 0..600 {
            let text = std::fs::read_to_string(&output)?;
            if text.contains(words) {
                return Ok(text);
            }
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        anyhow::bail!("{words:?} was never printed")
    };
    let watched = (|| {
        printed("waiting until")?;
        std::fs::copy(root().join("step01_cpu_naive/kernel.cu"), &copy)?;
        printed("tasks 1 and 2 have passed")
    })();
    child.kill()?;
    child.wait()?;
    let text = watched?;
    ensure!(!text.contains('\u{1b}'), "{text:?}");
    Ok(())
}

/// One sentence, and the exit status that goes with it.
pub fn is_refusal(text: &str, status: Option<i32>) -> Result<()> {
    ensure!(status == Some(2), "status {status:?}: {text}");
    ensure!(text.starts_with("error: ") && text.trim_end().lines().count() == 1, "{text}");
    Ok(())
}

fn copies() -> Result<()> {
    let folder = mine("copies")?;
    let (copy, kept) = (folder.join("step04.cu"), folder.join("step04.1.cu"));
    let start = std::fs::read_to_string(root().join("step04_tiled/lab/start.cu"))?;
    let course = |arguments: &[&str], answer: &str| {
        course(arguments, &[(course::mine::VARIABLE, &folder)], answer).map(|said| (said.text(), said.status))
    };
    let (text, status) = course(&["lab", "4"], "")?;
    ensure!(status == Some(0) && std::fs::read_to_string(&copy)? == start, "{text}");
    ensure!(text.contains("cargo course lab 4 --watch") && text.contains("task 1 of 2: tiles"), "{text}");
    std::fs::write(&copy, "// mine")?;
    for answer in ["n\n", "", "what\n"] {
        let (text, status) = course(&["lab", "4", "--restart"], answer)?;
        ensure!(status == Some(0) && text.contains("nothing was changed"), "{text}");
        ensure!(std::fs::read_to_string(&copy)? == "// mine" && !kept.exists(), "{text}");
    }
    let (text, status) = course(&["lab", "4", "--restart"], "y\n")?;
    ensure!(status == Some(0) && std::fs::read_to_string(&copy)? == start, "{text}");
    ensure!(std::fs::read_to_string(&kept)? == "// mine", "{text}");
    let (text, _) = course(&[], "")?;
    ensure!(text.contains("go on with cargo course lab 4"), "{text}");
    ensure!(text.contains("step04.cu"), "{text}");
    Ok(())
}

fn no_nvrtc() -> Result<()> {
    let kernel = root().join("step02_gpu_naive/kernel.cu").display().to_string();
    let (folder, nowhere) = (mine("no_nvrtc")?, Path::new("no/such/folder"));
    let no_library = [("NVRTC_PATH", folder.as_path())];
    let no_room = [("TMPDIR", nowhere), ("TMP", nowhere)];
    for variables in [&no_library[..], &no_room] {
        let said = course(&["lab", "2", "--kernel", &kernel], variables, "")?;
        is_refusal(&said.err, said.status)?;
        ensure!(said.err.contains("NVRTC"), "{}", said.err);
    }
    Ok(())
}
