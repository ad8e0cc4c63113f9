//! What a kernel, a file or an argument may try, and the answer: a sentence, in time, with no file of this machine in it, none lost, and
//! no command to the terminal. Each attack has a folder of its own, for the learner's files and everything else.

mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use common::basics::workspace;
use libtest_mimic::Arguments;
use wait_timeout::ChildExt as _;

use support::{PROGRAM, trial};

/// What is in the file that no kernel may show.
const SECRET: &str = "root:x:0:0";
const HEAD: &str = "extern \"C\" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)";
const PTX: &str = ".version 8.1\n.target sm_75\n.address_size 64\n.file 1 \"SECRET\"\n.visible .entry matmul(.param .u64 a, \
    .param .u64 b, .param .u64 c, .param .u32 m, .param .u32 n, .param .u32 k) REQUIRED\n{ .reg .b64 %rd<8>; .reg .f32 %f<8>;\n\
    .loc 1 1 1\n mov.u64 %rd1, 64; ld.global.f32 %f1, [%rd1]; ret; }\n";
/// Seconds that an answer may take on a machine that does other work, too: of which a compilation has 20, and a launch.
const SECONDS: u64 = 150;

/// A name, the files, the arguments, the exit status, and words of the answer. HEAD, DIR and SECRET stand for what they name;
/// a file without a text is a pipe.
type Attack = (&'static str, &'static [(&'static str, &'static str)], &'static [&'static str], i32, &'static str);

const KERNEL: &[&str] = &["lab", "2", "--kernel", "DIR/k.cu"];
const PTX_KERNEL: &[&str] = &["lab", "2", "--kernel", "DIR/k.ptx"];
const COMPARED: &[&str] = &["compare", "DIR/one.json", "DIR/two.json"];

