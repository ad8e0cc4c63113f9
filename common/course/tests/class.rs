//! A class of made-up hand-ins: right, wrong, racy, hostile and copied ones, most of them edits of the course's kernel. Each
//! costs its own row and nothing else.

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, ensure};
use common::basics::workspace;
use libtest_mimic::Arguments;

use support::{PROGRAM, mine, needs_nvrtc, trial};

/// The file, what is replaced in the kernel of step 4, the points, and words of what is said.
type Case = (&'static str, &'static [(&'static str, &'static str)], &'static str, &'static str);

const BARRIER: &str = "        __syncthreads();\n";
const LOOP: &str = "k0 < K; k0 += TILE";
const START: &str = "    ELEMENT sum = 0;";

#[rustfmt::skip] // one hand-in is read as a line or two
const CASES: &[Case] = &[
    ("ada/step04.cu", &[], "16", ""),
    ("ben/lab4/kernel.cu", &[("ELEMENT sum", "ELEMENT total"), ("sum +=", "total +="), ("= sum;", "= total;")], "16", ""),
    ("cleo_step4.cu", &[("As", "first"), ("As", "first"), ("As", "first"), ("// One", "// Mine, all mine. One")], "16", ""),
    ("dan/Step04.CU", &[("\n", "\r\n"), ("#", "#")], "16", ""),
    ("eva/step04.cu", &[("unroll", "unroll"), ("for (int k = 0;", "#pragma unroll 4\n        for (int k = 0;")], "16", ""),
    // Racy.
    ("fred/step04.cu", &[(BARRIER, "")], "0", "data race"),
    ("gina/step04.cu", &[(BARRIER, ""), (BARRIER, "")], "0", "data race"),
    ("hugo/step04.cu", &[("    if (row < M", "    __shared__ int last;\n    last = x;\n    __syncthreads();\n    if (last == K + 99) sum = 0;\n    if (row < M")], "12", "data race"),
    // Wrong.
    ("ines/step04.cu", &[(LOOP, "k0 + TILE <= K; k0 += TILE")], "10", "k not multiplied once each"),
    ("jan/step04.cu", &[(" ? *a_from : 0", " || true ? *a_from : 0"), (" ? *b_from : 0", " || true ? *b_from : 0")], "10", "access out of bounds"),
    ("kim/step04.cu", &[("As[y][k] * Bs[k][x]", "As[y][k] * Bs[x][k]")], "0", "factors that do not belong together"),
    ("leo/step04.cu", &[("sum += ", "sum -= ")], "0", "wrong sign"),
    ("mia/step04.cu", &[(START, "    if (row >= M || col >= N) return;\n    ELEMENT sum = 0;")], "10", "barrier"),
    ("nils/step04.cu", &[(START, "    int sum = 0;")], "0", "value converted to another type"),
    ("olga/step04.cu", &[("ELEMENT sum = 0;", "ELEMENT sum = ;")], "0", "does not compile"),
    ("paul/step04.cu", &[("matmul(", "multiply(")], "0", ""),
    // Right, with a goal missed.
    ("quin/step04.cu", &[("As[TILE][TILE]", "As[TILE][TILE * 2]"), ("As[y][x]", "As[x][y]"), ("As[y][k]", "As[k][y]")], "", "missed: no bank conflicts"),
    // Hostile.
    ("rita/step04.cu", &[(LOOP, "k0 < K; k0 += 0")], "0", "access out of bounds"),
    ("sven/step04.cu", &[("ELEMENT sum = 0;", "ELEMENT sum = 0;\n    while (true) asm volatile(\"\");")], "0", "does not end in time"),
    ("tara/step04.cu", &[("// One", "#include \"/dev/zero\"\n// One")], "0", ""),
    ("udo/step04.cu", &[("// One", "template <int N> struct T { using L = typename T<N - 1>::L; using R = typename T<N - 2>::R; };\nT<100000>::L oops;\n// One")], "0", ""),
    ("vera/step04.cu", &[("// One", "// </pre><script>alert(1)</script><img src=x onerror=alert(2)>\n// One"), (BARRIER, "")], "0", "data race"),
    ("will/step04.cu", &[("ELEMENT sum = 0;", "ELEMENT sum = 0;\n    __trap();")], "0", "trap"),
    ("=cmd|' /C calc'!A0.step04.cu", &[], "16", ""),
    ("it's \"quoted\" & <b>bold</b> step04.cu", &[], "16", ""),
    ("x/launch_step04.cu", &[("// One", "// launch: block 99999,99999 tile 1,1\n// One")], "", ""),
];

