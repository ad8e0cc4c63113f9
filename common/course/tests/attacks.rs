//! What a kernel, a file or an argument may try, and the answer: a sentence, in time, with no file of this machine in it, none lost, and
//! no command to the terminal. Each attack has a folder of its own, for the learner's files and everything else.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use common::basics::process;
use compile::nvrtc;
use libtest_mimic::Trial;

use super::labs::is_refusal;
use super::support::{self, PROGRAM, course, trial, unbroken};

/// The head of a kernel, and PTX that may require something of a launch.
const HEAD: &str = include_str!("attacks/head.txt");
const PTX: &str = include_str!("attacks/kernel.ptx");
/// What is in the file that no kernel may show.
const SECRET: &str = "root:x:0:0";
/// Seconds that an answer may take on a machine that does other work, too: of which a compilation has 20, and a launch.
const SECONDS: u64 = 150;

/// A name, the files, the arguments, the exit status, and words of the answer. HEAD, PTX, DIR and SECRET stand for what they name;
/// a file without a text is a pipe.
type Attack = (String, Vec<(String, String)>, Vec<String>, i32, String);

/// By what they are after.
const ATTACKS: &str = include_str!("attacks.json");

pub fn trials() -> Vec<Trial> {
    let mut trials = vec![
        trial("long_arguments_make_no_long_sentence", long_sentence),
        trial("more_threads_than_there_are_cores", many_threads),
    ];
    #[cfg(unix)]
    trials.extend([
        trial("an_argument_that_is_no_text", no_text),
        trial("pipes_instead_of_a_folder_and_a_library", pipes),
        support::needs_nvrtc(trial("no_file_may_be_written", no_room)),
    ]);
    #[cfg(target_os = "linux")]
    trials.push(trial("a_compiler_ends_with_who_started_it", ends_with_its_parent));
    let attacks: BTreeMap<String, Vec<Attack>> = serde_json::from_str(ATTACKS).expect("attacks.json is JSON");
    for (after, attacks) in attacks {
        // Those are stopped after seconds of work.
        let prefix = if after.starts_with("To keep") { "slow::" } else { "" };
        for attack in attacks {
            let compiles = attack.3 < 2 && attack.1.iter().any(|(_, text)| text.contains("HEAD"));
            let test = trial(format!("{prefix}{}", attack.0), move || answered(&attack));
            trials.push(if compiles { support::needs_nvrtc(test) } else { test });
        }
    }
    trials
}

fn answered((name, files, arguments, status, says): &Attack) -> Result<()> {
    let folder = support::mine(&format!("attack-{name}"))?;
    let secret = folder.with_file_name(format!("attack-{name}-secret"));
    std::fs::write(&secret, SECRET)?;
    std::fs::write(folder.join("../secret.h"), SECRET)?;
    let required = if name.starts_with("required") { ".reqntid 0, 0, 0" } else { "" };
    let [dir, secret_file] = [&folder, &secret].map(|path| path.display().to_string());
    let words = [("PTX", PTX), ("HEAD", HEAD), ("DIR", &dir), ("SECRET", &secret_file), ("REQUIRED", required)];
    let fill = |text: &str| words.iter().fold(text.to_owned(), |text, (word, by)| text.replace(word, by));
    #[cfg(unix)]
    std::os::unix::fs::symlink(&secret, folder.join("link.h"))?;
    for (file, text) in files {
        let path = folder.join(file);
        match text.as_str() {
            "" => ensure!(Command::new("mkfifo").arg(&path).status()?.success(), "there are no pipes here"),
            "HUGE" => std::fs::File::create(&path)?.set_len(4 << 30)?,
            text => std::fs::write(&path, fill(text))?,
        }
    }
    let arguments: Vec<String> = arguments.iter().map(|argument| fill(argument)).collect();
    let (text, ended) = answer(&folder, &arguments)?;
    // Of a bar only what it was at last.
    let lines = text.replace("\r\n", "\n");
    let text: Vec<&str> = lines.lines().map(|line| line.rsplit('\r').next().unwrap_or_default()).collect();
    let text = text.join("\n");
    ensure!(ended == *status, "status {ended}: {text}");
    ensure!(unbroken(&text).contains(says.as_str()), "{says:?} is not in {text}");
    ensure!(!text.contains("\u{1b}[8m"), "a style of the kernel's own: {text:?}");
    ensure!(!text.contains(SECRET), "the secret is out: {text}");
    // A thread may print; a sentence has an end.
    let most = if name.ends_with("printf") { 3 << 20 } else { 20_000 };
    ensure!(text.len() < most, "{} bytes are too many to read", text.len());
    let is_style = |part: &str| part.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';').starts_with('m');
    let styles = text.split("\u{1b}[").skip(1).all(is_style);
    ensure!(styles && !text.contains("\u{1b}]"), "a command to the terminal: {text:?}");
    let others = text.replace("\u{1b}[", "").chars().find(|c| c.is_control() && !"\n\t".contains(*c));
    ensure!(others.is_none(), "{others:?} is in {text:?}");
    for (file, text) in files.iter().filter(|(_, text)| !["", "HUGE"].contains(&text.as_str())) {
        ensure!(std::fs::read_to_string(folder.join(file))? == fill(text), "{file} has changed");
    }
    ensure!(std::fs::read_to_string(&secret)? == SECRET, "the file behind the link has changed");
    Ok(())
}

