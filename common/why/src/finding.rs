//! One mistake as one finding: what is wrong, at which size, in which lines, and the edit that was tried and makes it right.

use findings::HazardReport;
use findings::diagnostic::{Diagnostic, Mark};
use findings::hazard_kind::ReportKind;
use serde::Serialize;

use crate::trial::{Found, LaunchEdit, Repair};

/// The most lines that a finding names.
const LINES: usize = 3;

/// A mistake.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// What is wrong, in a few words.
    pub kind: ReportKind,
    /// What is wrong, in a sentence.
    pub title: String,
    /// M, N and K of the run in which it was seen.
    pub size: [u64; 3],
    /// The lines of the kernel that have most to do with it, at most three, the likeliest first.
    pub lines: Vec<usize>,
    /// What makes the kernel right; null if nothing that was tried does.
    pub repair: Option<Repair>,
    /// All of it for people.
    #[serde(skip)]
    pub diagnostic: Diagnostic,
}

impl Finding {
    /// From what was seen at a size (the user's, unless another one is given), and from the edits that were tried, if any were.
    pub fn new(report: &HazardReport, file: &str, users: [u64; 3], size: [u64; 3], tried: Option<&Found>) -> Self {
        let mut diagnostic = report.diagnostic.clone();
        let repair = tried.and_then(|found| found.repair.clone());
        let of_tried = tried.map_or(&[][..], |found| &found.lines);
        // What was seen comes before what only helps to understand it.
        diagnostic.marks.sort_by_key(|mark| mark.aside);
        let own = diagnostic.marks.iter().filter(|mark| mark.spot.at.file.as_deref() == Some(file));
        let own: Vec<usize> = own.filter_map(|mark| Some(mark.spot.at.line? as usize)).collect();
        let by_launch = repair.as_ref().is_some_and(|repair| repair.launch.is_some());
        let mut lines = vec![];
        for &line in of_tried.iter().take(if repair.is_some() { LINES } else { 2 }).chain(&own).chain(of_tried) {
            if lines.len() < LINES && !lines.contains(&line) && !by_launch {
                lines.push(line);
            }
        }
        // The places that were seen, one for each line, and the lines that the repair changes.
        let mut shown: Vec<Mark> = vec![];
        let changed = repair.iter().flat_map(|repair| &repair.edits).map(|edit| edit.line);
        for line in changed.chain(lines.iter().copied()).take(LINES) {
            let known = shown.iter().any(|mark| mark.spot.at.line == Some(line as u32));
            let seen = diagnostic.marks.iter().find(|mark| mark.spot.at.line == Some(line as u32)).cloned();
            let at =
                simt::Location { file: Some(file.to_owned()), line: Some(line as u32), ..simt::Location::default() };
            let label = if repair.is_some() { "" } else { "a small edit here makes more elements right" };
            let mark = || Mark::at(&at, label);
            shown.extend((!known).then(|| seen.unwrap_or_else(mark)));
        }
        for (at, mark) in shown.iter_mut().enumerate() {
            mark.aside = at > 0 && matches!(report.kind, ReportKind::Cause(_));
        }
        if !shown.is_empty() {
            diagnostic.marks = shown;
        }
        if size != users {
            let at = format!("seen at {}", name(size));
            diagnostic.note = Some(diagnostic.note.map_or(at.clone(), |note| format!("{at}: {note}")));
        }
        diagnostic.help =
            repair.as_ref().zip(tried).map(|(repair, found)| words(repair, &found.right_at)).unwrap_or_default();
        Self { kind: report.kind, title: diagnostic.title.clone(), size, lines, repair, diagnostic }
    }
}

fn name([m, n, k]: [u64; 3]) -> String {
    format!("{m}×{n}×{k}")
}

/// What was tried, and where it is right.
fn words(repair: &Repair, sizes: &[[u64; 3]]) -> String {
    let shown: Vec<String> = sizes.iter().rev().take(2).map(|&size| name(size)).collect();
    let more = sizes.len().saturating_sub(shown.len());
    let others = match more {
        0 => String::new(),
        1 => " and one other size".into(),
        _ => format!(" and {more} other sizes"),
    };
    let head = format!("tried: right at {}{others}, and without a hazard", shown.join(", "));
    if let Some(LaunchEdit { block, tile, shared }) = &repair.launch {
        let shared = if *shared > 0 { format!(" --shared {shared}") } else { String::new() };
        return format!("{head}, is the kernel as it is with --block {block} --tile {tile}{shared}");
    }
    let edit = |edit: &crate::trial::LineEdit| {
        let indented: Vec<&str> = edit.new.lines().map(str::trim).collect();
        match &indented[..] {
            [] => format!("{} is deleted", edit.line),
            [one] => format!("{} becomes {one}", edit.line),
            [new @ .., last] if *last == edit.old.trim() => format!("before {}, put {}", edit.line, new.join(" ")),
            all => format!("{} becomes {}", edit.line, all.join(" ")),
        }
    };
    let edits: Vec<String> = repair.edits.iter().map(edit).collect();
    format!("{head}, if line\n{}", edits.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::LineEdit;

    #[test]
    fn a_repair_is_told_line_by_line() {
        let edit = |line, old: &str, new: &str| LineEdit { line, old: old.into(), new: new.into() };
        let edits = vec![edit(3, "a;", ""), edit(4, "  b;", "  c;"), edit(6, "  d;", "  e;\n  d;")];
        let repair = Repair { edits, launch: None };
        let told = words(&repair, &[[1, 2, 3], [4, 5, 6], [7, 8, 9]]);
        let head = "tried: right at 7×8×9, 4×5×6 and one other size, and without a hazard, if line\n";
        assert_eq!(told, format!("{head}3 is deleted\n4 becomes c;\nbefore 6, put e;"));
        let launch = Some(LaunchEdit { block: "16,16".into(), tile: "16,16".into(), shared: 0 });
        let told = words(&Repair { edits: vec![], launch }, &[[7, 8, 9]]);
        assert!(told.ends_with("the kernel as it is with --block 16,16 --tile 16,16"), "{told}");
    }
}
