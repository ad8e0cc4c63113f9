//! The grading of the labs: each step's own kernel passes, each start fails what it should, and plausible wrong answers
//! fail at the right line with the right words.
//!
//! A wrong answer is the step's kernel with one piece of text replaced, so that it follows the kernel when that changes.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result, ensure};
use libtest_mimic::{Arguments, Failed, Trial};

const PROGRAM: &str = env!("CARGO_BIN_EXE_course");

/// A kernel, what is replaced in it, and what the grading must say.
struct Case {
    name: &'static str,
    lab: &'static str,
    /// Relative to the workspace.
    kernel: &'static str,
    replace: &'static [(&'static str, &'static str)],
    /// Beginning of the first line that fails; none where everything asked for passes.
    fails: Option<&'static str>,
    /// Words of what to look at next.
    next: &'static str,
}

const KERNELS: [&str; 6] = [
    "step01_cpu_naive/kernel.cu",
    "step02_gpu_naive/kernel.cu",
    "step03_single_block/kernel.cu",
    "step04_tiled/kernel.cu",
    "step05_thread_tile/kernel.cu",
    "step06_prefetch/kernel.cu",
];
const NUMBERS: [&str; 6] = ["1", "2", "3", "4", "5", "6"];
const NAIVE: &str = KERNELS[1];
const BLOCK: &str = KERNELS[2];

const TILED: &str = KERNELS[3];