fn main() -> ExitCode {
    let trials = vec![
        needs_nvrtc(trial("a_class_is_graded_and_each_pays_for_itself", class)),
        needs_nvrtc(trial("a_kernel_is_graded_for_a_program", json)),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn hand_in(folder: &Path, file: &str, text: &[u8]) -> Result<PathBuf> {
    let path = folder.join(file);
    fs::create_dir_all(path.parent().unwrap_or(folder))?;
    fs::write(&path, text)?;
    Ok(path)
}

fn course(arguments: &[&str]) -> Result<(String, String, Option<i32>)> {
    let output = Command::new(PROGRAM).args(arguments).env("NO_COLOR", "1").output()?;
    let [out, err] = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    Ok((out, err, output.status.code()))
}

fn right() -> Result<String> {
    Ok(fs::read_to_string(workspace::root().join("step04_tiled/kernel.cu"))?)
}

fn class() -> Result<()> {
    let folder = mine("class")?;
    let right = right()?;
    for (file, edits, ..) in CASES {
        let text = edits.iter().fold(right.clone(), |text, (from, to)| text.replacen(from, to, 1));
        hand_in(&folder, file, text.as_bytes())?;
    }
    hand_in(&folder, "yan/step04.cu", b"\xff\xfe binary")?;
    hand_in(&folder, "zoe/notes.txt", b"see you on Monday")?;
    hand_in(&folder, "zack/step04.cu", &vec![b' '; 3 << 20])?;
    hand_in(&folder, "yves/mine.cu", right.as_bytes())?;
    hand_in(&folder, "xaver/step04-transfer2.cu", right.as_bytes())?;
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
    let arguments = ["grade", at.as_str(), "--seed", "7", "--csv", &csv_at, "--out", &page_at];
    let (out, err, status) = course(&arguments)?;
    ensure!(status == Some(0), "{status:?}: {out}{err}");
    ensure!(!out.contains(['\x1b', '\r']), "the terminal is commanded: {out:?}");

    let table = fs::read_to_string(&csv)?;
    let row = |file: &str| {
        let cell = format!(",\"{}\",", file.replace('"', "\"\""));
        let guarded = format!(",\"'{file}\",");
        table
            .lines()
            .find(|line| line.contains(&cell) || line.contains(&guarded))
            .with_context(|| format!("no row of {file}: {table}"))
    };
    for (file, _, points, said) in CASES {
        let row = row(file)?;
        ensure!(points.is_empty() || row.contains(&format!(",\"{points}\",")), "{points} points: {row}");
        ensure!(row.contains(said), "{said}: {row}");
    }
    for (file, said) in [
        ("yan/step04.cu", "it is not a text"),
        ("zoe", "there is no .cu file for this lab"),
        ("zack/step04.cu", "more than 1 MiB"),
        ("yves/mine.cu", "no lab is named"),
        ("xaver/step04-transfer2.cu", ",\"4-2\","),
        #[cfg(unix)]
        ("link_step04.cu", "is a link or a pipe"),
        #[cfg(unix)]
        ("fifo_step04.cu", "is a link or a pipe"),
        #[cfg(unix)]
        ("two\\nlines\\u{1b}[31m/step04.cu", ",\"16\","),
    ] {
        ensure!(row(file)?.contains(said), "{said}: {}", row(file)?);
    }
    ensure!(!table.contains("task1") && !table.contains("hidden") && !table.contains(".git"), "{table}");
    ensure!(!table.lines().any(|line| line.starts_with("\"=")), "a spreadsheet would compute: {table}");
    for copied in ["ben/lab4/kernel.cu", "cleo_step4.cu"] {
        ensure!(row("ada/step04.cu")?.contains(copied), "alike: {}", row("ada/step04.cu")?);
    }
    ensure!(out.contains("the course's step04_tiled/kernel.cu") && out.contains("× data race"), "{out}");

    let html = fs::read_to_string(&page)?;
    ensure!(!html.contains("<script") && !html.contains("<img") && !html.contains("<b>bold"), "markup of a hand-in");
    ensure!(html.contains("<u>Bs[y][x]</u>") && html.contains("writes Bs["), "nothing is underlined");

    // What the command wrote it writes again; what somebody else wrote it leaves alone.
    fs::write(&csv, "my marks")?;
    let (_, err, status) = course(&["grade", &at, "--csv", &csv_at])?;
    ensure!(status == Some(2) && err.contains("is there already") && fs::read_to_string(&csv)? == "my marks", "{err}");
    Ok(())
}

fn json() -> Result<()> {
    let folder = mine("class-json")?;
    let file = hand_in(&folder, "k.cu", right()?.replacen(BARRIER, "", 1).as_bytes())?;
    let file = file.display().to_string();
    let (out, err, status) = course(&["lab", "4", "--kernel", &file, "--json", "--seed", "7"])?;
    ensure!(status == Some(0), "{err}");
    let graded: serde_json::Value = serde_json::from_str(&out)?;
    ensure!(graded["points"] == 0.0 && graded["of"] == 16.0 && graded["tasks"][0]["passed"] == false, "{out}");
    let finding = &graded["findings"][0];
    ensure!(finding["kind"] == "data race" && finding["places"][0]["line"] == 27, "{out}");
    ensure!(!out.contains("\\u001b"), "{out}");
    Ok(())
}
