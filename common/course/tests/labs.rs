//! The grading of the labs: each task's answer passes it and fails the next, each start fails what it should, and plausible
//! wrong answers fail at the right line with the right words.
//!
//! A wrong answer is a kernel of the course with a piece of text replaced, so that it follows the kernel when that changes.

mod mistakes;
mod right;
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

const NAIVE: &str = "step02_gpu_naive/kernel.cu";
const BLOCK: &str = "step03_single_block/kernel.cu";
const MULTIPLES: &str = "step04_tiled/rungs/1_multiples.cu";
const TILED: &str = "step04_tiled/kernel.cu";
const COLUMN: &str = "step05_thread_tile/rungs/1_column.cu";
const TILE: &str = "step05_thread_tile/rungs/2_tile.cu";
const POINTERS: &str = "step05_thread_tile/rungs/3_pointers.cu";
const WIDE: &str = "step05_thread_tile/rungs/4_wide_loads.cu";
const BUFFERS: &str = "step06_prefetch/rungs/1_two_buffers.cu";
const ASYNC: &str = "step06_prefetch/rungs/2_async_copies.cu";
const PRODUCTS: &str = "step06_prefetch/beyond/lab/tensor_cores/1_three_products.cu";
const SUMS: &str = "step06_prefetch/beyond/lab/tensor_cores/2_short_sums.cu";
const CORES: &str = "step06_prefetch/beyond/lab/tensor_cores/3_fast_again.cu";

/// What a learner writes above a kernel whose launch and constants are not those of the step's own.
const COLUMN_LAUNCH: &str =
    "// launch: block 512,1 tile 64,64\nconstexpr int TILE_M = 64, TILE_N = 64, TILE_K = 32, THREAD_M = 8;\n";
const PREFETCH_LAUNCH: &str = "// launch: block 128,1 tile 128,64\n\
    constexpr int TILE_M = 64, TILE_N = 128, TILE_K = 16, THREAD_M = 8, THREAD_N = 8;\n";

/// The lab, how many of its tasks pass, the kernel, what is above it, and what fails then: nothing if the lab is done.
type Answer = (&'static str, usize, &'static str, &'static str, Option<&'static str>);

#[rustfmt::skip] // one answer is read as a line
const ANSWERS: &[Answer] = &[
    ("1", 2, "step01_cpu_naive/kernel.cu", "", Some("at most 1.6 loads")),
    ("1", 3, "common/course/tests/challenges/step01.cu", "", None),
    ("2", 2, NAIVE, "", Some("1.3 flop for each global access")),
    ("2", 3, "common/course/tests/challenges/step02.cu", "", None),
    ("3", 2, BLOCK, "", Some("right at 32×32×1000")),
    ("3", 3, "common/course/tests/challenges/step03.cu", "", None),
    ("4", 1, MULTIPLES, "", Some("right at 1×1×1")),
    ("4", 2, TILED, "", None),
    ("5", 1, COLUMN, COLUMN_LAUNCH, Some("at most one shared load for 4")),
    ("5", 2, TILE, "", Some("at most 1.75 instructions")),
    ("5", 3, POINTERS, "", Some("at most one shared load for 12")),
    ("5", 4, WIDE, "", None),
    ("5", 4, "step05_thread_tile/kernel.cu", "", None),
    ("6", 1, BUFFERS, PREFETCH_LAUNCH, Some("elements are copied to shared memory asynchronously")),
    ("6", 2, ASYNC, PREFETCH_LAUNCH, None),
    ("6", 2, "step06_prefetch/kernel.cu", PREFETCH_LAUNCH, None),
    ("tensor_cores", 1, PRODUCTS, "", Some("errors of long sums")),
    ("tensor_cores", 2, SUMS, "", Some("elements are copied to shared memory asynchronously")),
    ("tensor_cores", 3, CORES, "", None),
];

