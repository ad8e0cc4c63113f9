//! The command line that every step shares, tried on this one: bad input gives one clear sentence and the right exit
//! status, never a panic; JSON is one object with what it promises.

use std::path::PathBuf;
use std::process::{Output, Stdio};

use anyhow::{Context, Result, ensure};
use common::code::nvrtc;
use libtest_mimic::Trial;
use serde_json::{Value, json};

use super::{needing, program, root, trial};

/// A kernel that does nothing, in PTX; `BODY` is replaced.
const PTX: &str = "
.version 8.1
.target sm_75
.address_size 64
.visible .entry matmul(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 m, .param .u32 n, .param .u32 k)
{
    .reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .f32 %f<8>;
    BODY
    ret;
}
";

pub fn trials() -> Vec<Trial> {
    let mut trials = vec![
        trial("json_of_a_wrong_product", json_of_a_wrong_product),
        trial("a_closed_pipe_is_no_panic", a_closed_pipe_is_no_panic),
        trial("a_fault_shows_its_instruction_and_a_remedy", a_fault_shows_its_instruction_and_a_remedy),
        trial("a_launch_line_holds_when_the_file_is_run_by_hand", a_launch_line_holds_when_the_file_is_run_by_hand),
        trial("bands_are_for_the_variant_alone", bands_are_for_the_variant_alone),
    ];
    for (name, args, words) in bad_usage() {
        trials.push(trial(&format!("bad_usage::{name}"), move || refused(&args, words)));
    }
    let compiles = [
        trial("a_syntax_error_names_file_and_line", a_syntax_error_names_file_and_line),
        trial("an_incomplete_nvrtc_is_not_the_kernels_fault", an_incomplete_nvrtc_is_not_the_kernels_fault),
        trial("an_edit_takes_effect_without_a_build", an_edit_takes_effect_without_a_build),
    ];
    trials.extend(needing("NVRTC", nvrtc::find().map(drop), compiles));
    trials
}

fn run(args: &[&str]) -> Result<Output> {
    program().args(args).output().context("the program does not start")
}

/// A file of the test's own, in cargo's folder for such.
fn file(name: &str, content: &[u8]) -> Result<String> {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, content)?;
    Ok(path.display().to_string())
}

fn ptx(name: &str, body: &str) -> String {
    file(name, PTX.replace("BODY", body).as_bytes()).unwrap_or_default()
}

/// What outputs/bad_usage.txt does not hold: a name, the arguments, and a part of the sentence.
fn bad_usage() -> Vec<(&'static str, Vec<String>, &'static str)> {
    let plain = |args: &[&str]| args.iter().map(|arg| (*arg).to_owned()).collect::<Vec<_>>();
    let sim = |args: &[&str]| plain(&[&["--device", "sim"], args].concat());
    let kernel = |path: &str| sim(&["--kernel", path, "--size", "32"]);
    let made = |name: &str, content: &[u8]| kernel(&file(name, content).unwrap_or_default());
    let nothing = ptx("nothing.ptx", "");
    let with = |name: &str, value: &str| sim(&["--kernel", &nothing, "--size", "32", name, value]);
    let other_name = PTX.replace("matmul", "multiply").replace("BODY", "");
    let other_params = PTX.replace(", .param .u32 k", "").replace("BODY", "");
    let instruction = PTX.replace("BODY", "frobnicate.f32 %f1, %f2;");
    vec![
        ("size_negative", sim(&["--size", "-3"]), "not a size"),
        ("size_of_four", sim(&["--size", "1x2x3x4"]), "4 numbers"),
        ("size_too_large", sim(&["--size", "99999999999"]), "choose less"),
        ("size_beyond_memory", sim(&["--size", "1000000x1000000x1000000"]), "available"),
        ("device", plain(&["--device", "tpu"]), "choose auto, cuda, cuda:N or sim"),
        ("device_index", plain(&["--device", "cuda:x"]), "choose auto"),
        ("device_missing", plain(&["--device", "cuda:97"]), ";"),
        ("dtype", sim(&["--dtype", "f64"]), "[possible values: f32, i32]"),
        ("fill", sim(&["--fill", "ones"]), "[possible values: uniform, integers]"),
        ("samples", sim(&["--samples", "0"]), "choose how often"),
        ("kernel_with_a_line_break", kernel("no\nsuch\u{1b}[31m.cu"), "no\\nsuch\\u{1b}[31m.cu cannot be read"),
        ("kernel_is_a_folder", kernel("src"), "is not a file"),
        ("kernel_empty", made("empty.cu", b""), "is empty"),
        ("kernel_binary", made("binary.cu", &[0xFF, 0xFE, 0, 1, 2]), "is not a text"),
        ("kernel_name", made("other_name.ptx", other_name.as_bytes()), "no kernel matmul but multiply"),
        ("kernel_parameters", made("other_params.ptx", other_params.as_bytes()), "other parameters"),
        ("kernel_instruction", made("unknown.ptx", instruction.as_bytes()), "not a fault of your kernel"),
        ("kernel_not_ptx", made("nonsense.ptx", b"nonsense"), "not valid PTX, line 1"),
        ("block_of_2000", with("--block", "2000,1"), "2000 threads"),
        ("block_of_0", with("--block", "0,1"), "at least 1"),
        ("shared", with("--shared", "300000"), "shared memory"),
    ]
}

