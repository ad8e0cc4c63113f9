//! The generated parts of the book: tables of counters, outputs of commands, differences between steps, figures.
//!
//! A part stands in a Markdown file between `<!-- generated:NAME ARGUMENTS -->` and `<!-- /generated -->`. Everything in
//! between is made anew, by running the steps' own programs on the simulator. Names that are not known here belong to
//! other generators and are left as they are.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, OnceLock};

use anyhow::{Context, Result, anyhow, bail, ensure};
use common::units::number;
use common::{output, workspace};
use course::difference::diff;
use course::files::{read, write};
use course::steps;
use serde_json::Value;

use crate::{figures, links};

/// Options of `cargo course book`.
#[derive(clap::Args)]
pub struct Options {
    /// Change nothing; exit with 1 where a generated part is stale or a link is dead
    #[arg(long)]
    check: bool,
    /// Also run the shell commands shown in the chapters, on the simulator
    #[arg(long)]
    commands: bool,
    /// Only files whose path contains one of these
    files: Vec<String>,
}

impl Options {
    /// All pages and figures, made anew or checked.
    pub fn generate(check: bool) -> Self {
        Self { check, commands: false, files: Vec::new() }
    }
}

const END: &str = "<!-- /generated -->";

/// Runs the command; `false` where a check fails.
pub fn run(options: &Options) -> Result<bool> {
    let mut text = String::new();
    let wanted = |path: &Path| {
        let path = workspace::display(path);
        options.files.is_empty() || options.files.iter().any(|part| path.contains(part.as_str()))
    };
    let mut stale = 0;
    let mut files = figures::all(&wanted)?;
    for path in pages()?.into_iter().filter(|path| wanted(path)) {
        let page = read(&path)?;
        let fresh = regenerate(&page).with_context(|| workspace::display(&path))?;
        files.push((path, fresh));
    }
    let count = files.len();
    for (path, fresh) in files {
        let now = fs::read_to_string(&path).unwrap_or_default().replace("\r\n", "\n");
        if now == fresh {
            continue;
        }
        stale += 1;
        let display = workspace::display(&path);
        if options.check {
            text += &format!("stale: {display}{}\n", first_difference(&now, &fresh));
        } else {
            write(&path, &fresh)?;
            text += &format!("made {display}\n");
        }
    }
    let mut ok = !options.check || stale == 0;
    text += &match (options.check, stale) {
        (true, 0) => format!("{count} pages and figures, all fresh\n"),
        (true, stale) => {
            format!("{count} pages and figures, {stale} stale; make them anew with cargo course book\n")
        }
        (false, stale) => format!("{count} pages and figures, {stale} changed\n"),
    };
    if options.check {
        let dead = links::dead(&pages()?)?;
        ok &= dead.is_empty();
        for link in &dead {
            text += &format!("dead link: {link}\n");
        }
    }
    if options.commands {
        for path in pages()?.into_iter().filter(|path| wanted(path)) {
            // The workspace's own pages also show how to test, bench and install.
            let own = path.parent() == Some(workspace::root());
            for (command, verdict) in commands(&read(&path)?) {
                if own && !is_ours(&command) {
                    continue;
                }
                ok &= verdict.is_ok();
                if let Err(error) = verdict {
                    text += &format!("{}: {command}: {error:#}\n", workspace::display(&path));
                }
            }
        }
    }
    output::print(&text)?;
    Ok(ok)
}

/// Where two texts begin to differ, for a message.
fn first_difference(old: &str, new: &str) -> String {
    let line = old.lines().zip(new.lines()).position(|(old, new)| old != new);
    let line = line.unwrap_or_else(|| old.lines().count().min(new.lines().count()));
    let of = |text: &str| text.lines().nth(line).unwrap_or("(the end)").trim().chars().take(80).collect::<String>();
    format!(" (line {}: {:?} would be {:?})", line + 1, of(old), of(new))
}

/// All Markdown pages of the course, sorted.
pub fn pages() -> Result<Vec<PathBuf>> {
    let root = workspace::root();
    let mut pages = Vec::new();
    let mut folders = vec![root.join("docs/src")];
    for step in steps::find()? {
        folders.push(step.path.join("lab"));
        pages.push(step.path.join("README.md"));
    }
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(path);
            }
        }
    }
    pages.extend(["README.md", "CONTRIBUTING.md"].map(|name| root.join(name)));
    pages.retain(|path| path.is_file());
    pages.sort();
    Ok(pages)
}

