//! The parts that a page can ask for, each with its name, what it shows and the function that makes it. A part is between a comment
//! that names it and a comment that ends it.

use anyhow::{Context, Result, ensure};

use super::timed::{self, Records};
use super::{asked, counted, outputs};

/// The word after `generated:`, its arguments with what the part shows, and the function that makes the part.
type Part = (&'static str, &'static str, fn(&Records, &[&str]) -> Result<String>);

/// The parts for the pages of the course; [`beyond::parts`] has more.
const PARTS: &[Part] = &[
    ("output", "PROGRAM ARGUMENTS: what a command prints", |_, words| outputs::command(words, "")),
    ("hazards", "PROGRAM ARGUMENTS: the hazards that it finds", |_, words| outputs::command(words, "  HAZARDS")),
    ("trace", "PROGRAM ARGUMENTS: the trace that it prints", |_, words| outputs::command(words, "  block (")),
    ("file", "PATH [ANCHOR]: a file, or a part of a Rust file", |_, words| outputs::listing(words)),
    ("case", "PATH NUMBER: a command of a file of commands (trycmd), and what it prints", |_, words| {
        outputs::case(words)
    }),
    ("diff", "KERNEL KERNEL: their difference; each is STEP or STEP/VARIANT", |_, words| outputs::difference(words)),
    ("driver", "STEP: its host driver", |_, words| outputs::driver(words)),
    ("host", "STEP STEP: the difference between their host drivers and plans", |_, words| outputs::host(words)),
    ("counters", "SIZE KERNEL... [rows:ROW,ROW]: what is counted of STEP or STEP/VARIANT[:IDEA]", counted::table),
    ("counter-names", "what each counter counts", |_, _| Ok(counted::names())),
    ("readings", "the simulator's counters beside those that were read on a GPU", counted::readings),
    ("asked", "which recorded results of instructions a GPU gave as well", asked::table),
    ("ladder", "[RECORD]: a table of all steps at one size", timed::ladder),
    ("sizes", "[RECORD]: a table of all steps at all sizes", timed::sizes),
    ("languages", "RECORD [STEP]: a table of the kernels in Rust beside those in CUDA C", timed::languages),
    ("bound", "[RECORD]: a table of all kernels' times over the least ones, at one size", timed::bound),
    ("record", "STEP [RECORD] [only:SIZE,SIZE]: a table of one step at all sizes or at some", timed::of_step),
    ("path", "STEP [only:SIZE,SIZE] [rungs:RUNG,RUNG]: a table of the rungs on the way to its kernel", timed::path),
    ("chart", "CHART [RECORD]: a chart, on a page of docs/src", timed::chart),
    ("results", "a table of all records", timed::results),
];

pub fn names() -> impl Iterator<Item = &'static str> {
    PARTS.iter().map(|part| part.0).chain(beyond::parts::PARTS.iter().map(|part| part.0))
}

/// The text of the part that a marker's words ask for.
pub fn make(records: &Records, words: &[&str]) -> Result<String> {
    let (name, arguments) = words.split_first().context("a generated part has no name; write generated:NAME")?;
    let own = PARTS.iter().find(|part| part.0 == *name);
    let own = own.map(|&(_, shows, make)| (make(records, arguments), shows));
    let beyond = || beyond::parts::PARTS.iter().find(|part| part.0 == *name);
    let made = own.or_else(|| beyond().map(|&(_, shows, make)| (make(arguments), shows)));
    let (text, shows) = made.with_context(|| {
        format!("there is no part {name:?}; choose one of {}", names().collect::<Vec<_>>().join(", "))
    })?;
    let text = text.with_context(|| format!("{name} {shows}"))?;
    let space = if text.starts_with("```") { "\n" } else { "\n\n" };
    Ok(format!("{space}{}{space}", text.trim()))
}

const BEGIN: &str = "<!-- generated:";
const END: &str = "<!-- /generated -->";

/// The page with each generated part replaced by what `make` returns for the words of its marker.
pub fn replace(page: &str, mut make: impl FnMut(&[&str]) -> Result<String>) -> Result<String> {
    let mut fresh = String::new();
    let mut rest = page;
    while let Some(start) = rest.find(BEGIN) {
        let (before, marker) = rest.split_at(start);
        let close = marker.find("-->").context("a generated part's first line has no end; write -->")? + 3;
        let (head, body) = marker.split_at(close);
        let end = body.find(END).with_context(|| format!("{head} has no end; write {END} after it"))?;
        let words: Vec<&str> = head[BEGIN.len()..head.len() - 3].split_whitespace().collect();
        fresh += before;
        fresh += head;
        let part = make(&words).with_context(|| head.to_owned())?;
        // Otherwise the part would end there the next time, and the text after it would stay in the page for ever.
        let is_plain = !part.contains(BEGIN) && !part.contains(END);
        ensure!(is_plain, "{head} makes a text with a marker in it; write the text otherwise");
        fresh += &part;
        fresh += END;
        rest = &body[end + END.len()..];
    }
    Ok(fresh + rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marker_without_an_end_and_a_part_with_a_marker_in_it_are_refused() {
        let whole = "<!-- generated:one --><!-- /generated -->";
        for (page, part, says) in [
            ("<!-- generated:one -->\n", "", "has no end"),
            ("<!-- generated:one ", "", "has no end"),
            (whole, BEGIN, "a marker in it"),
            (whole, END, "a marker in it"),
        ] {
            let error = replace(page, |_| Ok(part.to_owned())).unwrap_err().to_string();
            assert!(error.contains(says), "{page}: {error}");
        }
        assert!(replace("no part", |_| Ok(String::new())).is_ok());
    }
}