#[rustfmt::skip] // one case is read as a line or three
const WRONG: &[Case] = &[
    // Starts.
    Case { name: "start_1", lab: "1", kernel: "step01_cpu_naive/lab/start.cu", replace: &[], fails: Some("right at"), next: "the sum is never formed" },
    Case { name: "start_2", lab: "2", kernel: "step02_gpu_naive/lab/start.cu", replace: &[], fails: Some("right at"), next: "data race: C[" },
    Case { name: "start_3", lab: "3", kernel: "step03_single_block/lab/start.cu", replace: &[], fails: Some("both factors come from shared"), next: "read both factors from shared memory" },
    Case { name: "start_4", lab: "4", kernel: "step04_tiled/lab/start.cu", replace: &[], fails: Some("right at"), next: "shared store out of bounds" },
    Case { name: "start_5", lab: "5", kernel: "step05_thread_tile/lab/start.cu", replace: &[], fails: Some("at most 1.3 shared loads"), next: "let a thread compute 8 rows" },
    Case { name: "start_6", lab: "6", kernel: "step06_prefetch/lab/start.cu", replace: &[], fails: Some("at most one barrier for 12"), next: "two buffers, used in turn" },
    // Wrong products.
    Case {
        name: "syntax_error", lab: "2", kernel: NAIVE,
        replace: &[("ELEMENT sum = 0;", "ELEMENT sum = ;")],
        fails: Some("compiles"), next: "syntax_error.cu(14): error",
    },
    Case {
        name: "sum_not_reset", lab: "1", kernel: KERNELS[0],
        replace: &[("            ELEMENT sum = 0;\n", ""), ("    for (int row", "    ELEMENT sum = 0;\n    for (int row")],
        fails: Some("right at"), next: "C[0][1] is",
    },
    Case {
        name: "sum_in_c", lab: "1", kernel: KERNELS[0],
        replace: &[("ELEMENT sum = 0;", "C[(size_t)row * N + col] = 0;"), ("                sum += ", "                C[(size_t)row * N + col] += "), ("            C[(size_t)row * N + col] = sum;\n", "")],
        fails: Some("C is written once"), next: "form the sum in a variable",
    },
    Case {
        name: "transposed_output", lab: "2", kernel: NAIVE,
        replace: &[("C[(size_t)row * N + col]", "C[(size_t)col * M + row]")],
        fails: Some("right at"), next: "C equals its transpose",
    },
    Case {
        name: "swapped_axes", lab: "2", kernel: NAIVE,
        replace: &[("blockIdx.y * blockDim.y + threadIdx.y", "blockIdx.x * blockDim.x + threadIdx.x"), ("int col = blockIdx.x * blockDim.x + threadIdx.x", "int col = blockIdx.y * blockDim.y + threadIdx.y")],
        fails: Some("right at"), next: "never written",
    },
    Case {
        name: "uncoalesced", lab: "2", kernel: "step02_gpu_naive/variants/uncoalesced.cu",
        replace: &[("// Uncoalesced", "// launch: block 32,32 tile 32,32\n// Uncoalesced")],
        fails: Some("a load touches 2.5 sectors"), next: "x must run along columns",
    },
    Case {
        name: "a_transposed", lab: "2", kernel: NAIVE,
        replace: &[("A[(size_t)row * K + k]", "A[(size_t)k * M + row]")],
        fails: Some("right at"), next: "A is read transposed",
    },
    Case {
        name: "no_bounds_check", lab: "2", kernel: NAIVE,
        replace: &[("if (row < M && col < N)", "if (row < M)")],
        fails: Some("right at"), next: "out of bounds",
    },
    Case {
        name: "last_k_dropped", lab: "2", kernel: NAIVE,
        replace: &[("k < K", "k < K - 1")],
        fails: Some("right at"), next: "the sum is never formed",
    },
    Case {
        name: "reads_past_the_end", lab: "2", kernel: NAIVE,
        replace: &[("k < K", "k <= K")],
        fails: Some("right at"), next: "right past the end of",
    },
    Case {
        name: "never_ends", lab: "2", kernel: NAIVE,
        replace: &[("++k", "k += 0")],
        fails: Some("right at"), next: "does a loop never end",
    },
    Case {
        name: "writes_nothing", lab: "2", kernel: NAIVE,
        replace: &[("        C[(size_t)row * N + col] = sum;\n", "        if (sum > 1e30f) C[(size_t)row * N + col] = sum;\n")],
        fails: Some("right at"), next: "C was never written",
    },
    // Shared memory.
    Case {
        name: "missing_barrier", lab: "3", kernel: BLOCK,
        replace: &[("    __syncthreads();\n", "")],
        fails: Some("right at"), next: "data race: ",
    },
    Case {
        name: "strided_copy", lab: "3", kernel: BLOCK,
        replace: &[("for (int i = thread; i < K * N; i += threads) {", "const int share = (K * N + threads - 1) / threads;\n    for (int i = thread * share; i < min(K * N, (thread + 1) * share); ++i) {")],
        fails: Some("the copying is coalesced"), next: "neighbouring threads copy elements that lie apart",
    },
    Case {
        name: "step_2_in_lab_3", lab: "3", kernel: NAIVE, replace: &[],
        fails: Some("both factors come from shared memory"), next: "read both factors from shared memory",
    },
    Case {
        name: "early_return", lab: "3", kernel: BLOCK,
        replace: &[("    // Cooperative load", "    if (threadIdx.x == 0 && N > 1) return;\n    // Cooperative load")],
        fails: Some("right at"), next: "uninitialised shared memory read",
    },
    // Tiles.
    Case {
        name: "no_first_barrier", lab: "4", kernel: "step04_tiled/variants/no_first_barrier.cu", replace: &[],
        fails: Some("right at"), next: "data race: ",
    },
    Case {
        name: "no_second_barrier", lab: "4", kernel: "step04_tiled/variants/no_second_barrier.cu", replace: &[],
        fails: Some("right at"), next: "data race: ",
    },
    Case {
        name: "no_edges", lab: "4", kernel: "step04_tiled/variants/no_edges.cu", replace: &[],
        fails: Some("right at"), next: "right past the end of A",
    },
    Case {
        name: "dropped_tail", lab: "4", kernel: TILED,
        replace: &[("k0 < K; k0 += TILE", "k0 + TILE <= K; k0 += TILE")],
        fails: Some("right at"), next: "the sum is never formed",
    },
    Case {
        name: "dropped_tail_of_large_k", lab: "4", kernel: TILED,
        replace: &[("k0 < K; k0 += TILE", "k0 == 0 || k0 + TILE <= K; k0 += TILE")],
        fails: Some("right at"), next: "the last, partial K tile is missing",
    },
    Case {
        name: "unwritten_tile", lab: "4", kernel: TILED,
        replace: &[("if (row < M && col < N)", "if (row < M && col < N && !(blockIdx.x == 1 && blockIdx.y == 0))")],
        fails: Some("right at"), next: "tile (1,0) was never written",
    },
    Case {
        name: "stale_edge", lab: "4", kernel: TILED,
        replace: &[("As[y][x] = k0 < end_a ? *a : 0;", "if (k0 < end_a) As[y][x] = *a;")],
        fails: Some("right at"), next: "uninitialised shared memory read",
    },
    Case {
        name: "uncoalesced_b", lab: "4", kernel: "step04_tiled/variants/uncoalesced_b.cu", replace: &[],
        fails: Some("both loads are coalesced"), next: "the loads of A or of B are scattered",
    },
    Case {
        name: "bank_conflicts", lab: "4", kernel: "step04_tiled/variants/bank_conflicts.cu", replace: &[],
        fails: Some("no bank conflicts"), next: "lanes of a warp meet in one bank",
    },
    Case {
        name: "step_2_in_lab_4", lab: "4", kernel: NAIVE, replace: &[],
        fails: Some("flop per byte is TILE/4"), next: "loaded from global memory more often",
    },
    Case {
        name: "shared_index_out_of_its_array", lab: "4", kernel: TILED,
        replace: &[("sum += As[y][k] * Bs[k][x];", "sum += As[y][k] * (k + 1 < TILE ? Bs[k][x] : (&Bs[0][0])[TILE * TILE + x - TILE]) + 0 * As[TILE - 1][TILE - 1 + (y & 1)];")],
        fails: Some("no hazard"), next: "shared access past the end of its array: Bs",
    },
    Case {
        name: "step_4_in_lab_5", lab: "5", kernel: TILED,
        replace: &[("// One block", "// launch: block 32,32 tile 32,32\n#define TILE 32\n// One block")],
        fails: Some("at most 1.3 shared loads"), next: "each multiply-add loads both factors",
    },
    Case {
        name: "inner_product", lab: "5", kernel: "step05_thread_tile/variants/inner_product.cu", replace: &[],
        fails: Some("at most 1.3 shared loads"), next: "each multiply-add loads both factors",
    },
    Case {
        name: "no_wait", lab: "6", kernel: KERNELS[5],
        replace: &[("asm volatile(\"cp.async.wait_group %0;\" :: \"n\"(newest) : \"memory\");", "")],
        fails: Some("right at"), next: "asynchronous copy",
    },
    Case {
        name: "bad_launch_line", lab: "2", kernel: NAIVE,
        replace: &[("// One thread", "// launch: block 32\n// One thread")],
        fails: None, next: "",
    },
];

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let mut trials: Vec<Trial> = Vec::new();
    for (lab, kernel) in NUMBERS.into_iter().zip(KERNELS) {
        trials.push(Trial::test(format!("solution_passes::{lab}"), move || solution(lab, kernel).map_err(failed)));
    }
    for (lab, all) in [("1", true), ("2", true), ("3", true), ("4", true), ("5", false)] {
        let test = move || challenge(lab, all).map_err(failed);
        trials.push(Trial::test(format!("challenge_can_be_met::{lab}"), test));
    }
    for case in WRONG.iter().filter(|case| case.name != "bad_launch_line") {
        trials.push(Trial::test(format!("wrong::{}", case.name), move || wrong(case).map_err(failed)));
    }
    trials.push(Trial::test("a_bad_launch_line_is_one_sentence", || bad_launch_line().map_err(failed)));
    let needs_nothing = [
        Trial::test("a_copy_is_made_once_and_never_overwritten", || copies().map_err(failed)),
        Trial::test("hints_come_one_after_the_other", || hints().map_err(failed)),
        Trial::test("without_nvrtc_one_sentence_says_how_to_get_it", || no_nvrtc().map_err(failed)),
        Trial::test("an_unknown_lab_is_one_sentence", || unknown_lab().map_err(failed)),
    ];
    if let Err(error) = common::nvrtc::find() {
        trials = trials
            .into_iter()
            .map(|trial| trial.with_kind(format!("needs NVRTC: {error}")).with_ignored_flag(true))
            .collect();
    }
    trials.extend(needs_nothing);
    libtest_mimic::run(&arguments, trials).exit_code()
}

