//! Findings: lines of JSON in the file that `SIMT_REPORT` names, or texts on standard error.
//!
//! Each line is an object with `kind` (a few words, always the same for one kind), `title` (one line), `warning` (whether it breaks no
//! rule), `help` (what to do), `places` (each with `file`, which may be null, `line` and `label`), `call` (the driver's function,
//! if it is a fault of the program), and `text`, all of it for people.

use crate::site::{Call, Line};
use serde_json::{Value, json};
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;

/// Something that is wrong.
#[derive(Debug, Clone)]
pub struct Finding {
    /// The kind in a few words.
    pub kind: &'static str,
    /// What is wrong, in one line.
    pub title: String,
    /// What to do.
    pub help: &'static str,
    /// Whether the program may be right.
    pub warning: bool,
    /// The calls, each with what it did; the one that is wrong comes first.
    pub calls: Vec<(String, Call)>,
}

impl Finding {
    /// The lines of its calls.
    fn lines(&self) -> Vec<(String, &'static str, Line)> {
        self.calls.iter().map(|(label, call)| (label.clone(), call.name, call.line())).collect()
    }

    /// What makes it the same finding as another one.
    pub fn key(&self) -> (&'static str, String) {
        let place = |(_, name, line): (_, _, Line)| match line.file {
            Some(file) => format!("{name} {file} {}\n", line.number),
            // Without lines, what is said tells one from another.
            None => self.title.clone(),
        };
        (self.kind, self.lines().into_iter().map(place).collect())
    }

    /// Writes it to the report, or prints it.
    pub fn tell(&self, report: Option<&Path>) {
        let lines = self.lines();
        let severity = if self.warning { "warning" } else { "error" };
        let mut text = format!("{severity}: {}\n", self.title);
        let mut places = vec![];
        for (label, name, line) in &lines {
            let at = match (&line.file, &line.function) {
                (Some(file), _) => format!("{}:{}", shorter(file), line.number),
                (None, Some(function)) => format!("in {function}"),
                (None, None) => "a line that the program has no debug information of".into(),
            };
            let by = if name.is_empty() { String::new() } else { format!(" ({name})") };
            text += &format!("  --> {at}: {label}{by}\n");
            places.push(json!({ "file": line.file.as_deref().map(shorter), "line": line.number, "label": format!("{label}{by}") }));
        }
        text += &format!("  = help: {}\n", self.help);
        let call = self.calls.first().map(|(_, call)| call.name);
        write(
            report,
            &json!({
                "kind": self.kind, "title": self.title, "warning": self.warning, "help": self.help, "places": places, "call": call,
                "text": text,
            }),
        );
    }
}

/// A path as seen from the working folder.
pub fn shorter(file: &str) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    Path::new(file).strip_prefix(&here).map_or(file.to_owned(), |path| path.display().to_string())
}

/// Writes a finding of a kernel.
pub fn kernel(report: Option<&Path>, name: &str, found: &findings::HazardReport, call: Option<&Call>) {
    let site = |thread: &findings::analysis::HazardThread| {
        let [block, at] = [thread.block, thread.thread].map(findings::places::triple);
        json!({ "file": thread.file, "line": thread.line, "label": format!("thread {at} of block {block} {}", thread.action) })
    };
    let mut places: Vec<Value> = found.threads.iter().map(site).collect();
    let mut text = found.text();
    if let Some(call) = call {
        let line = call.line();
        let label = format!("{name} is launched ({})", call.name);
        if let Some(file) = &line.file {
            text += &format!("  = note: {name} is launched at {}:{}\n", shorter(file), line.number);
            places.push(json!({ "file": shorter(file), "line": line.number, "label": label }));
        }
    }
    let diagnostic = &found.diagnostic;
    write(
        report,
        &json!({
            "kind": <&str>::from(found.kind), "title": format!("{}, in the kernel {name}", diagnostic.title),
            "warning": diagnostic.warning, "help": diagnostic.advice(), "places": places, "text": text, "kernel": name,
        }),
    );
}

/// Writes what a kernel counted.
pub fn counters(report: Option<&Path>, name: &str, counters: &simt::Counters, kernel: &simt::Kernel) {
    let mut sum = findings::analysis::CounterSum::default();
    sum.add(kernel, counters);
    let text = sum.report().text(&[]);
    match report {
        Some(_) => write(report, &json!({ "counters": name, "text": text })),
        None => eprintln!("simt: counters of {name}\n{text}"),
    }
}

fn write(report: Option<&Path>, line: &Value) {
    let Some(path) = report else {
        eprint!("simt: {}", line["text"].as_str().unwrap_or_default());
        return;
    };
    let file = OpenOptions::new().create(true).append(true).open(path);
    // One write for each line: several processes may append to the same file.
    if let Err(error) = file.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes())) {
        eprintln!("simt: the report {} cannot be written ({error})\n{line}", path.display());
    }
}
