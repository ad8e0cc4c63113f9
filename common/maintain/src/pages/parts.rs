//! The parts that a page can ask for: their names, what each is, and what makes it.

use anyhow::{Context, Result};

use super::timed::{self, Page};
use super::{accuracy, bound, counted, outputs, path, readings, several, shapes};

pub struct Part {
    /// The word after `generated:`.
    pub name: &'static str,
    /// The arguments that follow and what the part shows.
    pub shows: &'static str,
    make: fn(&Page, &[&str]) -> Result<String>,
}

pub const PARTS: &[Part] = &[
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
    Part {
        name: "file",
        shows: "PATH [ANCHOR]: a source file or a part of it",
        make: |_, words| outputs::listing(words),
    },
    Part {
        name: "diff",
        shows: "KERNEL KERNEL: the difference between two kernels, each STEP or STEP/VARIANT",
        make: |_, words| outputs::difference(words),
    },
    Part {
        name: "counters",
        shows: "SIZE KERNEL... [rows:ROW,ROW]: what the simulator counts; KERNEL is STEP, STEP/VARIANT, STEP/VARIANT:IDEA or STEP/*",
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
        shows: "STEP [only:SIZE,SIZE]: a table of the rungs on the way to its kernel",
        make: path::of_step,
    },
    Part { name: "chart", shows: "CHART [RECORD]: a chart and the source of its numbers", make: timed::chart },
    Part { name: "results", shows: "a table of all records", make: |page, _| timed::results(page.records) },
    Part {
        name: "shapes",
        shows: "RECORD: the kernel for every shape against cuBLAS, in a table",
        make: |_, words| shapes::summary(words),
    },
    Part {
        name: "idea",
        shows: "RECORD IDEA: what one idea of the kernel for every shape is worth, in a sentence",
        make: |_, words| shapes::idea(words),
    },
    Part {
        name: "ideas",
        shows: "RECORD: what each idea of the kernel for every shape is worth",
        make: |_, words| shapes::ideas(words),
    },
    Part {
        name: "saw-tooth",
        shows: "the speeds of step 6, of the kernel for every shape and of the library at consecutive sizes",
        make: |_, _| shapes::saw_tooth(),
    },
    Part {
        name: "worst-shapes",
        shows: "RECORD: each of the shapes, the worst first",
        make: |_, words| shapes::worst_first(words),
    },
    Part {
        name: "accuracy-speeds",
        shows: "RECORD: products on tensor cores beside others, how fast and how accurate",
        make: |_, words| accuracy::speeds(words),
    },
    Part {
        name: "accuracy-errors",
        shows: "RECORD: worst errors for each kind of values and each K",
        make: |_, words| accuracy::errors(words),
    },
    Part {
        name: "accuracy-power",
        shows: "RECORD: power and clocks of these products, if the record has them",
        make: |_, words| accuracy::power(words),
    },
    Part {
        name: "several",
        shows: "strong, weak, panels, adding, large, model or killed: products on several GPUs",
        make: |_, words| several::table(words),
    },
    Part {
        name: "acceptance",
        shows: "[TABLE]: which kernel gives the right product at which size",
        make: |_, words| timed::acceptance(words),
    },
];

/// The text of the part that a marker's words ask for.
pub fn make(page: &Page, words: &[&str]) -> Result<String> {
    let (name, arguments) = words.split_first().context("a generated part has no name; write generated:NAME")?;
    let part = PARTS.iter().find(|part| part.name == *name).with_context(|| {
        let known: Vec<&str> = PARTS.iter().map(|part| part.name).collect();
        format!("there is no part {name:?}; choose one of {}", known.join(", "))
    })?;
    let text = (part.make)(page, arguments).with_context(|| format!("{name} {}", part.shows))?;
    let space = if text.starts_with("```") { "\n" } else { "\n\n" };
    Ok(format!("{space}{}{space}", text.trim()))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn no_two_parts_have_one_name_and_an_unknown_one_is_told_the_others() {
        for (at, part) in PARTS.iter().enumerate() {
            assert!(PARTS[..at].iter().all(|other| other.name != part.name), "{}", part.name);
        }
        let page = Page { path: Path::new("README.md"), records: &[] };
        let error = make(&page, &["cake"]).unwrap_err().to_string();
        assert!(error.contains("\"cake\"") && error.contains("ladder") && error.contains("diff"), "{error}");
        assert!(make(&page, &[]).is_err());
    }

    #[test]
    fn a_part_that_fails_says_what_it_wants() {
        let page = Page { path: Path::new("README.md"), records: &[] };
        let error = format!("{:#}", make(&page, &["diff", "step01_cpu_naive"]).unwrap_err());
        assert!(error.contains("KERNEL KERNEL") && error.contains("name two steps"), "{error}");
    }
}