/// The page with all parts that are known here made anew.
fn regenerate(page: &str) -> Result<String> {
    let mut fresh = String::new();
    let mut rest = page;
    while let Some(start) = rest.find("<!-- generated:") {
        let (before, marker) = rest.split_at(start);
        let close = marker.find("-->").context("a generated part's first line has no end; write -->")?;
        let (head, body) = marker.split_at(close + 3);
        let end = body.find(END).with_context(|| format!("{head} has no end; write {END} after it"))?;
        let command = head.trim_start_matches("<!-- generated:").trim_end_matches("-->").trim();
        let (name, arguments) = command.split_once(' ').unwrap_or((command, ""));
        fresh += before;
        fresh += head;
        match generate(name, arguments.trim()) {
            Some(part) => fresh += &part.with_context(|| head.to_owned())?,
            None => fresh += &body[..end],
        }
        fresh += END;
        rest = &body[end + END.len()..];
    }
    Ok(fresh + rest)
}

/// The content of a generated part, or `None` where the name is another generator's.
pub fn generate(name: &str, arguments: &str) -> Option<Result<String>> {
    let words: Vec<&str> = arguments.split_whitespace().collect();
    match name {
        "output" => Some(output(&words, None)),
        // Parts of an output, from a line that begins like this to the end.
        "lines" => Some(output(&words, Some("   line "))),
        "hazards" => Some(output(&words, Some("  HAZARDS"))),
        "trace" => Some(output(&words, Some("  block ("))),
        "counter-names" => Some(counter_names()),
        "counters" => Some(counters(&words)),
        "diff" => Some(difference(&words)),
        _ => None,
    }
}

/// A command of the course, run on the simulator: the command as one types it, and what it prints.
fn output(words: &[&str], from: Option<&str>) -> Result<String> {
    let (program, arguments) = words.split_first().context("name a step, or course, and its arguments")?;
    let run = program_output(program, arguments)?;
    let typed = match *program {
        "course" => format!("cargo course {}", arguments.join(" ")),
        step => format!("cargo run --release -p {step} -- {}", arguments.join(" ")),
    };
    let mut text = run.stdout + &run.stderr;
    if arguments.contains(&"--json") {
        text = without_seconds(&text);
    }
    if let Some(from) = from {
        let start = text.lines().position(|line| line.starts_with(from));
        let start = start.with_context(|| format!("{typed} prints no line that begins with {from:?}: {text}"))?;
        let rest: Vec<&str> = text.lines().skip(start).collect();
        text = format!("...\n{}\n", rest.join("\n"));
    }
    let text: String = text.trim_end().lines().map(|line| line.trim_end().to_owned() + "\n").collect();
    ensure!(!text.contains("```"), "the output holds a code fence");
    Ok(format!("\n```text\n$ {typed}\n{text}```\n"))
}

/// Seconds of the host's clock differ from run to run.
fn without_seconds(json: &str) -> String {
    let mut text = String::new();
    for line in json.lines() {
        match line.split_once("\"seconds\": ") {
            Some((before, value)) => {
                let comma = if value.ends_with(',') { "," } else { "" };
                text += &format!("{before}\"seconds\": 0.001{comma}\n");
            }
            None => text += &format!("{line}\n"),
        }
    }
    text
}

/// What a program printed.
#[derive(Clone)]
pub struct Printed {
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// Exit status.
    pub status: Option<i32>,
}

/// Runs a step's program, or the course's own, in the workspace; each command once.
pub fn program_output(program: &str, arguments: &[&str]) -> Result<Printed> {
    static DONE: OnceLock<Mutex<BTreeMap<String, Printed>>> = OnceLock::new();
    let done = DONE.get_or_init(Mutex::default);
    let key = format!("{program} {}", arguments.join(" "));
    if let Some(printed) = done.lock().ok().and_then(|done| done.get(&key).cloned()) {
        return Ok(printed);
    }
    let output = Command::new(program_path(program)?)
        .args(arguments)
        .current_dir(workspace::root())
        // Help is wrapped to the terminal's width where there is one.
        .stdin(Stdio::null())
        .env_remove("COLUMNS")
        .output()
        .with_context(|| format!("{program} does not start; build it with cargo build --release"))?;
    let printed = Printed {
        stdout: String::from_utf8_lossy(&output.stdout).replace("\r\n", "\n"),
        stderr: String::from_utf8_lossy(&output.stderr).replace("\r\n", "\n"),
        status: output.status.code(),
    };
    if let Ok(mut done) = done.lock() {
        done.insert(key, printed.clone());
    }
    Ok(printed)
}

/// The program of a step, built once.
fn program_path(program: &str) -> Result<PathBuf> {
    static BUILT: OnceLock<Mutex<BTreeMap<String, PathBuf>>> = OnceLock::new();
    if program == "course" {
        return std::env::current_exe().context("this program does not know its own file; run it through cargo");
    }
    let built = BUILT.get_or_init(Mutex::default);
    let mut built = built.lock().map_err(|_| anyhow!("another thread failed"))?;
    if let Some(path) = built.get(program) {
        return Ok(path.clone());
    }
    let step = steps::find()?.into_iter().find(|step| step.name == program);
    let path = step.with_context(|| format!("there is no step {program}"))?.program()?;
    built.insert(program.to_owned(), path.clone());
    Ok(path)
}

