//! Wrong kernels of a learner's own: the finding names the line, and its repair, applied by this test, makes the kernel right at a
//! size that was not tried. What kernels are called makes no difference.

use std::fs;

use anyhow::{Context as _, Result, ensure};
use common::code::find_nvrtc;
use libtest_mimic::Trial;
use serde_json::Value;

use super::{folder, needing, program, trial};

pub fn trials() -> Vec<Trial> {
    let all = CASES.iter().map(|case| trial(&format!("repairs::{}", case.name), || check(case)));
    needing("NVRTC", find_nvrtc().map(drop), all)
}

/// A right kernel with two barriers and bounds.
const RIGHT: &str = "\
#define T 16
extern \"C\" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ float of_a[T][T];
    __shared__ float of_b[T][T];
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * T + y, col = blockIdx.x * T + x;
    float sum = 0;
    for (int k0 = 0; k0 < K; k0 += T) {
        of_a[y][x] = row < M && k0 + x < K ? A[row * K + k0 + x] : 0;
        of_b[y][x] = k0 + y < K && col < N ? B[(k0 + y) * N + col] : 0;
        __syncthreads();
        for (int k = 0; k < T; ++k)
            sum += of_a[y][k] * of_b[k][x];
        __syncthreads();
    }
    if (row < M && col < N)
        C[row * N + col] = sum;
}
";

/// One mistake in the kernel, or in its launch.
struct Case {
    name: &'static str,
    old: &'static str,
    new: &'static str,
    launch: [&'static str; 2],
    /// The line to change; none if it is the launch.
    line: Option<u64>,
}

const SQUARE: [&str; 2] = ["16,16", "16,16"];

const CASES: [Case; 6] = [
    Case { name: "an_index", old: "A[row * K", new: "A[row * N", launch: SQUARE, line: Some(9) },
    Case { name: "a_bound", old: "k < T; ++k", new: "k < T - 1; ++k", launch: SQUARE, line: Some(12) },
    Case { name: "a_first_value", old: "sum = 0;", new: "sum;", launch: SQUARE, line: Some(7) },
    Case { name: "a_type", old: "float sum", new: "int sum", launch: SQUARE, line: Some(7) },
    Case { name: "a_barrier", old: "        __syncthreads();\n    }", new: "    }", launch: SQUARE, line: Some(9) },
    Case { name: "a_launch", old: "", new: "", launch: ["16,8", "16,16"], line: None },
];

/// The findings about a kernel, and whether it is right and has no hazard.
fn findings(name: &str, text: &str, [block, tile]: [&str; 2], size: &str) -> Result<(Value, bool)> {
    let file = folder("repairs")?.join(format!("{name}.cu"));
    fs::write(&file, text)?;
    let launch = ["--block", block, "--tile", tile, "--size", size];
    let output =
        program().args(["--device", "sim", "--check", "--json", "--kernel"]).arg(&file).args(launch).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let report: Value = serde_json::from_str(&text).with_context(|| text.clone().into_owned())?;
    Ok((report["findings"].clone(), output.status.success()))
}

/// The text and the launch after a repair.
fn repaired(text: &str, repair: &Value, launch: [&str; 2]) -> Result<(String, [String; 2])> {
    let mut lines: Vec<Option<String>> = text.lines().map(|line| Some(line.to_owned())).collect();
    for edit in repair["edits"].as_array().context("no edits")? {
        let at = edit["line"].as_u64().context("no line")? as usize - 1;
        ensure!(lines[at].as_deref() == edit["old"].as_str(), "line {} is not {}", at + 1, edit["old"]);
        lines[at] = edit["new"].as_str().filter(|new| !new.is_empty()).map(str::to_owned);
    }
    let text = lines.into_iter().flatten().collect::<Vec<_>>().join("\n");
    let launch =
        ["block", "tile"].map(|part| repair["launch"][part].as_str().map(str::to_owned)).into_iter().zip(launch);
    let launch: Vec<String> = launch.map(|(new, old)| new.unwrap_or_else(|| old.to_owned())).collect();
    Ok((text, launch.try_into().unwrap_or_default()))
}

fn check(case: &Case) -> Result<()> {
    let wrong = RIGHT.replacen(case.old, case.new, usize::from(!case.old.is_empty()));
    let (found, right) = findings(case.name, &wrong, case.launch, "40x44x50")?;
    ensure!(!right && found.as_array().is_some_and(|all| all.len() == 1), "{found}");
    let finding = &found[0];
    let lines = finding["lines"].as_array().context("no lines")?;
    ensure!(lines.len() <= 3, "{found}");
    ensure!(lines.first().and_then(Value::as_u64) == case.line, "{found}");
    let (text, [block, tile]) = repaired(&wrong, &finding["repair"], case.launch)?;
    let (found, right) = findings(case.name, &text, [&block, &tile], "33x71x39")?;
    ensure!(right && found == Value::Array(vec![]), "{text}{found}");
    // The same kernel with other names has the same repair.
    let renamed = ["of_a", "of_b", "row", "col", "sum", "k0", "M", "N", "K", "A", "B", "C", "T", "x", "y", "k"];
    let [other, expected] =
        [&wrong, &text].map(|text| renamed.iter().fold(text.clone(), |text, name| rename(&text, name)));
    let (found, _) = findings(&format!("{}_renamed", case.name), &other, case.launch, "40x44x50")?;
    let (told, _) = repaired(&other, &found[0]["repair"], case.launch)?;
    ensure!(told.trim() == expected.trim(), "{told}\n\n{expected}");
    Ok(())
}

/// Gives a name of the kernel another ending; members of built-in variables keep theirs, and so does `extern "C"`.
fn rename(text: &str, name: &str) -> String {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let mut out = String::new();
    for part in text.split_inclusive(|c| !is_part(c)) {
        let word = part.trim_end_matches(|c| !is_part(c));
        let ending = if word == name && !out.ends_with(['.', '"']) { "_eins" } else { "" };
        out += &format!("{word}{ending}{}", &part[word.len()..]);
    }
    out
}