#[allow(clippy::needless_pass_by_value)]
fn failed(error: anyhow::Error) -> Failed {
    format!("{error:#}").into()
}

fn root() -> &'static Path {
    common::workspace::root()
}

/// The kernel of a case, in cargo's folder for tests.
fn kernel(case: &Case) -> Result<PathBuf> {
    let mut source = std::fs::read_to_string(root().join(case.kernel)).with_context(|| case.kernel.to_owned())?;
    for (from, to) in case.replace {
        ensure!(source.contains(from), "{:?} is not in {} any more; mend the test", from, case.kernel);
        source = source.replacen(from, to, 1);
    }
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{}.cu", case.name));
    std::fs::write(&path, source)?;
    Ok(path)
}

/// The course's program. Steps' programs that cargo has just built are taken as they are: another build would have other
/// features, and take a minute.
fn course(arguments: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(arguments).current_dir(root()).stdin(Stdio::null());
    let folder = Path::new(PROGRAM).parent().unwrap_or(Path::new("."));
    let built = |kernel: &&str| {
        let step = kernel.split('/').next().unwrap_or_default();
        let changed = |path: PathBuf| std::fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
        let program = folder.join(format!("{step}{}", std::env::consts::EXE_SUFFIX));
        changed(program).is_some_and(|time| Some(time) > changed(root().join(step).join("src/lib.rs")))
    };
    if KERNELS.iter().all(built) {
        command.env("COURSE_PROGRAMS", folder);
    }
    command
}

