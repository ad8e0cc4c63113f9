//! Parts that are made from records: tables of speed, charts, and the list of records.

use std::path::PathBuf;

use anyhow::{Context, Result};
use common::basics::{ms, workspace};
use common::measure::L2;
use course::files::read;
use course::record::{self, CUBLAS, Entry, Outcome, Record, SizeRecord, times};
use course::steps::{self, Kernel, Role, STEPS};
use course::{difference, least};

use crate::charts::{CHARTS, short};
use common::basics::table::{self, or_dash};

/// The folder of the charts, in the book's sources, so that mdBook copies them.
const FOLDER: &str = "docs/src/results";

/// The records of `docs/results`, each with its name.
pub type Records = [(String, Record)];

/// The record that is shown if a page names none, out of those with times that are `wanted`: the one with the most sizes, then one
/// whose kernels have not changed since, then that of the GPU with the fastest memory, then the newest.
pub fn foremost(records: &Records, wanted: impl Fn(&Record) -> bool) -> Option<&(String, Record)> {
    let speed = |record: &Record| record.figures.as_ref().map_or(0.0, |figures| figures.memory_gb_per_s);
    let is_current = |record: &Record| record.outdated().is_empty();
    let rank = |record: &Record| (record.sizes.len(), is_current(record), speed(record), record.date.clone());
    let timed = records.iter().filter(|(_, record)| record.has_times() && wanted(record));
    timed.max_by(|(_, a), (_, b)| rank(a).partial_cmp(&rank(b)).unwrap_or(std::cmp::Ordering::Equal))
}

/// The charts of all records: path and SVG.
pub fn charts(records: &Records) -> Result<Vec<(PathBuf, String)>> {
    let mut all = vec![];
    for (name, record) in records {
        for chart in CHARTS {
            let path = workspace::root().join(FOLDER).join(format!("{name}-{}.svg", chart.name));
            all.extend(chart.draw(record)?.map(|svg| (path, svg)));
        }
    }
    Ok(all)
}

/// The record that is named or, if none is, the foremost one that was measured with a warm cache.
fn chosen<'a>(records: &'a Records, wanted: Option<&&str>) -> Result<(&'a str, &'a Record)> {
    let found = match wanted {
        Some(wanted) => records.iter().find(|(name, _)| name == wanted),
        None => foremost(records, |record| record.l2 == L2::Warm),
    };
    let none =
        "docs/results has no such record; on a machine with a GPU, cargo course compare --rungs --save makes one";
    found.map(|(name, record)| (name.as_str(), record)).context(none)
}

/// A chart, for a page of `docs/src`.
pub fn chart(records: &Records, words: &[&str]) -> Result<String> {
    let (kind, words) = words.split_first().context("name a chart")?;
    let chart = CHARTS.iter().find(|chart| chart.name == *kind);
    let chart = chart.with_context(|| format!("there is no chart {kind:?}; write path, speed or roofline"))?;
    let (name, record) = chosen(records, words.first())?;
    // The chart itself says where its numbers are from.
    Ok(format!("![{}](results/{name}-{}.svg)", chart.title(record), chart.name))
}

/// Where the numbers come from, and a warning if the sources have changed since.
pub fn source(name: &str, record: &Record) -> String {
    let outdated = record.outdated();
    let changed = || format!(" **Outdated: {} changed since.**", outdated.join(", "));
    let warning = if outdated.is_empty() { String::new() } else { changed() };
    let (provenance, l2, rounds) = (record.provenance(), record.l2.words(), record.rounds);
    format!("*Record `{name}`: {provenance}; {l2}; median of samples taken in {rounds} rounds.*{warning}")
}

/// Where the numbers of one step and its rungs come from, with a warning only if these have changed since.
pub fn source_of_step(name: &str, record: &Record, step: &str) -> String {
    let mut record = record.clone();
    record.steps.retain(|known| known.name == step || known.rung && steps::split(&known.name).0 == step);
    source(name, &record)
}

pub fn tflops(gflops: f64) -> String {
    format!("{:.*}", if gflops < 1e3 { 4 } else { 2 }, gflops / 1e3)
}

