//! The page of a graded class: one file that loads nothing and runs nothing. It has no kernel and no line of one; those are in the answers
//! to the learners.

use std::fmt::Write as _;

use super::class::{Class, Learner, Row};
use super::seal::SEAL;
use crate::lab::{GradedTask, Next};

/// How a page of ours begins. Whatever a hand-in may smuggle in, a browser neither runs nor loads it.
pub const BEGIN: &str = "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
    <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
    <meta name=\"viewport\" content=\"width=device-width\">\n<title>A class</title>\n";
/// What follows it in the page of a class.
pub const CLASS: &str = "<meta name=\"course\" content=\"class ";
pub const STYLE: &str = include_str!("page.css");

/// The page; `numbered` calls the learners by numbers.
pub fn html(class: &Class, numbered: bool) -> String {
    let learners = class.learners();
    let called = |who: &str| match learners.iter().find(|learner| learner.who == who) {
        Some(learner) if numbered => format!("learner {}", learner.place),
        _ => who.to_owned(),
    };
    let mut listed: Vec<&Learner> = learners.iter().collect();
    if numbered {
        listed.sort_by_key(|learner| learner.place);
    }
    let labs = class.labs();
    let rows: String = listed.iter().map(|learner| summary(learner, &labs, &called(learner.who))).collect();
    let heads: String = labs.iter().fold(String::new(), |all, lab| all + "<th>lab " + &escaped(lab));
    let files = |group: &super::class::Alike| {
        let whose = |file: &String| {
            let row = class.rows.iter().find(|row| row.hand_in.file == *file);
            row.map_or_else(|| file.clone(), |row| if numbered { called(&row.hand_in.who) } else { file.clone() })
        };
        let names: Vec<String> = group.files.iter().map(whose).collect();
        format!("<li>{:.0}%: {}</li>\n", group.share * 100.0, escaped(&names.join(", ")))
    };
    let heading = "<h2>Alike in what they compute</h2>\n\
        <p>A hint and no verdict: a short kernel has few right forms. The share is that of instructions which compute the same.</p>\n";
    let alike = section(heading, "ul", class.alike().iter().map(files).collect());
    let common: String = class.common().iter().map(|kind| finding(kind, &called)).collect();
    let common = section("<h2>What went wrong most often</h2>\n", "ol", common);
    format!(
        "{BEGIN}{CLASS}{SEAL}\">\n<style>\n{STYLE}</style>\n<h1>A graded class</h1>\n\
         <p>{} kernels of {} learners, graded on {}. Seed {}.</p>\n{}\
         <h2>Who passed what</h2>\n<table>\n<tr><th>name{heads}<th>sum<th>first finding</tr>\n\
         {rows}</table>\n{common}{alike}</html>\n",
        class.rows.len(),
        learners.len(),
        class.date,
        class.seed,
        spread(&learners),
    )
}

/// A list below its heading; nothing if there is nothing in it.
fn section(heading: &str, list: &str, items: String) -> String {
    if items.is_empty() { items } else { format!("{heading}<{list}>\n{items}</{list}>\n") }
}

/// Mean, median, and how many learners have which part of the points.
fn spread(learners: &[Learner]) -> String {
    let parts = learners.iter().map(Learner::sum).filter(|[_, of]| *of > 0.0).map(|[points, of]| points / of);
    let mut parts: Vec<f64> = parts.collect();
    parts.sort_by(f64::total_cmp);
    let Some(median) = parts.get(parts.len() / 2).map(|upper| (upper + parts[(parts.len() - 1) / 2]) / 2.0) else {
        return String::new();
    };
    let mean = parts.iter().sum::<f64>() / parts.len() as f64;
    let mut html = format!(
        "<h2>Points</h2>\n<p>Of all points a learner has {:.0}% on average; half of the learners have {:.0}% or more.</p>\n<table class=bars>\n",
        mean * 100.0,
        median * 100.0
    );
    for tenth in (0..5).rev() {
        let within = |part: &&f64| ((**part * 5.0) as i64).min(4) == tenth;
        let count = parts.iter().filter(within).count();
        let (from, to, width) = (tenth * 20, tenth * 20 + 20, 20.0 * count as f64 / parts.len() as f64);
        let bar = format!("<span class=bar style=\"width: {width:.1}rem\"></span>");
        let _ = writeln!(html, "<tr><td>{from} to {to}%<td class=n>{count}<td>{bar}</tr>");
    }
    html + "</table>\n"
}

fn summary(learner: &Learner, labs: &[&str], called: &str) -> String {
    let cell = |lab: &&str| {
        let of_lab = learner.rows.iter().filter(|row| row.base_lab() == *lab);
        let best = of_lab.max_by(|one, other| f64::total_cmp(&one.points(), &other.points()));
        let Some(row) = best else { return "<td>".to_owned() };
        let points = row.worth().map_or("not graded".to_owned(), |[points, of, ..]| format!("{points} of {of}"));
        let boxes = row.graded.iter().flat_map(|graded| &graded.tasks).map(mark).collect::<String>();
        format!("<td class=lab data-lab=\"lab {}: \">{points} {boxes}", escaped(lab))
    };
    let cells: String = labs.iter().map(cell).collect();
    let ([points, of], who) = (learner.sum(), escaped(called));
    let said = learner.rows.iter().map(|row| row.said()).find(|said| !said.is_empty()).unwrap_or_default();
    format!("<tr><td>{who}{cells}<td class=lab data-lab=\"sum: \">{points} of {of}<td>{}</tr>\n", escaped(&said))
}

pub fn mark(task: &GradedTask) -> String {
    let (class, sign, word) = match (task.passed, task.open) {
        (true, _) => ("yes", "✓", "passed"),
        (false, true) => ("open", "·", "an open challenge"),
        (false, false) => ("no", "✗", "not passed"),
    };
    format!("<span class={class} title=\"{}: {word}\">{sign}</span>", escaped(&task.name))
}

/// A common finding, and who has it.
fn finding((kind, rows): &(&str, Vec<(&Row, &Next)>), called: &impl Fn(&str) -> String) -> String {
    let (count, kernels) = (rows.len(), if rows.len() == 1 { "kernel" } else { "kernels" });
    let who: Vec<String> = rows.iter().map(|(row, _)| called(&row.hand_in.who)).collect();
    format!("<li><b>{}</b>, in {count} {kernels}: {}</li>\n", escaped(kind), escaped(&who.join(", ")))
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
    fn nothing_is_markup() {
        assert_eq!(escaped("</pre>\x1b'\""), "&lt;/pre&gt;\\u{1b}&#39;&quot;");
    }
}
