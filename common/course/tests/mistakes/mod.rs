//! The table of mistakes: for each of them the grader must name the kind, and show a line that has to do with it.

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;

use super::support::trial;
use super::{grade, root, stem, write};

/// Mistakes, each an edit of a kernel of the course; the file says how it is read.
const TABLE: &str = include_str!("table.txt");

/// A kernel with a mistake.
#[derive(Clone, Default)]
struct Mistake {
    lab: String,
    kernel: String,
    above: String,
    name: String,
    kinds: Vec<String>,
    line: String,
    /// What is replaced, and by what.
    edits: Vec<(Vec<String>, Vec<String>)>,
}

/// The trials of all mistakes.
pub fn trials() -> Vec<Trial> {
    let all = read();
    // No table is complete, and this one must not become less so.
    assert!(all.len() >= 267, "{} mistakes", all.len());
    let trial = |mistake: Mistake| {
        let name = format!("{}_{}_{}", mistake.lab, stem(&mistake.kernel), mistake.name);
        trial(format!("mistake::{name}"), move || check(&name, &mistake))
    };
    all.into_iter().map(trial).collect()
}

fn read() -> Vec<Mistake> {
    let mut all: Vec<Mistake> = vec![];
    let mut head = Mistake::default();
    let mut before = ' ';
    for line in TABLE.lines().filter(|line| !line.starts_with('#')) {
        let (mark, rest) = (line.chars().next().unwrap_or(' '), line.get(2..).unwrap_or_default().to_owned());
        match (mark, all.last_mut()) {
            ('@', _) => {
                let (lab, kernel) = rest.split_once(' ').unwrap_or_default();
                head = Mistake { lab: lab.to_owned(), kernel: kernel.to_owned(), ..Mistake::default() };
            }
            ('>', _) => head.above += &(rest + "\n"),
            ('=', _) => {
                let mut parts = rest.split(" | ").map(str::to_owned);
                let name = parts.next().unwrap_or_default();
                let kinds = parts.next().unwrap_or_default().split(" / ").map(str::to_owned).collect();
                all.push(Mistake { name, kinds, line: parts.next().unwrap_or_default(), ..head.clone() });
            }
            ('-', Some(mistake)) if before == '-' => mistake.edits.last_mut().unwrap().0.push(rest),
            ('-', Some(mistake)) => mistake.edits.push((vec![rest], vec![])),
            ('+', Some(mistake)) => mistake.edits.last_mut().unwrap().1.push(rest),
            _ => {}
        }
        before = mark;
    }
    all
}

fn check(name: &str, mistake: &Mistake) -> Result<()> {
    let mut source = std::fs::read_to_string(root().join(&mistake.kernel)).with_context(|| mistake.kernel.clone())?;
    for (old, new) in &mistake.edits {
        let (old, new) = (old.join("\n"), new.join("\n"));
        ensure!(source.contains(&old), "{old:?} is not in {} any more; change the table", mistake.kernel);
        source = source.replacen(&old, &new, 1);
    }
    let (text, status) = grade(&mistake.lab, &write(name, &(mistake.above.clone() + &source))?)?;
    ensure!(status == Some(1), "status {status:?}: {text}");
    let said = text.lines().find(|line| line.trim_start().starts_with("error: ")).context(text.clone())?;
    ensure!(mistake.kinds.iter().any(|kind| said.contains(kind.as_str())), "none of {:?}: {text}", mistake.kinds);
    // A line of the kernel is shown behind its number and a bar.
    let shown = |line: &str| {
        line.split_once(" | ")
            .is_some_and(|(number, code)| number.trim().parse::<u32>().is_ok() && code.contains(&mistake.line))
    };
    ensure!(text.lines().any(shown), "no line with {:?}: {text}", mistake.line);
    Ok(())
}