/// A row of a table: its first cells, then the values of one kernel at one size.
fn row<const N: usize>(first: [&str; N], record: &Record, size: &SizeRecord, entry: &Entry) -> Vec<String> {
    let values = record.speed(size, entry, tflops, "–").unwrap_or_else(|| {
        let word = match entry.outcome {
            Outcome::Wrong => "**wrong**",
            Outcome::Failed => "**fails**",
            Outcome::Impossible => "cannot",
            Outcome::Verified | Outcome::Skipped => "not run",
        };
        [word, "–", "–", "–", "–"].map(ToOwned::to_owned)
    });
    first.map(ToOwned::to_owned).into_iter().chain(values).collect()
}

const VALUES: [&str; 5] = ["time", "TFLOP/s", "of FP32 peak", "of cuBLAS", "over the step before"];

/// All steps at one size.
pub fn ladder(records: &Records, words: &[&str]) -> Result<String> {
    let (name, record) = chosen(records, words.first())?;
    let record = &record.steps_only();
    let Some(size) = record.ladder_size() else { return Ok(format!("*Record `{name}` has no times.*")) };
    let row = |entry: &Entry| {
        let step = record.steps.iter().find(|step| step.name == entry.name);
        let title = step.map_or("the vendor's library", |step| &step.title);
        row([&short(&entry.name), title], record, size, entry)
    };
    let rows = size.entries.iter().map(row);
    let table = table::markdown(&[&["step", "what it does"], &VALUES[..]].concat(), rows);
    Ok(format!("{table}\nM = N = K = {}. {}", size.m, source(name, record)))
}

/// All sizes: the speed of each step, and the last step's share of cuBLAS.
pub fn sizes(records: &Records, words: &[&str]) -> Result<String> {
    let (name, record) = chosen(records, words.first())?;
    let record = &record.steps_only();
    let names = record.names();
    // Kernels beyond the course do not count.
    let last = record.steps.iter().rfind(|step| !step.name.contains('/')).map_or("", |step| step.name.as_str());
    let of_cublas = format!("{} of cuBLAS", short(last));
    let mut head = vec!["M×N×K".to_owned()];
    head.extend(names.iter().map(|name| short(name)).chain([of_cublas]));
    let row = |size: &SizeRecord| {
        let speeds = names.iter().map(|name| or_dash(size.gflops(name), tflops));
        let share = or_dash(size.share_of_cublas(last), |share| format!("{:.1} %", share * 100.0));
        std::iter::once(size.words()).chain(speeds).chain([share]).collect()
    };
    let rows = record.sizes.iter().map(row);
    let mean = record.shares_of_cublas(last).map_or_else(String::new, |(least, mean)| {
        format!(" {last} reaches at least {least:.3} × cuBLAS, {mean:.3} × in the geometric mean.")
    });
    Ok(format!("{}\nTFLOP/s.{mean} {}", table::markdown(&head, rows), source(name, record)))
}

/// The kernels in Rust beside those in CUDA C, of all steps or of one, from a comparison of both in `docs/results/rust`.
pub fn languages(_: &Records, words: &[&str]) -> Result<String> {
    let name = words.first().context("name a record")?;
    let wanted = |step: &str| words.get(1).is_none_or(|only| steps::split(step).0 == *only);
    let mut record = Record::read(&record::folder().join(format!("rust/{name}.json")))?;
    let shown = |step: &str| wanted(step) && steps::split(step).1.is_none_or(|variant| variant == "rust");
    record.steps.retain(|step| shown(&step.name));
    let mut rows = vec![];
    for (size, step) in record.sizes.iter().flat_map(|size| record.steps.iter().map(move |step| (size, step))) {
        let median = |name: &str| size.entry(name)?.spread().map(|spread| spread.median);
        let (Some(cuda), Some(rust)) = (median(&step.name), median(&format!("{}/rust", step.name))) else { continue };
        let registers = [step.name.clone(), format!("{}/rust", step.name)]
            .map(|name| size.entry(&name).and_then(registers).unwrap_or_else(|| "–".into()));
        let speed = format!("{:.2}", cuda / rust);
        rows.push(vec![size.words(), short(&step.name), ms(cuda), ms(rust), speed, registers.join(", ")]);
    }
    let head = ["M×N×K", "step", "CUDA C", "Rust", "speed in Rust over CUDA C", "registers: CUDA C, Rust"];
    Ok(format!("{}\n{}", table::markdown(&head, rows), source(&format!("rust/{name}"), &record)))
}

