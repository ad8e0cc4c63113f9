//! A graded class: its rows, the learners with their sums, what went wrong most often, and whose kernels compute alike; as a table on the
//! terminal, and as CSV for a spreadsheet.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::PathBuf;

use common::basics::mix::mix;
use common::basics::{output, workspace};
use unicode_width::UnicodeWidthStr as _;

use super::hand_in::HandIn;
use super::seal::SEAL;
use crate::lab::{Candidate, Graded, Lab, Next, copies, fingerprint_of};
use crate::{files, steps};

/// A hand-in with its grading, or a sentence that says why there is none.
pub struct Row {
    pub hand_in: HandIn,
    pub graded: Result<Graded, String>,
}

pub struct Class {
    pub rows: Vec<Row>,
    pub seed: u64,
    /// The day of the grading.
    pub date: String,
}

/// A learner, with all that they have handed in.
pub struct Learner<'a> {
    pub who: &'a str,
    pub rows: Vec<&'a Row>,
    /// By which the page of the class may call them: the place in an order that has nothing to do with names.
    pub place: usize,
}

/// Kernels of a lab that compute alike: their files, and the least share of each pair.
pub struct Alike {
    pub files: Vec<String>,
    pub share: f64,
}

/// The share from which kernels are listed: independent right kernels of a lab have less in common.
const ALIKE: f64 = 0.8;

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

    /// Its points; less than none if it was not graded.
    pub fn points(&self) -> f64 {
        self.graded.as_ref().map_or(-1.0, |graded| graded.points)
    }

    /// The lab without the number of a transfer task.
    pub fn base_lab(&self) -> &str {
        self.lab_name().split('-').next().unwrap_or_default()
    }

    /// Points and their maximum, and required tasks passed and their number.
    pub fn worth(&self) -> Option<[f64; 4]> {
        let graded = self.graded.as_ref().ok()?;
        let required = || graded.tasks.iter().filter(|task| !task.open);
        let passed = required().filter(|task| task.passed).count();
        Some([graded.points, graded.of, passed as f64, required().count() as f64])
    }
}

impl Learner<'_> {
    /// Points of the best kernel of each lab, and what these labs may bring.
    pub fn sum(&self) -> [f64; 2] {
        let mut best: BTreeMap<&str, [f64; 2]> = BTreeMap::new();
        for row in &self.rows {
            let [points, of, ..] = row.worth().unwrap_or_default();
            let kept = best.entry(row.base_lab()).or_default();
            *kept = [kept[0].max(points), kept[1].max(of)];
        }
        let sum = best.into_values().fold([0.0; 2], |sum, [points, of]| [sum[0] + points, sum[1] + of]);
        sum.map(|points| (points * 100.0).round() / 100.0)
    }
}

