//! The tables of mistakes. For those of `table.txt` the grader must name the kind, and `shown.txt` has how many lines it shows without a
//! trial, and whether the wrong one is the first of them; for those of `lines.txt` a certain line of the checklist must fail, with
//! certain words of what to look at next. `SNAPSHOTS=overwrite` writes `shown.txt` again.

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
    /// What stands behind the name: what it is called or which line fails, and the line or the words that must be shown.
    pub kind: String,
    pub words: String,
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
                let [name, kind, words] = [(); 3].map(|()| parts.next().unwrap_or_default());
                all.push(Mistake { name, kind, words, ..head.clone() });
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
    let seen = precision(&text, &mistake.words);
    let known = shown::known(name, &seen)?;
    let (_, said) = text.split_once("error: ").context(text.clone())?;
    let said = unbroken(said.split("-->").next().unwrap_or_default());
    ensure!(mistake.kind.split(" / ").any(|kind| said.contains(kind)), "not {}: {text}", mistake.kind);
    ensure!(known == seen, "{seen:?} and not {known:?} of {:?}: {text}", mistake.words);
    Ok(())
}

/// Whether the wrong line is the first that a finding shows, one of the others, or none of them; and how many are underlined.
fn precision(text: &str, wrong: &str) -> String {
    // A line of the kernel is shown behind its number and a bar, and what is underlined of it in the next line.
    let number = |line: &str| {
        line.split_once(" | ").and_then(|(number, code)| Some((number.trim().parse().ok()?, code.to_owned())))
    };
    let underlined =
        |below: &str| below.split_once(" | ").is_some_and(|(_, signs)| signs.trim_start().starts_with(['^', '-']));
    let lines: Vec<&str> = text.lines().collect();
    let shown = lines.windows(2).filter(|pair| underlined(pair[1]));
    let shown: Vec<(u32, String)> = shown.filter_map(|pair| number(pair[0])).collect();
    let first = text.split_once("--> ").and_then(|(_, rest)| rest.lines().next()?.rsplit(':').nth(1)?.parse().ok());
    let is_wrong = |(_, code): &&(u32, String)| code.contains(wrong);
    let place = match shown.iter().find(is_wrong) {
        Some(_) if shown.iter().any(|(line, code)| Some(*line) == first && code.contains(wrong)) => "first",
        Some(_) => "shown",
        None => "missed",
    };
    format!("{place} {}", shown.len())
}

/// What the answers to the mistakes of the table show, as it was recorded.
mod shown {
    use std::collections::BTreeMap;
    use std::path::PathBuf;
    use std::sync::Mutex;

    use anyhow::{Context, Result};

    static RECORD: Mutex<()> = Mutex::new(());

    fn file() -> PathBuf {
        super::super::labs::root().join("common/course/tests/mistakes/shown.txt")
    }

    /// What is recorded of a mistake; what was seen now, if the record is to be written again.
    pub fn known(name: &str, seen: &str) -> Result<String> {
        let _lock = RECORD.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let text = std::fs::read_to_string(file())?;
        let mut all: BTreeMap<&str, &str> = text.lines().filter_map(|line| line.split_once(": ")).collect();
        if std::env::var("SNAPSHOTS").is_ok_and(|how| how == "overwrite") {
            all.insert(name, seen);
            let lines: Vec<String> = all.iter().map(|(name, seen)| format!("{name}: {seen}\n")).collect();
            std::fs::write(file(), lines.concat())?;
            return Ok(seen.to_owned());
        }
        all.get(name).map(|known| (*known).to_owned()).with_context(|| format!("{name} is not in shown.txt"))
    }
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
    // A line about sizes says first at which one the product is wrong.
    let wrong = line.starts_with("right at") && failed.starts_with("wrong at");
    ensure!(wrong || failed.starts_with(line), "{line:?} should fail and {failed:?} does: {text}");
    let next = text.split_once("look at this next:").map_or("", |(_, next)| next);
    ensure!(unbroken(next).contains(&unbroken(words)), "{words:?} is not in: {next}");
    // What the compiler says is the reason already, and no step runs a transfer task; for everything else a command shows it.
    let command = next.contains("\nsee it for yourself:\n  cargo run --release -p ");
    ensure!(command != (line == "compiles" || lab.contains('-')), "no command, or one too many: {next}");
    Ok(())
}
