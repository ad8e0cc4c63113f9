//! rustc for kernels in Rust: it writes PTX by itself, if it has `core` for GPUs. Two crates are compiled with each kernel: `gpu`,
//! and `host`, which holds the constants that a step gives its kernel.
//!
//! A kernel is untrusted text. It is compiled in a separate folder with an empty environment. It cannot name a file (`bounded`), nor
//! enable a compiler feature beyond `FEATURES`, and it has no macros that run code. Bugs of rustc or LLVM that a kernel may exploit
//! are not covered.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, anyhow, bail, ensure};
use serde::{Deserialize, Serialize};

use crate::unit::{Compiled, Unit, first_errors};
use system::escape;
use system::escaped;
use system::files::hand_over;

const TARGET: &str = "nvptx64-nvidia-cuda";
/// The environment variable that names a rustc that has a core library for GPUs, if the one on the path has none.
pub const VARIABLE: &str = "GPU_RUSTC";
/// Features that are not stable and that a kernel may use.
const FEATURES: &str = "abi_ptx,asm_experimental_arch,core_intrinsics,stdarch_nvptx";
/// Without the first, register tiles land in memory; without the second, ptxas refuses what is written for debuggers. The third leaves
/// addresses as the kernel forms them: LLVM takes them apart, and ptxas then makes copies wait for each other. With the fourth, fewer
/// registers hold what is needed later, which leaves ptxas a better choice.
const LLVM: &str = "-unroll-threshold=20000 -generate-arange-section=false -disable-lsr -nvptx-sched4reg";

/// The argument with which a child starts this program again, to become rustc: before that, it asks the system to end it with the child.
pub(crate) const ARGUMENT: &str = "--rustc-for-its-parent";

/// Whether this process is a compiler's child.
static IS_CHILD: AtomicBool = AtomicBool::new(false);

/// From now on, a rustc that this process starts ends with it, if the system can do that.
pub(crate) fn end_with_this_process() {
    IS_CHILD.store(cfg!(target_os = "linux"), Ordering::Relaxed);
}

/// A command that runs rustc.
fn started(path: &Path) -> Command {
    match std::env::current_exe() {
        Ok(program) if IS_CHILD.load(Ordering::Relaxed) => {
            let mut command = Command::new(program);
            command.arg(ARGUMENT).arg(path);
            command
        }
        _ => Command::new(path),
    }
}

/// Becomes the program that the arguments name.
pub(crate) fn become_it() -> ExitCode {
    #[cfg(unix)]
    if let Some(program) = std::env::args_os().nth(2) {
        let mut command = Command::new(&program);
        let error = std::os::unix::process::CommandExt::exec(command.args(std::env::args_os().skip(3)));
        eprintln!("{} does not start ({error})", escaped(Path::new(&program)));
    }
    ExitCode::FAILURE
}

/// A rustc that compiles for GPUs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Rustc {
    /// The compiler's file.
    pub path: PathBuf,
    /// What it calls itself: `rustc 1.96.0`.
    pub version: String,
}

/// The rustc of this machine, looked for once. rustup chooses it by the files of `folder`.
pub fn find(folder: &Path) -> Result<&'static Rustc> {
    static FOUND: OnceLock<Result<Rustc, String>> = OnceLock::new();
    FOUND
        .get_or_init(|| search(folder).map_err(|error| format!("{error:#}")))
        .as_ref()
        .map_err(|error| anyhow!("{error}"))
}