#[rustfmt::skip] // an attack is read as a line or two
const ATTACKS: &[Attack] = &[
    // To see a file.
    ("line_names_a_file", &[("k.cu", "#line 1 \"SECRET\"\nHEAD { C[-9] = 0; }")], KERNEL, 1, "out of bounds"),
    ("line_and_an_error", &[("k.cu", "#line 1 \"SECRET\"\nHEAD { x; }")], KERNEL, 1, "is undefined"),
    ("ptx_names_a_file", &[("k.ptx", PTX)], PTX_KERNEL, 1, "out of bounds"),
    ("include_of_a_path", &[("k.cu", "#include \"SECRET\"\nHEAD {}")], KERNEL, 1, "only headers beside the kernel"),
    ("include_after_a_digraph", &[("k.cu", "%:include <SECRET>\nHEAD {}")], KERNEL, 1, "only headers beside the kernel"),
    ("include_of_a_macro", &[("k.cu", "#define X \"SECRET\"\n#include X\nHEAD {}")], KERNEL, 1, "a macro forms"),
    ("include_of_a_folder_above", &[("k.cu", "#include \"../secret.h\"\nHEAD {}")], KERNEL, 1, "only headers beside"),
    ("include_of_a_link", &[("k.cu", "#include \"link.h\"\nHEAD {}")], KERNEL, 1, "does not lie beside the kernel"),
    ("include_of_a_pipe", &[("k.cu", "#include \"pipe.h\"\nHEAD {}"), ("pipe.h", "")], KERNEL, 1, "does not lie beside the kernel"),
    // To keep the compiler busy.
    ("macro_bomb", &[("k.cu", "#define A(x) x x x x x x x x\n#define B(x) A(A(A(A(x))))\nHEAD { B(B(B(C[0]++;))) }")], KERNEL, 1, "takes NVRTC more than"),
    ("template_bomb", &[("k.cu", "template <int N, int M> struct T { static constexpr int v = T<N - 1, 2 * M>::v + T<N - 1, 2 * M + 1>::v; };\ntemplate <int M> struct T<0, M> { static constexpr int v = 1; };\nHEAD { C[0] = T<28, 0>::v; }")], KERNEL, 1, "takes NVRTC more than"),
    ("large_initialiser", &[("k.cu", "struct S { int x = 1; };\n__device__ constexpr S s[1 << 28] = {};\nHEAD { C[0] = s[M].x; }")], KERNEL, 1, ""),
    ("endless_constant", &[("k.cu", "constexpr int f() { int i = 0; while (true) ++i; return i; }\nHEAD { constexpr int x = f(); C[0] = x; }")], KERNEL, 1, ""),
    ("endless_include", &[("k.cu", "#include \"k.cu\"\n#include \"k.cu\"\nHEAD {}")], KERNEL, 1, ""),
    // To keep the simulator busy.
    ("endless_printf", &[("k.cu", "#include <cstdio>\nHEAD { while (M) printf(\"%d %f\\n\", M, 1.0); }"), ("cstdio", "extern \"C\" __device__ int printf(const char*, ...);")], KERNEL, 1, "was stopped after"),
    ("endless_atomics", &[("k.cu", "HEAD { while (M) atomicAdd(C, 1.0f); }")], KERNEL, 1, "was stopped after"),
    ("endless_spin", &[("k.cu", "HEAD { while (((volatile float*)C)[0] != 3.0f); }")], KERNEL, 1, ""),
    // To command the terminal.
    ("error_with_controls", &[("k.cu", "#error \u{1b}]0;title\u{7}\u{1b}[2J\nHEAD {}")], KERNEL, 1, "\\u001b]0;title"),
    ("assertion_of_controls", &[("k.cu", "static_assert(false, \"\\x1b[2J\\x9b\");\nHEAD {}")], KERNEL, 1, "[2J"),
    ("printf_of_controls", &[("k.cu", "extern \"C\" __device__ int printf(const char*, ...);\nHEAD { printf(\"\\x1b[2J\\x1b[31m\\r!\"); C[-9] = 0; }")], KERNEL, 1, "\\u001b[2J\\u001b[31m !"),
    ("assert_of_controls", &[("k.cu", "extern \"C\" __device__ void __assertfail(const char*, const char*, unsigned, const char*, size_t);\nHEAD { __assertfail(\"\\x1b[31m\", \"\\x1b[2J\", 1, \"\\x1b[8m\", 1); }")], KERNEL, 1, "`\\u001b[31m` does not hold"),
    ("source_with_controls", &[("k.cu", "HEAD { C[-9] = 0; /* \u{1b}[2J\u{9b}2J\u{7f} */ }")], KERNEL, 1, "out of bounds"),
    // Files that have no end, or are something else.
    ("kernel_is_a_pipe", &[("k.cu", "")], KERNEL, 2, "it is not a file"),
    ("kernel_is_a_device", &[], &["lab", "2", "--kernel", "/dev/zero"], 2, "it is not a file"),
    ("comparison_is_a_pipe", &[("one.json", ""), ("two.json", "{}")], COMPARED, 2, "it is not a file"),
    ("comparison_is_huge", &[("one.json", "HUGE"), ("two.json", "{}")], COMPARED, 2, "it has 4,294,967,296 bytes"),
    ("progress_is_a_pipe", &[("progress.json", "")], &["lab", "2", "--hint"], 2, "it is not a file"),
    ("progress_is_huge", &[("progress.json", "HUGE")], &["lab", "2", "--hint"], 0, "it is kept as"),
    ("required_block_of_none", &[("k.ptx", PTX)], PTX_KERNEL, 1, "is a block without threads"),
    ("quotes_in_a_name", &[("a\"b $HOME.cu", "HEAD { C[-9] = 0; }")], &["lab", "2", "--kernel", "DIR/a\"b $HOME.cu"], 1, "a\"b $HOME.cu' --size"),
    // To lose a file.
    ("page_over_a_kernel", &[("k.cu", "HEAD {}")], &["explore", "2", "--out", "DIR/k.cu"], 2, "--out"),
    ("page_over_notes", &[("k.html", "mine"), ("k.cu", "// launch: block 8,8\nHEAD {}")], &["explore", "DIR/k.cu"], 2, "--out"),
    ("page_over_a_link", &[], &["explore", "2", "--out", "DIR/link.h"], 2, "--out"),
    ("comparison_over_progress", &[("progress.json", "{}")], &["compare", "--device", "sim", "--save", "DIR/progress.json"], 2, "--save"),
    // Arguments.
    ("line_breaks", &[], &["lab", "2\nerror: no\n\n3"], 2, "there is no lab 2\\nerror: no\\n\\n3; choose"),
    ("line_breaks_in_a_name", &[], &["compare", "--device", "sim", "--steps", "a\nb\u{1b}[2J"], 2, "a\\nb\\u001b[2J"),
    ("more_memory_than_there_is", &[], &["compare", "--device", "sim", "--size", "2000000x2000000x1"], 0, "quarter of its memory at most"),
];

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let mut trials = vec![
        trial("long_arguments_make_no_long_sentence", long_sentence),
        trial("more_threads_than_there_are_cores", many_threads),
    ];
    for attack in ATTACKS {
        let test = trial(attack.0, move || answered(attack));
        let compiles = attack.3 == 1 && attack.2 != PTX_KERNEL;
        trials.push(if compiles { support::needs_nvrtc(test) } else { test });
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn answered((name, files, arguments, status, words): &Attack) -> Result<()> {
    let folder = support::mine(&format!("attack-{name}"))?;
    let secret = folder.with_file_name(format!("attack-{name}-secret"));
    std::fs::write(&secret, SECRET)?;
    std::fs::write(folder.join("../secret.h"), SECRET)?;
    let required = if name.starts_with("required") { ".reqntid 0, 0, 0" } else { "" };
    let dir = folder.display().to_string();
    let fill = |text: &str| {
        let secret = secret.display().to_string();
        text.replace("HEAD", HEAD).replace("DIR", &dir).replace("SECRET", &secret).replace("REQUIRED", required)
    };
    #[cfg(unix)]
    std::os::unix::fs::symlink(&secret, folder.join("link.h"))?;
    for (file, text) in *files {
        let path = folder.join(file);
        match *text {
            "" => ensure!(Command::new("mkfifo").arg(&path).status()?.success(), "there are no pipes here"),
            "HUGE" => std::fs::File::create(&path)?.set_len(4 << 30)?,
            text => std::fs::write(&path, fill(text))?,
        }
    }
    let arguments: Vec<String> = arguments.iter().map(|argument| fill(argument)).collect();
    let (text, ended) = said(&folder, &arguments, true)?;
    // Of a bar only what it was at last.
    let lines = text.replace("\r\n", "\n");
    let text: Vec<&str> = lines.lines().map(|line| line.rsplit('\r').next().unwrap_or_default()).collect();
    let text = text.join("\n");
    ensure!(ended == *status, "status {ended}: {text}");
    ensure!(text.contains(words), "{words:?} is not in {text}");
    ensure!(!text.contains("\u{1b}[8m"), "a style of the kernel's own: {text:?}");
    ensure!(!text.contains(SECRET), "the secret is out: {text}");
    // A thread may print; a sentence has an end.
    ensure!(text.len() < 20_000 || *name == "endless_printf", "{} bytes are too many to read", text.len());
    let commands = text
        .split("\u{1b}[")
        .skip(1)
        .filter(|part| !part.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';').starts_with('m'));
    ensure!(commands.count() == 0 && !text.contains("\u{1b}]"), "a command to the terminal: {text:?}");
    let others = text.replace("\u{1b}[", "").chars().find(|c| c.is_control() && !"\n\t".contains(*c));
    ensure!(others.is_none(), "{others:?} is in {text:?}");
    for (file, text) in files.iter().filter(|(_, text)| !["", "HUGE"].contains(text)) {
        ensure!(std::fs::read_to_string(folder.join(file))? == fill(text), "{file} has changed");
    }
    ensure!(std::fs::read_to_string(&secret)? == SECRET, "the file behind the link has changed");
    Ok(())
}

