//! A graded class: its rows, what went wrong most often, and who handed in the same kernel; as a table on the terminal, and as CSV for a
//! spreadsheet.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use common::basics::{output, workspace};
use unicode_width::UnicodeWidthStr as _;

use super::hand_in::HandIn;
use super::seal::SEAL;
use crate::lab::{Candidate, Graded, Lab, Next, fingerprint_of};
use crate::{files, steps};

/// A hand-in with its grading, or a sentence that says why there is none.
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
    pub fn lab_name(&self) -> &str {
        self.hand_in.lab.as_ref().map_or("", |lab| &lab.name)
    }

    pub fn findings(&self) -> &[Next] {
        self.graded.as_ref().map_or(&[], |graded| &graded.findings)
    }

    /// What is wrong, in a few words; empty if nothing is.
    pub fn said(&self) -> String {
        match &self.graded {
            Ok(graded) => graded.findings.first().map_or_else(String::new, |finding| finding.kind.clone()),
            Err(sentence) => sentence.clone(),
        }
    }

    /// Points and their maximum, and required tasks passed and their number.
    pub fn worth(&self) -> Option<[f64; 4]> {
        let graded = self.graded.as_ref().ok()?;
        let required = || graded.tasks.iter().filter(|task| !task.open);
        let passed = required().filter(|task| task.passed).count();
        Some([graded.points, graded.of, passed as f64, required().count() as f64])
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

    /// Kernels that are alike but for names, comments and order, among them the course's own.
    pub fn alike(&self) -> Vec<Vec<String>> {
        let mut groups: BTreeMap<(&str, String), Vec<String>> = BTreeMap::new();
        // The labs, and whether somebody has written a kernel in Rust for them.
        let mut labs: BTreeMap<&str, (&Lab, bool)> = BTreeMap::new();
        for row in &self.rows {
            if let Some(lab) = &row.hand_in.lab {
                labs.entry(&lab.name).or_insert((lab, false)).1 |= files::kind(row.hand_in.file.as_ref()) == Some("rs");
            }
            if let Ok(Graded { fingerprint: Some(print), .. }) = &row.graded {
                groups.entry((row.lab_name(), print.clone())).or_default().push(row.hand_in.file.clone());
            }
        }
        for (lab, in_rust) in labs.into_values() {
            for (name, print) in of_the_course(lab, in_rust) {
                if let Some(group) = groups.get_mut(&(&*lab.name, print)).filter(|group| !group.contains(&name)) {
                    group.push(name);
                }
            }
        }
        // Two files of one student are not a copy.
        let whose = |file: &String| file.split('/').next().map(str::to_owned);
        groups.into_values().filter(|group| group.iter().any(|file| whose(file) != whose(&group[0]))).collect()
    }

    /// What a row is called: its student, or its file if the student has handed in several for the lab.
    pub fn name<'a>(&self, row: &'a Row) -> &'a str {
        let alike = |other: &&Row| other.hand_in.who == row.hand_in.who && other.lab_name() == row.lab_name();
        if self.rows.iter().filter(alike).count() > 1 { &row.hand_in.file } else { &row.hand_in.who }
    }
}

/// The fingerprints of what everybody can read: the start of a lab, and its answers.
fn of_the_course(lab: &Lab, in_rust: bool) -> Vec<(String, String)> {
    let answers = lab.data.tasks.iter().filter_map(|task| task.answer.as_deref());
    let kernels = answers.flat_map(|answer| [answer.to_owned(), format!("{answer}/rust")]);
    let files = kernels.filter_map(|name| steps::Kernel::named(&name).ok()).map(|kernel| kernel.file());
    let starts = [lab.start(), lab.start().with_extension("rs")].into_iter().filter(|_| lab.transfer.is_none());
    // Whatever would be compiled for nothing is left out.
    let known = starts.chain(files).filter(|file| in_rust || files::kind(file) != Some("rs"));
    let print = |file: PathBuf| {
        let candidate = Candidate::read(lab, &file, 0, None).ok()?;
        Some((format!("the course's {}", workspace::display(&file)), fingerprint_of(lab, &candidate)?))
    };
    known.filter_map(print).collect()
}

/// How a CSV file of ours begins.
pub const BEGIN: &str =
    "name,lab,file,points,of,tasks passed,required tasks,finding,seconds,points by task,same kernel as";

/// Most columns of the terminal for a name, and for what is wrong.
const NAME: usize = 26;
const SAID: usize = 48;

