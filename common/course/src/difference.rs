//! The difference between two kernels, of the course or of the learner, and between the host drivers of two steps: the lesson.

use std::io::{IsTerminal as _, stdout};
use std::path::Path;
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use anyhow::Result;
use common::basics::{output, print_whole, workspace};
use common::code::{Source, folder_of};
use plan::Step;
use similar::{Algorithm, Change, TextDiff};

use crate::files;
use crate::steps::{Kernel, Role, STEPS};

#[derive(clap::Args)]
pub struct Options {
    /// A step (4), one of its rungs or counter-examples (5/1_column), or a file of yours (mine/step05.cu)
    one: String,
    /// The kernel to compare it with, named in the same way
    other: String,
}

pub fn run(options: &Options) -> Result<bool> {
    let (one, other) = (named(&options.one)?, named(&options.other)?);
    let (gone, new) = size(&one.text, &other.text);
    let text = diff(&one.text, &other.text);
    let long = if is_long(&one.text, &other.text) {
        "these files are long; a shorter difference may exist than the one that was found in the time for it\n"
    } else {
        ""
    };
    let (between, host) = (between(&options.one, &options.other), host(&options.one, &options.other)?);
    let text = format!(
        "--- {}\n+++ {}\n{text}{gone} lines gone, {new} lines new\n{long}{between}{host}",
        one.display, other.display
    );
    // A program that reads the difference needs whole lines.
    let text = if stdout().is_terminal() { text.lines().map(fitted).collect() } else { text };
    print_whole(&coloured(&text)).map(|()| true)
}

/// The part of a step on the host: its driver, and the plan with which it launches. Each comes with the file that it is in.
pub fn host_of(step: &Step) -> Result<[(String, String); 2]> {
    let file = |name: &str| -> Result<(String, String)> {
        let path = folder_of(step).join("src").join(name);
        Ok((workspace::display(&path), files::read(&path)?))
    };
    let ((main, driver), (lib, plan)) = (file("main.rs")?, file("lib.rs")?);
    let driver = function(&driver, "pub fn multiply(");
    let marked = plan.split_once("// ANCHOR: plan\n").and_then(|(_, rest)| rest.split_once("// ANCHOR_END: plan\n"));
    let plan = marked.map_or_else(|| function(&plan, "fn plan("), |(plan, _)| plan.to_owned());
    Ok([(main, driver), (lib, plan)])
}

/// A function of a file with its documentation; the whole file, if it has no such function.
fn function(text: &str, start: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let Some(at) = lines.iter().position(|line| line.starts_with(start)) else { return text.to_owned() };
    let first = (0..at).rev().take_while(|&line| lines[line].starts_with("///")).last().unwrap_or(at);
    let end = lines[at..].iter().position(|line| *line == "}").map_or(lines.len(), |length| at + length + 1);
    lines[first..end].join("\n") + "\n"
}

/// The difference between the host drivers of two steps, and between their plans. Empty if a kernel is not a step's own.
fn host(one: &str, other: &str) -> Result<String> {
    let step =
        |name: &str| Kernel::named(name).ok().filter(|kernel| kernel.variant.is_none()).map(|kernel| kernel.step);
    let (Some(one), Some(other)) = (step(one), step(other)) else { return Ok(String::new()) };
    let mut text = String::new();
    for ((from, old), (to, new)) in host_of(one)?.into_iter().zip(host_of(other)?) {
        let (gone, fresh) = size(&old, &new);
        text += &if old == new {
            format!("\n--- {from}\n+++ {to}\nthe host drivers are the same, and launch what the plans say\n")
        } else {
            format!("\n--- {from}\n+++ {to}\n{}{gone} lines gone, {fresh} lines new\n", diff(&old, &new))
        };
    }
    Ok(text)
}

/// A note that rungs lie between two steps, each with one idea.
fn between(one: &str, other: &str) -> String {
    let number =
        |name: &str| Kernel::named(name).ok().filter(|kernel| kernel.variant.is_none())?.step.name[4..6].parse().ok();
    let (Some(from), Some(to)) = (number(one), number(other)) else { return String::new() };
    let (from, to): (usize, usize) = (from, to);
    let steps = STEPS.iter().skip(from.min(to)).take(from.abs_diff(to));
    let kernels = steps.flat_map(|step| Kernel::of(step).filter(|kernel| kernel.role() == Role::Rung));
    let rungs: Vec<String> = kernels.map(|rung| rung.name()).collect();
    match &rungs[..] {
        [] => String::new(),
        [first, ..] => format!(
            "rungs lie between, each with one idea: {}; the first is cargo course diff {one} {first}\n",
            rungs.join(", ")
        ),
    }
}

