//! The answer to a learner: a page and a text with points and why, what was found and where, and what to try; and nothing of anybody else.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use anyhow::Result;
use common::basics::output;
use findings::diagnostic::Underlined;

use super::class::{Class, Learner, Row};
use super::page::{BEGIN, STYLE, escaped, mark};
use super::seal::{self, SEAL};
use crate::lab::{GradedTask, Line, Next, State};

/// What follows [`BEGIN`] in the page of a learner, and how the text begins.
const ANSWER: &str = "<meta name=\"course\" content=\"answer ";
const TEXT: &str = "<!-- course: an answer, ";

/// Lines of a kernel that are shown, and characters of each.
const LINES: usize = 500;
const COLUMNS: usize = 300;

/// The names of the files, one for each of these learners, without their endings.
pub fn names<'a>(learners: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut taken = BTreeSet::new();
    let name = |who: &str| {
        let plain: String =
            who.chars().map(|c| if c.is_alphanumeric() || c == '-' { c } else { '_' }).take(80).collect();
        let free = |name: &String| !taken.contains(&name.to_lowercase());
        let names = std::iter::once(plain.clone()).chain((2..).map(|number| format!("{plain}-{number}")));
        let name = names.into_iter().find(free).unwrap_or_default();
        taken.insert(name.to_lowercase());
        name
    };
    learners.map(name).collect()
}

/// Fails if a file is in the way that this has not written, or that somebody has changed since.
pub fn check(folder: &Path, names: &[String]) -> Result<()> {
    names.iter().try_for_each(|name| {
        seal::check(&folder.join(format!("{name}.html")), &format!("{BEGIN}{ANSWER}"))?;
        seal::check(&folder.join(format!("{name}.md")), TEXT)
    })
}

/// Writes the answers to all learners.
pub fn write(folder: &Path, class: &Class) -> Result<usize> {
    let learners = class.learners();
    let names = names(learners.iter().map(|learner| learner.who));
    for (learner, name) in learners.iter().zip(names) {
        seal::write(&folder.join(format!("{name}.html")), &format!("{BEGIN}{ANSWER}"), &html(class, learner))?;
        seal::write(&folder.join(format!("{name}.md")), TEXT, &text(class, learner))?;
    }
    Ok(learners.len())
}

/// The first finding of each kind: a second one has the same cause most often.
fn told(row: &Row) -> Vec<&Next> {
    let (mut kinds, all) = (BTreeSet::new(), row.findings().iter());
    all.filter(|finding| kinds.insert(&finding.kind)).collect()
}

/// Points of all labs together, the day, and how the page of the class may call the learner.
fn head(class: &Class, learner: &Learner) -> String {
    let ([points, of], date, place) = (learner.sum(), &class.date, learner.place);
    format!(
        "{points} of {of} points, graded on {date}. If the page of the class has numbers in place of names, yours is {place}."
    )
}

fn html(class: &Class, learner: &Learner) -> String {
    let kernels: String = learner.rows.iter().map(|row| kernel(row)).collect();
    let (who, head) = (escaped(learner.who), escaped(&head(class, learner)));
    format!("{BEGIN}{ANSWER}{SEAL}\">\n<style>\n{STYLE}</style>\n<h1>{who}</h1>\n<p>{head}</p>\n{kernels}</html>\n")
}

/// The answer as Markdown.
fn text(class: &Class, learner: &Learner) -> String {
    let who = output::escape(learner.who);
    let mut text = format!("{TEXT}{SEAL} -->\n\n# {who}\n\n{}\n", head(class, learner));
    for row in &learner.rows {
        let points = row.worth().map_or_else(String::new, |[points, of, ..]| format!(": {points} of {of} points"));
        let _ = write!(text, "\n## Lab {}{points}\n\n`{}`\n\n", row.lab_name(), row.hand_in.file.replace('`', "'"));
        let graded = match &row.graded {
            Ok(graded) => graded,
            Err(why) => {
                let _ = writeln!(text, "{}", output::escape(why));
                continue;
            }
        };
        for task in &graded.tasks {
            let sign = if task.passed { "✓" } else { ["✗", "·"][usize::from(task.open)] };
            let open = if task.open { ", an open challenge" } else { "" };
            let _ = writeln!(text, "- {sign} {}{open}{}", task.name, worth(task));
            for line in &task.lines {
                let (sign, _, _) = shown(line.state);
                let _ = writeln!(text, "  - {sign} {}{}{}", line.words, found(line), brought(line));
            }
        }
        for finding in told(row) {
            // A finding quotes the kernel, which may have anything in it.
            let fence = "`".repeat(finding.text.split(|c| c != '`').map(str::len).max().unwrap_or(0).max(2) + 1);
            let _ = write!(text, "\n{fence}text\n{}\n{fence}\n", finding.text.trim_end());
            if let Some(command) = &finding.command {
                let _ = writeln!(text, "\nSee it for yourself, with your kernel: `{command}`");
            }
        }
        if !graded.findings.is_empty() {
            let _ = writeln!(text, "\nTry the first of these first: later ones often follow from it.");
        }
    }
    text
}

