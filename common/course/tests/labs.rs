//! The grading of the labs: each task's answer passes it and fails the next, each start fails what it should, and plausible
//! wrong answers fail at the right line with the right words.
//!
//! A wrong answer is a kernel of the course with a piece of text replaced, so that it follows the kernel when that changes: see
//! `mistakes`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;

use super::support::{self, PROGRAM, STEP, Said, course, mine, trial};
use super::{mistakes, right};

const NAIVE: &str = "step02_gpu_naive/kernel.cu";
const MULTIPLES: &str = "step04_tiled/rungs/1_multiples.cu";
const TILED: &str = "step04_tiled/kernel.cu";
const PRODUCTS: &str = "step06_prefetch/beyond/lab/tensor_cores/1_three_products.cu";
const SUMS: &str = "step06_prefetch/beyond/lab/tensor_cores/2_short_sums.cu";

/// What a learner writes above a kernel whose launch and constants are not those of the step's own.
const COLUMN_LAUNCH: &str =
    "// launch: block 512,1 tile 64,64\nconstexpr int TILE_M = 64, TILE_N = 64, TILE_K = 32, THREAD_M = 8;\n";
const PREFETCH_LAUNCH: &str = "// launch: block 128,1 tile 128,64\n\
    constexpr int TILE_M = 64, TILE_N = 128, TILE_K = 16, THREAD_M = 8, THREAD_N = 8;\n";

/// The lab, how many of its tasks pass, the kernel, what is above it, and what fails then: nothing if the lab is done.
pub type Answer = (&'static str, usize, &'static str, &'static str, Option<&'static str>);

#[rustfmt::skip] // one answer is read as a line
pub const ANSWERS: &[Answer] = &[
    ("1", 2, "step01_cpu_naive/kernel.cu", "", Some("at most 1.6 loads")),
    ("1", 3, "common/course/tests/challenges/step01.cu", "", None),
    ("2", 2, NAIVE, "", Some("1.3 flop for each global access")),
    ("2", 3, "common/course/tests/challenges/step02.cu", "", None),
    ("3", 2, "step03_single_block/kernel.cu", "", Some("right at 32×32×1000")),
    ("3", 3, "common/course/tests/challenges/step03.cu", "", None),
    ("4", 1, MULTIPLES, "", Some("right at 1×1×1")),
    ("4", 2, TILED, "", None),
    ("5", 1, "step05_thread_tile/rungs/1_column.cu", COLUMN_LAUNCH, Some("at most one shared load for 4")),
    ("5", 2, "step05_thread_tile/rungs/2_tile.cu", "", Some("at most 1.75 instructions")),
    ("5", 3, "step05_thread_tile/rungs/3_pointers.cu", "", Some("at most one shared load for 12")),
    ("5", 4, "step05_thread_tile/rungs/4_wide_loads.cu", "", None),
    ("5", 4, "step05_thread_tile/kernel.cu", "", None),
    ("6", 1, "step06_prefetch/rungs/1_two_buffers.cu", PREFETCH_LAUNCH, Some("elements are copied to shared memory asynchronously")),
    ("6", 2, "step06_prefetch/rungs/2_async_copies.cu", PREFETCH_LAUNCH, None),
    ("6", 2, "step06_prefetch/kernel.cu", PREFETCH_LAUNCH, None),
    ("tensor_cores", 1, PRODUCTS, "", Some("errors of long sums")),
    ("tensor_cores", 2, SUMS, "", Some("elements are copied to shared memory asynchronously")),
    ("tensor_cores", 3, "step06_prefetch/beyond/lab/tensor_cores/3_fast_again.cu", "", None),
];

/// The trials of all labs.
pub fn trials() -> Vec<Trial> {
    // One answer of each lab is quick enough for everybody, if no tensor cores are simulated; hundreds of kernels take minutes.
    let slow = |at: usize| ANSWERS.get(at + 1).is_none_or(|next| next.0 == ANSWERS[at].0);
    let mut trials: Vec<Trial> = Vec::new();
    for (at, case) in ANSWERS.iter().enumerate() {
        let prefix = if slow(at) { "slow::" } else { "" };
        let name = format!("{prefix}answer::{}_{}::{}", case.0, case.1, stem(case.2));
        trials.push(trial(name, || answer(case)));
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
        trial("every_task_has_a_tested_answer", every_answer),
        trial("a_copy_is_made_once_and_never_overwritten", copies),
        trial("without_nvrtc_one_sentence_says_how_to_get_it", no_nvrtc),
        #[cfg(unix)]
        trial("a_full_disk_leaves_no_kernel", full_disk),
    ]);
    trials
}

pub fn root() -> &'static Path {
    common::basics::workspace::root()
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
    let said = course(&["lab", lab, "--seed", "7", "--kernel", &kernel.display().to_string()], &[], "")?;
    Ok((said.text(), said.status))
}

/// Runs the program with a folder for the learner's files.
fn with_mine(folder: &Path, arguments: &[&str], answer: &str) -> Result<(String, Option<i32>)> {
    let said = course(arguments, &[(course::mine::VARIABLE, folder)], answer)?;
    Ok((said.text(), said.status))
}