/// What the program says to a terminal, or to a pipe, and how it ends; in time.
fn said(folder: &Path, arguments: &[String], terminal: bool) -> Result<(String, i32)> {
    const SPAWN: &str = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))";
    let python = ["python3", "python"].into_iter().find(|python| {
        Command::new(python)
            .args(["-c", "import pty"])
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    });
    let mut command = match python.filter(|_| terminal) {
        Some(python) => Command::new(python),
        None => Command::new(PROGRAM),
    };
    if terminal && python.is_some() {
        command.args(["-c", SPAWN, PROGRAM]);
    }
    command.args(arguments).current_dir(workspace::root()).env(course::mine::VARIABLE, folder);
    command.env("TERM", "xterm").env_remove("NO_COLOR");
    let output = PathBuf::from(format!("{}.out", folder.display()));
    let file = std::fs::File::create(&output)?;
    let mut child = command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file).spawn()?;
    let Some(status) = child.wait_timeout(Duration::from_secs(SECONDS))? else {
        child.kill()?;
        child.wait()?;
        anyhow::bail!("no answer after {SECONDS} seconds");
    };
    let text = String::from_utf8_lossy(&std::fs::read(&output)?).into_owned();
    ensure!(!text.contains("panicked"), "{text}");
    Ok((text, status.code().context("a signal ended the program")?))
}

fn long_sentence() -> Result<()> {
    let folder = support::mine("attack-long")?;
    let (text, status) = said(&folder, &["lab".to_owned(), "x".repeat(100_000)], false)?;
    ensure!(status == 2 && text.len() < 2_200 && text.lines().count() == 1, "{} bytes", text.len());
    Ok(())
}

fn many_threads() -> Result<()> {
    let output = Command::new(PROGRAM)
        .args(["compare", "--device", "sim", "--size", "8", "--steps", "step02"])
        .env("RAYON_NUM_THREADS", "100000")
        .output()?;
    ensure!(output.status.success(), "{output:?}");
    Ok(())
}
