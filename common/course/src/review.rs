//! `cargo course review`: a few questions that look back, each repeated after three days or more. They are in the chapters, under
//! "Looking back". Only the dates on which each was asked are remembered.
//!
//! And papers for a class, to print. The concept inventory: twelve questions on what the course teaches, in which every wrong answer is a
//! misconception that somebody has; before and after a class, they tell a teacher what has changed. And an exam, whose answers are
//! numbers that a run counts.

use std::collections::BTreeMap;
use std::io::{IsTerminal as _, stdin};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use clap::Parser as _;
use common::basics::{number, output, workspace};
use common::program::cli::Args;
use common::program::{on_device, reported};

use crate::files::{self, parse_file};
use crate::grade::{page::BEGIN, seal, seal::SEAL};
use crate::lab::Lab;
use crate::secret::Secret;
use crate::{mine, steps};

/// How many questions a call asks, at most.
const AT_A_TIME: usize = 3;

/// Days until a question comes again for the first time. After that it is twice as long each time.
const DAYS: u64 = 3;

/// The file with the dates, beside the learner's kernels.
const FILE: &str = "review.json";

/// By the question, the days since 1970 on which it was asked.
type Dates = BTreeMap<String, Vec<u64>>;

#[derive(Debug, PartialEq)]
struct Question {
    words: String,
    answer: String,
    /// A step's program with its arguments, and a term of counters that its run computes.
    run: Option<(String, String)>,
}

#[derive(clap::Args)]
pub struct Options {
    /// Write twelve questions on what the course teaches, to print before and after a class, and the key for the teacher
    #[arg(long, requires = "out", conflicts_with = "exam")]
    inventory: bool,
    /// Write an exam of twenty questions instead, with numbers that are drawn from the secret of a class (cargo course secret), and in a
    /// file beside it the key, which runs on the simulator count
    #[arg(long, value_name = "SECRET", requires = "out")]
    exam: Option<PathBuf>,
    /// Which exam: each name draws other numbers
    #[arg(long, value_name = "NAME", default_value = "A", requires = "exam")]
    variant: String,
    /// The page to write
    #[arg(long, value_name = "FILE.html", value_parser = parse_file())]
    out: Option<PathBuf>,
}

pub fn run(options: &Options) -> Result<bool> {
    if let Some(file) = &options.out {
        return match &options.exam {
            Some(secret) => write_exam(file, &Secret::read(secret)?, &options.variant),
            None => write(file, "inventory", INVENTORY).map(|()| said(INVENTORY, "and the key behind them", file))?,
        };
    }
    // A learner who has begun a lab has read the chapters before it.
    let begun = |lab: &Lab| !lab.host && lab.kernel.variant.is_none() && lab.copy().is_file();
    let last = Lab::all()?.into_iter().rfind(begun).map(|lab| format!("{}/lab/README.md", lab.kernel.step.name));
    let read_so_far = last.map_or_else(|| Ok(vec![]), |lab| pages_before(&lab))?;
    let texts: Vec<String> = read_so_far.iter().map(|page| files::read(page)).collect::<Result<_>>()?;
    let questions: Vec<Question> = texts.iter().flat_map(|text| questions(text)).collect();
    let dates: Dates = mine::read(FILE)?;
    let today = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs() / 86_400);
    let due = due(&questions, &dates, today);
    if due.is_empty() {
        let words = if dates.is_empty() {
            "there is nothing to ask yet; the first questions come when cargo course lab 2 is begun"
        } else {
            "nothing is due today; each question comes again after three days or more"
        };
        return output::print(&format!("{words}\n")).map(|()| true);
    }
    for question in due {
        output::print(&format!("\n{}\n", question.words))?;
        if stdin().is_terminal() {
            output::print("(think, then press Enter) ")?;
            stdin().read_line(&mut String::new()).context("nothing can be read from the terminal; try again")?;
        }
        let lines = question.answer.lines().map(|line| format!("  {line}").trim_end().to_owned() + "\n");
        output::print(&format!("\n{}\n", lines.collect::<String>()))?;
        if let Some((command, term)) = &question.run {
            output::print(&format!("  a run of {command} counts {term} = {}\n", computed(command, term)?))?;
        }
        mine::update(FILE, |dates: &mut Dates| dates.entry(question.words.clone()).or_default().push(today))?;
    }
    Ok(true)
}