/// An answer passes its tasks, and fails the task after them for the right reason.
fn answer(&(lab, tasks, kernel, above, fails): &Answer) -> Result<()> {
    let file = root().join(kernel);
    let file = match above {
        "" => file,
        above => write(
            &format!("answer_{lab}_{tasks}_{}", stem(kernel)),
            &(above.to_owned() + &std::fs::read_to_string(file)?),
        )?,
    };
    let (text, status) = grade(lab, &file)?;
    let passed = text.lines().filter(|line| line.starts_with("  passed       task ")).count();
    ensure!(passed == tasks, "{passed} tasks have passed and {tasks} should: {text}");
    let failed = first_failed(&text);
    ensure!(failed.is_some() == fails.is_some(), "{text}");
    ensure!(failed.unwrap_or_default().starts_with(fails.unwrap_or_default()), "{fails:?} should fail: {text}");
    // An open challenge may be left.
    let done = fails.is_none() || text.contains("an open challenge");
    ensure!(status == Some(i32::from(!done)), "status {status:?}: {text}");
    ensure!(fails.is_some() || text.contains("\n  cargo course diff ") != kernel.contains("challenges"), "{text}");
    Ok(())
}

pub fn first_failed(text: &str) -> Option<&str> {
    text.lines().find_map(|line| line.trim_start().strip_prefix("FAILED")).map(str::trim_start)
}

/// Every task of every lab has its answer in the table: the kernel that the lab names is the one that is tested.
fn every_answer() -> Result<()> {
    for folder in course::steps::STEPS.iter().map(|step| common::code::folder_of(step)) {
        for file in ["lab", "beyond/lab"].iter().flat_map(|labs| course::files::below(&folder.join(labs), "json")) {
            let lab: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&file)?)?;
            let inner = file.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy().into_owned();
            let step = folder.file_name().unwrap_or_default().to_string_lossy();
            let name = if inner == "lab" { step[5..6].to_owned() } else { inner };
            for (task, data) in (1..).zip(lab["tasks"].as_array().context("no tasks")?) {
                let Some(named) = data["answer"].as_str() else { continue };
                let beside = file.with_file_name(named);
                let of_the_course = || course::steps::Kernel::named(named).map(|kernel| kernel.file());
                let kernel = if beside.is_file() { beside } else { of_the_course()? };
                let tested = |case: &&Answer| case.0 == name && root().join(case.2) == kernel;
                // An open challenge's answer passes at least what comes before it.
                let least = if data["open"].as_bool() == Some(true) { task - 1 } else { task };
                ensure!(ANSWERS.iter().filter(tested).any(|case| case.1 >= least), "lab {name}, task {task}: {named}");
            }
        }
    }
    Ok(())
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
        ensure!(printed.contains(shown), "{shown:?} is not in what {command} prints: {printed}");
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
    let mut child = Command::new(PROGRAM)
        .args(["lab", "1", "--watch"])
        .env(course::mine::VARIABLE, &folder)
        .stdout(std::fs::File::create(&output)?)
        .stderr(Stdio::null())
        .spawn()?;
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
    let (text, status) = with_mine(&folder, &["lab", "4"], "")?;
    ensure!(status == Some(0) && std::fs::read_to_string(&copy)? == start, "{text}");
    ensure!(text.contains("cargo course lab 4 --watch") && text.contains("task 1 of 2: tiles"), "{text}");
    std::fs::write(&copy, "// mine")?;
    for answer in ["n\n", "", "what\n"] {
        let (text, status) = with_mine(&folder, &["lab", "4", "--restart"], answer)?;
        ensure!(status == Some(0) && text.contains("nothing was changed"), "{text}");
        ensure!(std::fs::read_to_string(&copy)? == "// mine" && !kept.exists(), "{text}");
    }
    let (text, status) = with_mine(&folder, &["lab", "4", "--restart"], "y\n")?;
    ensure!(status == Some(0) && std::fs::read_to_string(&copy)? == start, "{text}");
    ensure!(std::fs::read_to_string(&kept)? == "// mine", "{text}");
    let (text, _) = with_mine(&folder, &[], "")?;
    ensure!(text.contains("go on with cargo course lab 4"), "{text}");
    ensure!(text.contains("step04.cu"), "{text}");
    Ok(())
}

fn no_nvrtc() -> Result<()> {
    let kernel = root().join(NAIVE).display().to_string();
    let said = course(&["lab", "2", "--kernel", &kernel], &[("NVRTC_PATH", &mine("no_nvrtc")?)], "")?;
    is_refusal(&said.err, said.status)?;
    ensure!(said.err.contains("NVRTC"), "{}", said.err);
    Ok(())
}

/// No file may grow: `lab` says so, and begins as if nothing had happened when there is room again.
#[cfg(unix)]
fn full_disk() -> Result<()> {
    let folder = mine("full_disk")?;
    let mut command = Command::new("sh");
    // Without the trap the signal would end the program before it sees the error.
    command.args(["-c", "trap '' XFSZ; ulimit -f 0; exec \"$0\" lab 4", PROGRAM]).env("COURSE_MINE", &folder);
    let Said { err: error, status, .. } = support::said(&mut command, "")?;
    is_refusal(&error, status)?;
    ensure!(error.contains("step04.cu cannot be written (") && error.contains("; make room on the disk"), "{error}");
    ensure!(std::fs::read_dir(&folder)?.count() == 0, "something was left in {}", folder.display());
    let (text, status) = with_mine(&folder, &["lab", "4"], "")?;
    ensure!(status == Some(0) && text.contains("step04.cu is yours now"), "{text}");
    Ok(())
}
