//! Parts that show what a command prints, and the difference between two kernels.

use std::ffi::OsStr;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use common::basics::workspace;
use course::difference::{diff, host_of};
use course::files::read;
use course::steps::{self, Kernel};

use crate::programs;

/// A command of the course, as a reader types it, and what it prints on the simulator: all of it, or what begins with the first line
/// that begins with `start`.
pub fn command(words: &[&str], start: &str) -> Result<String> {
    let (program, arguments) = words.split_first().context("name a step, or course, and its arguments")?;
    let typed = match *program {
        "course" => format!("cargo course {}", arguments.join(" ")),
        "cargo-simt" => format!("cargo simt {}", arguments.join(" ")),
        step => format!("cargo run --release -p {step} -- {}", arguments.join(" ")),
    };
    let text = programs::output(program, arguments)?.concat();
    let text = if arguments.contains(&"--json") { without_seconds(&text) } else { text };
    let (dots, whole) = if start.is_empty() { ("", Some(0)) } else { ("...\n", None) };
    let first = whole.or_else(|| text.lines().position(|line| line.starts_with(start)));
    let first = first.with_context(|| format!("{typed} prints no line that begins with {start:?}: {text}"))?;
    let shown: String = text.trim_end().lines().skip(first).map(|line| line.trim_end().to_owned() + "\n").collect();
    ensure!(!shown.contains("```"), "the output holds a code fence; show another command");
    Ok(format!("```text\n$ {typed}\n{dots}{shown}```"))
}

/// The JSON with its seconds set to 0.001, because they differ from run to run.
fn without_seconds(json: &str) -> String {
    let line = |line: &str| match line.split_once("\"seconds\": ") {
        Some((before, value)) => format!("{before}\"seconds\": 0.001{}\n", if value.ends_with(',') { "," } else { "" }),
        None => format!("{line}\n"),
    };
    json.lines().map(line).collect()
}

pub fn difference(words: &[&str]) -> Result<String> {
    let [from, to] = words else { bail!("name two steps") };
    let read = |kernel: &str| read(&Kernel::named(kernel)?.file());
    let (old, new) = (read(from)?, read(to)?);
    Ok(format!("```diff\n{}```", shortened(&diff(&old, &new))))
}

/// The host driver of a step.
pub fn driver(words: &[&str]) -> Result<String> {
    let [step] = words else { bail!("name a step") };
    let [(_, driver), _] = host_of(steps::expect(step)?)?;
    Ok(format!("```rust,ignore\n{driver}```"))
}

/// The difference between the host drivers of two steps and between their plans.
pub fn host(words: &[&str]) -> Result<String> {
    let [from, to] = words else { bail!("name two steps") };
    let (old, new) = (host_of(steps::expect(from)?)?, host_of(steps::expect(to)?)?);
    let mut parts = Vec::new();
    for ((_, old), (file, new)) in old.iter().zip(&new).filter(|((_, old), (_, new))| old != new) {
        parts.push(format!(" // {file}\n{}", shortened(&diff(old, new))));
    }
    ensure!(!parts.is_empty(), "the host sides of {from} and {to} are the same; leave the part out");
    Ok(format!("```diff\n{}```", parts.join("\n")))
}

/// The changed lines of a difference, with three lines around each. `...` replaces the others.
fn shortened(difference: &str) -> String {
    const AROUND: usize = 3;
    let lines: Vec<&str> = difference.lines().collect();
    let is_near = |at: usize| {
        let near = &lines[at.saturating_sub(AROUND)..lines.len().min(at + AROUND + 1)];
        near.iter().any(|line| line.starts_with(['+', '-']))
    };
    let shown = (0..lines.len()).map(|at| if is_near(at) { lines[at] } else { " ..." });
    let mut shown: Vec<&str> = shown.collect();
    shown.dedup_by(|line, before| line == before && *line == " ...");
    shown.join("\n") + "\n"
}

/// A command of a file of commands, counted from 1, and what it prints. A test runs the file.
pub fn case(words: &[&str]) -> Result<String> {
    let [path, number] = words else { bail!("name a file of commands, and the number of one") };
    let text = read(&workspace::root().join(path))?;
    let block = number.parse().ok().and_then(|number| text.split("```console\n").nth(number));
    let block = block.and_then(|block| Some(block.split_once("\n```")?.0));
    let block = block.with_context(|| format!("{path} has no command {number}"))?;
    // The second line may be the exit status.
    let lines = block.trim_end().lines().filter(|line| !line.starts_with("? "));
    let shown: String =
        lines.map(|line| line.replace("$ cargo-simt", "$ cargo simt").replace("[..]", "...") + "\n").collect();
    Ok(format!("```text\n{shown}```"))
}

/// A file, or its part between `ANCHOR: NAME` and `ANCHOR_END: NAME`.
pub fn listing(words: &[&str]) -> Result<String> {
    let (path, anchor) = match words {
        [path] => (path, None),
        [path, anchor] => (path, Some(anchor)),
        _ => bail!("name a file, and perhaps the anchor of a part of it"),
    };
    let text = read(&workspace::root().join(path))?;
    let Some(anchor) = anchor else {
        let language = match Path::new(path).extension().and_then(OsStr::to_str) {
            Some("rs") => "rust,ignore",
            Some("cu") => "cpp",
            _ => "text",
        };
        return Ok(format!("```{language}\n{text}```"));
    };
    let part = text.split_once(&format!("// ANCHOR: {anchor}\n"));
    let part = part.and_then(|(_, rest)| rest.split_once(&format!("// ANCHOR_END: {anchor}\n")));
    let (part, _) = part.with_context(|| format!("{path} has no part {anchor}; name one of its anchors"))?;
    Ok(format!("```rust,ignore\n{part}```"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_always_the_same() {
        let text = without_seconds("{\n  \"seconds\": 0.53,\n  \"x\": 1\n}\n");
        assert_eq!(text, "{\n  \"seconds\": 0.001,\n  \"x\": 1\n}\n");
    }
}
