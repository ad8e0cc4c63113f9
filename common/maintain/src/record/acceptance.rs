//! The acceptance table: which kernel gives the right product at which size, as data and as Markdown.

use std::collections::BTreeMap;

use common::Dtype;
use course::record::{provenance, size_words};
use serde::{Deserialize, Serialize};

use common::basics::table;

/// The sizes at which every kernel must give the right product; the last is the one of more than 2³¹ elements.
pub const SIZES: [[u64; 3]; 10] = [
    [1, 1, 1],
    [31, 33, 35],
    [32, 32, 32],
    [1000, 777, 513],
    [1024, 1024, 1024],
    [1, 4096, 4096],
    [4096, 1, 4096],
    [4096, 4096, 1],
    [1_100_000, 16, 16],
    [46_400, 46_400, 16],
];

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Run {
    pub step: String,
    /// The counter-example, or the step itself.
    pub variant: Option<String>,
    pub size: [u64; 3],
    pub dtype: Dtype,
    pub outcome: RunOutcome,
    /// How the source became code.
    pub origin: Option<String>,
    /// The diagnosis or the error.
    pub note: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunOutcome {
    Verified,
    Wrong,
    /// The kernel did what no kernel may.
    Fault,
    /// The algorithm cannot do this size, and said so.
    Limit,
    Error,
    Timeout,
    /// There was no time left for it.
    #[default]
    NotRun,
}

impl RunOutcome {
    fn word(self) -> &'static str {
        match self {
            Self::Verified => "right",
            Self::Wrong => "**wrong**",
            Self::Fault => "**fault**",
            Self::Limit => "limit",
            Self::Error => "**error**",
            Self::Timeout => "**stopped**",
            Self::NotRun => "not run",
        }
    }
}

/// The acceptance table as a file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Acceptance {
    /// When it began, UTC.
    pub date: String,
    pub commit: Option<String>,
    pub device: String,
    pub driver: Option<String>,
    pub runs: Vec<Run>,
}

/// The table: a row for each kernel and element type that was run, a column for each size; below it what was not right, in words.
pub fn markdown(acceptance: &Acceptance) -> String {
    let runs: Vec<&Run> = acceptance.runs.iter().filter(|run| run.outcome != RunOutcome::NotRun).collect();
    let mut sizes: Vec<[u64; 3]> = SIZES.to_vec();
    sizes.retain(|size| runs.iter().any(|run| run.size == *size));
    let mut rows: BTreeMap<(&str, Option<&str>, bool), Vec<&Run>> = BTreeMap::new();
    for run in &runs {
        rows.entry((&run.step, run.variant.as_deref(), run.dtype == Dtype::I32)).or_default().push(run);
    }
    let mut head = vec!["kernel".to_owned(), "type".to_owned()];
    head.extend(sizes.iter().map(|&size| size_words(size)));
    let mut cells = Vec::new();
    let mut notes = String::new();
    let mut told = Vec::new();
    for ((step, variant, integers), runs) in rows {
        let name = variant.map_or_else(|| step.to_owned(), |variant| format!("{step}, {variant}"));
        let dtype = if integers { Dtype::I32 } else { Dtype::F32 };
        let mut row = vec![name.clone(), dtype.to_string()];
        for &size in &sizes {
            let run = runs.iter().find(|run| run.size == size);
            row.push(run.map_or("-", |run| run.outcome.word()).to_owned());
            // One example of each kind is enough in words; acceptance.json has them all.
            if let Some(Run { note: Some(note), outcome, .. }) = run
                && *outcome != RunOutcome::Verified
                && !told.contains(&(step, variant, *outcome))
            {
                told.push((step, variant, *outcome));
                let note = note.lines().next().unwrap_or_default();
                notes += &format!("- {name}, {dtype}, {}: {note}\n", size_words(size));
            }
        }
        cells.push(row);
    }
    let right = runs.iter().filter(|run| run.outcome == RunOutcome::Verified).count();
    let mut origins: BTreeMap<&str, usize> = BTreeMap::new();
    for origin in runs.iter().filter_map(|run| run.origin.as_deref()) {
        let kind = if origin.contains("compiled by") {
            origin.split("compiled by ").nth(1).unwrap_or(origin)
        } else if origin.contains("committed") {
            "committed PTX"
        } else {
            "the host's own code"
        };
        *origins.entry(kind).or_default() += 1;
    }
    let origins: Vec<String> = origins.iter().map(|(kind, count)| format!("{kind} ({count})")).collect();
    format!(
        "{}: {right} of {} runs give the right product. Code: {}.\n\n{}\n{notes}",
        provenance(&acceptance.device, &[("driver", &acceptance.driver)], &acceptance.date, &acceptance.commit),
        runs.len(),
        origins.join(", "),
        table::markdown(&head, &cells),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_says_what_was_not_right_and_why() {
        let read = |name: &str| std::fs::read_to_string(format!("tests/acceptance.{name}")).unwrap();
        let table: Acceptance = serde_json::from_str(&read("json")).unwrap();
        assert_eq!(markdown(&table), read("md"));
    }
}