impl Class {
    /// The findings that most kernels have: the kind, and the rows in which it is found, each with the first of that kind.
    pub fn common(&self) -> Vec<(&str, Vec<(&Row, &Next)>)> {
        let mut kinds: BTreeMap<&str, Vec<(&Row, &Next)>> = BTreeMap::new();
        for row in &self.rows {
            // A goal that is missed by a wrong product follows from what is wrong.
            let is_goal = |finding: &&Next| finding.kind.starts_with("missed: ");
            let only_goals = row.findings().iter().all(|finding| is_goal(&finding));
            for finding in row.findings().iter().filter(|finding| only_goals || !is_goal(finding)) {
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

    /// The learners in the order of their names.
    pub fn learners(&self) -> Vec<Learner<'_>> {
        let mut all: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
        self.rows.iter().for_each(|row| all.entry(&row.hand_in.who).or_default().push(row));
        let key = |who: &str| who.bytes().fold(self.seed, |hash, byte| mix(hash ^ u64::from(byte)));
        let mut order: Vec<&str> = all.keys().copied().collect();
        order.sort_by_key(|who| key(who));
        let place = |who: &str| order.iter().position(|other| *other == who).map_or(0, |at| at + 1);
        all.into_iter().map(|(who, rows)| Learner { who, rows, place: place(who) }).collect()
    }

    /// The labs of the class, sorted.
    pub fn labs(&self) -> Vec<&str> {
        let labs: BTreeSet<&str> = self.rows.iter().map(Row::base_lab).filter(|lab| !lab.is_empty()).collect();
        labs.into_iter().collect()
    }

    /// Kernels that compute alike, among them the course's own.
    pub fn alike(&self) -> Vec<Alike> {
        let mut groups = vec![];
        for of_lab in self.labs() {
            let rows = || self.rows.iter().filter(|row| row.base_lab() == of_lab);
            let in_rust = rows().any(|row| files::kind(row.hand_in.file.as_ref()) == Some("rs"));
            let sketched = |row: &Row| {
                let sketch = row.graded.as_ref().ok()?.fingerprint.as_deref()?;
                let HandIn { file, who, .. } = &row.hand_in;
                Some(Sketched { file: file.clone(), who: who.clone(), computes: copies::numbers(sketch) })
            };
            let mut kernels: Vec<Sketched> = rows().filter_map(sketched).collect();
            let theirs = kernels.len();
            // The answers are those of the lab's own tasks, if anybody has handed one in.
            let lab = rows().filter_map(|row| row.hand_in.lab.as_ref()).min_by_key(|lab| lab.seed().is_some());
            kernels.extend(lab.into_iter().flat_map(|lab| of_the_course(lab, in_rust)));
            groups.extend(grouped(&kernels, theirs));
        }
        groups
    }

    /// What a row is called: its student, or its file if the student has handed in several for the lab.
    pub fn name<'a>(&self, row: &'a Row) -> &'a str {
        let alike = |other: &&Row| other.hand_in.who == row.hand_in.who && other.lab_name() == row.lab_name();
        if self.rows.iter().filter(alike).count() > 1 { &row.hand_in.file } else { &row.hand_in.who }
    }
}

/// A kernel by what it computes.
struct Sketched {
    file: String,
    who: String,
    computes: BTreeSet<u32>,
}

/// Groups of kernels of which each computes like another one; the first are those of learners.
fn grouped(kernels: &[Sketched], theirs: usize) -> Vec<Alike> {
    let mut groups: Vec<(Vec<usize>, f64)> = (0..kernels.len()).map(|at| (vec![at], 1.0)).collect();
    for one in 0..theirs {
        for other in one + 1..kernels.len() {
            let share = copies::share(&kernels[one].computes, &kernels[other].computes);
            // Two files of one student are not a copy.
            if share < ALIKE || kernels[one].who == kernels[other].who {
                continue;
            }
            let place = |at: usize| groups.iter().position(|(members, _)| members.contains(&at));
            let (Some(to), Some(from)) = (place(one), place(other)) else { continue };
            groups[to].1 = groups[to].1.min(share);
            if to != from {
                let (members, least) = std::mem::take(&mut groups[from]);
                groups[to].0.extend(members);
                groups[to].1 = groups[to].1.min(least);
            }
        }
    }
    let several = groups.into_iter().filter(|(members, _)| members.len() > 1);
    let files = |members: Vec<usize>| members.into_iter().map(|at| kernels[at].file.clone()).collect();
    several.map(|(members, share)| Alike { files: files(members), share }).collect()
}