/// The registers of a thread, and how many bytes were spilled.
fn registers(entry: &Entry) -> Option<String> {
    let resources = entry.resources?;
    let registers = resources.registers?;
    Some(match resources.local_bytes {
        0 => registers.to_string(),
        spilled => format!("{registers} and {spilled} bytes spilled"),
    })
}

/// Whether a size is among those after `only:`, as in `only:256,4096x64x64`; without `only:`, every size is.
pub fn wanted(words: &[&str], size: &SizeRecord) -> bool {
    let sizes = size.shape().map(|size| size.to_string());
    let (cube, all) = (size.is_cube().then(|| &sizes[0]), sizes.join("x"));
    let mut lists = words.iter().filter_map(|word| word.strip_prefix("only:")).peekable();
    lists.peek().is_none()
        || lists.any(|list| list.split(',').any(|word| word == all || cube.is_some_and(|cube| word == cube)))
}

/// One step at the sizes at which it was timed.
pub fn of_step(records: &Records, words: &[&str]) -> Result<String> {
    let (step, words) = words.split_first().context("name a step")?;
    let only = |size: &&SizeRecord| wanted(words, size);
    let record = words.iter().find(|word| !word.starts_with("only:"));
    let (name, record) = chosen(records, record)?;
    let record = &record.steps_only();
    let row = |size: &SizeRecord| {
        let entry = size.entry(step).filter(|entry| entry.spread().is_some())?;
        Some(row([&size.words()], record, size, entry))
    };
    let rows: Vec<Vec<String>> = record.sizes.iter().filter(only).filter_map(row).collect();
    if rows.is_empty() {
        return Ok(format!("*Record `{name}` has no times of {step}.*"));
    }
    let table = table::markdown(&[&["M×N×K"], &VALUES[..]].concat(), rows);
    Ok(format!("{table}\n{}", source_of_step(name, record, step)))
}

pub fn results(records: &Records, _: &[&str]) -> Result<String> {
    let row = |(name, record): &(String, Record)| {
        let outdated = record.outdated();
        let state = match (record.complete, outdated.is_empty()) {
            (false, _) => "broken off".to_owned(),
            (true, true) => "up to date".to_owned(),
            (true, false) => format!("outdated: {} changed since", outdated.join(", ")),
        };
        vec![
            format!("`{name}`"),
            record.device.name.clone(),
            or_dash(record.driver.clone(), |driver| driver),
            or_dash(record.cuda.clone(), |cuda| cuda),
            record.date.get(..10).unwrap_or(&record.date).to_owned(),
            or_dash(record.commit.as_deref(), |commit| commit.get(..10).unwrap_or(commit).to_owned()),
            format!("{:?}", record.l2).to_lowercase(),
            state,
        ]
    };
    let head = ["record", "GPU", "driver", "CUDA", "date", "commit", "L2", "state"];
    Ok(table::markdown(&head, records.iter().map(row)))
}

/// All kernels at one size: the bottleneck, the least time, the measured time, and their ratio.
pub fn bound(records: &Records, words: &[&str]) -> Result<String> {
    let (name, record) = chosen(records, words.first())?;
    let mut record = record.clone();
    least::fill(&mut record, |_, entry| entry.least_time.is_none());
    let Some(size) = record.ladder_size() else { return Ok(format!("*Record `{name}` has no times.*")) };
    // Kernels beyond the course have separate pages.
    let entries = size.entries.iter().filter(|entry| !Kernel::beyond().any(|kernel| kernel.name() == entry.name));
    let bounded = entries.filter_map(|entry| Some((entry, entry.spread()?, entry.least_time.as_ref()?)));
    let rows = bounded.map(|(entry, spread, least)| {
        let over = or_dash(entry.over_least(), times);
        vec![entry.name.clone(), least.bound_by.clone(), ms(least.ms), ms(spread.median), over]
    });
    let table = table::markdown(&["kernel", "bound by", "least time", "time", "time ÷ least time"], rows);
    Ok(format!("{table}\nM = N = K = {}. {}", size.m, source(name, &record)))
}

/// The rungs and kernels of the course, in order.
fn kernels() -> Vec<Kernel> {
    let all = STEPS.iter().flat_map(|step| Kernel::of(step));
    all.filter(|kernel| matches!(kernel.role(), Role::Rung | Role::Step)).collect()
}