/// The pages before one of the summary's, in its order.
fn pages_before(page: &str) -> Result<Vec<PathBuf>> {
    let root = workspace::root();
    let summary = files::read(&root.join("docs/src/SUMMARY.md"))?;
    let before = summary.split_once(&format!("]({page})")).map_or("", |(before, _)| before);
    let links = before.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    // Of a step's pages, docs/src has only the frames.
    let file = |link: &str| Some(root.join(link)).filter(|file| file.is_file());
    Ok(links.map(|(link, _)| file(link).unwrap_or_else(|| root.join("docs/src").join(link))).collect())
}

/// The questions to ask: those that have waited longest beyond their time, then those that were never asked.
fn due<'a>(questions: &'a [Question], dates: &Dates, today: u64) -> Vec<&'a Question> {
    let waited = |question: &&Question| -> Option<u64> {
        let Some(asked) = dates.get(&question.words).filter(|asked| !asked.is_empty()) else { return Some(0) };
        let pause = DAYS << (asked.len() - 1).min(8);
        today.checked_sub(asked[asked.len() - 1] + pause).map(|days| days + 1)
    };
    let mut due: Vec<(u64, &Question)> = questions.iter().filter_map(|one| Some((waited(&one)?, one))).collect();
    due.sort_by_key(|(days, _)| std::cmp::Reverse(*days));
    due.into_iter().take(AT_A_TIME).map(|(_, question)| question).collect()
}

/// The questions under "Looking back" of a chapter.
fn questions(chapter: &str) -> Vec<Question> {
    let Some((_, section)) = chapter.split_once("\n## Looking back\n") else { return Vec::new() };
    let section = section.split_once("\n## ").map_or(section, |(section, _)| section);
    let question = |part: &str| {
        let (words, rest) = part.split_once("</summary>")?;
        let (answer, _) = rest.split_once("</details>")?;
        let (answer, run) =
            answer.split_once("<!-- answer: ").map_or((answer, None), |(answer, run)| (answer, Some(run)));
        let run = run.and_then(|run| run.split_once(" -->")?.0.split_once(" | "));
        let run = run.map(|(command, term)| (command.to_owned(), term.to_owned()));
        Some(Question { words: words.to_owned(), answer: without_links(answer.trim()), run })
    };
    section.split("<summary>").skip(1).filter_map(question).collect()
}

