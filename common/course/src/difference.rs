//! The difference between two steps' kernels: the lesson.

use anyhow::{Result, anyhow};
use common::code::Source;
use common::output::print;

use crate::steps::{self, StepFolder};

/// Options of `cargo course diff`.
#[derive(clap::Args)]
pub struct Options {
    /// A step, by its number or the start of its name
    one: String,
    /// The step to compare it with
    other: String,
}

/// Runs the command.
pub fn run(options: &Options) -> Result<bool> {
    let steps = steps::find()?;
    let read = |name: &str| -> Result<Source> { Source::read(&find(&steps, name)?.source(None)) };
    let (one, other) = (read(&options.one)?, read(&options.other)?);
    let (gone, new) = size(&one.text, &other.text);
    let text = diff(&one.text.replace("\r\n", "\n"), &other.text.replace("\r\n", "\n"));
    print(&format!("--- {}\n+++ {}\n{text}{gone} lines gone, {new} lines new\n", one.display, other.display))?;
    Ok(true)
}

fn find<'a>(steps: &'a [StepFolder], name: &str) -> Result<&'a StepFolder> {
    let number = name.parse::<u32>().map(|number| format!("step{number:02}_"));
    let start = number.unwrap_or_else(|_| name.to_owned());
    steps.iter().find(|step| step.name.starts_with(&start)).ok_or_else(|| {
        let names: Vec<&str> = steps.iter().map(|step| step.name.as_str()).collect();
        anyhow!("there is no step {name:?}; choose one of {}, or its number", names.join(", "))
    })
}

/// Lines that are gone and lines that are new, without empty ones and comments.
fn size(one: &str, other: &str) -> (usize, usize) {
    let text = diff(&code(one), &code(other));
    let count = |sign: char| text.lines().filter(|line| line.starts_with(sign)).count();
    (count('-'), count('+'))
}

fn code(text: &str) -> String {
    let lines = text.lines().map(|line| line.split("//").next().unwrap_or("").trim_end());
    lines.filter(|line| !line.is_empty()).map(|line| line.to_owned() + "\n").collect()
}

/// A line-by-line difference: what is common, what is gone (`-`), what is new (`+`).
pub fn diff(old: &str, new: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    // Length of the longest common subsequence of the rests.
    let mut common = vec![vec![0_usize; new.len() + 1]; old.len() + 1];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            common[i][j] = if old[i] == new[j] {
                // A line with something on it is worth more than an empty one or a brace.
                common[i + 1][j + 1] + if old[i].trim().len() > 1 { 4 } else { 1 }
            } else {
                common[i + 1][j].max(common[i][j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut text = String::new();
    while i < old.len() || j < new.len() {
        let (sign, line) = if i < old.len() && j < new.len() && old[i] == new[j] {
            (i, j) = (i + 1, j + 1);
            (' ', new[j - 1])
        } else if i < old.len() && (j == new.len() || common[i + 1][j] >= common[i][j + 1]) {
            i += 1;
            ('-', old[i - 1])
        } else {
            j += 1;
            ('+', new[j - 1])
        };
        text += format!("{sign}{line}").trim_end();
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_shows_what_is_gone_and_what_is_new() {
        let text = diff("a\nb\nc\nd\n", "a\nx\nc\nd\ne\n");
        assert_eq!(text, " a\n-b\n+x\n c\n d\n+e\n");
        assert_eq!(diff("a\n", "a\n"), " a\n");
    }

    /// Lines of code, gone and new, that each step may differ by from the one before: a step is one lesson.
    const MOST: &[(&str, &str, usize)] = &[
        ("step01_cpu_naive", "step02_gpu_naive", 25),
        ("step02_gpu_naive", "step03_single_block", 30),
        ("step03_single_block", "step04_tiled", 40),
        ("step04_tiled", "step05_thread_tile", 110),
        ("step05_thread_tile", "step06_prefetch", 130),
    ];

    #[test]
    fn each_step_differs_from_the_one_before_by_its_lesson_only() {
        let steps = steps::find().unwrap();
        for (one, other, most) in MOST {
            let [one, other] = [one, other].map(|name| find(&steps, name).map(|step| step.source(None)));
            let [one, other] = [one, other].map(|path| Source::read(&path.unwrap()).unwrap());
            let (gone, new) = size(&one.text, &other.text);
            assert!(
                gone + new <= *most,
                "{} to {}: {gone} lines gone and {new} new, more than {most}",
                one.display,
                other.display
            );
            assert!(gone + new > 0, "{} and {} are the same", one.display, other.display);
        }
    }

    #[test]
    fn comments_and_empty_lines_do_not_count() {
        assert_eq!(size("a; // one\n\nb;\n", "// two\na;\nc;\n"), (1, 1));
    }

    #[test]
    fn a_step_is_found_by_number_and_by_name_and_others_are_named() {
        let steps = steps::find().unwrap();
        assert_eq!(find(&steps, "4").unwrap().name, "step04_tiled");
        assert_eq!(find(&steps, "step02").unwrap().name, "step02_gpu_naive");
        assert!(find(&steps, "99").unwrap_err().to_string().contains("step01_cpu_naive"));
    }
}