/// The path inside a step: each rung with what it adds to the kernel before it, in lines and in speed.
pub fn path(records: &Records, words: &[&str]) -> Result<String> {
    let own = words.first().context("name a step")?;
    let rungs: Vec<&str> =
        words.iter().filter_map(|word| word.strip_prefix("rungs:")).flat_map(|list| list.split(',')).collect();
    let record = foremost(records, Record::has_rungs);
    let cube = |size: &&SizeRecord| size.is_cube() && size.m.is_power_of_two() && wanted(words, size);
    let sizes: Vec<&SizeRecord> = record.iter().flat_map(|(_, record)| record.sizes.iter().filter(cube)).collect();
    let speed = |size: &SizeRecord, kernel: &str| or_dash(size.gflops(kernel), tflops);
    let mut rows = Vec::new();
    let kernels = kernels();
    for (at, kernel) in kernels.iter().enumerate() {
        let named = kernel.variant_name().unwrap_or("kernel");
        if kernel.step.name != *own || !rungs.is_empty() && !rungs.contains(&named) {
            continue;
        }
        let before = at.checked_sub(1).map(|at| read(&kernels[at].file())).transpose()?.unwrap_or_default();
        let (gone, new) = difference::size(&before, &read(&kernel.file())?);
        let mut row = vec![format!("`{named}`"), format!("+{new} −{gone}")];
        row.extend(sizes.iter().map(|size| speed(size, &kernel.name())));
        rows.push(row);
    }
    let mut head = vec!["kernel".to_owned(), "lines of code".to_owned()];
    head.extend(sizes.iter().map(|size| format!("TFLOP/s at {}", size.words())));
    let Some((name, record)) = record else { return Ok(table::markdown(&head, rows)) };
    let mut library = vec![CUBLAS.to_owned(), "–".to_owned()];
    library.extend(sizes.iter().map(|size| speed(size, CUBLAS)));
    rows.push(library);
    Ok(format!("{}\n{}", table::markdown(&head, rows), source_of_step(name, record, own)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::code::folder_of;
    use course::difference::host_of;

    /// A kernel adds one idea at a time, so its new lines fit on a page, and so does the whole kernel.
    #[test]
    fn every_rung_is_short_and_adds_little() {
        let all = kernels();
        let texts: Vec<String> = all.iter().map(|kernel| read(&kernel.file()).unwrap()).collect();
        let kernels: Vec<String> = all.iter().map(Kernel::name).collect();
        for (at, (kernel, text)) in kernels.iter().zip(&texts).enumerate() {
            let before = at.checked_sub(1).map_or("", |at| &texts[at]);
            let (_, new) = difference::size(before, text);
            assert!((1..=45).contains(&new), "{kernel} adds {new} lines");
            assert!(text.lines().count() <= 100, "{kernel} has {} lines", text.lines().count());
            let wide = text.lines().find(|line| line.chars().count() > 100);
            assert!(wide.is_none(), "{kernel} has a line of more than 100 columns: {wide:?}");
        }
        assert!(kernels.len() >= 13, "{kernels:?}");
    }

    /// A driver is read in one go, and the drivers and plans of neighbours differ by little more than the lesson.
    #[test]
    fn every_host_driver_is_short_and_differs_little() {
        for step in STEPS {
            let main = read(&folder_of(step).join("src/main.rs")).unwrap();
            let lines = main.lines().count();
            assert!(lines <= 60, "{}/src/main.rs has {lines} lines", step.folder);
            let wide = main.lines().find(|line| line.chars().count() > 120);
            assert!(wide.is_none(), "{}: {wide:?}", step.folder);
        }
        // Lines of code that are new in the driver, and in the plan.
        let most = [(1, [16, 10]), (2, [2, 22]), (3, [1, 12]), (4, [0, 21]), (5, [0, 21])];
        for (at, most) in most {
            let [one, other] = [at - 1, at].map(|at| host_of(STEPS[at]).unwrap());
            for ((one, other), most) in one.iter().zip(&other).zip(most) {
                let (_, new) = difference::size(&one.1, &other.1);
                assert!(new <= most, "{} has {new} new lines, more than {most}", other.0);
            }
        }
    }
}
