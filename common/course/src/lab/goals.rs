//! Whether a kernel meets a goal, in counters or in speed on a GPU; and what a task has changed in the counters.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result, anyhow, ensure};
use common::basics::Operands;
use common::device::{self, Choice, Device, Product as _, Session, SimOptions};
use common::measure::{Cache, timing};
use common::verify::verify_on;
use findings::Counters;
use findings::analysis::{LineCounters, term};
use findings::diagnostic::Underlined;
use plan::Problem;
use why::{Asked, Kind};

use super::candidate::Ideas;
use super::correctness::explain;
use super::task::Measure;
use super::{Candidate, Goal, Lab, Next, Seen, Speed, Verdict, names};
use crate::files::locked as lock;
use crate::steps::Kernel;

/// The largest error as a share of its bound, which no counter tells.
pub const SHARE_OF_BOUND: &str = "share_of_bound";

/// What a goal is worth that is met by a kernel whose product is wrong.
const OF_A_WRONG_PRODUCT: f64 = 0.75;

impl Candidate {
    /// Runs the goal's size and compares the counters with the goal.
    pub fn goal(&self, goal: &Goal) -> Verdict {
        let size = goal.size_of(self.seed);
        let size = self.transfer.as_ref().map_or(size, |drawn| drawn.shape(size));
        let name = names(&[size]);
        let missed = &format!("missed: {}", goal.words);
        let next = |text: String, options| Next::new(text, self.command(size, options)).of(missed);
        let failed = |found, text: String, options| Verdict::Failed(found, next(text, options));
        let seen = match self.counted(size) {
            Ok(seen) => seen,
            Err(error) => return failed(None, explain(&name, &error), "--check"),
        };
        if !(seen.verification.ok || self.silent && self.does_the_work(size, &seen)) {
            let diagnosis = seen.verification.diagnosis.as_deref().unwrap_or_default();
            return failed(None, format!("at {name} the product is wrong: {diagnosis}"), "--check");
        }
        let mut found = None;
        for measure in goal.measures() {
            let (size, own) = (measure.size.unwrap_or(size), measure.size.is_none());
            let name = names(&[size]);
            let measured = if own { Ok(seen.clone()) } else { self.counted(size) };
            let figures = measured.and_then(|seen| Ok((self.figures(&measure.counter, size, &seen)?, seen)));
            let (figures, seen) = match figures {
                Ok(figures) => figures,
                Err(error) => return failed(None, explain(&name, &error), "--check"),
            };
            let Some(value) = figures.value(&measure.counter) else {
                let none = format!("the lab asks for a counter {} that does not exist", measure.counter);
                return Verdict::Failed(None, Next::new(none + "; restore lab.json with git", None));
            };
            found = (measure.counter == goal.counter).then(|| format!("{} at {name}", figure(&goal.words, value)));
            if measure.is_met(value) {
                continue;
            }
            let shows = if measure.counter == SHARE_OF_BOUND { "--device sim" } else { "--counters lines" };
            let mut next = next(format!("at {name}: {}", measure.next), shows);
            if let Some((line, value)) = self.worst(&measure, &figures, &seen) {
                let (number, code, value) = (line.line as usize, line.text.trim(), figure(&goal.words, value));
                next.text += &format!("\nmost of all in line {number}, where it is {value}:\n  {code}");
                let from = line.text.chars().take_while(|c| c.is_whitespace()).count();
                let span = (from, from + code.chars().count());
                next.places = vec![Underlined { line: number, span, label: format!("{value} here") }];
            }
            // The goal's own figure is told beside its words; that of another measure would not belong to them.
            return Verdict::Failed(found, next);
        }
        if seen.verification.ok {
            return Verdict::Passed(found);
        }
        Verdict::Partly(OF_A_WRONG_PRODUCT, found.map(|found| found + ", of a wrong product"), None)
    }