/// One line on standard error, nothing on standard output, and status 2.
fn refused(args: &[String], words: &str) -> Result<()> {
    let error = fails(&args.iter().map(String::as_str).collect::<Vec<_>>(), 2, words)?;
    ensure!(error.trim_end().lines().count() == 1, "not one sentence: {error}");
    Ok(())
}

fn a_fault_shows_its_instruction_and_a_remedy() -> Result<()> {
    let kernel = ptx("wild.ptx", "mov.u64 %rd1, 64; ld.global.f32 %f1, [%rd1];");
    let error = fails(&["--device", "sim", "--size", "32", "--kernel", &kernel], 1, "out of bounds")?;
    let mut lines = error.trim_end().lines();
    ensure!(lines.next().is_some_and(|title| title.contains("out of bounds")), "{error}");
    ensure!(error.contains(" | ") && lines.last().is_some_and(|line| line.contains("= help: ")), "{error}");
    Ok(())
}

/// What stands on standard error; nothing on standard output, and the right status.
fn fails(args: &[&str], status: i32, words: &str) -> Result<String> {
    let output = run(args)?;
    let error = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.code() == Some(status), "status {:?} and not {status}: {error}", output.status.code());
    ensure!(error.starts_with("error: "), "no error: {error}");
    ensure!(error.contains(words), "{words:?} is not in: {error}");
    ensure!(!error.contains("panicked"), "{error}");
    ensure!(output.stdout.is_empty(), "something was printed: {}", String::from_utf8_lossy(&output.stdout));
    Ok(error.into_owned())
}

fn report(args: &[&str]) -> Result<(Value, Option<i32>)> {
    let output = run(&[&["--device", "sim", "--json"], args].concat())?;
    let value = serde_json::from_slice(&output.stdout)
        .with_context(|| format!("no JSON: {}", String::from_utf8_lossy(&output.stderr)))?;
    Ok((value, output.status.code()))
}

fn json_of_a_wrong_product() -> Result<()> {
    let kernel = ptx("writes_nothing.ptx", "");
    let (report, status) = report(&["--size", "64", "--kernel", &kernel])?;
    ensure!(status == Some(1), "status {status:?}");
    let verification = &report["verification"];
    ensure!(verification["ok"] == false, "{verification}");
    ensure!(verification["diagnosis"].as_str().is_some_and(|text| text.contains("never written")), "{verification}");
    Ok(())
}