/// A file, if it is there or the name ends like one, else a kernel of the course.
pub(crate) fn named(name: &str) -> Result<Source> {
    let path = Path::new(name);
    if files::is_meant(path) {
        return Source::read(path);
    }
    Source::read(&Kernel::named(name)?.file())
}

/// A line that fits the terminal: what does not is below it, with the same sign and further to the right.
fn fitted(line: &str) -> String {
    let sign = if line.starts_with(['+', '-']) { &line[..1] } else { " " };
    let code = line.get(1..).unwrap_or_default();
    let indent = code.len() - code.trim_start().len();
    output::broken(line, &format!("{sign}{:indent$}    ", ""), output::width()) + "\n"
}

/// Lines that are gone in red, lines that are new in green.
fn coloured(text: &str) -> String {
    let (red, green) = (AnsiColor::Red.on_default(), AnsiColor::Green.on_default());
    let style = |line: &str| match line.as_bytes().first() {
        Some(b'-') => red,
        Some(b'+') => green,
        _ => Style::new(),
    };
    let line = |line: &str| format!("{0}{line}{0:#}\n", style(line));
    text.lines().map(line).collect()
}

/// Lines that are gone and lines that are new, without empty ones and comments.
pub fn size(one: &str, other: &str) -> (usize, usize) {
    let text = diff(&code(one), &code(other));
    let count = |sign: char| text.lines().filter(|line| line.starts_with(sign)).count();
    (count('-'), count('+'))
}

fn code(text: &str) -> String {
    let lines = text.lines().map(|line| line.split("//").next().unwrap_or("").trim_end());
    lines.filter(|line| !line.is_empty()).map(|line| line.to_owned() + "\n").collect()
}

/// How long a difference is sought that is as short as can be, if the texts are long.
const LONGEST: Duration = Duration::from_secs(1);

/// The most pairs of lines that are compared in search of the shortest difference.
const MOST_PAIRS: usize = 4 << 20;

/// Whether two texts are too long for the shortest difference.
fn is_long(one: &str, other: &str) -> bool {
    one.lines().count().saturating_mul(other.lines().count()) > MOST_PAIRS
}

/// A line-by-line difference: common lines, lines that are gone (`-`) and new ones (`+`).
pub fn diff(old: &str, new: &str) -> String {
    let is_long = is_long(old, new);
    // Lines without their ends: neither a missing one at the end of the file nor git's on Windows is a difference.
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    // Of the crate's algorithms the first one leaves the loops of `diff 4 5` whole; Myers and patience cut them at their braces.
    // That it takes time and memory for each pair of lines does not show on a hundred lines.
    let mut by = TextDiff::configure();
    let by = if is_long { by.algorithm(Algorithm::Myers).timeout(LONGEST) } else { by.algorithm(Algorithm::Lcs) };
    let difference = by.diff_slices(&old, &new);
    let line = |change: Change<&str>| format!("{}{}", change.tag(), change.value()).trim_end().to_owned() + "\n";
    difference.iter_all_changes().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ends_are_no_difference() {
        assert_eq!(diff("a\r\nb\r\n", "a\nb"), " a\n b\n");
    }

    #[test]
    fn long_files_are_compared_in_seconds() {
        let began = std::time::Instant::now();
        let text = |from: u32| {
            (0..30_000_u32).map(|at| ["{\n", "}\n"][(((from + at) * at) >> 3) as usize % 2]).collect::<String>()
        };
        let (one, other) = (text(0), text(7));
        assert!(is_long(&one, &other) && !is_long(&one, "}"));
        let shown = diff(&one, &other);
        let side = |sign: char| {
            shown.lines().filter(move |line| !line.starts_with(sign)).map(|line| line[1..].to_owned() + "\n")
        };
        assert_eq!((side('+').collect::<String>(), side('-').collect::<String>()), (one, other));
        assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
    }

    #[test]
    fn colour_is_around_lines_that_changed_and_nothing_else() {
        assert_eq!(coloured(" a\n-b\n+c\n"), " a\n\u{1b}[31m-b\u{1b}[0m\n\u{1b}[32m+c\u{1b}[0m\n");
    }
}
