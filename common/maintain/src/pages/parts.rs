//! The parts that a page can ask for: their names, what each is, and what makes it.

use anyhow::{Context, Result};

use super::timed::{self, Page};
use super::{bound, counted, outputs, path, readings};

pub struct Part {
    /// The word after `generated:`.
    pub name: &'static str,
    /// The arguments that follow and what the part shows.
    pub shows: &'static str,
    make: fn(&Page, &[&str]) -> Result<String>,
}

/// Those of the course's own pages; [`beyond::parts`] has more.
const PARTS: &[Part] = &[
    Part { name: "output", shows: "PROGRAM ARGUMENTS: what a command prints", make: |_, words| outputs::whole(words) },
    Part {
        name: "lines",
        shows: "PROGRAM ARGUMENTS: the counters of each line, out of what a command prints",
        make: |_, words| outputs::from(words, "   line "),
    },
    Part {
        name: "hazards",
        shows: "PROGRAM ARGUMENTS: the hazards, out of what a command prints",
        make: |_, words| outputs::from(words, "  HAZARDS"),
    },
    Part {
        name: "trace",
        shows: "PROGRAM ARGUMENTS: the trace, out of what a command prints",
        make: |_, words| outputs::from(words, "  block ("),
    },
    Part { name: "file", shows: "PATH ANCHOR: a part of a Rust file", make: |_, words| outputs::listing(words) },
    Part {
        name: "diff",
        shows: "KERNEL KERNEL: the difference between two kernels, each STEP or STEP/VARIANT",
        make: |_, words| outputs::difference(words),
    },
    Part {
        name: "counters",
        shows: "SIZE KERNEL... [rows:ROW,ROW]: what the simulator counts; KERNEL is STEP, STEP/VARIANT or STEP/VARIANT:IDEA",
        make: |_, words| counted::table(words),
    },
    Part { name: "counter-names", shows: "what each counter counts", make: |_, _| counted::names() },
    Part {
        name: "readings",
        shows: "the simulator's counters beside those that were read on a GPU",
        make: |_, _| readings::table(),
    },
    Part { name: "ladder", shows: "[RECORD]: a table of all steps at one size", make: timed::ladder },
    Part { name: "sizes", shows: "[RECORD]: a table of all steps at all sizes", make: timed::sizes },
    Part {
        name: "languages",
        shows: "RECORD: a table of the kernels in Rust beside those in CUDA C",
        make: |_, words| timed::languages(words),
    },
    Part {
        name: "bound",
        shows: "[RECORD]: a table of all kernels' times over the least ones, at one size",
        make: bound::at_one_size,
    },
    Part {
        name: "record",
        shows: "STEP [RECORD] [only:SIZE,SIZE]: a table of one step at all sizes or at some",
        make: timed::of_step,
    },
    Part {
        name: "path",
        shows: "STEP [only:SIZE,SIZE] [rungs:RUNG,RUNG]: a table of the rungs on the way to its kernel",
        make: path::of_step,
    },
    Part { name: "chart", shows: "CHART [RECORD]: a chart, on a page of docs/src", make: timed::chart },
    Part { name: "results", shows: "a table of all records", make: |page, _| timed::results(page.records) },
    Part {
        name: "acceptance",
        shows: "which kernel gives the right product at which size",
        make: |_, _| timed::acceptance(),
    },
];

/// What each part is called.
pub fn names() -> impl Iterator<Item = &'static str> {
    PARTS.iter().map(|part| part.name).chain(beyond::parts::PARTS.iter().map(|part| part.name))
}

/// The text of the part that a marker's words ask for.
pub fn make(page: &Page, words: &[&str]) -> Result<String> {
    let (name, arguments) = words.split_first().context("a generated part has no name; write generated:NAME")?;
    let own = PARTS.iter().find(|part| part.name == *name);
    let own = own.map(|part| ((part.make)(page, arguments), part.shows));
    let beyond = || beyond::parts::PARTS.iter().find(|part| part.name == *name);
    let made = own.or_else(|| beyond().map(|part| ((part.make)(arguments), part.shows)));
    let (text, shows) = made.with_context(|| {
        format!("there is no part {name:?}; choose one of {}", names().collect::<Vec<_>>().join(", "))
    })?;
    let text = text.with_context(|| format!("{name} {shows}"))?;
    let space = if text.starts_with("```") { "\n" } else { "\n\n" };
    Ok(format!("{space}{}{space}", text.trim()))
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn no_two_parts_have_one_name_and_an_unknown_one_is_told_the_others() {
        for (at, name) in names().enumerate() {
            assert!(names().take(at).all(|other| other != name), "{name}");
        }
        let page = Page { records: &[] };
        let error = make(&page, &["cake"]).unwrap_err().to_string();
        assert!(error.contains("\"cake\"") && error.contains("ladder") && error.contains("diff"), "{error}");
        assert!(make(&page, &[]).is_err());
    }

    #[test]
    fn a_part_that_fails_says_what_it_wants() {
        let page = Page { records: &[] };
        let error = format!("{:#}", make(&page, &["diff", "step01_cpu_naive"]).unwrap_err());
        assert!(error.contains("KERNEL KERNEL") && error.contains("name two steps"), "{error}");
    }
}