    /// Whether a kernel whose product is wrong has loaded and multiplied as much as the product takes, and stored as much: then a goal
    /// says something about it.
    fn does_the_work(&self, size: [u64; 3], seen: &Seen) -> bool {
        let Ok(figures) = self.figures("", size, seen) else { return false };
        let least = |term: &str, least: f64| figures.value(term).is_some_and(|value| value >= least);
        least("flop / products / 2", 0.45)
            && least("global_load_bytes / elements_of_inputs / 4", 0.99)
            && least("global_bytes_requested / elements_of_c / 4", 0.99)
    }

    /// A run of a size with counters, which is made once.
    fn counted(&self, size: [u64; 3]) -> Result<Arc<Seen>> {
        if let Some((_, seen)) = lock(&self.counted).iter().find(|(of, _)| *of == size) {
            return Ok(seen.clone());
        }
        let seen = Arc::new(self.run(size, &SimOptions { counters: true, ..SimOptions::default() })?);
        lock(&self.counted).push((size, seen.clone()));
        Ok(seen)
    }

    fn followed_once(&self, size: [u64; 3]) -> Result<Ideas> {
        if let Some((_, ideas)) = lock(&self.followed).iter().find(|(of, _)| *of == size) {
            return Ok(*ideas);
        }
        let ideas = self.ideas(size)?;
        lock(&self.followed).push((size, ideas));
        Ok(ideas)
    }

