//! The labs: the learner's copy of a starting kernel, which is made once, replaced only when they say yes, and never lost; and the
//! checklist that grades it.
//!
//! A file next to each lab describes its tasks (`data`). Grading runs on the simulator in this process: it gives the same
//! verdict on every machine and takes a second.

mod candidate;
mod checklist;
pub(crate) mod copies;
mod correctness;
mod data;
mod goals;
mod graded;
mod host;
mod ideas;
mod task;

use std::io::{BufRead as _, IsTerminal as _, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Result, ensure};
use common::basics::{output, workspace};

use crate::files::{self, parse_seed};
use crate::mine::{self, PROGRESS, Progress};
pub(crate) use candidate::{Candidate, Seen, Shows};
pub(crate) use checklist::{ENDLESS, Grade, GradedTask, Line, New, Next, State, Until, Verdict};
pub(crate) use data::Lab;
pub(crate) use graded::{Graded, fingerprint_of};
pub(crate) use task::{Data, Goal, Part, Speed, Task, Transfer, hidden, names, smallest_ragged};

#[derive(clap::Args)]
#[allow(clippy::struct_excessive_bools, reason = "each is an option that is given or not")]
pub struct Options {
    /// Number of the step, 1 to 6, or its name; host, for the program that launches a kernel; or tensor_cores, beyond the course;
    /// 4-7 is lab 4's transfer task of seed 7
    lab: String,
    /// Show the next hint for the first task that has not passed
    #[arg(long)]
    hint: bool,
    /// Write the kernel in Rust
    #[arg(long)]
    rust: bool,
    /// Grade again whenever the file is saved
    #[arg(long)]
    watch: bool,
    /// Begin again; asks first, and keeps the old file beside the new one
    #[arg(long)]
    restart: bool,
    /// Grade this file instead of your copy; progress is not noted
    #[arg(long, value_name = "FILE.cu", conflicts_with_all = ["restart", "hint"])]
    kernel: Option<PathBuf>,
    /// Try no edits of a wrong kernel: the answer says only what was seen
    #[arg(long)]
    no_trial: bool,
    /// Grade for a program: tasks, points and findings as JSON; exit status 0 whatever the kernel is worth
    #[arg(long, conflicts_with_all = ["restart", "hint", "watch"])]
    json: bool,
    /// Grade for Gradescope: print what its results.json wants
    #[arg(long, requires = "kernel", conflicts_with_all = ["restart", "hint", "watch", "json"])]
    gradescope: bool,
    /// Repeat a grading: the hidden shapes and the matrices follow from its seed; by default each grading draws its own
    #[arg(long, value_name = "S", value_parser = parse_seed)]
    seed: Option<u64>,
    /// Warp instructions after which a launch is stopped; by default far more than a product of its size takes
    #[arg(long, value_name = "N")]
    instruction_limit: Option<u64>,
}

/// Runs the command; `false` if a required task has not passed.
pub fn run(options: &Options) -> Result<bool> {
    let lab = Lab::find(&options.lab)?;
    let lab = if options.rust { lab.in_rust()? } else { lab };
    if options.hint {
        return hint(&lab).map(|()| true);
    }
    if options.restart {
        return restart(&lab).map(|()| true);
    }
    let own = options.kernel.is_none();
    let kernel = options.kernel.clone().unwrap_or_else(|| lab.copy());
    if options.json || options.gradescope {
        ensure!(!own || kernel.is_file(), "there is nothing to grade yet; {} begins", lab.command());
        let seed = options.seed.unwrap_or_else(fresh_seed);
        let graded = graded::grade(&lab, &kernel, seed, options.instruction_limit)?;
        let adapted = options.gradescope.then(|| serde_json::to_string_pretty(&graded.for_gradescope()));
        let json = adapted.unwrap_or_else(|| serde_json::to_string_pretty(&graded))?;
        // A finding may be longer than a line that people read.
        output::print_whole(&(json + "\n"))?;
        return Ok(true);
    }
    let is_new = own && !kernel.is_file();
    if is_new {
        begin(&lab)?;
    }
    if options.watch {
        return watch(&lab, &kernel, own, options);
    }
    if is_new { Ok(true) } else { grade(&lab, &kernel, own, options) }
}

/// Copies the start for a learner who has nothing yet, and says how to go on.
fn begin(lab: &Lab) -> Result<()> {
    let copy = lab.copy();
    // Another program may have created it a moment ago; anything but a file is in the way.
    if lab.host {
        host::unpack(&copy)?;
    }
    let is_begun = files::create(&copy, &lab.begins_with()?.0)? || copy.is_file();
    ensure!(is_begun, "{} is there and is no file; move it away", workspace::display(&copy));
    begun(lab)
}

fn begun(lab: &Lab) -> Result<()> {
    let (copy, (_, start)) = (lab.copy(), lab.begins_with()?);
    let page = if lab.seed().is_some() { &copy } else { &lab.page() };
    let (copy, page) = (workspace::display(&copy), workspace::display(page));
    let (tasks, command) = (&lab.data.tasks, lab.command());
    let text = format!(
        "{copy} is yours now, {start}\n\n  task 1 of {}: {}\n\n\
         {page} says what to do; edit the file, and have it graded:\n  \
         {command}            once\n  \
         {command} --watch    at each save\n  \
         {command} --hint     with a little help\n",
        tasks.len(),
        tasks[0].name,
    );
    output::print(&text)
}