fn search(folder: &Path) -> Result<Rustc> {
    let program = std::env::var_os(VARIABLE).filter(|path| !path.is_empty()).unwrap_or_else(|| "rustc".into());
    let ask = |arguments: &[&str]| -> Result<String> {
        let output = Command::new(&program).args(arguments).current_dir(folder).output();
        let output = output.with_context(|| format!("{} does not start", escaped(Path::new(&program))))?;
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let version = ask(&["--version"])?.split(' ').take(2).collect::<Vec<_>>().join(" ");
    let libraries = ask(&["--print", "target-libdir", "--target", TARGET])?;
    let is_core = |name: &str| name.strip_suffix(".rlib").is_some_and(|name| name.starts_with("libcore"));
    let mut files = fs::read_dir(libraries).into_iter().flatten().flatten();
    ensure!(
        files.any(|file| is_core(&file.file_name().to_string_lossy())),
        "{version} has no core library for GPUs; rustup target add {TARGET} brings it, and {VARIABLE}=/path/to/rustc points to a compiler that has it"
    );
    // The rustc on rustup's path is a proxy that looks for the compiler, and needs an environment for it.
    let real =
        Path::new(&ask(&["--print", "sysroot"])?).join("bin/rustc").with_extension(std::env::consts::EXE_EXTENSION);
    let path = if real.is_file() { real } else { PathBuf::from(program) };
    Ok(Rustc { path, version })
}

/// Refuses a text with a word that would let the compiler open another file of this machine. Comments count, too, unless nothing in
/// them could end a string or a comment that began before.
pub fn bounded(text: &str) -> Result<()> {
    const WORDS: [&str; 6] = ["include", "include_str", "include_bytes", "path", "env", "option_env"];
    for line in text.lines() {
        let code = match line.split_once("//") {
            Some((code, comment)) if !comment.contains('"') && !comment.contains("*/") => code,
            _ => line,
        };
        let mut words = code.split(|c: char| !c.is_alphanumeric() && c != '_');
        if let Some(word) = words.find(|word| WORDS.contains(word)) {
            bail!("it says {word}, and a kernel in Rust is one file that reads no other; use another name");
        }
    }
    Ok(())
}

impl Rustc {
    /// Compiles a kernel to PTX, within this process's limits. If it does not compile, the error holds rustc's messages.
    pub fn compile(&self, unit: &Unit) -> Result<Compiled> {
        let folder = tempfile::tempdir().context("there is no folder for temporary files; set TMPDIR to one")?;
        let (mut known, at) = (Vec::new(), folder.path());
        for [name, text, _] in &unit.headers {
            hand_over(&at.join(format!("{name}.rs")), text.as_bytes())?;
            let output =
                self.run(at, unit, name, &["--edition=2024", "--emit=metadata", "-Zalways-encode-mir"], &known)?;
            let log = String::from_utf8_lossy(&output.stderr);
            let (version, log) = (&self.version, log.trim());
            ensure!(output.status.success(), "{version} does not compile the crate {name} ({log}); update one of them");
            known.push(format!("--extern={name}=lib{name}.rmeta"));
        }
        hand_over(&at.join("kernel.rs"), unit.source.as_bytes())?;
        let attributes = ["no_std", &format!("feature({FEATURES})")].map(|text| format!("-Zcrate-attr={text}"));
        let features = format!("-Zallow-features={FEATURES}");
        let options = ["--edition=2021", "--emit=asm", "-Zverbose-asm", &features, &attributes[0], &attributes[1]];
        let output = self.run(at, unit, "kernel", &options, &known)?;
        if !output.status.success() {
            let log = escape(&String::from_utf8_lossy(&output.stderr).replace("kernel.rs", &unit.name));
            ensure!(log.contains("error"), "{} takes rustc more memory or time than it may have", unit.name);
            bail!("{} does not compile; fix what rustc says:\n{}", unit.name, first_errors(&log, 40));
        }
        let ptx = fs::read_to_string(at.join("kernel.s")).context("rustc wrote no PTX")?;
        let missing = ptx.lines().find_map(|line| line.trim_start().strip_prefix(".extern .func"));
        if let Some(missing) = missing {
            let name = missing.split_once(')').map_or(missing, |(_, name)| name).trim_matches([' ', '\t', '(']);
            bail!(
                "{} calls {name}, of which there is no PTX; where an index or a divisor may be wrong, rustc calls what panics: \
                 use gpu::registers! for arrays, and divide by constants",
                unit.name
            );
        }
        Ok(Compiled { ptx: tidy(&escape(&ptx), &unit.name), cubin: None })
    }

    fn run(&self, folder: &Path, unit: &Unit, name: &str, options: &[&str], known: &[String]) -> Result<Output> {
        let mut command = started(&self.path);
        command.current_dir(folder).env_clear().env("RUSTC_BOOTSTRAP", "1").env("TMPDIR", folder);
        if let Some(root) = std::env::var_os("SYSTEMROOT") {
            command.env("SYSTEMROOT", root);
        }
        command.args(["--target", TARGET, "--crate-type=lib", "--crate-name", name, &format!("{name}.rs")]);
        command.args("-Copt-level=3 -Cpanic=abort -Ccodegen-units=1 -Cdebuginfo=line-directives-only".split(' '));
        command.args(&unit.options).args(["-Awarnings", "-Ctarget-feature=+ptx81"]);
        command.arg(format!("-Cllvm-args={LLVM}")).args(options).args(known);
        command.output().with_context(|| format!("{} does not start", escaped(&self.path)))
    }
}

/// Rewrites rustc's PTX so that it names lines of the kernel's file only: an inlined function counts as the line that calls it, which
/// rustc gives in a comment: `.loc 3 76 9 // gpu.rs:76:9 @[ kernel.rs:40:19 ]`.
fn tidy(ptx: &str, name: &str) -> String {
    let mut text = String::new();
    let mut last = String::new();
    for line in ptx.lines() {
        let (code, comment) = line.split_once("//").map_or((line, ""), |(code, comment)| (code, comment.trim()));
        let word = code.split_whitespace().next().unwrap_or_default();
        match word {
            "" | ".file" | ".section" => {}
            label if label.starts_with("$L__tmp") => {}
            ".loc" => {
                let place = comment.split(' ').find_map(|place| place.strip_prefix("kernel.rs:")).unwrap_or_default();
                if let Some((line, column)) = place.split_once(':').filter(|_| place != last) {
                    text += &format!("\t.loc\t1 {line} {column}\n");
                    place.clone_into(&mut last);
                }
            }
            _ => text += &format!("{}\n", code.trim_end()),
        }
    }
    text + &format!("\t.file\t1 \"{name}\"\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_way_of_writing_it_names_another_file() {
        for way in [
            "const X: &str = include_str!(\"/etc/passwd\");",
            "#[path = \"/etc/passwd\"] mod x;",
            "macro_rules! m { ($a:ident) => { #[$a = \"/x\"] mod y; } } m!(path);",
            "let a = \"\n// \"; r#include!(\"/etc/passwd\");",
            "/*\n// */ core::include_bytes!(\"/etc/passwd\");",
            "option_env!(\"HOME\")",
        ] {
            let error = bounded(way).unwrap_err().to_string();
            assert!(error.starts_with("it says ") && error.contains("; use"), "{error}");
        }
        bounded("let pathway = 1; // the bounds include the path of the edge\nenvironment();").unwrap();
    }

    #[test]
    fn lines_are_those_of_the_kernel() {
        let ptx = "// made\n.version 8.1\n\t.loc\t3 76 9 // gpu.rs:76:9 @[ gpu.rs:107:5 @[ kernel.rs:40:19 ] ]\n$L__tmp5:\n\
            \tfma.rn.f32 %r1, %r2, %r3, %r1; // a\n\t.loc 3 77 1 // gpu.rs:77:1 @[ kernel.rs:40:19 ]\n$L__BB0_1:\n\tret;\n\
            \t.loc 1 0 0 // kernel.rs:0\n\t.file 1 \"/tmp/kernel.rs\"\n\t.section .debug_macinfo { }\n";
        let expected = ".version 8.1\n\t.loc\t1 40 19\n\tfma.rn.f32 %r1, %r2, %r3, %r1;\n$L__BB0_1:\n\tret;\n\t.file\t1 \"mine/k.rs\"\n";
        assert_eq!(tidy(ptx, "mine/k.rs"), expected);
    }
}
