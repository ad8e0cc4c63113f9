//! A class of made-up hand-ins: right, wrong, racy, hostile and copied ones, most of them edits of the course's kernel. Each
//! costs its own row and nothing else.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use common::basics::workspace;
use libtest_mimic::Trial;
use serde_json::Value;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::right;
use super::support::{Said, course, mine, needs_nvrtc, trial, unbroken};

/// The file, what is replaced in the kernel of step 4, the points, and words of what is said.
type Case = (String, Vec<(String, String)>, String, String);

/// By what they are.
const CASES: &str = include_str!("class.json");

/// A right kernel in tiles, as many books have it.
const INDEPENDENT: &str = r#"extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float a[TILE][TILE], b[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int r = blockIdx.y * TILE + ty, c = blockIdx.x * TILE + tx;
    float s = 0;
    for (int t = 0; t < (K + TILE - 1) / TILE; t++) {
        int ka = t * TILE + tx, kb = t * TILE + ty;
        a[ty][tx] = (r < M && ka < K) ? A[r * K + ka] : 0;
        b[ty][tx] = (kb < K && c < N) ? B[kb * N + c] : 0;
        __syncthreads();
        for (int k = 0; k < TILE; k++) s += a[ty][k] * b[k][tx];
        __syncthreads();
    }
    if (r < M && c < N) C[r * N + c] = s;
}
"#;

pub fn trials() -> Vec<Trial> {
    vec![needs_nvrtc(trial("a_class_is_graded_and_each_pays_for_itself", class))]
}

fn hand_in(folder: &Path, file: &str, text: &[u8]) -> Result<()> {
    let path = folder.join(file);
    fs::create_dir_all(path.parent().unwrap_or(folder))?;
    Ok(fs::write(&path, text)?)
}

