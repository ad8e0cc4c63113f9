//! The page of a graded class: one file that loads nothing and runs nothing.

use std::fmt::Write as _;

use findings::diagnostic::Underlined;

use super::class::{Class, Row};
use super::seal::SEAL;
use crate::lab::{GradedTask, Line, Next, State};

/// How a page of ours begins. Whatever a hand-in may smuggle in, a browser neither runs nor loads it.
pub const BEGIN: &str = "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
    <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
    <meta name=\"viewport\" content=\"width=device-width\">\n<title>A class</title>\n";
/// What follows it in the page of a class.
pub const CLASS: &str = "<meta name=\"course\" content=\"class ";
const STYLE: &str = include_str!("page.css");

/// Lines of a kernel that are shown, and characters of each.
const LINES: usize = 500;
const COLUMNS: usize = 300;

pub fn html(class: &Class) -> String {
    let done = class.rows.iter().filter(|row| row.worth().is_some_and(|[.., passed, of]| passed >= of)).count();
    let numbered = || class.rows.iter().enumerate();
    let rows: String = numbered().map(|(number, row)| summary(class, number, row)).collect();
    let kernels: String = numbered().map(|(number, row)| kernel(number, row)).collect();
    let group = |group: Vec<String>| format!("<li>{}</li>\n", escaped(&group.join(", ")));
    let hint = "<p>A hint and no verdict: a short kernel has few right forms.</p>\n";
    let heading = format!("<h2>Alike but for names, comments and order</h2>\n{hint}");
    let alike = section(&heading, "ul", class.alike().into_iter().map(group).collect());
    let common = section("<h2>What went wrong most often</h2>\n", "ol", class.common().iter().map(example).collect());
    format!(
        "{BEGIN}{CLASS}{SEAL}\">\n<style>\n{STYLE}</style>\n<h1>A graded class</h1>\n\
         <p>{} kernels, {done} of them passed. Seed {}.</p>\n\
         <h2>Who passed what</h2>\n<table>\n<tr><th>name<th>lab<th>points<th>tasks<th>first finding</tr>\n\
         {rows}</table>\n{common}{alike}<h2>Each kernel</h2>\n{kernels}</html>\n",
        class.rows.len(),
        class.seed
    )
}

/// A list below its heading; nothing if there is nothing in it.
fn section(heading: &str, list: &str, items: String) -> String {
    if items.is_empty() { items } else { format!("{heading}<{list}>\n{items}</{list}>\n") }
}

fn summary(class: &Class, number: usize, row: &Row) -> String {
    let points = row.worth().map_or("–".to_owned(), |[points, of, ..]| format!("{points} of {of}"));
    let boxes = row.graded.iter().flat_map(|graded| &graded.tasks).map(mark).collect::<String>();
    let (who, lab, said) = (escaped(class.name(row)), row.lab_name(), escaped(&row.said()));
    format!("<tr><td><a href=\"#k{number}\">{who}</a><td>{lab}<td class=n>{points}<td>{boxes}<td>{said}</tr>\n")
}

fn mark(task: &GradedTask) -> String {
    let (class, sign, word) = match (task.passed, task.open) {
        (true, _) => ("yes", "✓", "passed"),
        (false, true) => ("open", "·", "an open challenge"),
        (false, false) => ("no", "✗", "not passed"),
    };
    format!("<span class={class} title=\"{}: {word}\">{sign}</span>", escaped(&task.name))
}

/// A common finding, with the message that shows it best: the shortest.
fn example((kind, rows): &(&str, Vec<(&Row, &Next)>)) -> String {
    let (count, kernels) = (rows.len(), if rows.len() == 1 { "kernel" } else { "kernels" });
    let example = rows.iter().min_by_key(|(_, finding)| finding.text.len());
    let example = example.map(|(row, finding)| [escaped(&row.hand_in.who), escaped(&finding.text)]);
    let ([who, text], kind) = (example.unwrap_or_default(), escaped(kind));
    format!("<li><b>{kind}</b>, in {count} {kernels}; for example that of <bdi>{who}</bdi>:<pre>{text}</pre></li>\n")
}

/// A hand-in: its checklist, its findings, and the kernel with their places underlined.
fn kernel(number: usize, row: &Row) -> String {
    let (who, file) = (escaped(&row.hand_in.who), escaped(&row.hand_in.file));
    let found = match &row.graded {
        Err(sentence) => format!("<p>{}</p>\n", escaped(sentence)),
        Ok(graded) => {
            let tasks: String = graded.tasks.iter().map(checklist).collect();
            let text = |finding: &Next| format!("<pre>{}</pre>\n", escaped(&finding.text));
            format!("<ul class=plain>\n{tasks}</ul>\n{}", graded.findings.iter().map(text).collect::<String>())
        }
    };
    let places: Vec<&Underlined> = row.findings().iter().flat_map(|finding| &finding.places).collect();
    let code = row.hand_in.kernel.as_ref().map_or_else(|_| String::new(), |text| code(text, &places));
    let summary = format!("<summary><bdi>{who}</bdi> <small>{file}</small></summary>");
    format!("<details id=k{number}>{summary}\n{found}{code}</details>\n")
}