/// What the program says to a terminal, if there is a Python to make one, and how it ends; in time.
fn answer(folder: &Path, arguments: &[String]) -> Result<(String, i32)> {
    const SPAWN: &str = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))";
    let python = ["python3", "python"].into_iter().find(|python| {
        let tried = Command::new(python).args(["-c", "import pty"]).stderr(Stdio::null()).status();
        tried.is_ok_and(|status| status.success())
    });
    let mut command = Command::new(python.unwrap_or(PROGRAM));
    if python.is_some() {
        command.args(["-c", SPAWN, PROGRAM]);
    }
    command.args(arguments).env(course::mine::VARIABLE, folder);
    command.env("TERM", "xterm").env_remove("NO_COLOR");
    let output = PathBuf::from(format!("{}.out", folder.display()));
    let file = std::fs::File::create(&output)?;
    let mut child = command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file).spawn()?;
    let status = process::wait(&mut child, Duration::from_secs(SECONDS))?;
    let status = status.with_context(|| format!("no answer after {SECONDS} seconds"))?;
    let text = String::from_utf8_lossy(&std::fs::read(&output)?).into_owned();
    ensure!(!text.contains("panicked"), "{text}");
    Ok((text, status.code().context("a signal ended the program")?))
}

fn long_sentence() -> Result<()> {
    let said = course(&["lab", &"x".repeat(100_000)], &[(course::mine::VARIABLE, &support::mine("attack-long")?)], "")?;
    let text = said.text();
    ensure!(said.status == Some(2) && text.len() < 2_200 && text.lines().count() == 1, "{} bytes", text.len());
    Ok(())
}

#[cfg(unix)]
fn no_text() -> Result<()> {
    use std::os::unix::ffi::OsStrExt as _;
    let said = support::said(Command::new(PROGRAM).arg(std::ffi::OsStr::from_bytes(b"l\xffb")), "")?;
    ensure!(said.status == Some(2) && said.text().lines().count() == 1, "{}", said.text());
    Ok(())
}

/// Somebody may kill the process that has started rustc. Here a shell takes its place, and another program that of rustc.
#[cfg(target_os = "linux")]
fn ends_with_its_parent() -> Result<()> {
    use std::io::BufRead as _;
    let script = format!("{PROGRAM} --rustc-for-its-parent sleep 60 & echo $!; wait");
    let mut shell = Command::new("sh").args(["-c", &script]).stdout(Stdio::piped()).spawn()?;
    let mut number = String::new();
    std::io::BufReader::new(shell.stdout.take().context("it has an output")?).read_line(&mut number)?;
    let runs = |name: &str| {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", number.trim())).unwrap_or_default();
        stat.contains(&format!("({name})")) && !stat.contains(") Z ")
    };
    let until = |wanted: bool| {
        let mut tries = 0..3000;
        while runs("sleep") != wanted && tries.next().is_some() {
            std::thread::sleep(Duration::from_millis(10));
        }
        runs("sleep") == wanted
    };
    let started = until(true);
    shell.kill()?;
    shell.wait()?;
    ensure!(started, "the program has not become another one");
    ensure!(until(false), "it goes on without the process that has started it");
    Ok(())
}

/// Who opens a pipe waits for ever.
#[cfg(unix)]
fn pipes() -> Result<()> {
    let pipe = support::mine("attack-pipes")?.join("pipe");
    ensure!(Command::new("mkfifo").arg(&pipe).status()?.success(), "there are no pipes here");
    let attacks = [(course::mine::VARIABLE, &["lab", "2", "--hint"][..]), (nvrtc::PATH_VARIABLE, &["doctor"])];
    for ((variable, arguments), words) in attacks.into_iter().zip(["is a file, but", "it is not a file"]) {
        let said = course(arguments, &[(variable, &pipe)], "")?;
        ensure!(said.text().contains(words), "{}", said.text());
    }
    Ok(())
}

/// The system ends a program that writes more than it may. Nothing is left, so that all is as before when there is room again.
#[cfg(unix)]
fn no_room() -> Result<()> {
    let folder = support::mine("attack-room")?;
    let kernel = folder.join("k.cu");
    std::fs::write(&kernel, HEAD)?;
    for (arguments, words) in [
        ("review --inventory --out e.html", "make room"),
        ("grade . --lab 2 --csv t.csv", "make room"),
        ("grade . --lab 2", "nothing can be written for the grading (file too large); make room on the disk"),
        ("lab 2 --restart", "make room"),
        ("lab 4", "step04.cu cannot be written (file too large); make room on the disk"),
    ] {
        let script = format!("ulimit -f 0; cd '{}'; echo y | '{PROGRAM}' {arguments}", folder.display());
        let said = support::said(Command::new("sh").args(["-c", &script]).env(course::mine::VARIABLE, &folder), "")?;
        is_refusal(&said.err, said.status)?;
        ensure!(said.err.contains(words), "{words:?} is not in {}", said.err);
    }
    let left: Vec<_> = std::fs::read_dir(&folder)?.flatten().map(|entry| entry.path()).collect();
    ensure!(left == [kernel], "{left:?}");
    Ok(())
}

fn many_threads() -> Result<()> {
    let compare = ["compare", "--device", "sim", "--size", "8", "--steps", "step02"];
    let said = course(&compare, &[("RAYON_NUM_THREADS", Path::new("100000"))], "")?;
    ensure!(said.status == Some(0), "{}", said.text());
    Ok(())
}
