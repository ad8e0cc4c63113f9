//! A graded class as a table: on the terminal, and as CSV for a spreadsheet.

use std::fmt::Write as _;

use super::class::{Class, Row};

/// How a CSV file of ours begins.
pub const BEGIN: &str =
    "name,lab,file,points,of,tasks passed,required tasks,finding,seconds,points by task,same kernel as";

/// Columns of the terminal that a name, and what is wrong, may take.
const NAME: usize = 26;
const SAID: usize = 48;

/// The table, what went wrong most often, and which kernels are alike.
pub fn terminal(class: &Class) -> String {
    let mut text = format!("{:<NAME$} {:<3} {:>12}  {:<5}  first finding\n", "", "lab", "points", "tasks");
    for row in &class.rows {
        let points = row.points().map_or("-".to_owned(), |(points, of)| format!("{points} of {of}"));
        let passed = row.passed().map_or("-".to_owned(), |(passed, of)| format!("{passed}/{of}"));
        let lab: String = row.lab_name().chars().take(3).collect();
        let (who, said) = (cut(&row.hand_in.who, NAME), cut(&row.said(), SAID));
        let line = format!("{who:<NAME$} {lab:<3} {points:>12}  {passed:<5}  {said}");
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
        text +=
            "\nalike but for names, comments and layout (a hint, no verdict: a short kernel has few right forms):\n";
    }
    for group in alike {
        let _ = writeln!(text, "  {}", group.join(", "));
    }
    let _ = writeln!(text, "\n{} kernels; to repeat this grading, give --seed {}", class.rows.len(), class.seed);
    text
}

fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most - 1).chain(['…']).collect()
}

pub fn csv(class: &Class) -> String {
    let alike = class.alike();
    let mut text = BEGIN.to_owned() + "\r\n";
    for row in &class.rows {
        let file = &row.hand_in.file;
        let (points, of) = row.points().map_or_else(Default::default, |(one, of)| (one.to_string(), of.to_string()));
        let (passed, required) =
            row.passed().map_or_else(Default::default, |(one, of)| (one.to_string(), of.to_string()));
        let same = alike.iter().find(|group| group.contains(file));
        let same: Vec<&str> = same.into_iter().flatten().filter(|other| *other != file).map(String::as_str).collect();
        let (seconds, tasks) = of_tasks(row);
        let (who, lab, said) = (row.hand_in.who.as_str(), row.lab_name(), row.said());
        let cells = [who, lab, file, &points, &of, &passed, &required, &said, &seconds, &tasks, &same.join("; ")];
        text += &cells.map(cell).join(",");
        text += "\r\n";
    }
    text
}

/// How long the grading took, and the points of each required task.
fn of_tasks(row: &Row) -> (String, String) {
    let Ok(graded) = &row.graded else { return Default::default() };
    let points = graded.tasks.iter().filter(|task| !task.open).map(|task| format!("{:.2}", task.points));
    (graded.seconds.to_string(), points.collect::<Vec<_>>().join("; "))
}

/// A cell in quotes. What a spreadsheet would compute is a text for it.
fn cell(text: &str) -> String {
    let computed = text.trim_start().starts_with(['=', '+', '-', '@', '\t', '\r', '|', '%']);
    format!("\"{}{}\"", if computed { "'" } else { "" }, text.replace('"', "\"\"").replace(['\n', '\r'], " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_a_text_whatever_is_in_it() {
        for (text, expected) in [
            ("=cmd|' /C calc'!A0", "\"'=cmd|' /C calc'!A0\""),
            (" +1", "\"' +1\""),
            ("a\"b,c\nd", "\"a\"\"b,c d\""),
            ("12.5", "\"12.5\""),
        ] {
            assert_eq!(cell(text), expected);
        }
    }
}