/// What the grading prints, and its exit status.
fn grade(lab: &str, kernel: &Path) -> Result<(String, Option<i32>)> {
    let kernel = kernel.display().to_string();
    let output =
        course(&["lab", lab, "--seed", "7", "--kernel", &kernel]).output().context("the program does not start")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    ensure!(!text.contains("panicked"), "{text}");
    Ok((text, output.status.code()))
}

fn solution(lab: &str, kernel: &str) -> Result<()> {
    let (text, status) = grade(lab, &root().join(kernel))?;
    ensure!(status == Some(0), "status {status:?}: {text}");
    let required = text.split("an open challenge").next().unwrap_or_default();
    ensure!(!required.contains("FAILED") && !required.contains("not reached"), "{text}");
    Ok(())
}

/// The open challenges can be met: an answer of our own passes all of them, or all but the challenge.
fn challenge(lab: &str, all: bool) -> Result<()> {
    let kernel = root().join(format!("common/course/tests/challenges/step0{lab}.cu"));
    let (text, status) = grade(lab, &kernel)?;
    ensure!(status == Some(0) && text.contains("everything passed") == all, "status {status:?}: {text}");
    Ok(())
}

fn wrong(case: &Case) -> Result<()> {
    let (text, status) = grade(case.lab, &kernel(case)?)?;
    ensure!(status == Some(1), "status {status:?}: {text}");
    let failed =
        text.lines().find_map(|line| line.trim_start().strip_prefix("FAILED")).unwrap_or_default().trim_start();
    let fails = case.fails.unwrap_or_default();
    ensure!(!failed.is_empty() && failed.starts_with(fails), "{fails:?} should fail and {failed:?} does: {text}");
    let next = text.split_once("look at this next:").map_or("", |(_, next)| next);
    ensure!(next.contains(case.next), "{:?} is not in: {next}", case.next);
    Ok(())
}

fn bad_launch_line() -> Result<()> {
    let case = WRONG.iter().find(|case| case.name == "bad_launch_line").context("the case is gone")?;
    let (text, status) = grade(case.lab, &kernel(case)?)?;
    ensure!(status == Some(2), "status {status:?}: {text}");
    ensure!(text.starts_with("error: ") && text.trim_end().lines().count() == 1, "{text}");
    ensure!(text.contains("line 1 is not a launch") && text.contains("; write for example"), "{text}");
    Ok(())
}

/// A folder for the learner's files, empty.
fn mine(name: &str) -> Result<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// Runs the program with a folder for the learner's files, and an answer to what it asks.
fn with_mine(folder: &Path, arguments: &[&str], answer: &str) -> Result<(String, Option<i32>)> {
    let mut command = course(arguments);
    command.env("COURSE_MINE", folder).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().context("the program does not start")?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(answer.as_bytes())?;
    }
    let output = child.wait_with_output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    ensure!(!text.contains("panicked"), "{text}");
    Ok((text, output.status.code()))
}

fn copies() -> Result<()> {
    let folder = mine("copies")?;
    let (copy, kept) = (folder.join("step04.cu"), folder.join("step04.1.cu"));
    let start = std::fs::read_to_string(root().join("step04_tiled/lab/start.cu"))?;
    let (text, status) = with_mine(&folder, &["lab", "4"], "")?;
    ensure!(status == Some(0) && std::fs::read_to_string(&copy)? == start, "{text}");
    ensure!(text.contains("cargo course lab 4 --watch") && text.contains("task 1: make it right"), "{text}");
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
    ensure!(text.contains("begin with cargo course lab 1"), "{text}");
    ensure!(text.contains("step04.cu"), "{text}");
    Ok(())
}

fn hints() -> Result<()> {
    let folder = mine("hints")?;
    let (first, status) = with_mine(&folder, &["lab", "2", "--hint"], "")?;
    ensure!(status == Some(0) && first.contains("  1. ") && !first.contains("  2. "), "{first}");
    let (second, _) = with_mine(&folder, &["lab", "2", "--hint"], "")?;
    ensure!(second.contains("  2. ") && !second.contains("  3. "), "{second}");
    Ok(())
}

fn no_nvrtc() -> Result<()> {
    let folder = mine("no_nvrtc")?;
    let kernel = root().join(NAIVE).display().to_string();
    let output = course(&["lab", "2", "--kernel", &kernel]).env("NVRTC_PATH", &folder).output()?;
    let error = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.code() == Some(2) && error.trim_end().lines().count() == 1, "{error}");
    ensure!(error.starts_with("error: ") && error.contains("NVRTC"), "{error}");
    Ok(())
}

fn unknown_lab() -> Result<()> {
    let (text, status) = with_mine(&mine("unknown")?, &["lab", "77"], "")?;
    ensure!(status == Some(2) && text == "error: there is no lab 77; choose 1, 2, 3, 4, 5, 6\n", "{text}");
    Ok(())
}
