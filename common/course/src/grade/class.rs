//! A graded class: its rows, what went wrong most often, and who handed in the same kernel.

use std::collections::BTreeMap;
use std::path::Path;

use common::basics::workspace;

use super::hand_in::{HandIn, Kernel};
use crate::files;
use crate::lab::candidate::Candidate;
use crate::lab::checklist::Next;
use crate::lab::data::Lab;
use crate::lab::graded::{Graded, fingerprint_of};
use crate::steps;

/// A hand-in and what it is worth, or in a sentence why nothing.
pub struct Row {
    pub hand_in: HandIn,
    pub graded: Result<Graded, String>,
}

pub struct Class {
    pub rows: Vec<Row>,
    pub seed: u64,
}

/// How many findings of the class are shown.
const MOST: usize = 5;

impl Row {
    pub fn lab(&self) -> Option<&Lab> {
        self.hand_in.kernel.as_ref().ok().map(|Kernel { lab, .. }| lab)
    }

    /// The name of the lab, if it is known.
    pub fn lab_name(&self) -> &str {
        self.lab().map_or("", Lab::name)
    }

    pub fn findings(&self) -> &[Next] {
        self.graded.as_ref().map_or(&[], |graded| &graded.findings)
    }

    /// What is wrong, in a few words; nothing if nothing is.
    pub fn said(&self) -> String {
        match &self.graded {
            Ok(graded) => graded.findings.first().map_or_else(String::new, |finding| finding.kind.clone()),
            Err(sentence) => sentence.clone(),
        }
    }

    /// How many required tasks have passed, and how many there are.
    pub fn passed(&self) -> Option<(usize, usize)> {
        let graded = self.graded.as_ref().ok()?;
        let required = || graded.tasks.iter().filter(|task| !task.open);
        Some((required().filter(|task| task.passed).count(), required().count()))
    }

    /// Points, of so many.
    pub fn points(&self) -> Option<(f64, f64)> {
        self.graded.as_ref().ok().map(|graded| (graded.points, graded.of))
    }
}

impl Class {
    /// The findings that most kernels have: the kind, and the rows in which it is found, each with the first of that kind.
    pub fn common(&self) -> Vec<(&str, Vec<(&Row, &Next)>)> {
        let mut kinds: BTreeMap<&str, Vec<(&Row, &Next)>> = BTreeMap::new();
        for row in &self.rows {
            for finding in row.findings() {
                let of_kind = kinds.entry(&finding.kind).or_default();
                if of_kind.last().is_none_or(|(last, _)| !std::ptr::eq(*last, row)) {
                    of_kind.push((row, finding));
                }
            }
        }
        let mut kinds: Vec<_> = kinds.into_iter().collect();
        kinds.sort_by_key(|(_, rows)| std::cmp::Reverse(rows.len()));
        kinds.truncate(MOST);
        kinds
    }

    /// Kernels that are alike but for names, comments and layout, among them the course's own.
    pub fn alike(&self) -> Vec<Vec<String>> {
        let mut groups: BTreeMap<(&str, String), Vec<String>> = BTreeMap::new();
        // The labs, and whether somebody has written a kernel in Rust for them.
        let mut labs: BTreeMap<&str, (&Lab, bool)> = BTreeMap::new();
        for row in &self.rows {
            if let Some(lab) = row.lab() {
                labs.entry(lab.name()).or_insert((lab, false)).1 |= is_rust(row.hand_in.file.as_ref());
            }
            if let Ok(Graded { fingerprint: Some(print), .. }) = &row.graded {
                groups.entry((row.lab_name(), print.clone())).or_default().push(row.hand_in.file.clone());
            }
        }
        for (lab, in_rust) in labs.into_values() {
            for (name, print) in of_the_course(lab, in_rust) {
                groups
                    .entry((lab.name(), print))
                    .and_modify(|group| group.extend((!group.contains(&name)).then_some(name)));
            }
        }
        groups.into_values().filter(|group| group.len() > 1).collect()
    }
}

fn is_rust(file: &Path) -> bool {
    files::kind(file) == Some("rs")
}

/// The fingerprints of what everybody can read: the start of a lab, and its answers.
fn of_the_course(lab: &Lab, in_rust: bool) -> Vec<(String, String)> {
    let answers = lab.data.tasks.iter().filter_map(|task| task.answer.as_deref());
    let kernels = answers.flat_map(|answer| [answer.to_owned(), format!("{answer}/rust")]);
    let files = kernels.filter_map(|name| steps::Kernel::named(&name).ok()).map(|kernel| kernel.file());
    let starts = [lab.start(), lab.start().with_extension("rs")].into_iter().filter(|_| lab.transfer.is_none());
    // Whatever would be compiled for nothing is left out.
    let known = starts.chain(files).filter(|file| in_rust || !is_rust(file.as_path()));
    let print = |file: std::path::PathBuf| {
        let candidate = Candidate::read(lab, &file, 0, None).ok()?;
        Some((format!("the course's {}", workspace::display(&file)), fingerprint_of(lab, &candidate)?))
    };
    known.filter_map(print).collect()
}