fn class() -> Result<()> {
    let folder = mine("class")?;
    let right = fs::read_to_string(workspace::root().join("step04_tiled/kernel.cu"))?;
    let cases: BTreeMap<String, Vec<Case>> = serde_json::from_str(CASES)?;
    let cases: Vec<Case> = cases.into_values().flatten().collect();
    for (file, edits, ..) in &cases {
        let text = edits.iter().fold(right.clone(), |text, (from, to)| text.replacen(from.as_str(), to, 1));
        hand_in(&folder, file, text.as_bytes())?;
    }
    // A compiler's message that is longer than any line that people are shown.
    let wordy = right.replacen("sum = 0", &format!("sum = {}", "undeclared".repeat(300)), 1);
    hand_in(&folder, "wordy/step04.cu", wordy.as_bytes())?;
    hand_in(&folder, "rosa/step04.rs", b"in Rust, on a machine without a compiler for it")?;
    // Points are for what was added to the start.
    let starts = ["01_cpu_naive", "02_gpu_naive", "03_single_block", "04_tiled", "05_thread_tile", "06_prefetch"];
    for step in starts {
        let start = fs::read(workspace::root().join(format!("step{step}/lab/start.cu")))?;
        hand_in(&folder, &format!("start/step{}.cu", &step[..2]), &start)?;
    }
    // What is included beside a kernel, as at home.
    hand_in(&folder, "hilda/mine.h", b"#define ROWS TILE\n")?;
    let with_header = "#include \"mine.h\"\n".to_owned() + &right.replacen("[TILE]", "[ROWS]", 1);
    hand_in(&folder, "hilda/step04.cu", with_header.as_bytes())?;
    // Written by somebody who has not seen the course's.
    hand_in(&folder, "ida/step04.cu", INDEPENDENT.as_bytes())?;
    let other = right::kernel("views_with_methods").context("no such kernel")?;
    hand_in(&folder, "iris/step04.cu", other.as_bytes())?;
    let mut zip = ZipWriter::new(fs::File::create(folder.join("Zara May_1816_assignsubmission_file.zip"))?);
    zip.start_file("within/step04.cu", SimpleFileOptions::default())?;
    zip.write_all(right.as_bytes())?;
    zip.finish()?;
    hand_in(&folder, "yan/step04.cu", b"\xff\xfe binary")?;
    hand_in(&folder, "zoe/notes.txt", b"see you on Monday")?;
    hand_in(&folder, "zack/step04.cu", &vec![b' '; 3 << 20])?;
    hand_in(&folder, "ada/step04.task1.cu", b"kept by the course")?;
    hand_in(&folder, ".git/step04.cu", b"hidden")?;
    #[cfg(unix)]
    {
        let path = |file: &str| folder.join(file).display().to_string();
        std::os::unix::fs::symlink("/etc/passwd", folder.join("link_step04.cu"))?;
        ensure!(Command::new("mkfifo").arg(path("fifo_step04.cu")).status()?.success());
        hand_in(&folder, "two\nlines\x1b[31m/step04.cu", right.as_bytes())?;
    }
    let [csv, page] = ["class.csv", "class.html"].map(|name| folder.with_file_name(name));
    for file in [&csv, &page] {
        let _ = fs::remove_file(file);
    }
    let [at, csv_at, page_at] = [&folder, &csv, &page].map(|path| path.display().to_string());
    let answers = mine("class-answers")?;
    let answers_at = answers.display().to_string();
    let arguments =
        ["grade", at.as_str(), "--seed", "7", "--csv", &csv_at, "--out", &page_at, "--answers", &answers_at];
    let no_rustc = ("GPU_RUSTC", folder.as_path());
    let Said { out, err, status } = course(&arguments, &[no_rustc], "")?;
    ensure!(status == Some(0), "{status:?}: {out}{err}");
    ensure!(!out.contains(['\x1b', '\r']), "the terminal is commanded: {out:?}");

    let table = fs::read_to_string(&csv)?;
    let row = |file: &str| {
        let cell = format!(",\"{}\",", file.replace('"', "\"\""));
        let guarded = format!(",\"'{file}\",");
        let found = table.lines().find(|line| line.contains(&cell) || line.contains(&guarded));
        found.with_context(|| format!("no row of {file}: {table}"))
    };
    for (file, _, points, said) in &cases {
        let row = row(file)?;
        ensure!(points.is_empty() || row.contains(&format!(",\"{points}\",")), "{points} points: {row}");
        ensure!(row.contains(said.as_str()), "{said}: {row}");
    }
    for (file, said) in [
        ("wordy/step04.cu", "does not compile"),
        ("start/step01.cu", "\"0\",\"10\""),
        ("start/step02.cu", "\"0\",\"10\""),
        ("start/step03.cu", "\"0\",\"14\""),
        ("start/step04.cu", "\"0\",\"20\""),
        ("start/step05.cu", "\"0\",\"22\""),
        ("start/step06.cu", "\"0\",\"14\""),
        ("hilda/step04.cu", "\"20\",\"20\""),
        ("Zara May_1816_assignsubmission_file/within/step04.cu", "\"Zara May\",\"1816\",\"4\""),
        ("rosa/step04.rs", "does not start"),
        ("yan/step04.cu", "it is not a text"),
        ("zoe", "there is no .cu or .rs file for this lab"),
        ("zack/step04.cu", "more than 1 MiB"),
        #[cfg(unix)]
        ("link_step04.cu", "is a link or a pipe"),
        #[cfg(unix)]
        ("fifo_step04.cu", "is a link or a pipe"),
        #[cfg(unix)]
        ("two\\nlines\\u{1b}[31m/step04.cu", ",\"20\","),
    ] {
        ensure!(row(file)?.contains(said), "{said}: {}", row(file)?);
    }
    ensure!(!table.contains("task1") && !table.contains("hidden") && !table.contains(".git"), "{table}");
    ensure!(!table.lines().any(|line| line.starts_with("\"=")), "a spreadsheet would compute: {table}");
    // Renamed; loads and a condition turned round; macros in place of what they stand for.
    for copied in ["ben/lab4/kernel.cu", "cleo_step4.cu", "ola_1815_98765_step04.cu", "pia/step04.cu"] {
        ensure!(row("ada/step04.cu")?.contains(copied), "alike: {}", row("ada/step04.cu")?);
    }
    for independent in ["ida/step04.cu", "iris/step04.cu", "start/step04.cu"] {
        ensure!(!row("ada/step04.cu")?.contains(independent), "not alike: {}", row("ada/step04.cu")?);
    }
    ensure!(row("ida/step04.cu")?.ends_with("\"\"") && row("ida/step04.cu")?.contains("\"20\",\"20\""), "{table}");
    let said = unbroken(&out);
    ensure!(said.contains("the course's step04_tiled/kernel.cu") && said.contains("× data race"), "{out}");

    let html = fs::read_to_string(&page)?;
    ensure!(!html.contains("<script") && !html.contains("<img") && !html.contains("<b>bold"), "markup of a hand-in");
    ensure!(!html.contains("__shared__") && !html.contains("Bs["), "the page of the class has a part of a kernel");
    ensure!(html.contains("kernels of") && html.contains("% on average"), "the class has no sum: {html}");
    let answer = |name: &str| fs::read_to_string(answers.join(name)).with_context(|| format!("no {name}"));
    let [fred, vera, text] = [answer("fred.html")?, answer("vera.html")?, answer("fred.md")?];
    ensure!(fred.contains("<u>Bs[y][x]</u>") && fred.contains("writes Bs["), "nothing is underlined");
    ensure!(!vera.contains("<script") && !vera.contains("<img"), "markup of a hand-in");
    ensure!(text.contains("# fred") && text.contains("data race") && text.contains("cargo run"), "{text}");
    for others in ["gina", "// Mine, all mine."] {
        ensure!(!fred.contains(others) && !text.contains(others), "{others} in the answer to fred");
    }

    let fred = folder.join("fred/step04.cu").display().to_string();
    let Said { out, .. } = course(&["lab", "4", "--kernel", &fred, "--gradescope", "--seed", "7"], &[], "")?;
    let results: Value = serde_json::from_str(&out)?;
    ensure!(results["score"] == 6.0 && results["tests"].as_array().is_some_and(|tests| tests.len() == 2), "{out}");
    ensure!(results["output"].as_str().is_some_and(|said| said.contains("data race")), "{out}");

    let marked = table.replacen("name,", "mark,name,", 1);
    fs::write(&csv, &marked)?;
    let Said { err, status, .. } = course(&["grade", &at, "--csv", &csv_at], &[], "")?;
    ensure!(status == Some(2) && fs::read_to_string(&csv)? == marked, "a column that somebody added is lost: {err}");
    // What the command wrote it writes again; what somebody else wrote it leaves alone.
    fs::write(&csv, "my marks")?;
    let Said { err, status, .. } = course(&["grade", &at, "--csv", &csv_at], &[], "")?;
    ensure!(status == Some(2) && err.contains("is there already") && fs::read_to_string(&csv)? == "my marks", "{err}");
    Ok(())
}