    /// The line of the learner's file in which most of a figure arises that is too large, with its own share, if lines have one.
    fn worst<'a>(&self, measure: &Measure, figures: &Figures, seen: &'a Seen) -> Option<(&'a LineCounters, f64)> {
        let (counters, most) = (seen.counters.as_ref()?, measure.at_most?);
        let counted = measure.counter.split_whitespace().any(|name| counters.total.contains_key(name));
        let own = counters.lines.iter().filter(|line| counted && line.file.as_deref() == Some(&self.source.display));
        let figure = |line: &'a LineCounters| {
            let of_line = |name: &str| *line.counts.get(name).unwrap_or(&0) as f64;
            let count = |name: &str| counters.total.get(name).map(|_| of_line(name)).or_else(|| figures.get(name));
            Some((line, term(&measure.counter, count).filter(|value| value.is_finite() && *value > most / 2.0)?))
        };
        own.filter_map(figure).max_by(|(_, one), (_, other)| one.total_cmp(other))
    }

    /// The figures of a run of a size; its values are followed if the term needs them.
    ///
    /// # Errors
    /// If they cannot be followed.
    pub fn figures(&self, of: &str, size: [u64; 3], seen: &Seen) -> Result<Figures> {
        let follows = ["from_shared", "sums_in_shared", "busiest_copier", "ahead"].iter().any(|name| of.contains(name));
        let counters = seen.counters.clone().unwrap_or_default();
        let (asked, [m, n, k]) = (self.asked(size), size.map(|size| size as f64));
        let (launch, code) = (seen.plan.launches.first().context("the step launches nothing")?, self.code(&seen.plan)?);
        let kernel = code.module()?.kernel(&launch.entry).map_err(|error| anyhow!("{error}"))?;
        let count = |sides: [u32; 3]| sides.iter().map(|&side| u64::from(side)).product::<u64>();
        let local = code.ptx.lines().filter(|line| line.trim_start().starts_with(".local ")).count();
        let needed = (0..asked.rows()).map(|row| asked.depth(row) * asked.columns()).sum::<u64>() as f64;
        // Only what the product needs counts as work.
        let per = |loads: &str| if counters.get(loads) > 0 { 2.0 * needed / counters.get(loads) as f64 } else { 0.0 };
        // An asynchronous copy is a request of its own.
        let direct = counters.get("global_load_requests").saturating_sub(counters.get("copy_requests"));
        let ideas = if follows { self.followed_once(size)? } else { Ideas::default() };
        let derived = vec![
            ("elements_of_c", (asked.rows() * asked.columns()) as f64),
            ("elements_of_inputs", elements_of_inputs(&asked) as f64),
            ("products", m * n * k * asked.batch as f64),
            ("k", k),
            ("tile", self.transfer.as_ref().and_then(|drawn| drawn.tile).map_or(32.0, f64::from)),
            ("warps", (count(launch.block).div_ceil(32) * count(launch.grid)) as f64),
            ("flop_per_byte", per("global_load_bytes")),
            ("flop_per_global_access", per("global_load_threads")),
            ("from_shared", ideas.from_shared),
            ("sums_in_shared", ideas.sums_in_shared / (asked.rows() * asked.columns()) as f64),
            ("busiest_copier", ideas.busiest_copier),
            ("ahead", ideas.ahead),
            ("loads_into_registers", direct as f64),
            ("shared_bytes", f64::from(launch.shared_bytes + kernel.static_shared_bytes())),
            // Local memory: a thread's arrays that are not in registers.
            ("local_arrays", local as f64),
        ];
        Ok(Figures { derived, counters, share_of_bound: seen.verification.worst_bound_share })
    }

    /// Times the kernel and the one it is to be faster than.
    pub fn speed(&self, speed: &Speed) -> Verdict {
        if device::cuda_devices().is_err() {
            return Verdict::LeftOut("there is no GPU here".into());
        }
        self.timed(speed).unwrap_or_else(|error| {
            let next = Next::new(format!("{error:#}"), self.command(speed.size, "--device cuda"));
            Verdict::Failed(None, next.of("cannot be timed"))
        })
    }

    /// Times both kernels on the GPU after they are verified, unless no kernel of this lab runs on it.
    fn timed(&self, speed: &Speed) -> Result<Verdict> {
        let mut device = device::open(Choice::Cuda(0), &SimOptions::default())?;
        let device: &mut dyn Device = device.as_mut();
        let problem = self.problem(speed.size);
        let operands = Operands::new(&problem)?;
        let info = device.info().clone();
        if let Err(limit) = self.kernel.plan(&problem, &info) {
            return Ok(Verdict::LeftOut(format!("{limit:#}")));
        }
        let theirs = Self::of_the_course(Kernel::named(&speed.than)?, 0)?;
        let mut times = Vec::new();
        for candidate in [self, &theirs] {
            let plan = candidate.plan_on(&info, speed.size)?;
            let code = candidate.source.code(&plan.specialisation, &info)?;
            let session = Session::new(device, &problem, plan, &code)?;
            let verification = verify_on(device, &session, &problem, &operands)?;
            ensure!(verification.ok, "{}: {}", candidate.source.display, verification.diagnosis.unwrap_or_default());
            let timing = timing::time(device, &session, &operands, None, &mut Cache::warm())?;
            times.push(timing.kernel_ms.median);
            session.close(device)?;
        }
        let (mine, theirs) = (times[0], times[1]);
        let found = Some(format!("{:.2} times as fast", theirs / mine));
        if mine * speed.factor <= theirs {
            return Ok(Verdict::Passed(found));
        }
        let text = format!("it takes {mine:.3} ms, and {} takes {theirs:.3} ms; compare the two", speed.than);
        let next = Next::new(text, self.command(speed.size, "--baseline cublas"));
        Ok(Verdict::Failed(found, next.of("too slow")))
    }
}

/// What goals speak of: counters, and figures that are derived from a run.
pub struct Figures {
    derived: Vec<(&'static str, f64)>,
    counters: Counters,
    share_of_bound: Option<f64>,
}

impl Figures {
    fn get(&self, name: &str) -> Option<f64> {
        let derived = self.derived.iter().find(|(known, _)| *known == name);
        match derived {
            Some((_, value)) => Some(*value),
            None if name == SHARE_OF_BOUND => self.share_of_bound,
            None => self.counters.named(name),
        }
    }