/// The table, what went wrong most often, and which kernels are alike.
pub fn terminal(class: &Class) -> String {
    let lab = class.rows.iter().map(|row| row.lab_name().len()).max().unwrap_or(0).max(3);
    let mut text = format!("{:NAME$} {:<lab$} {:>12}  {:<5}  first finding\n", "", "lab", "points", "tasks");
    for row in &class.rows {
        let points = row.worth().map_or("-".to_owned(), |[points, of, ..]| format!("{points} of {of}"));
        let passed = row.worth().map_or("-".to_owned(), |[.., passed, of]| format!("{passed}/{of}"));
        let (who, said) = (cut(class.name(row), NAME), cut(&row.said(), SAID));
        // A name may take two columns for a character, or none for its accents.
        let beside = NAME - who.width();
        let line = format!("{who}{:beside$} {:<lab$} {points:>12}  {passed:<5}  {said}", "", row.lab_name());
        text += line.trim_end();
        text.push('\n');
    }
    let common = class.common();
    if !common.is_empty() {
        text += "\nthe most common findings:\n";
    }
    for (kind, rows) in common {
        let _ = writeln!(text, "  {:>4} × {kind}", rows.len());
    }
    let alike = class.alike();
    if !alike.is_empty() {
        text += "\nalike but for names, comments and order (a hint, no verdict: a short kernel has few right forms):\n";
    }
    for group in alike {
        let _ = writeln!(text, "  {}", output::wrapped(&group.join(", "), 2));
    }
    let _ = writeln!(text, "\n{} kernels; to repeat this grading, give --seed {}", class.rows.len(), class.seed);
    text
}

/// A text of at most so many columns.
fn cut(text: &str, most: usize) -> String {
    let text = output::escape(text);
    if text.width() <= most {
        return text;
    }
    let ends = text.char_indices().map(|(at, _)| &text[..at]);
    let fits = ends.take_while(|start| start.width() < most).last().unwrap_or_default();
    format!("{fits}…")
}

pub fn csv(class: &Class) -> String {
    let alike = class.alike();
    // Without the mark at the beginning Excel does not read UTF-8.
    let mut text = format!("\u{feff}{BEGIN},{SEAL}\r\n");
    for row in &class.rows {
        let file = &row.hand_in.file;
        let [points, of, passed, required] =
            row.worth().map_or_else(Default::default, |worth| worth.map(|number| number.to_string()));
        let same = alike.iter().find(|group| group.contains(file));
        let same: Vec<&str> = same.into_iter().flatten().filter(|other| *other != file).map(String::as_str).collect();
        let graded = row.graded.as_ref();
        let seconds = graded.map_or_else(|_| String::new(), |graded| graded.seconds.to_string());
        let tasks = graded.iter().flat_map(|graded| &graded.tasks).filter(|task| !task.open);
        let tasks: Vec<String> = tasks.map(|task| format!("{:.2}", task.points)).collect();
        let (who, lab, said) = (row.hand_in.who.as_str(), row.lab_name(), row.said());
        let cells =
            [who, lab, file, &points, &of, &passed, &required, &said, &seconds, &tasks.join("; "), &same.join("; ")];
        text += &cells.map(cell).join(",");
        text += "\r\n";
    }
    text
}

/// A cell in quotes. A formula is marked as text, so that no spreadsheet computes it.
fn cell(text: &str) -> String {
    let computed = text.trim_start().starts_with(['=', '+', '-', '@', '|', '%', '＝', '＋', '－', '＠']);
    let text = output::escape(&text.replace('"', "\"\"").replace(['\n', '\r'], " "));
    format!("\"{}{text}\"", if computed { "'" } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_any_script_takes_the_columns_that_it_has() {
        for (name, most, cut_to) in [
            ("李雷", 4, "李雷"),
            ("李雷和韩", 6, "李雷…"),
            ("e\u{301}e\u{301}a", 3, "e\u{301}e\u{301}a"),
            ("e\u{301}e\u{301}a", 2, "e\u{301}…"),
            ("a\u{202e}b", 9, "a\\u202eb"),
        ] {
            assert_eq!(cut(name, most), cut_to);
        }
    }

    #[test]
    fn a_cell_is_a_text_whatever_is_in_it() {
        for (text, expected) in [
            ("=cmd|' /C calc'!A0", "\"'=cmd|' /C calc'!A0\""),
            ("\t＋1", "\"'\t＋1\""),
            ("a\"b,c\nd", "\"a\"\"b,c d\""),
            ("12.5", "\"12.5\""),
            ("a\u{202e}b", "\"a\\u202eb\""),
        ] {
            assert_eq!(cell(text), expected);
        }
    }
}