/// The sketches of what everybody can read: the start of a lab, and its answers.
fn of_the_course(lab: &Lab, in_rust: bool) -> Vec<Sketched> {
    // Host programs are not compared.
    if lab.host {
        return vec![];
    }
    let answers = lab.data.tasks.iter().filter_map(|task| task.answer.as_deref());
    let kernels = answers.flat_map(|answer| [answer.to_owned(), format!("{answer}/rust")]);
    // Two tasks may have one answer.
    let files: BTreeSet<PathBuf> =
        kernels.filter_map(|name| steps::Kernel::named(&name).ok()).map(|kernel| kernel.file()).collect();
    let starts = [lab.start(), lab.start().with_extension("rs")].into_iter().filter(|_| lab.transfer.is_none());
    // Whatever would be compiled for nothing is left out.
    let known = starts.chain(files).filter(|file| in_rust || files::kind(file) != Some("rs"));
    let print = |file: PathBuf| {
        let candidate = Candidate::read(lab, &file, 0, None).ok()?;
        let name = format!("the course's {}", workspace::display(&file));
        Some(Sketched { computes: copies::numbers(&fingerprint_of(lab, &candidate)?), who: name.clone(), file: name })
    };
    known.filter_map(print).collect()
}

/// How a CSV file of ours begins.
pub const BEGIN: &str =
    "name,number,lab,file,points,of,tasks passed,required tasks,finding,seconds,points by task,same kernel as";

/// Most columns of the terminal for a name, and for what is wrong with the lab before it: a row has 80 columns.
const NAME: usize = 26;
const SAID: usize = 31;

/// The table, what went wrong most often, and which kernels are alike.
pub fn terminal(class: &Class) -> String {
    let lab = class.rows.iter().map(|row| row.lab_name().len()).max().unwrap_or(0).max(3);
    let mut text = format!("{:NAME$} {:<lab$} {:>12}  {:<5}  first finding\n", "", "lab", "points", "tasks");
    let most = SAID.saturating_sub(lab).max(12);
    for row in &class.rows {
        let points = row.worth().map_or("-".to_owned(), |[points, of, ..]| format!("{points} of {of}"));
        let passed = row.worth().map_or("-".to_owned(), |[.., passed, of]| format!("{passed}/{of}"));
        let (who, said) = (cut(class.name(row), NAME), cut(&row.said(), most));
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
        let _ = writeln!(text, "  {:>4} × {}", rows.len(), cut(kind, 70));
    }
    let alike = class.alike();
    if !alike.is_empty() {
        text += "\nalike in what they compute (a hint, no verdict: short kernels are alike):\n";
    }
    for Alike { files, share } in alike {
        let _ = writeln!(text, "  {:.0}%: {}", share * 100.0, output::wrapped(&files.join(", "), 2));
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
        let same = alike.iter().find(|group| group.files.contains(file));
        let same = same.into_iter().flat_map(|group| &group.files).filter(|other| *other != file);
        let same: Vec<&str> = same.map(String::as_str).collect();
        let graded = row.graded.as_ref();
        let seconds = graded.map_or_else(|_| String::new(), |graded| graded.seconds.to_string());
        let tasks = graded.iter().flat_map(|graded| &graded.tasks).filter(|task| !task.open);
        let tasks: Vec<String> = tasks.map(|task| format!("{:.2}", task.points)).collect();
        let (who, lab, said) = (row.hand_in.who.as_str(), row.lab_name(), row.said());
        let cells = [
            who,
            &row.hand_in.number,
            lab,
            file,
            &points,
            &of,
            &passed,
            &required,
            &said,
            &seconds,
            &tasks.join("; "),
            &same.join("; "),
        ];
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
    fn two_files_of_one_student_are_no_copy_and_groups_have_their_least_share() {
        let kernel = |who: &str, first: u32| Sketched {
            file: format!("{who}{first}.cu"),
            who: who.to_owned(),
            computes: (first..first + 20).collect(),
        };
        let all = [kernel("ada", 0), kernel("ada", 1), kernel("bob", 100), kernel("cleo", 101), kernel("dan", 102)];
        let groups = grouped(&all, 4);
        assert_eq!(groups.len(), 1);
        assert_eq!(groups[0].files, ["bob100.cu", "cleo101.cu", "dan102.cu"]);
        assert!((groups[0].share - 18.0 / 22.0).abs() < 1e-9, "{}", groups[0].share);
        assert!(grouped(&all[..2], 2).is_empty());
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