/// Begins again if the learner agrees; the old file is kept under another name.
fn restart(lab: &Lab) -> Result<()> {
    let copy = lab.copy();
    if !copy.is_file() {
        return begin(lab);
    }
    let (copy_name, kept_name) = (workspace::display(&copy), workspace::display(&files::free_name(&copy)));
    output::print(&format!("{copy_name} becomes {kept_name}, and a new start takes its place; go on? [y/N] "))?;
    let mut answer = String::new();
    // Standard input may never end.
    std::io::stdin().lock().take(64).read_line(&mut answer).ok();
    if !matches!(answer.trim(), "y" | "Y" | "yes") {
        return output::print("nothing was changed\n");
    }
    // Another program may restart at the same time, and an editor may save at any time, so the present file is copied first.
    let _lock = files::lock(&mine::folder());
    let start = lab.begins_with()?.0;
    let kept = files::keep(&copy)?;
    // On a full disk the learner's file is where it was, and nowhere else.
    files::write(&copy, &start).inspect_err(|_| drop(std::fs::remove_file(&kept)))?;
    let kept = workspace::display(&kept);
    if kept != kept_name {
        output::print(&format!("{kept_name} has come to be meanwhile; your file is kept as {kept}\n"))?;
    }
    begun(lab)
}

/// One more hint for the first task that has not passed.
fn hint(lab: &Lab) -> Result<()> {
    let (name, tasks) = (&lab.full_name(), &lab.data.tasks);
    let text = mine::update(PROGRESS, |progress: &mut Progress| {
        let number = (0..tasks.len()).find(|&number| !progress.has_passed(name, number))?;
        let seen = &mut progress.labs.entry(name.clone()).or_default().hints;
        seen.resize(seen.len().max(number + 1), 0);
        seen[number] = (seen[number] + 1).min(tasks[number].hints.len());
        Some(checklist::hints(lab, number, seen[number]))
    })?;
    output::print(text.as_deref().unwrap_or("all tasks of this lab have passed; there is nothing left to hint at\n"))
}

/// Grades once and prints the result. For the learner's own copy, it also notes progress, and keeps a copy of the file
/// when it passes a task.
fn grade(lab: &Lab, kernel: &Path, own: bool, options: &Options) -> Result<bool> {
    let seed = options.seed.unwrap_or_else(fresh_seed);
    let until = Until::FirstFailure;
    let (source, mut grade) = if lab.host {
        host::checked(lab, kernel, seed, until)?
    } else {
        let mut candidate = Candidate::read(lab, kernel, seed, options.instruction_limit)?;
        candidate.shows = if options.no_trial { Shows::Facts } else { shows(lab, own) };
        let grade = graded::checked(lab, &candidate, seed, until)?;
        (candidate.source.text, grade)
    };
    if own && let Ok(progress) = mine::read::<Progress>(PROGRESS) {
        let name = &lab.full_name();
        grade.hints = progress.labs.get(name).map(|lab| lab.hints.clone()).unwrap_or_default();
        grade.passed_before = grade.next().is_some_and(|task| progress.has_passed(name, task));
    }
    let kept = if own { note(lab, kernel, &source, &grade) } else { Ok(None) };
    // If it cannot be saved, it is still printed.
    let new = kept.as_ref().map_or(None, Option::as_ref);
    output::print(&checklist::text(lab, kernel, &grade, new))?;
    kept.map(|_| grade.is_done())
}

/// What a finding shows beside its facts. A file that is not the learner's own copy has no history.
fn shows(lab: &Lab, own: bool) -> Shows {
    if !own {
        return Shows::Line;
    }
    let progress: Progress = mine::read(PROGRESS).unwrap_or_default();
    match progress.patience(&lab.full_name()) {
        0 => Shows::Facts,
        1..=3 => Shows::Line,
        _ => Shows::Edit,
    }
}

/// Notes the progress, and says which tasks have passed now for the first time.
fn note(lab: &Lab, kernel: &Path, source: &str, grade: &Grade) -> Result<Option<New>> {
    let (progress, name): (Progress, _) = (mine::read(PROGRESS)?, &lab.full_name());
    let passed: Vec<bool> = grade.tasks.iter().map(|task| task.passed).collect();
    let new: Vec<usize> = (0..passed.len()).filter(|&task| passed[task] && !progress.has_passed(name, task)).collect();
    if let Some(task) = grade.next().filter(|&task| !progress.has_passed(name, task)) {
        // If it cannot be noted, the learner is helped a little later.
        let _ = mine::update(PROGRESS, |progress: &mut Progress| progress.note_failure(name, task));
    }
    let (Some(&first), Some(&last)) = (new.first(), new.last()) else { return Ok(None) };
    let gain = if lab.host { None } else { goals::gain(lab, first, kernel) };
    // The text that was graded: the file may have changed since.
    let kept = files::keep_text(&lab.as_passed(last), source)?;
    mine::update(PROGRESS, |progress: &mut Progress| progress.note(name, &passed))?;
    Ok(Some(New { first, last, kept, gain }))
}

/// A seed that cannot be predicted.
pub(crate) fn fresh_seed() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::from(now.subsec_nanos()) ^ (now.as_secs() << 10) & 0xFFFF_FFFF
}

/// Grades at each save, until the learner stops the program.
fn watch(lab: &Lab, kernel: &Path, own: bool, options: &Options) -> Result<bool> {
    files::at_each_save(kernel, None, || {
        let mut stdout = std::io::stdout();
        if stdout.is_terminal() {
            // Clears the screen and its scroll-back, and moves the cursor to the corner: only the latest grading is shown.
            let _ = stdout.write_all(b"\x1b[2J\x1b[3J\x1b[H");
        }
        if let Err(error) = grade(lab, kernel, own, options) {
            output::print(&format!("error: {error:#}\n"))?;
        }
        output::print(&format!("\nwaiting until {} is saved (Ctrl-C ends)\n", workspace::display(kernel)))
    })
}
