//! Mutation testing: small faults are planted in the code that judges kernels, and the tests must notice.
//!
//! `cargo-mutants` plants them. What it cannot know, which changes make no difference to any result, is in
//! `.cargo/mutants.toml`, each with its reason.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use common::basics::output::print;
use common::basics::workspace;
use serde::Deserialize;

#[derive(clap::Args)]
pub struct Options {
    /// Try one of this many mutants; 1 tries them all
    #[arg(long, value_name = "N", default_value_t = 12, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    every: u32,
    /// Which of the samples of that size, from 0 on
    #[arg(long, value_name = "K", default_value_t = 0)]
    sample: u32,
    /// Only list the mutants of the sample
    #[arg(long)]
    list: bool,
}

/// What judges a learner's kernel: a fault in here could pass a wrong product, a wrong count or a race. Each part comes with the
/// tests that must notice, so that a mutant takes seconds and not minutes.
const PARTS: [Part; 3] = [
    Part {
        name: "verification and plans",
        files: &["common/src/verify/*.rs", "common/src/plan.rs"],
        tests: &["-C=--lib"],
        filter: &[],
    },
    Part { name: "hazards", files: &["common/simt/src/analyses/hazards/*.rs"], tests: &["-C=--lib"], filter: &[] },
    Part {
        name: "counters",
        files: &["common/simt/src/analyses/counters.rs", "common/simt/src/analyses/counters/*.rs"],
        tests: &["-C=--lib", "-C=--test", "-C=counters"],
        // The readings of small launches see what those of whole kernels see.
        filter: &["--", "--", "--skip", "the_steps"],
    },
];

/// Some files and their tests.
struct Part {
    name: &'static str,
    files: &'static [&'static str],
    tests: &'static [&'static str],
    filter: &'static [&'static str],
}

/// The least share of mutants that the tests must catch.
const CAUGHT: f64 = 0.9;

/// What `cargo-mutants` found, in its `outcomes.json`.
#[derive(Deserialize)]
struct Outcomes {
    outcomes: Vec<Outcome>,
}

#[derive(Deserialize)]
struct Outcome {
    scenario: Scenario,
    summary: String,
}

#[derive(Deserialize)]
enum Scenario {
    Baseline,
    Mutant { name: String },
}

/// Runs the command; `false` if too many mutants survive.
pub fn run(options: &Options) -> Result<bool> {
    ensure!(
        options.sample < options.every,
        "there are {} samples, from 0 on; choose a smaller --sample",
        options.every
    );
    let mut found = Outcomes { outcomes: Vec::new() };
    for part in &PARTS {
        print(&format!("-- {}\n", part.name))?;
        if let Some(more) = try_part(part, options)? {
            found.outcomes.extend(more.outcomes);
        }
    }
    if options.list {
        return Ok(true);
    }
    let (text, ok) = verdict(&found);
    print(&text)?;
    Ok(ok)
}

/// What becomes of a part's mutants; nothing if they are only listed.
fn try_part(part: &Part, options: &Options) -> Result<Option<Outcomes>> {
    let folder = workspace::root().join("target/mutants");
    let mut command = Command::new("cargo");
    command.current_dir(workspace::root()).args(["mutants", "--no-shuffle", "--sharding", "round-robin"]);
    command.args(["--shard", &format!("{}/{}", options.sample, options.every)]);
    command.args(["--exclude", "**/tests.rs", "--exclude", "**/tests/**"]);
    for file in part.files {
        command.args(["--file", file]);
    }
    if options.list {
        command.arg("--list");
    } else {
        std::fs::create_dir_all(&folder)
            .with_context(|| format!("{} cannot be made; free some room", workspace::display(&folder)))?;
        command.arg("--output").arg(&folder).args(part.tests).args(part.filter);
    }
    let status = command.status().context("cargo does not start; install Rust")?;
    // 2 and 3 say that mutants survived or ran too long, which the outcomes tell as well.
    ensure!(
        matches!(status.code(), Some(0 | 2 | 3)),
        "cargo mutants did not come to an end; cargo install cargo-mutants --locked brings it, and what it says above is why"
    );
    if options.list { Ok(None) } else { read(&folder.join("mutants.out/outcomes.json")).map(Some) }
}

fn read(path: &Path) -> Result<Outcomes> {
    let name = workspace::display(path);
    let text = std::fs::read_to_string(path).with_context(|| format!("{name} cannot be read; run it again"))?;
    serde_json::from_str(&text).with_context(|| format!("{name} has another form; use cargo-mutants 27"))
}

/// How many were caught, which were not, and whether that is enough.
fn verdict(outcomes: &Outcomes) -> (String, bool) {
    let (mut tried, mut caught) = (0_usize, 0_usize);
    let mut text = String::new();
    for outcome in &outcomes.outcomes {
        let Scenario::Mutant { name } = &outcome.scenario else { continue };
        match outcome.summary.as_str() {
            // It does not compile: nobody could have planted it.
            "Unviable" => continue,
            // A loop that no longer ends is noticed, too.
            "CaughtMutant" | "Timeout" => caught += 1,
            _ => {
                let _ = writeln!(text, "survived: {name}");
            }
        }
        tried += 1;
    }
    let share = caught as f64 / tried.max(1) as f64;
    let _ = writeln!(text, "{caught} of {tried} mutants were caught ({:.0} %)", share * 100.0);
    (text, tried > 0 && share >= CAUGHT)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcomes(summaries: &[&str]) -> Outcomes {
        let mutant = |summary: &&str| Outcome {
            scenario: Scenario::Mutant { name: format!("a {summary}") },
            summary: (*summary).to_owned(),
        };
        let baseline = Outcome { scenario: Scenario::Baseline, summary: "Success".into() };
        Outcomes { outcomes: std::iter::once(baseline).chain(summaries.iter().map(mutant)).collect() }
    }

    #[test]
    fn nine_of_ten_are_enough_and_fewer_are_not() {
        let mut summaries = vec!["CaughtMutant"; 9];
        summaries.extend(["MissedMutant", "Unviable"]);
        let (text, ok) = verdict(&outcomes(&summaries));
        assert!(ok && text.contains("survived: a MissedMutant") && text.contains("9 of 10"), "{text}");
        summaries.push("MissedMutant");
        assert!(!verdict(&outcomes(&summaries)).1);
        assert!(!verdict(&outcomes(&[])).1, "nothing tried is nothing shown");
    }

    #[test]
    fn the_form_of_the_outcomes_is_that_of_cargo_mutants() {
        let text = r#"{"outcomes": [{"scenario": "Baseline", "summary": "Success", "log_path": "x"},
            {"scenario": {"Mutant": {"name": "f -> 0", "package": "common"}}, "summary": "MissedMutant"}]}"#;
        assert!(!verdict(&serde_json::from_str(text).unwrap()).1);
    }
}
