//! A finding as both commands have it: of a kernel, from the simulator; of a host program, from the stand-in's report.

use findings::HazardReport;
use serde::{Deserialize, Serialize};

/// Something that is wrong.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Finding {
    /// The kind in a few words: `data race`.
    pub kind: String,
    /// What is wrong, in one line.
    pub title: String,
    /// Whether it breaks no rule.
    pub warning: bool,
    /// What to do, in a sentence.
    pub help: String,
    /// The places, the first one where it is shown: none, one or more.
    pub places: Vec<Site>,
    /// All of it for people, without colours.
    pub text: String,
}

/// A place in a source file, or in PTX.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Site {
    /// The file; `None` if only the line of the PTX is known.
    pub file: Option<String>,
    /// The line in the file or in the PTX, from 1.
    pub line: u32,
    /// Who did what there.
    pub label: String,
}

impl Finding {
    /// A hazard or fault of a kernel.
    pub fn of(report: &HazardReport) -> Self {
        let site = |thread: &findings::analysis::HazardThread| {
            let [block, at] = [thread.block, thread.thread].map(findings::places::triple);
            let label = format!("thread {at} of block {block} {}", thread.action);
            Site { file: thread.file.clone(), line: thread.line, label }
        };
        Self {
            kind: <&str>::from(report.kind).to_owned(),
            title: report.diagnostic.title.clone(),
            warning: report.diagnostic.warning,
            help: report.diagnostic.advice().to_owned(),
            places: report.threads.iter().map(site).collect(),
            text: report.text(),
        }
    }

    /// Something that is known without a place.
    pub fn plain(kind: &str, title: String, help: &str) -> Self {
        let text = format!("error: {title}\n  = help: {help}\n");
        Self { kind: kind.to_owned(), title, help: help.to_owned(), text, ..Self::default() }
    }
}
