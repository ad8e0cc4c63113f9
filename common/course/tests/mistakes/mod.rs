//! The tables of mistakes. For those of `table.txt` the grader must name the kind, and show a line that has to do with it; for those
//! of `lines.txt` a certain line of the checklist must fail, with certain words of what to look at next.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;

use super::labs::{first_failed, grade, is_refusal, root, stem, write};
use super::right;
use super::support::{trial, unbroken};

/// Mistakes, each an edit of a kernel of the course; the file says how it is read.
const TABLE: &str = include_str!("table.txt");
const LINES: &str = include_str!("lines.txt");
/// Right kernels that lack the idea.
const LACKS: &str = include_str!("lacks.txt");
const ANSWERS: &str = include_str!("answers.txt");
/// Wrong host programs.
const HOSTS: &str = include_str!("host.txt");

/// A kernel with a mistake, or an answer.
#[derive(Clone, Default)]
pub struct Mistake {
    pub lab: String,
    pub kernel: String,
    above: String,
    pub name: String,
    /// What stands behind the name: what it is called or which line fails, and what must be shown.
    pub kind: String,
    pub words: String,
    says: String,
    /// What is replaced, and by what.
    edits: Vec<(Vec<String>, Vec<String>)>,
}

pub fn trials() -> Vec<Trial> {
    let all = read(TABLE);
    // No table is complete, and this one must not become less so.
    let of_transfer = all.iter().filter(|mistake| mistake.lab.contains('-'));
    let near = of_transfer.filter(|mistake| mistake.edits.len() > 1).map(|mistake| &*mistake.name);
    assert_eq!(near.collect::<Vec<_>>(), [""; 0], "so many edits lead near the answer of a transfer task");
    assert!(all.len() >= 590, "{} mistakes", all.len());
    let trial = |mistake: Mistake| {
        let name = format!("{}_{}_{}", mistake.lab, stem(&mistake.kernel), mistake.name);
        trial(format!("slow::mistake::{name}"), move || check(&name, &mistake))
    };
    all.into_iter().map(trial).collect()
}

/// The trials of the mistakes that fail at a line of the checklist.
pub fn lines() -> impl Iterator<Item = Trial> {
    let all = read(LINES).into_iter().chain(read(LACKS));
    all.map(|mistake| trial(format!("slow::wrong::{}", mistake.name), move || fails(&mistake)))
}

/// The answers of the labs. Those of transfer tasks must not be here: everybody has this file.
pub fn answers() -> Vec<Mistake> {
    let all = read(ANSWERS);
    assert!(all.iter().all(|answer| !answer.lab.contains('-')), "an answer of a transfer task is in the repository");
    all
}

pub fn of_hosts() -> Vec<Mistake> {
    read(HOSTS)
}

pub fn kernel(name: &str) -> Result<PathBuf> {
    read(LINES).iter().find(|mistake| mistake.name == name).context("no such mistake")?.kernel(name)
}

fn read(table: &str) -> Vec<Mistake> {
    let mut all: Vec<Mistake> = vec![];
    let mut head = Mistake::default();
    let mut before = ' ';
    for line in table.lines().filter(|line| !line.starts_with('#')) {
        let (mark, rest) = (line.chars().next().unwrap_or(' '), line.get(2..).unwrap_or_default().to_owned());
        match (mark, all.last_mut()) {
            ('@', _) => {
                let (lab, kernel) = rest.split_once(' ').unwrap_or_default();
                head = Mistake { lab: lab.to_owned(), kernel: kernel.to_owned(), ..Mistake::default() };
            }
            ('>', _) => head.above += &(rest + "\n"),
            ('=', _) => {
                let mut parts = rest.split(" | ").map(str::to_owned);
                let [name, kind, words, says] = [(); 4].map(|()| parts.next().unwrap_or_default());
                all.push(Mistake { name, kind, words, says, ..head.clone() });
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

impl Mistake {
    /// Its kernel, in cargo's folder for tests.
    pub fn kernel(&self, name: &str) -> Result<PathBuf> {
        let mut source = match self.kernel.strip_prefix("right/") {
            Some(name) => right::kernel(name).with_context(|| self.kernel.clone())?.to_owned(),
            None => std::fs::read_to_string(root().join(&self.kernel)).with_context(|| self.kernel.clone())?,
        };
        for (old, new) in &self.edits {
            let (old, new) = (old.join("\n"), new.join("\n"));
            ensure!(source.contains(&old), "{old:?} is not in {} any more; change the table", self.kernel);
            source = source.replacen(&old, &new, 1);
        }
        write(name, &(self.above.clone() + &source))
    }
}

fn check(name: &str, mistake: &Mistake) -> Result<()> {
    let (text, status) = grade(&mistake.lab, &mistake.kernel(name)?)?;
    ensure!(status == Some(1), "status {status:?}: {text}");
    let (_, said) = text.split_once("error: ").context(text.clone())?;
    let said = unbroken(said.split("-->").next().unwrap_or_default());
    ensure!(mistake.kind.split(" / ").any(|kind| said.contains(kind)), "not {}: {text}", mistake.kind);
    // A line of the kernel is shown behind its number and a bar.
    let is_it = |(number, code): (&str, &str)| number.trim().parse::<u32>().is_ok() && code.contains(&mistake.words);
    let mut lines = text.lines().filter_map(|line| line.split_once(" | "));
    ensure!(lines.any(is_it), "no line with {:?}: {text}", mistake.words);
    ensure!(unbroken(&text).contains(&mistake.says), "{:?} is not in: {text}", mistake.says);
    Ok(())
}

fn fails(mistake: &Mistake) -> Result<()> {
    let Mistake { lab, name, kind: line, words, .. } = mistake;
    let (text, status) = grade(lab, &mistake.kernel(name)?)?;
    if line == "refused" {
        is_refusal(&text, status)?;
        ensure!(unbroken(&text).contains(words) && text.contains("; "), "{words:?} is not in, or no remedy: {text}");
        return Ok(());
    }
    ensure!(status == Some(1), "status {status:?}: {text}");
    let failed = first_failed(&text).unwrap_or_default();
    ensure!(failed.starts_with(line), "{line:?} should fail and {failed:?} does: {text}");
    let next = text.split_once("look at this next:").map_or("", |(_, next)| next);
    ensure!(unbroken(next).contains(&unbroken(words)), "{words:?} is not in: {next}");
    // What the compiler says is the reason already, and no step runs a transfer task; for everything else a command shows it.
    let command = next.contains("\nsee it for yourself:\n  cargo run --release -p ");
    ensure!(command != (line == "compiles" || lab.contains('-')), "no command, or one too many: {next}");
    Ok(())
}