/// The JSON report of a run on the simulator.
pub fn json(program: &str, arguments: &[&str]) -> Result<Value> {
    let arguments = [&["--device", "sim", "--json"], arguments].concat();
    let printed = program_output(program, &arguments)?;
    serde_json::from_str(&printed.stdout)
        .with_context(|| format!("{program} {} prints no report: {}", arguments.join(" "), printed.stderr.trim()))
}

/// A kernel to be counted: a step, or `STEP/VARIANT`; `STEP/*` stands for all variants.
fn kernels(words: &[&str]) -> Result<Vec<(String, Option<String>)>> {
    let mut kernels = Vec::new();
    for word in words {
        match word.split_once('/') {
            None => kernels.push(((*word).to_owned(), None)),
            Some((step, "*")) => {
                let listed = program_output(step, &["--list-variants"])?.stdout;
                let names = listed.lines().filter(|line| !line.starts_with([' ', '\t']));
                let names = names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != step);
                kernels.extend(names.map(|name| (step.to_owned(), Some(name.to_owned()))));
            }
            Some((step, variant)) => kernels.push((step.to_owned(), Some(variant.to_owned()))),
        }
    }
    Ok(kernels)
}

/// A row of a table of counters: its name, and its value from the report's `counters`.
type Row = (&'static str, fn(&Value) -> Option<f64>);

fn get(counters: &Value, name: &str) -> Option<f64> {
    counters.get(name)?.as_f64()
}

fn ratio(counters: &Value, above: &str, below: &str, factor: f64) -> Option<f64> {
    let below = get(counters, below)?;
    (below > 0.0).then_some(get(counters, above)? / below * factor)
}

const ROWS: &[Row] = &[
    ("multiply-adds of threads", |c| get(c, "fma_threads")),
    ("instructions of warps", |c| get(c, "instructions")),
    ("global load requests", |c| get(c, "global_load_requests")),
    ("global load sectors", |c| get(c, "global_load_sectors")),
    ("sectors per load request", |c| ratio(c, "global_load_sectors", "global_load_requests", 1.0)),
    ("sectors per store request", |c| ratio(c, "global_store_sectors", "global_store_requests", 1.0)),
    ("flop per byte", |c| get(c, "flop_per_byte")),
    ("flop per global access", |c| get(c, "flop_per_global_access")),
    ("shared load requests", |c| get(c, "shared_load_requests")),
    ("shared load requests per multiply-add of a warp", |c| ratio(c, "shared_load_requests", "fma_threads", 32.0)),
    ("bank conflicts of loads", |c| get(c, "shared_load_bank_conflicts")),
    ("bank conflicts of stores", |c| get(c, "shared_store_bank_conflicts")),
    ("barriers of warps", |c| get(c, "barriers")),
];

/// A table of counters: one column for each kernel.
fn counters(words: &[&str]) -> Result<String> {
    let (size, kernels_named) = words.split_first().context("give a size and the kernels")?;
    let mut head = format!("| at {} |", size.replace('x', "×"));
    let mut rule = "|---|".to_owned();
    let mut columns = Vec::new();
    for (step, variant) in kernels(kernels_named)? {
        let mut arguments = vec!["--size", size];
        if let Some(variant) = &variant {
            arguments.extend(["--variant", variant]);
        }
        let report = json(&step, &arguments)?;
        let counted = report.get("counters").cloned().with_context(|| format!("{step} reports no counters"))?;
        columns.push(counted);
        head += &format!(" {} |", variant.map_or(step, |variant| format!("`{variant}`")));
        rule += "--:|";
    }
    let mut table = format!("\n\n{head}\n{rule}\n");
    for (name, value) in ROWS {
        let values: Vec<Option<f64>> = columns.iter().map(value).collect();
        if values.iter().all(|value| value.is_none_or(|value| value == 0.0)) {
            continue;
        }
        let cells: Vec<String> = values.into_iter().map(|value| value.map_or("–".into(), number)).collect();
        table += &format!("| {name} | {} |\n", cells.join(" | "));
    }
    Ok(table + "\n")
}

/// The counters' names with their documentation, as the simulator's source has it.
fn counter_names() -> Result<String> {
    let source = read(&workspace::root().join("common/simt/src/analyses/counters.rs"))?;
    let fields = source.split_once("pub struct Counts {").and_then(|(_, rest)| rest.split_once("\n}"));
    let (fields, _) = fields.context("the simulator has no counters any more; mend the generator")?;
    let mut table = String::from("\n\n| counter | counts |\n|---|---|\n");
    let mut words: Vec<&str> = Vec::new();
    for line in fields.lines().map(str::trim) {
        if let Some(documentation) = line.strip_prefix("///") {
            words.push(documentation.trim());
        } else if let Some(name) = line.strip_prefix("pub ").and_then(|field| field.split(':').next()) {
            table += &format!("| `{name}` | {} |\n", words.join(" ").replace('|', "\\|"));
            words.clear();
        }
    }
    Ok(table + "\n")
}

/// The difference between two steps' kernels.
fn difference(words: &[&str]) -> Result<String> {
    let [from, to] = words else { bail!("name two steps") };
    let read = |step: &str| read(&workspace::root().join(step).join("kernel.cu"));
    let (old, new) = (read(from)?, read(to)?);
    Ok(format!("\n```diff\n{}```\n", diff(&old, &new)))
}

/// The commands of a page's ```` ```sh ```` blocks, run: each must end as the page says (`# exit status N`, else 0).
fn commands(page: &str) -> Vec<(String, Result<()>)> {
    let mut inside = false;
    let mut results = Vec::new();
    for line in page.lines() {
        match line.trim() {
            "```sh" => inside = true,
            fence if fence.starts_with("```") => inside = false,
            "" => {}
            command if inside => results.push((command.to_owned(), try_command(command))),
            _ => {}
        }
    }
    results
}

/// Whether a command is of a kind that is tried.
fn is_ours(command: &str) -> bool {
    ["cargo run --release -p ", "cargo course"].iter().any(|start| command.starts_with(start))
}

fn try_command(line: &str) -> Result<()> {
    let (command, comment) = line.split_once('#').map_or((line, ""), |(command, comment)| (command, comment.trim()));
    let expected: i32 = match comment.strip_prefix("exit status ") {
        Some(status) => status.trim().parse().context("not an exit status")?,
        None => 0,
    };
    let words: Vec<&str> = command.split_whitespace().collect();
    let printed = match words.as_slice() {
        ["cargo", "run", "--release", "-p", step] => program_output(step, &[])?,
        ["cargo", "run", "--release", "-p", step, "--", arguments @ ..] => program_output(step, arguments)?,
        ["cargo", "course", arguments @ ..] => program_output("course", arguments)?,
        _ => bail!("only cargo run --release -p STEP -- ... and cargo course ... are tried; use ```console for others"),
    };
    ensure!(
        printed.status == Some(expected),
        "it ends with {:?} and the page says {expected}: {}",
        printed.status,
        printed.stderr.trim()
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_with_a_lab_has_its_chapter() {
        let summary = read(&workspace::root().join("docs/src/SUMMARY.md")).unwrap();
        for step in steps::find().unwrap().iter().filter(|step| step.path.join("lab/lab.json").is_file()) {
            let name = &step.name;
            for page in [format!("{name}/README.md"), format!("{name}/lab/README.md")] {
                assert!(summary.contains(&format!("({page})")), "{page} is not in the summary");
                let chapter = read(&workspace::root().join("docs/src").join(&page)).unwrap();
                assert!(
                    chapter.contains(&format!("{{{{#include ../../../{name}/"))
                        || chapter.contains(&format!("{{{{#include ../../../../{name}/")),
                    "{page} includes no page of its step"
                );
            }
            let readme = read(&step.path.join("README.md")).unwrap();
            for heading in ["## What you will know", "## The idea", "## Predict", "## Questions", "## The lab"] {
                assert!(readme.contains(heading), "{name}: {heading} is missing");
            }
            let chapter = read(&workspace::root().join("docs/src").join(name).join("README.md")).unwrap();
            assert!(chapter.contains(&format!("{name}/kernel.cu}}}}")), "{name}: the kernel is not included");
        }
    }

    #[test]
    fn parts_of_other_generators_stay() {
        let page = "x\n<!-- generated:nobody knows -->\nkept\n<!-- /generated -->\ny\n";
        assert_eq!(regenerate(page).unwrap(), page);
        assert!(regenerate("<!-- generated:nobody -->").is_err());
    }

    #[test]
    fn known_parts_are_made_anew() {
        let page = "<!-- generated:diff step01_cpu_naive step02_gpu_naive -->\nold\n<!-- /generated -->\n";
        let fresh = regenerate(page).unwrap();
        assert!(fresh.contains("+    const int row = blockIdx.y") && !fresh.contains("\nold\n"), "{fresh}");
    }

    #[test]
    fn commands_are_taken_from_shell_blocks_only() {
        let page = "```sh\nrm -rf nothing\n```\n```console\ncargo frobnicate\n```\n";
        let found = commands(page);
        assert_eq!(found.len(), 1);
        assert!(found[0].1.is_err());
    }
}