/// The text with `[words][label]` and `[words](page)` as `words`.
fn without_links(text: &str) -> String {
    let (mut plain, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once('[') {
        plain += before;
        let link = after.split_once(']').and_then(|(words, after)| {
            let target = after.strip_prefix('[').map(|target| (target, ']'));
            let (target, end) = target.or_else(|| after.strip_prefix('(').map(|target| (target, ')')))?;
            Some((words, target.split_once(end)?.1))
        });
        (plain, rest) = match link {
            Some((words, after)) => (plain + words, after),
            None => (plain + "[", after),
        };
    }
    plain + rest
}

/// The value of a term of counters such as `global_load_sectors / global_load_requests` in a run on the simulator.
fn computed(command: &str, term: &str) -> Result<String> {
    let (name, arguments) = command.split_once(' ').unwrap_or((command, ""));
    let step = steps::expect(name)?;
    // A kernel's file is meant from the course's folder, wherever this runs.
    let from_root = |word: &str| {
        let file = workspace::root().join(word);
        if files::kind(&file).is_some() { file.display().to_string() } else { word.to_owned() }
    };
    let words = [name, "--device", "sim", "--counters"].into_iter().chain(arguments.split_whitespace()).map(from_root);
    let arguments =
        Args::try_parse_from(words).context("a question's command is none; restore the chapter with git")?;
    let variant = arguments.variant.as_deref().map(|name| step.variant(name)).transpose()?;
    let counters = reported(step, variant, &arguments, on_device)?.counters.unwrap_or_default();
    let value =
        counters.term(term).with_context(|| format!("{term} is no term of counters; restore the chapter with git"))?;
    Ok(number(value))
}

fn said(paper: &str, key: &str, file: &Path) -> Result<bool> {
    let questions = paper.matches("<dt>").count();
    output::print(&format!("{questions} questions, {key}: {}\n", workspace::display(file))).map(|()| true)
}

const INVENTORY: &str = include_str!("../inventory.html");

/// In its key a question mark stands for each number: `<dt>1. ?</dt><dd>Why. <small>TERM of COMMAND</small></dd>`. Names in braces stand
/// for what is drawn.
const EXAM: &str = include_str!("../exam.html");

/// Writes an exam of a class, and its key beside it.
fn write_exam(file: &Path, secret: &Secret, variant: &str) -> Result<bool> {
    let paper = drawn(EXAM, |what| secret.number(&["exam", variant, what]));
    let name = output::escape(variant).replace(['<', '&'], "?");
    let paper = paper.replacen("</h1>", &format!(", variant {name}</h1>"), 1);
    let (questions, rest) = paper.split_once("<section class=key>").unwrap_or((&paper, ""));
    let style = questions.split_once("</style>").map_or("", |(style, _)| style);
    let key = file.with_extension("key.html");
    // An exam without its key would be drawn again, and a key without its exam is none.
    write(
        &key,
        "exam key",
        &format!(
            "{style}</style>\n<section class=key>{}",
            rest.replacen("</h1>", &format!(" to variant {name}</h1>"), 1)
        ),
    )?;
    write(file, "exam", &format!("{questions}</html>\n"))?;
    said(&paper, &format!("and the key in {}", workspace::display(&key)), file)
}

/// Fills what is drawn into the exam: sizes of products, blocks, and what follows from them.
fn drawn(exam: &str, number: impl Fn(&str) -> u64) -> String {
    let one_of = |what: &str, all: &[u64]| all[(number(what) % all.len() as u64) as usize];
    let sizes = [64, 96, 128, 160, 192];
    let [m, n, k] = ["m", "n", "k"].map(|what| one_of(what, &sizes));
    let one = [[32, 32], [16, 32], [32, 16], [16, 64], [8, 64]];
    let [m3, n3] = one[(number("block of step 3") % 5) as usize];
    let (k3, x, bx) = (one_of("k3", &[24, 40, 56, 64, 72]), one_of("x", &[4, 8, 16, 32]), one_of("bx", &[4, 8, 16]));
    let all = [
        ("{m}", m),
        ("{n}", n),
        ("{k}", k),
        ("{m3}", m3),
        ("{n3}", n3),
        ("{k3}", k3),
        ("{2k3}", 2 * k3),
        ("{warps3}", m3 * n3 / 32),
        ("{mn}", m * n),
        ("{warps}", m * n / 32),
        ("{steps}", k / 32),
        ("{x}", x),
        ("{y}", 256 / x),
        ("{bx}", bx),
        ("{by}", 256 / bx),
    ];
    all.iter().fold(exam.to_owned(), |text, (name, number)| text.replace(name, &number.to_string()))
}

/// Writes a paper, with the numbers that a run counts for each command and term.
fn write(file: &Path, kind: &str, paper: &str) -> Result<()> {
    let begin = format!("{BEGIN}<meta name=\"course\" content=\"{kind} ");
    let mut page = format!("{begin}{SEAL}\">\n");
    for line in paper.lines() {
        let run = line.split_once(". ?</dt>").and_then(|(_, why)| why.split_once("<small>")?.1.split_once(" of "));
        page += &match run.and_then(|(term, command)| Some((term, command.split_once("</small>")?.0))) {
            Some((term, command)) => line.replacen('?', &computed(command, term)?, 1),
            None => line.to_owned(),
        };
        page.push('\n');
    }
    seal::write(file, &begin, &page)
}

#[cfg(test)]
mod tests {
    use common::basics::mix;

    use super::*;
    use crate::record::Record;

    #[test]
    fn every_chapter_looks_back_three_times_and_its_runs_can_be_computed() {
        let mut runs = 0;
        let pages = pages_before("results.md").unwrap();
        // The first three have nothing to look back to.
        for page in pages.iter().skip(3).filter(|page| !page.ends_with("lab/README.md")) {
            let questions = questions(&files::read(page).unwrap());
            assert_eq!(questions.len(), 3, "{}", page.display());
            runs += questions.iter().filter(|question| question.run.is_some()).count();
        }
        assert!(runs >= 8, "{runs}");
    }

    #[test]
    fn a_question_comes_again_after_three_days_then_six() {
        let text = "x\n## Looking back\n\n<summary>Why?</summary>\n\nA [warp][] and [lanes](glossary.md#lane) of A[k].\n<!-- answer: p --size 4 | a / b -->\n</details>\n";
        let all = questions(text);
        assert_eq!(all[0].answer, "A warp and lanes of A[k].");
        assert_eq!(all[0].run, Some(("p --size 4".into(), "a / b".into())));
        let mut dates = Dates::new();
        for (day, asked) in
            [(100, true), (102, false), (103, true), (108, false), (109, true), (120, false), (121, true)]
        {
            assert_eq!(due(&all, &dates, day).len(), usize::from(asked), "{day}");
            if asked {
                dates.entry("Why?".into()).or_default().push(day);
            }
        }
    }

    #[test]
    fn one_answer_is_right_and_the_others_say_where_a_belief_comes_from() {
        let mut right = [0; 4];
        for answers in INVENTORY.split("<dt>").skip(1) {
            let answers: Vec<&str> = answers.lines().filter(|line| line.starts_with("<dd>")).collect();
            let is_right = |answer: &&str| answer.contains("<b>right.</b>");
            assert!(answers.len() == 4 && answers.iter().filter(|answer| is_right(answer)).count() == 1, "{answers:?}");
            assert!(answers.iter().all(|answer| is_right(answer) != answer.contains("<small>")), "{answers:?}");
            right[answers.iter().position(is_right).unwrap()] += 1;
        }
        // Whoever always chooses one letter must not do well.
        assert!(right.iter().sum::<u32>() == 12 && right.iter().all(|&count| count >= 2), "{right:?}");
        assert_eq!(INVENTORY.matches("<ol type=A>").count(), 12);
    }

    #[test]
    fn each_variant_of_an_exam_draws_other_numbers_and_all_of_them() {
        let exam = |seed: u64| drawn(EXAM, |what| mix(seed ^ what.len() as u64 ^ u64::from(what.as_bytes()[0]) << 8));
        assert_ne!(exam(1), exam(2));
        for seed in 0..20 {
            let exam = exam(seed);
            // Only the style has braces left.
            let body = exam.split_once("</style>").unwrap().1;
            assert!(!body.contains(['{', '}']) && body.matches(". ?</dt>").count() == 20, "{body}");
        }
    }

    #[test]
    fn occupancy_and_speed_of_the_inventory_are_those_that_a_gpu_has_measured() {
        let record = Record::read(&workspace::root().join("docs/results/h100.json")).unwrap();
        let at = record.size([4096; 3]).unwrap();
        let of = |kernel| (at.entry(kernel).unwrap().occupancy.clone().unwrap(), at.gflops(kernel).unwrap());
        let ((before, slow), (after, fast)) = (of("step04_tiled"), of("step05_thread_tile"));
        let [before, after] =
            [before, after].map(|of| (of.threads_per_block * of.blocks_per_sm, of.registers_per_thread));
        assert_eq!((before.0 / after.0, after.1, (fast / slow).round() as u32), (4, Some(128), 5));
    }
}