/// A hand-in: its checklist, its findings, and the kernel with their places underlined.
fn kernel(row: &Row) -> String {
    let (lab, file) = (escaped(row.lab_name()), escaped(&row.hand_in.file));
    let found = match &row.graded {
        Err(sentence) => format!("<p>{}</p>\n", escaped(sentence)),
        Ok(graded) => {
            let tasks: String = graded.tasks.iter().map(checklist).collect();
            let text = |finding: &Next| {
                let command = finding.command.as_ref().map(|command| {
                    format!("<p>See it for yourself, with your kernel: <code>{}</code></p>\n", escaped(command))
                });
                format!("<pre>{}</pre>\n{}", escaped(&finding.text), command.unwrap_or_default())
            };
            let all: String = told(row).iter().map(|finding| text(finding)).collect();
            let first =
                "<h3>What was found</h3>\n<p>Try the first of these first: later ones often follow from it.</p>\n";
            format!("<ul class=plain>\n{tasks}</ul>\n{}{all}", if all.is_empty() { "" } else { first })
        }
    };
    let places: Vec<&Underlined> = row.findings().iter().flat_map(|finding| &finding.places).collect();
    let code = row.hand_in.kernel.as_ref().map_or_else(|_| String::new(), |text| code(text, &places));
    let points = row.worth().map_or_else(String::new, |[points, of, ..]| format!(": {points} of {of} points"));
    let code = if code.is_empty() { code } else { format!("<h3>Your kernel</h3>\n{code}") };
    format!("<h2>Lab {lab}{points}</h2>\n<p><code>{file}</code></p>\n{found}{code}")
}

fn worth(task: &GradedTask) -> String {
    if task.open { String::new() } else { format!(" ({:.2} of {} points)", task.points, task.of) }
}

/// The sign of a line's state, its word, and its class in a page.
fn shown(state: State) -> (&'static str, &'static str, &'static str) {
    match state {
        State::Passed => ("✓", "passed", "yes"),
        State::Failed => ("✗", "failed", "no"),
        State::NotReached => ("·", "not reached", "open"),
        State::LeftOut => ("·", "left out", "open"),
    }
}

fn found(line: &Line) -> String {
    line.found.as_ref().map_or_else(String::new, |found| format!(" ({found})"))
}

/// What a line has brought, and why if it is not what it could bring.
fn brought(line: &Line) -> String {
    match (line.kept, line.points, line.of) {
        (true, lost, _) if lost < 0.0 => format!(" −{:.2} points: the start does it", -lost),
        (false, points, of) if of > 0.0 && points > 0.0 && points < of => {
            format!(" {points:.2} of {of:.2} points: {:.0}% of it is as asked", line.share * 100.0)
        }
        (false, points, of) if of > 0.0 => format!(" {points:.2} of {of:.2} points"),
        _ => String::new(),
    }
}

fn checklist(task: &GradedTask) -> String {
    let line = |line: &Line| {
        let ((sign, word, class), words) = (shown(line.state), escaped(&line.words));
        let (found, points) = (escaped(&found(line)), brought(line));
        format!("<li class={class}><span title=\"{word}\">{sign}</span> {words}{found}<small>{points}</small></li>\n")
    };
    let lines: String = task.lines.iter().map(line).collect();
    format!("<li>{} {}{}<ul class=plain>\n{lines}</ul></li>\n", mark(task), escaped(&task.name), worth(task))
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
    }

    #[test]
    fn each_learner_has_a_file_of_their_own_in_the_folder() {
        let all = names(["ada", "../ada", "Ada", "a/b", "李雷", "..", "ada"].into_iter());
        assert_eq!(all, ["ada", "___ada", "Ada-2", "a_b", "李雷", "__", "ada-3"]);
    }
}
