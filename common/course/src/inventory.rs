//! Papers for a class. The concept inventory: twelve questions on what the course teaches, in which every wrong answer is a
//! misconception that somebody has; before and after a class, they tell a teacher what has changed. And an exam, whose answers
//! are numbers that a run counts.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result};
use common::basics::{output, workspace};
use serde::Deserialize;

use crate::grade::page::{BEGIN, escaped};
use crate::grade::write;

const QUESTIONS: &str = include_str!("../inventory.json");
const EXAM: &str = include_str!("../exam.json");
const STYLE: &str = "body { font: 15px/1.45 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; }\n\
    li { margin: .25rem 0; } ol > li { break-inside: avoid; } ol[type=A] { margin-bottom: 1.2rem; }\n\
    .key { break-before: page; } .key dt { font-weight: 600; margin-top: .6rem; } small { opacity: .7; }\n";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Item {
    /// What it asks about, in a word.
    about: String,
    question: String,
    choices: Vec<Choice>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Choice {
    words: String,
    /// Why it is right, or what somebody believes who chooses it.
    why: String,
    /// Where the belief comes from; none of what is right.
    source: Option<String>,
}

/// A question whose answer is a number.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    question: String,
    /// A step's program with its arguments, and a term of its counters: the answer.
    run: String,
    term: String,
    why: String,
}

/// Writes the exam, with the answers that `computed` finds by a run for each command and term.
pub fn write_exam(file: &Path, computed: impl Fn(&[String], &str) -> Result<String>) -> Result<()> {
    let asked: Vec<Asked> = serde_json::from_str(EXAM).context("the course's exam is damaged; restore it with git")?;
    let mut sheet = String::from("<p>Each answer is a number, with a sentence that says why.</p>\n<ol>\n");
    let mut key = String::new();
    for (number, Asked { question, run, term, why }) in (1..).zip(&asked) {
        let words: Vec<String> = run.split_whitespace().map(str::to_owned).collect();
        let _ = writeln!(sheet, "<li>{}<p>&nbsp;</p></li>", escaped(question));
        let (answer, why, term) = (computed(&words, term)?, escaped(why), escaped(term));
        let _ = writeln!(key, "<dt>{number}. {answer}</dt><dd>{why} <small>{term} of {}</small></dd>", escaped(run));
    }
    write_paper(file, "Counting what a kernel does", asked.len(), (sheet, key))
}

/// Writes the inventory.
pub fn write_inventory(file: &Path) -> Result<()> {
    let items: Vec<Item> =
        serde_json::from_str(QUESTIONS).context("the course's inventory is damaged; restore it with git")?;
    write_paper(file, "How a GPU computes", items.len(), inventory(&items))
}

/// The questions and the key.
fn inventory(items: &[Item]) -> (String, String) {
    let mut sheet = String::from("<p>Choose one answer to each question. Twenty minutes, without notes.</p>\n<ol>\n");
    let mut key = String::new();
    for (number, Item { about, question, choices }) in (1..).zip(items) {
        let _ = writeln!(sheet, "<li>{}<ol type=A>", escaped(question));
        let _ = writeln!(key, "<dt>{number}. {}</dt>", escaped(about));
        for (letter, choice) in ('A'..).zip(choices) {
            let _ = writeln!(sheet, "<li>{}</li>", escaped(&choice.words));
            let why = escaped(&choice.why);
            let said = match &choice.source {
                None => format!("<b>right.</b> {why}"),
                Some(source) => format!("{why} <small>{}</small>", escaped(source)),
            };
            let _ = writeln!(key, "<dd>{letter}: {said}</dd>");
        }
        sheet += "</ol></li>\n";
    }
    (sheet, key)
}

/// Writes questions to print, and the key on pages of its own.
fn write_paper(file: &Path, title: &str, questions: usize, (sheet, key): (String, String)) -> Result<()> {
    let page = format!(
        "{BEGIN}<style>\n{STYLE}</style>\n<h1>{title}</h1>\n<p>Name: ______________________ Date: ____________</p>\n\
         {sheet}</ol>\n<section class=key>\n<h1>The key</h1>\n<p>For the teacher: count, for each question, who answered what. \
         A wrong answer says what to talk about.</p>\n<dl>\n{key}</dl>\n</section>\n</html>\n"
    );
    write(file, BEGIN, &page)?;
    output::print(&format!("{questions} questions, and the key behind them: {}\n", workspace::display(file)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_answer_is_right_and_the_others_say_where_a_belief_comes_from() {
        let questions: Vec<Item> = serde_json::from_str(QUESTIONS).unwrap();
        assert_eq!(questions.len(), 12);
        let mut right = [0; 4];
        for question in &questions {
            let is_right = |choice: &Choice| choice.source.is_none();
            assert_eq!(question.choices.len(), 4, "{}", question.question);
            assert_eq!(question.choices.iter().filter(|choice| is_right(choice)).count(), 1, "{}", question.question);
            right[question.choices.iter().position(is_right).unwrap()] += 1;
        }
        // Whoever always chooses one letter must not do well.
        assert!(right.iter().all(|&count| count >= 2), "{right:?}");
        assert_eq!(inventory(&questions).1.matches("<b>right.</b>").count(), 12);
    }
}