fn checklist(task: &GradedTask) -> String {
    let (points, of, name) = (task.points, task.of, escaped(&task.name));
    let points = if task.open { String::new() } else { format!(" ({points:.2} of {of} points)") };
    let line = |line: &Line| {
        let class = match line.state {
            State::Passed => "yes",
            State::Failed => "no",
            State::NotReached | State::LeftOut => "open",
        };
        let found = line.found.as_ref().map_or_else(String::new, |found| format!(" ({found})"));
        let points = match (line.kept, line.points, line.of) {
            (true, lost, _) if lost < 0.0 => format!(" −{:.2} points: the start does it", -lost),
            (false, points, of) if of > 0.0 => format!(" {points:.2} of {of:.2} points"),
            _ => String::new(),
        };
        let (sign, word) = match line.state {
            State::Passed => ("✓", "passed"),
            State::Failed => ("✗", "failed"),
            State::NotReached => ("·", "not reached"),
            State::LeftOut => ("·", "left out"),
        };
        let (words, found) = (escaped(&line.words), escaped(&found));
        format!("<li class={class}><span title=\"{word}\">{sign}</span> {words}{found}<small>{points}</small></li>\n")
    };
    let lines: String = task.lines.iter().map(line).collect();
    format!("<li>{} {name}{points}<ul class=plain>\n{lines}</ul></li>\n", mark(task))
}

/// A kernel's lines with their numbers. Labels follow below the underlined places.
fn code(text: &str, places: &[&Underlined]) -> String {
    let mut html = String::from("<pre class=code>");
    for (number, line) in (1..=LINES).zip(text.lines()) {
        let chars: Vec<char> = line.chars().take(COLUMNS).collect();
        let piece = |from: usize, to: usize| escaped(&chars[from..to].iter().collect::<String>());
        let mut here: Vec<&&Underlined> = places.iter().filter(|place| place.line == number).collect();
        here.sort_by_key(|place| place.span);
        let (mut at, mut labels) = (0, vec![]);
        let _ = write!(html, "<i>{number:>4}</i>  ");
        for place in here {
            let (from, to) = (place.span.0.min(chars.len()), place.span.1.min(chars.len()));
            if from >= at && from < to {
                let _ = write!(html, "{}<u>{}</u>", piece(at, from), piece(from, to));
                at = to;
            }
            if !place.label.is_empty() && !labels.contains(&&place.label) {
                labels.push(&place.label);
            }
        }
        let more = if line.chars().nth(COLUMNS).is_some() { " …" } else { "" };
        let _ = writeln!(html, "{}{more}", piece(at, chars.len()));
        for label in labels {
            let _ = writeln!(html, "      <em>{}</em>", escaped(label));
        }
    }
    let more = text.lines().count().saturating_sub(LINES);
    if more > 0 {
        let _ = writeln!(html, "... and {more} more lines");
    }
    html + "</pre>\n"
}

/// A text as HTML shows it; characters that would hide or reorder it are written out.
pub fn escaped(text: &str) -> String {
    let hides = |c: char| {
        c.is_control() && c != '\n' && c != '\t'
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
    };
    text.chars().fold(String::new(), |mut html, c| {
        match c {
            '&' => html += "&amp;",
            '<' => html += "&lt;",
            '>' => html += "&gt;",
            '"' => html += "&quot;",
            '\'' => html += "&#39;",
            c if hides(c) => html.extend(c.escape_unicode()),
            c => html.push(c),
        }
        html
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_underlined_stays_within_its_line_and_nothing_is_markup() {
        let place = |line, span| Underlined { line, span, label: "<b>".into() };
        let places = [place(1, (2, 5)), place(1, (4, 9)), place(2, (7, 99)), place(9, (0, 1))];
        let html = code("a <i> b\n\u{202e}x", &places.iter().collect::<Vec<_>>());
        assert!(html.contains("<i>   1</i>  a <u>&lt;i&gt;</u> b\n      <em>&lt;b&gt;</em>\n"), "{html}");
        assert!(html.contains("<i>   2</i>  \\u{202e}x\n"), "{html}");
        assert_eq!(escaped("</pre>\x1b'\""), "&lt;/pre&gt;\\u{1b}&#39;&quot;");
    }
}