#[rustfmt::skip] // one case is read as a line or two
const WRONG: &[Case] = &[
    // Starts.
    ("start_1", "1", "step01_cpu_naive/lab/start.cu", Fails("right at", "nothing was multiplied for C["), &[]),
    ("start_2", "2", "step02_gpu_naive/lab/start.cu", Fails("right at", "data race: C["), &[]),
    ("start_3", "3", "step03_single_block/lab/start.cu", Fails("both factors come from shared", "read both factors from shared memory"), &[]),
    ("start_4", "4", "step04_tiled/lab/start.cu", Fails("right at", "shared store out of bounds"), &[]),
    ("start_5", "5", "step05_thread_tile/lab/start.cu", Fails("at most 1.2 shared loads", "let a thread compute 8 rows"), &[]),
    ("start_6", "6", "step06_prefetch/lab/start.cu", Fails("at most one barrier for 12", "two pairs that take turns"), &[]),
    ("start_tensor_cores", "tensor_cores", "step06_prefetch/beyond/lab/tensor_cores/start.cu", Fails("right at", "is something computed in lower precision?"), &[]),
    // Wrong products.
    ("syntax_error", "2", NAIVE, Fails("compiles", "syntax_error.cu(11): error"),
        &[("ELEMENT sum = 0;", "ELEMENT sum = ;")]),
    ("sum_not_reset", "1", "step01_cpu_naive/kernel.cu", Fails("right at", "begins with the sum of C[0][0] and not with 0"),
        &[("            ELEMENT sum = 0;\n", ""), ("    for (int row", "    ELEMENT sum = 0;\n    for (int row")]),
    ("sum_in_c", "1", "step01_cpu_naive/kernel.cu", Fails("C is written once", "form the sum in a variable"),
        &[("ELEMENT sum = 0;", "C[(size_t)row * N + col] = 0;"), ("                sum += ", "                C[(size_t)row * N + col] += "), ("            C[(size_t)row * N + col] = sum;\n", "")]),
    ("transposed_output", "2", NAIVE, Fails("right at", "sum stored in another element"),
        &[("C[(size_t)row * N + col]", "C[(size_t)col * M + row]")]),
    ("swapped_axes", "2", NAIVE, Fails("right at", "no thread stores C["),
        &[("blockIdx.y * blockDim.y + threadIdx.y", "blockIdx.x * blockDim.x + threadIdx.x"), ("int col = blockIdx.x * blockDim.x + threadIdx.x", "int col = blockIdx.y * blockDim.y + threadIdx.y")]),
    ("uncoalesced", "2", "step02_gpu_naive/variants/uncoalesced.cu", Fails("a load touches 2.5 sectors", "x must run along columns"),
        &[("// Uncoalesced", "// launch: block 32,32 tile 32,32\n// Uncoalesced")]),
    ("a_transposed", "2", NAIVE, Fails("right at", "A[row + k * M]"),
        &[("A[(size_t)row * K + k]", "A[(size_t)k * M + row]")]),
    ("no_bounds_check", "2", NAIVE, Fails("right at", "out of bounds"),
        &[("if (row < M && col < N)", "if (row < M)")]),
    ("last_k_dropped", "2", NAIVE, Fails("right at", "k = 34 is never multiplied"), &[("k < K", "k < K - 1")]),
    ("reads_past_the_end", "2", NAIVE, Fails("right at", "right past the end of"), &[("k < K", "k <= K")]),
    ("never_ends", "2", NAIVE, Fails("right at", "does a loop never end? Look at its condition"), &[("++k", "k += 0")]),
    ("writes_nothing", "2", NAIVE, Fails("right at", "C was never written"),
        &[("        C[(size_t)row * N + col] = sum;\n", "        if (sum > 1e30f) C[(size_t)row * N + col] = sum;\n")]),
    // Shared memory.
    ("missing_barrier", "3", BLOCK, Fails("right at", "data race: "), &[("    __syncthreads();\n", "")]),
    ("strided_copy", "3", BLOCK, Fails("the copying is coalesced", "neighbouring threads copy elements that lie apart"),
        &[("for (int i = thread; i < K * N; i += threads)", "const int share = (K * N + threads - 1) / threads;\n    for (int i = thread * share; i < min(K * N, (thread + 1) * share); ++i)")]),
    ("step_2_in_lab_3", "3", NAIVE, Fails("both factors come from shared memory", "read both factors from shared memory"), &[]),
    ("early_return", "3", BLOCK, Fails("right at", "threads left the kernel before the barrier"),
        &[("    // Cooperative load", "    if (threadIdx.x == 0 && N > 1) return;\n    // Cooperative load")]),
    // Tiles.
    ("no_first_barrier", "4", "step04_tiled/variants/no_first_barrier.cu", Fails("right at", "data race: "), &[]),
    ("no_second_barrier", "4", "step04_tiled/variants/no_second_barrier.cu", Fails("right at", "data race: "), &[]),
    ("no_barriers_in_multiples", "4", MULTIPLES, Fails("right at", "data race: "),
        &[("        __syncthreads();\n", ""), ("        __syncthreads();\n", "")]),
    ("sum_in_the_loop", "4", MULTIPLES, Fails("right at", "set the sum to 0 once, before the loop over k"),
        &[("    ELEMENT sum = 0;\n    for (int k0 = 0; k0 < K; k0 += TILE) {", "    ELEMENT sum;\n    for (int k0 = 0; k0 < K; k0 += TILE) {\n        sum = 0;")]),
    ("k0_steps_by_one", "4", MULTIPLES, Fails("right at", "right past the end of B"),
        &[("k0 += TILE) {", "++k0) {")]),
    ("pointer_stays", "4", MULTIPLES, Fails("right at", "always the first tile is taken"), &[("        a_from += TILE;\n", "")]),
    ("b_moves_like_a", "4", MULTIPLES, Fails("right at", "look at how the index or the pointer in line"),
        &[("b_from += (size_t)TILE * N;", "b_from += TILE;")]),
    ("no_edges", "4", "step04_tiled/variants/no_edges.cu", Fails("right at 1×1×1", "right past the end of A"), &[]),
    ("dropped_tail", "4", TILED, Fails("right at 1×1×1", "round the number of tiles up"),
        &[("k0 < K; k0 += TILE", "k0 + TILE <= K; k0 += TILE")]),
    ("dropped_tail_of_large_k", "4", TILED, Fails("right at 1×1×1", "round the number of tiles up"),
        &[("k0 < K; k0 += TILE", "k0 == 0 || k0 + TILE <= K; k0 += TILE")]),
    ("unwritten_tile", "4", TILED, Fails("right at", "no thread stores C["),
        &[("if (row < M && col < N)", "if (row < M && col < N && !(blockIdx.x == 1 && blockIdx.y == 0))")]),
    ("stale_edge", "4", TILED, Fails("right at 1×1×1", "uninitialised shared memory read"),
        &[("As[y][x] = k0 < a_end ? *a_from : 0;", "if (k0 < a_end) As[y][x] = *a_from;")]),
    ("returns_outside_c", "4", TILED, Fails("right at 1×1×1", "threads left the kernel before the barrier"),
        &[("    ELEMENT sum = 0;", "    if (row >= M || col >= N) return;\n    ELEMENT sum = 0;")]),
    ("uncoalesced_b", "4", "step04_tiled/variants/uncoalesced_b.cu", Fails("both loads are coalesced", "the loads of A or of B are scattered"), &[]),
    ("bank_conflicts", "4", "step04_tiled/variants/bank_conflicts.cu", Fails("no bank conflicts", "lanes of a warp want different words of one bank"), &[]),
    ("step_2_in_lab_4", "4", NAIVE, Fails("flop per byte is TILE/4", "loaded from global memory more often"), &[]),
    ("shared_index_out_of_its_array", "4", TILED, Fails("no hazard", "shared access past the end of its array: Bs"),
        &[("sum += As[y][k] * Bs[k][x];", "sum += As[y][k] * (k + 1 < TILE ? Bs[k][x] : (&Bs[0][0])[TILE * TILE + x - TILE]) + 0 * As[TILE - 1][TILE - 1 + (y & 1)];")]),
    // Thread tiles.
    ("step_4_in_lab_5", "5", TILED, Fails("at most 1.2 shared loads", "each multiply-add loads both factors"),
        &[("// One block", "// launch: block 32,32 tile 32,32\n#define TILE 32\n// One block")]),
    ("inner_product", "5", "step05_thread_tile/variants/inner_product.cu", Fails("at most 1.2 shared loads", "each multiply-add loads both factors"), &[]),
    ("column_without_barrier", "5", COLUMN, Fails("right at", "data race"),
        &[("// Each thread", "// launch: block 512,1 tile 64,64\nconstexpr int TILE_M = 64, TILE_N = 64, TILE_K = 32, THREAD_M = 8;\n// Each thread"), ("        __syncthreads();\n", "")]),
    ("small_tile", "5", TILE, Fails("at most one shared load for 4", "compute 8 rows and 8 columns per thread"),
        &[("// Each thread", "// launch: block 256,1 tile 64,64\nconstexpr int TILE_M = 64, TILE_N = 64, TILE_K = 16, THREAD_M = 4, THREAD_N = 4;\n// Each thread")]),
    ("sums_in_memory", "5", TILE, Fails("the sums stay in registers", "every index into it must be a constant"),
        &[("for (int m = 0; m < THREAD_M; ++m) {\n        const int row", "#pragma unroll 1\n    for (int m = 0; m < THREAD_M; ++m) {\n        const int row")]),
    ("tile_of_the_line_too_large", "5", TILE, Fails("right at", "no thread stores C["),
        &[("// Each thread", "// launch: block 128,1 tile 128,128\nconstexpr int TILE_M = 64, TILE_N = 128, TILE_K = 16, THREAD_M = 8, THREAD_N = 8;\n// Each thread")]),
    ("tile_of_the_line_too_small", "5", TILE, Fails("every product is formed once", "make the tile of the launch line and the kernel's constants agree"),
        &[("// Each thread", "// launch: block 128,1 tile 64,64\nconstexpr int TILE_M = 64, TILE_N = 128, TILE_K = 16, THREAD_M = 8, THREAD_N = 8;\n// Each thread")]),
    ("block_of_the_line_too_large", "5", TILE, Fails("right at", "make the launch line of your file and its constants agree"),
        &[("// Each thread", "// launch: block 256,1 tile 128,64\nconstexpr int TILE_M = 64, TILE_N = 128, TILE_K = 16, THREAD_M = 8, THREAD_N = 8;\n// Each thread")]),
    ("block_of_the_line_too_small", "5", TILE, Fails("right at", "uninitialised shared memory read: Bs[0][64]"),
        &[("// Each thread", "// launch: block 64,1 tile 128,64\nconstexpr int TILE_M = 64, TILE_N = 128, TILE_K = 16, THREAD_M = 8, THREAD_N = 8;\n// Each thread")]),
    ("shared_tile_too_small", "5", TILE, Fails("right at", "shared access past the end of its array: Bs"),
        &[("As[TILE_M][TILE_K];", "As[TILE_K][TILE_K];")]),
    ("columns_of_a_neighbour", "5", TILE, Fails("right at", "wrong row or column"),
        &[("Bs[k][x + n * COLS]", "Bs[k][x + n]")]),
    ("padding_of_one", "5", WIDE, Fails("right at", "give the rows of the shared array a multiple of 16 bytes"),
        &[("As[TILE_K][TILE_M + 4]", "As[TILE_K][TILE_M + 1]")]),
    ("rows_not_tested", "5", TILE, Fails("right at", "out of bounds"), &[("        if (row < M)\n", "")]),
    ("no_padding", "5", "step05_thread_tile/variants/no_padding.cu", Fails("no bank conflicts", "pad the rows of the transposed tile by 4"), &[]),
    ("plain_lanes", "5", "step05_thread_tile/variants/plain_lanes.cu", Fails("at most one pass", "let lanes 1 apart share columns"), &[]),
    // Prefetching.
    ("single_buffer", "6", "step06_prefetch/variants/single_buffer.cu", Fails("at most one barrier for 12", "two pairs that take turns"),
        &[("// TILE_M, TILE_N, TILE_K", "// launch: block 128,1 tile 128,64\nconstexpr int TILE_M = 64, TILE_N = 128, TILE_K = 16, THREAD_M = 8, THREAD_N = 8;\n// TILE_M, TILE_N, TILE_K")]),
    ("one_buffer_one_barrier", "6", BUFFERS, Fails("no hazard", "data race: "),
        &[("const int now = k0 / TILE_K % 2;", "const int now = 0;"), ("store(1 - now);", "store(0);")]),
    ("prefetch_without_barrier", "6", BUFFERS, Fails("no hazard", "data race: "), &[("        __syncthreads();\n", "")]),
    ("no_first_fetch", "6", BUFFERS, Fails("right at", "nobody has set As"),
        &[("    store(0);\n", "")]),
    ("stored_too_early", "6", BUFFERS, Fails("right at", "one of them takes the wrong buffer"),
        &[("        fetch(k0 + TILE_K);\n", "        fetch(k0 + TILE_K);\n        store(now);\n"), ("        store(1 - now);\n", "")]),
    ("no_include", "6", ASYNC, Fails("compiles", "\"copy\" is undefined"),
        &[("#include \"async.cuh\"", "")]),
    ("copies_without_bounds", "6", ASYNC, Fails("right at", "right past the end of B"),
        &[("k0 + k < b_end);", "true);")]),
    ("no_wait", "6", ASYNC, Fails("right at", "asynchronous copy"), &[("        wait();\n", "")]),
    ("barrier_before_wait", "6", ASYNC, Fails("no hazard", "right only by luck"),
        &[("        wait();\n        __syncthreads();\n", "        __syncthreads();\n        wait();\n")]),
    // Tensor cores.
    ("small_part_of_b_forgotten", "tensor_cores", PRODUCTS, Fails("right at", "is something computed in lower precision?"),
        &[("            multiply(cross, a + k, b + k + 64, true);\n", "")]),
    ("published_before_it_is_stored", "tensor_cores", PRODUCTS, Fails("no hazard", "execute fence.proxy.async after it"),
        &[("        publish();\n", ""), ("        for (int i = thread;", "        publish();\n        for (int i = thread;")]),
    ("not_published", "tensor_cores", PRODUCTS, Fails("no hazard", "shared memory written without a proxy fence: As + "),
        &[("        publish();\n", "")]),
    ("not_begun", "tensor_cores", PRODUCTS, Fails("no hazard", "execute wgmma.fence before the first product"),
        &[("        begin();\n", "")]),
    ("not_finished", "tensor_cores", PRODUCTS, Fails("no hazard", "register of a product accessed before the wait"),
        &[("        finish<0>(sum);\n        finish<0>(cross);\n", "")]),
    ("added_before_the_wait", "tensor_cores", SUMS, Fails("no hazard", "wait for them (wgmma.wait_group)"),
        &[("        finish<0>(part);\n        finish<0>(cross);\n", ""), ("sum[i] += part[i];\n", "sum[i] += part[i];\n        finish<0>(part);\n        finish<0>(cross);\n")]),
    ("multiplied_before_it_is_stored", "tensor_cores", PRODUCTS, Fails("right at", "data race: As + "),
        &[("        __syncthreads();\n", "")]),
    ("stored_while_it_is_multiplied", "tensor_cores", PRODUCTS, Fails("right at", "data race: As + "),
        &[("tensor cores have read these.\n        __syncthreads();\n", "tensor cores have read these.\n")]),
    ("steps_of_half_the_length", "tensor_cores", PRODUCTS, Fails("right at", "at 128×128×64"),
        &[("k < TILE_K / 8; k += 2", "k < TILE_K / 16; k += 1")]),
    ("not_swizzled", "tensor_cores", PRODUCTS, Fails("right at", "C[0][1] is"),
        &[("(k / 8 ^ line % 8) * 8 + k % 8", "k")]),
    ("sums_of_the_last_tile", "tensor_cores", SUMS, Fails("right at", "C[0][0] is"),
        &[("sum[i] += part[i]", "sum[i] = part[i]")]),
    ("split_before_it_has_arrived", "tensor_cores", CORES, Fails("right at", "asynchronous copy"), &[("        wait();\n", "")]),
    ("never_split", "tensor_cores", CORES, Fails("right at", "asynchronous copy overwritten in flight"),
        &[("        if (k0 + TILE_K < K) split(shared.tiles[(k0 / TILE_K + 1) % 2]);  // while they multiply\n", "")]),
    // Launch lines.
    ("bad_launch_line", "2", NAIVE, Refuses("bad_launch_line.cu: line 1 is not a launch"),
        &[("// One thread", "// launch: block 32\n// One thread")]),
];

