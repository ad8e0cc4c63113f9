//! Whether a kernel meets a goal, in counters or in speed on a GPU; and what a task has changed in the counters.

use std::path::Path;

use anyhow::{Result, ensure};
use common::basics::Operands;
use common::device::{self, Choice, Device, Product as _, Session, SimOptions};
use common::measure::{Cache, timing};
use common::verify::verify_on;
use findings::analysis::{LineCounters, term};
use findings::diagnostic::Underlined;

use super::correctness::explain;
use super::{Candidate, Goal, Lab, Next, Seen, Speed, Verdict, names};
use crate::steps::Kernel;

/// The largest error as a share of its bound, which no counter tells.
pub const SHARE_OF_BOUND: &str = "share_of_bound";

impl Candidate {
    /// Runs the goal's size and compares the counters with the goal.
    pub fn goal(&self, goal: &Goal) -> Verdict {
        let name = names(&[goal.size]);
        let missed = &format!("missed: {}", goal.words);
        let next = |text: String, options| Next::new(text, self.command(goal.size, options)).of(missed);
        let failed = |found, text: String, options| Verdict::Failed(found, next(text, options));
        let seen = match self.run(goal.size, &SimOptions { counters: true, ..SimOptions::default() }) {
            Ok(seen) => seen,
            Err(error) => return failed(None, explain(&name, &error), "--check"),
        };
        if !seen.verification.ok {
            let diagnosis = seen.verification.diagnosis.unwrap_or_default();
            return failed(None, format!("at {name} the product is wrong: {diagnosis}"), "--check");
        }
        let Some(value) = self.measure(&goal.counter, goal.size, &seen) else {
            let text =
                format!("the lab asks for a counter {} that does not exist; restore lab.json with git", goal.counter);
            return Verdict::Failed(None, Next::new(text, None));
        };
        let met = goal.at_most.is_none_or(|most| value <= most * (1.0 + 1e-9))
            && goal.at_least.is_none_or(|least| value >= least * (1.0 - 1e-9));
        let found = Some(format!("{} at {name}", short(value)));
        if met {
            return Verdict::Passed(found);
        }
        let shows = if goal.counter == SHARE_OF_BOUND { "--device sim" } else { "--counters lines" };
        let mut next = next(format!("at {name}: {}", goal.next), shows);
        if let Some((line, value)) = self.worst(goal, &seen) {
            let (number, code, value) = (line.line as usize, line.text.trim(), short(value));
            next.text += &format!("\nmost of all in line {number}, where it is {value}:\n  {code}");
            let from = line.text.chars().take_while(|c| c.is_whitespace()).count();
            let span = (from, from + code.chars().count());
            next.places = vec![Underlined { line: number, span, label: format!("{value} here") }];
        }
        Verdict::Failed(found, next)
    }

    /// The line of the learner's file that misses a goal most, with its own figure, if each line has one.
    fn worst<'a>(&self, goal: &Goal, Seen { counters, .. }: &'a Seen) -> Option<(&'a LineCounters, f64)> {
        let (counters, most) = (counters.as_ref()?, goal.at_most?);
        let own = counters.lines.iter().filter(|line| line.file.as_deref() == Some(&self.source.display));
        let figure = |line: &'a LineCounters| {
            let count = |name: &str| counters.total.get(name).map(|_| *line.counts.get(name).unwrap_or(&0) as f64);
            Some((line, term(&goal.counter, count).filter(|value| value.is_finite() && *value > most)?))
        };
        own.filter_map(figure).max_by(|(_, one), (_, other)| one.total_cmp(other))
    }

    /// The value of a term of counters and of figures derived from a run; `None` if a name is unknown.
    pub fn measure(&self, of: &str, size: [u64; 3], seen: &Seen) -> Option<f64> {
        let (counters, code) = (seen.counters.as_ref()?, self.code(&seen.plan).ok()?);
        let [m, n, k] = size.map(|size| size as f64);
        let launch = seen.plan.launches.first()?;
        let count = |sides: [u32; 3]| sides.iter().map(|&side| u64::from(side)).product::<u64>();
        term(of, |name| match name {
            "elements_of_c" => Some(m * n),
            "products" => Some(m * n * k),
            "k" => Some(k),
            "warps" => Some((count(launch.block).div_ceil(32) * count(launch.grid)) as f64),
            SHARE_OF_BOUND => seen.verification.worst_bound_share,
            "shared_bytes" => {
                let kernel = code.module().ok()?.kernel(&launch.entry).ok()?;
                Some(f64::from(launch.shared_bytes + kernel.static_shared_bytes()))
            }
            // Local memory: a thread's arrays that are not in registers.
            "local_arrays" => {
                Some(code.ptx.lines().filter(|line| line.trim_start().starts_with(".local ")).count() as f64)
            }
            name => counters.named(name),
        })
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

/// A row: its name, and a term of counters. One instruction of a warp makes 32 multiply-adds.
const ROWS: &[(&str, &str)] = &[
    ("global loads of threads per multiply-add", "global_load_threads / products"),
    ("store requests per element of C", "global_store_requests / elements_of_c"),
    ("flop per byte of global memory", "flop_per_byte"),
    ("sectors per global load of a warp", "global_load_sectors / global_load_requests"),
    ("shared loads per multiply-add of a warp", "shared_load_requests / products * 32"),
    ("passes through shared memory per multiply-add", "shared_wavefronts / products * 32"),
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
        let value = |kernel: &Candidate, seen| kernel.measure(counter, size, seen).filter(|value| value.is_finite());
        let values = [value(&before, &seen_before), value(&now, &seen_now)];
        let [before, now] = values.map(|value| short(value.unwrap_or(0.0)));
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