fn a_closed_pipe_is_no_panic() -> Result<()> {
    let mut child =
        program().args(["--device", "sim", "--size", "32"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    drop(child.stdout.take());
    let output = child.wait_with_output()?;
    let error = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.code() == Some(2), "status {:?}: {error}", output.status.code());
    ensure!(
        error.starts_with("error: standard output cannot be written") && error.trim_end().lines().count() == 1,
        "{error}"
    );
    Ok(())
}

/// The launch line of a file holds; what the command line says wins over it; a wrong line is an error that names it. One thread
/// writes element 0, and the grid covers C.
fn a_launch_line_holds_when_the_file_is_run_by_hand() -> Result<()> {
    const LINE: &str = "// launch: block 4,2 tile 4,3 shared 128";
    let body = "ld.param.u64 %rd1, [c]; mov.f32 %f1, 0f3F800000; st.global.f32 [%rd1], %f1;";
    let source = std::fs::read_to_string(ptx("launch_line.ptx", body))?;
    let with = |line: &str| file("launch_line.ptx", format!("{line}\n{source}").as_bytes());
    for (line, options, grid, block, shared) in [
        (LINE, "", [3, 2, 1], [4, 2, 1], 128),
        (LINE, "--block 8,2", [3, 2, 1], [8, 2, 1], 128),
        (LINE, "--shared 64", [3, 2, 1], [4, 2, 1], 64),
        (LINE, "--tile 2,2", [5, 3, 1], [4, 2, 1], 128),
        ("", "--block 4,2 --tile 4,3 --shared 128", [3, 2, 1], [4, 2, 1], 128),
    ] {
        let (kernel, options): (_, Vec<&str>) = (with(line)?, options.split_whitespace().collect());
        let (report, _) = report(&[&["--size", "6x10x4", "--kernel", &kernel], &options[..]].concat())?;
        let launch = json!({"grid": grid, "block": block, "shared_bytes": shared, "launches": 1});
        ensure!(report["launch"] == launch, "{line} {options:?}: {}", report["launch"]);
    }
    let kernel = with("// launch: block 4")?;
    fails(&["--device", "sim", "--kernel", &kernel], 2, "line 1 is not a launch: block takes two numbers").map(drop)
}

/// The variant `bands` cuts wide grids into bands; the step's own launch has none, and that of a learner's kernel only if it
/// is to be like the variant's.
fn bands_are_for_the_variant_alone() -> Result<()> {
    let [naive, bands] = ["../step02_gpu_naive/ptx/kernel-f32.sm75.ptx", "ptx/bands-f32.sm75.ptx"];
    for (kernel, grid) in [
        (&["--variant", "bands"][..], [32, 1, 2]),
        (&[][..], [64, 1, 1]),
        (&["--kernel", naive][..], [64, 1, 1]),
        (&["--kernel", bands, "--variant", "bands"][..], [32, 1, 2]),
    ] {
        let (report, _) = report(&[&["--size", "1x2048x4"], kernel].concat())?;
        ensure!(report["launch"]["grid"] == json!(grid), "{}", report["launch"]);
        ensure!(report["verification"]["ok"] == true, "{}", report["verification"]);
    }
    Ok(())
}

fn a_syntax_error_names_file_and_line() -> Result<()> {
    let kernel = file("syntax.cu", b"extern \"C\" __global__ void matmul(const float* A)\n{\n    int x = ;\n}\n")?;
    fails(&["--device", "sim", "--kernel", &kernel], 2, "syntax.cu(3): error").map(drop)
}

/// NVRTC without the second library that lies beside it.
fn an_incomplete_nvrtc_is_not_the_kernels_fault() -> Result<()> {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("incomplete_nvrtc");
    std::fs::create_dir_all(&folder)?;
    let library = &nvrtc::find()?.path;
    std::fs::copy(library, folder.join(library.file_name().context("NVRTC has no name")?))?;
    let source = std::fs::read_to_string(root().join("step04_tiled/kernel.cu"))?;
    let kernel = file("right_kernel.cu", source.as_bytes())?;
    let output = program()
        .args(["--device", "sim", "--size", "32", "--kernel", &kernel])
        .env(nvrtc::PATH_VARIABLE, &folder)
        .output()?;
    let error = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.code() == Some(2), "status {:?}: {error}", output.status.code());
    ensure!(error.contains("is incomplete (failed to open ") && error.contains("); pip install "), "{error}");
    ensure!(!error.contains("right_kernel") && error.trim_end().lines().count() == 1, "the kernel is blamed: {error}");
    Ok(())
}

fn an_edit_takes_effect_without_a_build() -> Result<()> {
    let source = std::fs::read_to_string(root().join("step04_tiled/kernel.cu"))?;
    let right = file("edited.cu", source.as_bytes())?;
    ensure!(
        run(&["--device", "sim", "--size", "70", "--kernel", &right])?.status.success(),
        "the step's own kernel fails"
    );
    file("edited.cu", source.replace("sum += ", "sum -= ").as_bytes())?;
    let output = run(&["--device", "sim", "--size", "70", "--kernel", &right])?;
    let text = String::from_utf8_lossy(&output.stdout);
    ensure!(output.status.code() == Some(1) && text.contains("wrong sign"), "{text}");
    Ok(())
}