/// The environment variable with which this program runs the step that it names.
const STEP: &str = "COURSE_TESTS_STEP";

fn main() -> ExitCode {
    if let Some(name) = std::env::var_os(STEP) {
        let past = (name == "beyond").then_some(&explorer::steps::BEYOND);
        let step = course::steps::STEPS.iter().find(|step| name == step.name).or(past);
        return common::run(step.expect("a test names a step"));
    }
    let mut trials: Vec<Trial> = Vec::new();
    // Minutes of grading, for `cargo test -p course --features slow --test labs`; without it, one answer of each task is graded.
    let slow = cfg!(feature = "slow");
    let repeated = |at: usize| at > 0 && ANSWERS[at - 1].0 == ANSWERS[at].0 && ANSWERS[at - 1].1 == ANSWERS[at].1;
    let answers = ANSWERS.iter().enumerate().filter(|&(at, _)| slow || !repeated(at)).map(|(_, case)| case);
    trials
        .extend(answers.map(|case| trial(format!("answer::{}_{}::{}", case.0, case.1, stem(case.2)), || answer(case))));
    if slow {
        trials.extend(mistakes::trials());
        trials.extend(right::trials());
        trials.extend(WRONG.iter().map(|case| trial(format!("wrong::{}", case.0), || wrong(case))));
    }
    trials.extend([
        trial("a_passed_task_says_what_it_gained_and_what_comes_next", gains),
        trial("smaller_errors_are_a_gain", smaller_errors),
        trial("the_command_of_a_failure_shows_the_same", shows_why),
        trial("a_screen_is_cleared_only_if_there_is_one", watched),
    ]);
    let mut trials: Vec<Trial> = trials.into_iter().map(support::needs_nvrtc).collect();
    trials.extend([
        trial("every_task_has_a_tested_answer", every_answer),
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
    common::basics::workspace::root()
}

fn stem(kernel: &str) -> &str {
    kernel.rsplit('/').next().unwrap_or(kernel).trim_end_matches(".cu")
}

/// Writes a kernel into cargo's folder for tests.
fn write(name: &str, source: &str) -> Result<PathBuf> {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.cu"));
    std::fs::write(&path, source)?;
    Ok(path)
}

/// The kernel of a case, in cargo's folder for tests.
fn kernel(&(name, _, kernel, _, replace): &Case) -> Result<PathBuf> {
    let mut source = std::fs::read_to_string(root().join(kernel)).with_context(|| kernel.to_owned())?;
    for (from, to) in replace {
        ensure!(source.contains(from), "{from:?} is not in {kernel} any more; change the test");
        source = source.replacen(from, to, 1);
    }
    write(name, &source)
}

/// What the program prints, and its exit status; it may ask for an answer.
fn course(arguments: &[&str], variables: &[(&str, &Path)], answer: &str) -> Result<(String, Option<i32>)> {
    let mut command = Command::new(PROGRAM);
    command.args(arguments).current_dir(root()).envs(variables.iter().copied());
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

fn first_failed(text: &str) -> Option<&str> {
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

/// A learner passes lab 4 in two goes: the counters before and now, the difference and the next task are shown once.
fn gains() -> Result<()> {
    let folder = mine("gains")?;
    let copy = folder.join("step04.cu");
    let lab = |kernel: &str| -> Result<(String, Option<i32>)> {
        std::fs::copy(root().join(kernel), &copy)?;
        with_mine(&folder, &["lab", "4", "--seed", "7"], "")
    };
    let (text, status) = lab(MULTIPLES)?;
    ensure!(status == Some(1), "status {status:?}: {text}");
    for words in [
        "task 1 has passed; the file as it is now is kept as ",
        "what has changed since step02_gpu_naive/kernel.cu, counted at 128×128×128",
        "flop per byte of global memory                      0.250         8\n",
        "next, task 2 of 2: edges",
    ] {
        ensure!(text.contains(words), "{words:?} is not in: {text}");
    }
    ensure!(!text.contains("FAILED"), "what comes next is not what failed: {text}");
    ensure!(std::fs::read(folder.join("step04.task1.cu"))? == std::fs::read(root().join(MULTIPLES))?);
    // The command that is shown works from here.
    let diff = text.lines().find_map(|line| line.trim().strip_prefix("cargo course ")).context("no diff")?;
    let (difference, status) = with_mine(&folder, &diff.split(' ').collect::<Vec<_>>(), "")?;
    ensure!(status == Some(0) && difference.contains("0 lines gone, 0 lines new"), "{diff}: {difference}");
    // What has passed once is not news, and the task at hand is shown with its failure.
    let (text, _) = lab(MULTIPLES)?;
    ensure!(text.contains("  passed       task 1 of 2") && text.contains("FAILED       right at 1×1×1"), "{text}");
    ensure!(!text.contains("what has changed"), "{text}");
    let (text, status) = lab(TILED)?;
    ensure!(status == Some(0) && text.contains("task 2 has passed") && text.contains("lab 4 is done"), "{text}");
    ensure!(text.contains("what has changed since ") && text.contains("step04.task1.cu, counted at"), "{text}");
    ensure!(text.contains("cargo course lab 5"), "{text}");
    Ok(())
}

/// The lab beyond the course: its files have its name, and its second task makes nothing but the errors smaller.
fn smaller_errors() -> Result<()> {
    let folder = mine("smaller_errors")?;
    let mut last = String::new();
    for (kernel, next) in [(PRODUCTS, "next, task 2 of 3: short sums"), (SUMS, "next, task 3 of 3: fast again")] {
        std::fs::copy(root().join(kernel), folder.join("tensor_cores.cu"))?;
        (last, _) = with_mine(&folder, &["lab", "tensor_cores", "--seed", "7"], "")?;
        let compare = format!("tensor_cores.cu {kernel}\n");
        ensure!(last.contains(next) && last.contains(&compare) && !last.contains("FAILED"), "{last}");
    }
    for words in ["tensor_cores.task1.cu, counted at", "  largest error, as a share of its bound ", "task 2 has passed"]
    {
        ensure!(last.contains(words), "{words:?} is not in: {last}");
    }
    let (text, _) = with_mine(&folder, &[], "")?;
    ensure!(
        text.contains("  step06_prefetch/tensor_cores  ") && text.contains("    passed          2. short sums"),
        "{text}"
    );
    Ok(())
}

/// The command that a failed lab prints runs, launches the kernel as the lab does, and shows the same failure.
fn shows_why() -> Result<()> {
    for (lab, step, kernel, shown) in [
        ("5", "step05_thread_tile", self::kernel(find("column_without_barrier")?)?, "race"),
        ("5", "step05_thread_tile", root().join("step05_thread_tile/lab/start.cu"), "shared_load_requests"),
        ("2", "step02_gpu_naive", self::kernel(find("never_ends")?)?, "does a loop never end"),
        ("2", "step02_gpu_naive", self::kernel(find("transposed_output")?)?, "sum stored in another element"),
        ("tensor_cores", "beyond", self::kernel(find("not_published")?)?, "without a proxy fence"),
    ] {
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
fn run_step(step: &str, arguments: &[&str]) -> Result<(String, Option<i32>)> {
    let program = std::env::current_exe()?;
    let output = Command::new(program).args(arguments).current_dir(root()).env(STEP, step).output()?;
    let printed = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    Ok((printed, output.status.code()))
}

fn find(name: &str) -> Result<&'static Case> {
    WRONG.iter().find(|case| case.0 == name).context("no such case")
}

/// `--watch` into a file: a grading at each save, and no command to a terminal in it.
fn watched() -> Result<()> {
    let folder = mine("watched")?;
    let copy = folder.join("step01.cu");
    std::fs::copy(root().join("step01_cpu_naive/lab/start.cu"), &copy)?;
    let output = folder.join("output.txt");
    let mut child = Command::new(PROGRAM)
        .args(["lab", "1", "--watch"])
        .current_dir(root())
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

fn wrong(case: &Case) -> Result<()> {
    let (text, status) = grade(case.1, &kernel(case)?)?;
    match case.3 {
        Fails(line, look) => {
            ensure!(status == Some(1), "status {status:?}: {text}");
            let failed = first_failed(&text).unwrap_or_default();
            ensure!(failed.starts_with(line), "{line:?} should fail and {failed:?} does: {text}");
            let next = text.split_once("look at this next:").map_or("", |(_, next)| next);
            ensure!(next.contains(look), "{look:?} is not in: {next}");
            // What the compiler says is the reason already; for everything else a command shows it.
            let command = next.contains("\nsee it for yourself:\n  cargo run --release -p ");
            ensure!(command != (line == "compiles"), "no command, or one too many: {next}");
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
    ensure!(status == Some(0) && text.contains("task 1 of 3: "), "{text}");
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