    /// The value of a term; `None` if a name is unknown.
    pub fn value(&self, of: &str) -> Option<f64> {
        term(of, |name| self.get(name))
    }
}

/// Elements of A and B that a task needs.
fn elements_of_inputs(asked: &Asked) -> u64 {
    let Problem { m, n, k, .. } = asked.problem;
    let of_a = if asked.kind == Kind::Lower { (0..m).map(|row| asked.depth(row)).sum() } else { m * k };
    asked.batch * (of_a + if asked.kind == Kind::Symmetric { 0 } else { k * n })
}

/// The goal for the speed, in words.
pub fn words(speed: &Speed) -> String {
    let factor =
        if speed.factor > 1.0 { format!("at least {} times as fast as", speed.factor) } else { "as fast as".into() };
    format!("{factor} {} at {} on a GPU", speed.than, names(&[speed.size]))
}

/// A number with as many digits as people need.
pub fn short(value: f64) -> String {
    match value {
        _ if value.fract() == 0.0 => format!("{value:.0}"),
        _ if value < 0.1 => format!("{value:.4}"),
        _ => format!("{value:.3}"),
    }
}

/// A figure beside the words of its goal: `one for 12` beside `at most one load for 16 multiply-adds`.
fn figure(words: &str, value: f64) -> String {
    match value {
        _ if !words.contains("at most one ") => short(value),
        0.0 => "none".into(),
        _ => format!("one for {}", short(1.0 / value)),
    }
}

/// A row: its name, and a term of counters. One instruction of a warp makes 32 multiply-adds.
const ROWS: &[(&str, &str)] = &[
    ("multiply-adds per global load of a thread", "products / global_load_threads"),
    ("elements of C per store request", "elements_of_c / global_store_requests"),
    ("flop per byte of global memory", "flop_per_byte"),
    ("sectors per global load of a warp", "global_load_sectors / global_load_requests"),
    ("multiply-adds of a warp per shared load", "products / 32 / shared_load_requests"),
    ("multiply-adds per pass through shared memory", "products / 32 / shared_wavefronts"),
    ("bank conflicts", "shared_load_bank_conflicts + shared_store_bank_conflicts"),
    ("warp instructions per 32 multiply-adds", "instructions / products * 32"),
    ("barriers that a warp meets", "barriers / warps"),
    ("asynchronous copies", "copy_requests"),
    ("largest error, as a share of its bound", SHARE_OF_BOUND),
];

/// What has changed since the learner's file passed the task before `task`, or since the lab's start, in words. `None` without a
/// kernel to compare with.
pub fn gain(lab: &Lab, task: usize, kernel: &Path) -> Option<String> {
    if lab.transfer.is_some() {
        return None;
    }
    let size = lab.data.gain.size;
    let own = task.checked_sub(1).map(|before| lab.as_passed(before)).filter(|file| file.is_file());
    // A lab that begins with a kernel which computes nothing right names another one.
    let before = match own {
        Some(file) => Candidate::read(lab, &file, 0, None),
        None => Candidate::of_the_course(Kernel::named(lab.data.gain.from.as_ref()?).ok()?, 0),
    };
    let (before, now) = (before.ok()?, Candidate::read(lab, kernel, 0, None).ok()?);
    let options = SimOptions { counters: true, ..SimOptions::default() };
    let (seen_before, seen_now) = (before.run(size, &options).ok()?, now.run(size, &options).ok()?);
    if !seen_before.verification.ok {
        return None;
    }
    let mut rows = String::new();
    for &(name, counter) in ROWS {
        let value = |kernel: &Candidate, seen| {
            let value = kernel.figures(counter, size, seen).ok()?.value(counter);
            value.filter(|value| value.is_finite())
        };
        let values = [value(&before, &seen_before), value(&now, &seen_now)];
        let [before, now] = values.map(|value| value.map_or_else(|| "-".to_owned(), short));
        if before != now && (counter != SHARE_OF_BOUND || lab.data.gain.errors) {
            rows += &format!("  {name:<47}{before:>10}{now:>10}\n");
        }
    }
    let head = format!("\nwhat has changed since {}, counted at {}:\n", before.source.display, names(&[size]));
    Some(match rows.as_str() {
        "" => head + "  no counter; the gain is in what it takes, or in its time on a GPU\n",
        rows => format!("{head}  {:<47}{:>10}{:>10}\n{rows}", "", "before", "now"),
    })
}
