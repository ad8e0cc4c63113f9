//! The grading of the labs: each step's own kernel passes, each start fails what it should, and plausible wrong answers
//! fail at the right line with the right words.
//!
//! A wrong answer is the step's kernel with one piece of text replaced, so that it follows the kernel when that changes.

mod support;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result, ensure};
use libtest_mimic::{Arguments, Trial};

use support::{PROGRAM, mine, trial};

/// A name, the lab, a kernel of the workspace, what the grading must say, and what is replaced in the kernel.
type Case = (&'static str, &'static str, &'static str, Says, &'static [(&'static str, &'static str)]);

/// What the grading says of a wrong kernel.
enum Says {
    /// The beginning of the first line of the checklist that fails, and words of what to look at next.
    Fails(&'static str, &'static str),
    /// Words of the one sentence with which it is not graded at all.
    Refuses(&'static str),
}
use Says::{Fails, Refuses};

const KERNELS: [&str; 6] = [
    "step01_cpu_naive/kernel.cu",
    "step02_gpu_naive/kernel.cu",
    "step03_single_block/kernel.cu",
    "step04_tiled/kernel.cu",
    "step05_thread_tile/kernel.cu",
    "step06_prefetch/kernel.cu",
];
const NAIVE: &str = KERNELS[1];
const BLOCK: &str = KERNELS[2];
const TILED: &str = KERNELS[3];

#[rustfmt::skip] // one case is read as a line or two
const WRONG: &[Case] = &[
    // Starts.
    ("start_1", "1", "step01_cpu_naive/lab/start.cu", Fails("right at", "the sum is never formed"), &[]),
    ("start_2", "2", "step02_gpu_naive/lab/start.cu", Fails("right at", "data race: C["), &[]),
    ("start_3", "3", "step03_single_block/lab/start.cu", Fails("both factors come from shared", "read both factors from shared memory"), &[]),
    ("start_4", "4", "step04_tiled/lab/start.cu", Fails("right at", "shared store out of bounds"), &[]),
    ("start_5", "5", "step05_thread_tile/lab/start.cu", Fails("at most 1.3 shared loads", "let a thread compute 8 rows"), &[]),
    ("start_6", "6", "step06_prefetch/lab/start.cu", Fails("at most one barrier for 12", "two buffers, used in turn"), &[]),
    // Wrong products.
    ("syntax_error", "2", NAIVE, Fails("compiles", "syntax_error.cu(14): error"),
        &[("ELEMENT sum = 0;", "ELEMENT sum = ;")]),
    ("sum_not_reset", "1", KERNELS[0], Fails("right at", "C[0][1] is"),
        &[("            ELEMENT sum = 0;\n", ""), ("    for (int row", "    ELEMENT sum = 0;\n    for (int row")]),
    ("sum_in_c", "1", KERNELS[0], Fails("C is written once", "form the sum in a variable"),
        &[("ELEMENT sum = 0;", "C[(size_t)row * N + col] = 0;"), ("                sum += ", "                C[(size_t)row * N + col] += "), ("            C[(size_t)row * N + col] = sum;\n", "")]),
    ("transposed_output", "2", NAIVE, Fails("right at", "C equals its transpose"),
        &[("C[(size_t)row * N + col]", "C[(size_t)col * M + row]")]),
    ("swapped_axes", "2", NAIVE, Fails("right at", "never written"),
        &[("blockIdx.y * blockDim.y + threadIdx.y", "blockIdx.x * blockDim.x + threadIdx.x"), ("int col = blockIdx.x * blockDim.x + threadIdx.x", "int col = blockIdx.y * blockDim.y + threadIdx.y")]),
    ("uncoalesced", "2", "step02_gpu_naive/variants/uncoalesced.cu", Fails("a load touches 2.5 sectors", "x must run along columns"),
        &[("// Uncoalesced", "// launch: block 32,32 tile 32,32\n// Uncoalesced")]),
    ("a_transposed", "2", NAIVE, Fails("right at", "A is read transposed"),
        &[("A[(size_t)row * K + k]", "A[(size_t)k * M + row]")]),
    ("no_bounds_check", "2", NAIVE, Fails("right at", "out of bounds"),
        &[("if (row < M && col < N)", "if (row < M)")]),
    ("last_k_dropped", "2", NAIVE, Fails("right at", "the sum is never formed"), &[("k < K", "k < K - 1")]),
    ("reads_past_the_end", "2", NAIVE, Fails("right at", "right past the end of"), &[("k < K", "k <= K")]),
    ("never_ends", "2", NAIVE, Fails("right at", "does a loop never end"), &[("++k", "k += 0")]),
    ("writes_nothing", "2", NAIVE, Fails("right at", "C was never written"),
        &[("        C[(size_t)row * N + col] = sum;\n", "        if (sum > 1e30f) C[(size_t)row * N + col] = sum;\n")]),
    // Shared memory.
    ("missing_barrier", "3", BLOCK, Fails("right at", "data race: "), &[("    __syncthreads();\n", "")]),
    ("strided_copy", "3", BLOCK, Fails("the copying is coalesced", "neighbouring threads copy elements that lie apart"),
        &[("for (int i = thread; i < K * N; i += threads) {", "const int share = (K * N + threads - 1) / threads;\n    for (int i = thread * share; i < min(K * N, (thread + 1) * share); ++i) {")]),
    ("step_2_in_lab_3", "3", NAIVE, Fails("both factors come from shared memory", "read both factors from shared memory"), &[]),
    ("early_return", "3", BLOCK, Fails("right at", "uninitialised shared memory read"),
        &[("    // Cooperative load", "    if (threadIdx.x == 0 && N > 1) return;\n    // Cooperative load")]),
    // Tiles.
    ("no_first_barrier", "4", "step04_tiled/variants/no_first_barrier.cu", Fails("right at", "data race: "), &[]),
    ("no_second_barrier", "4", "step04_tiled/variants/no_second_barrier.cu", Fails("right at", "data race: "), &[]),
    ("no_edges", "4", "step04_tiled/variants/no_edges.cu", Fails("right at", "right past the end of A"), &[]),
    ("dropped_tail", "4", TILED, Fails("right at", "the sum is never formed"),
        &[("k0 < K; k0 += TILE", "k0 + TILE <= K; k0 += TILE")]),
    ("dropped_tail_of_large_k", "4", TILED, Fails("right at", "the last, partial K tile is missing"),
        &[("k0 < K; k0 += TILE", "k0 == 0 || k0 + TILE <= K; k0 += TILE")]),
    ("unwritten_tile", "4", TILED, Fails("right at", "tile (1,0) was never written"),
        &[("if (row < M && col < N)", "if (row < M && col < N && !(blockIdx.x == 1 && blockIdx.y == 0))")]),
    ("stale_edge", "4", TILED, Fails("right at", "uninitialised shared memory read"),
        &[("As[y][x] = k0 < end_a ? *a : 0;", "if (k0 < end_a) As[y][x] = *a;")]),
    ("uncoalesced_b", "4", "step04_tiled/variants/uncoalesced_b.cu", Fails("both loads are coalesced", "the loads of A or of B are scattered"), &[]),
    ("bank_conflicts", "4", "step04_tiled/variants/bank_conflicts.cu", Fails("no bank conflicts", "lanes of a warp meet in one bank"), &[]),
    ("step_2_in_lab_4", "4", NAIVE, Fails("flop per byte is TILE/4", "loaded from global memory more often"), &[]),
    ("shared_index_out_of_its_array", "4", TILED, Fails("no hazard", "shared access past the end of its array: Bs"),
        &[("sum += As[y][k] * Bs[k][x];", "sum += As[y][k] * (k + 1 < TILE ? Bs[k][x] : (&Bs[0][0])[TILE * TILE + x - TILE]) + 0 * As[TILE - 1][TILE - 1 + (y & 1)];")]),
    ("step_4_in_lab_5", "5", TILED, Fails("at most 1.3 shared loads", "each multiply-add loads both factors"),
        &[("// One block", "// launch: block 32,32 tile 32,32\n#define TILE 32\n// One block")]),
    ("inner_product", "5", "step05_thread_tile/variants/inner_product.cu", Fails("at most 1.3 shared loads", "each multiply-add loads both factors"), &[]),
    ("no_wait", "6", KERNELS[5], Fails("right at", "asynchronous copy"),
        &[("asm volatile(\"cp.async.wait_group %0;\" :: \"n\"(newest) : \"memory\");", "")]),
    ("bad_launch_line", "2", NAIVE, Refuses("line 1 is not a launch"),
        &[("// One thread", "// launch: block 32\n// One thread")]),
];

fn main() -> ExitCode {
    let numbered = |lab: usize| (lab + 1).to_string();
    let mut trials: Vec<Trial> = Vec::new();
    for (lab, kernel) in KERNELS.into_iter().enumerate() {
        trials.push(trial(format!("solution_passes::{}", lab + 1), move || solution(&numbered(lab), kernel)));
    }
    for (lab, all) in [true, true, true, true, false].into_iter().enumerate() {
        trials.push(trial(format!("challenge_can_be_met::{}", lab + 1), move || challenge(&numbered(lab), all)));
    }
    trials.extend(WRONG.iter().map(|case| trial(format!("wrong::{}", case.0), || wrong(case))));
    let mut trials: Vec<Trial> = trials.into_iter().map(support::needs_nvrtc).collect();
    trials.extend([
        trial("a_copy_is_made_once_and_never_overwritten", copies),
        trial("hints_come_one_after_the_other", hints),
        trial("without_nvrtc_one_sentence_says_how_to_get_it", no_nvrtc),
        trial("progress_that_is_not_understood_is_kept", strange_progress),
        #[cfg(unix)]
        trial("a_full_disk_leaves_no_kernel", full_disk),
    ]);
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn root() -> &'static Path {
    common::workspace::root()
}

/// The kernel of a case, in cargo's folder for tests.
fn kernel(&(name, _, kernel, _, replace): &Case) -> Result<PathBuf> {
    let mut source = std::fs::read_to_string(root().join(kernel)).with_context(|| kernel.to_owned())?;
    for (from, to) in replace {
        ensure!(source.contains(from), "{from:?} is not in {kernel} any more; change the test");
        source = source.replacen(from, to, 1);
    }
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.cu"));
    std::fs::write(&path, source)?;
    Ok(path)
}

/// What the program prints, and its exit status; it may ask for an answer.
fn course(arguments: &[&str], variables: &[(&str, &Path)], answer: &str) -> Result<(String, Option<i32>)> {
    let mut command = Command::new(PROGRAM);
    command.args(arguments).current_dir(root()).envs(support::programs()).envs(variables.iter().copied());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().context("the program does not start")?;
    if let Some(mut stdin) = child.stdin.take() {
        // It may have ended without asking.
        let _ = stdin.write_all(answer.as_bytes());
    }
    let output = child.wait_with_output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    ensure!(!text.contains("panicked"), "{text}");
    Ok((text, output.status.code()))
}

fn grade(lab: &str, kernel: &Path) -> Result<(String, Option<i32>)> {
    course(&["lab", lab, "--seed", "7", "--kernel", &kernel.display().to_string()], &[], "")
}

/// Runs the program with a folder for the learner's files.
fn with_mine(folder: &Path, arguments: &[&str], answer: &str) -> Result<(String, Option<i32>)> {
    course(arguments, &[(course::mine::VARIABLE, folder)], answer)
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
    let (text, status) = grade(case.1, &kernel(case)?)?;
    match case.3 {
        Fails(line, look) => {
            ensure!(status == Some(1), "status {status:?}: {text}");
            let failed = text.lines().find_map(|line| line.trim_start().strip_prefix("FAILED")).unwrap_or_default();
            ensure!(failed.trim_start().starts_with(line), "{line:?} should fail and {failed:?} does: {text}");
            let next = text.split_once("look at this next:").map_or("", |(_, next)| next);
            ensure!(next.contains(look), "{look:?} is not in: {next}");
        }
        Refuses(words) => {
            is_refusal(&text, status)?;
            ensure!(text.contains(words) && text.contains("; "), "{words:?} is not in, or no remedy: {text}");
        }
    }
    Ok(())
}

/// One sentence, and the exit status that goes with it.
fn is_refusal(text: &str, status: Option<i32>) -> Result<()> {
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
    let kernel = root().join(NAIVE).display().to_string();
    let (text, status) = course(&["lab", "2", "--kernel", &kernel], &[("NVRTC_PATH", &mine("no_nvrtc")?)], "")?;
    is_refusal(&text, status)?;
    ensure!(text.contains("NVRTC"), "{text}");
    Ok(())
}

fn strange_progress() -> Result<()> {
    let folder = mine("strange")?;
    let (file, kept) = (folder.join("progress.json"), folder.join("progress.1.json"));
    let newer = r#"{"format": 99, "labs": {"step02_gpu_naive": {"passed": [true]}}}"#;
    std::fs::write(&file, newer)?;
    let (text, status) = with_mine(&folder, &["lab", "2", "--hint"], "")?;
    ensure!(status == Some(0) && text.contains("task 1: "), "{text}");
    ensure!(text.contains("progress.json was written by a newer version of the course; it is kept as "), "{text}");
    ensure!(
        std::fs::read_to_string(&kept)? == newer && std::fs::read_to_string(&file)?.contains("\"hints\""),
        "{text}"
    );
    let (text, _) = with_mine(&folder, &[], "")?;
    ensure!(!text.contains("is kept as"), "{text}");
    Ok(())
}

/// No file may grow: `lab` says so, and begins as if nothing had happened when there is room again.
#[cfg(unix)]
fn full_disk() -> Result<()> {
    let folder = mine("full_disk")?;
    let mut command = Command::new("sh");
    // Without the trap the signal would end the program before it sees the error.
    command.args(["-c", "trap '' XFSZ; ulimit -f 0; exec \"$0\" lab 4", PROGRAM]).env("COURSE_MINE", &folder);
    let output = command.current_dir(root()).stdin(Stdio::null()).output()?;
    let error = String::from_utf8_lossy(&output.stderr);
    is_refusal(&error, output.status.code())?;
    ensure!(error.contains("step04.cu cannot be written (") && error.contains("; make room on the disk"), "{error}");
    ensure!(std::fs::read_dir(&folder)?.count() == 0, "something was left in {}", folder.display());
    let (text, status) = with_mine(&folder, &["lab", "4"], "")?;
    ensure!(status == Some(0) && text.contains("step04.cu is yours now"), "{text}");
    Ok(())
}
