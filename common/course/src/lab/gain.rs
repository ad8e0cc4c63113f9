//! What a task has changed: the counters of the learner's kernel before it and after it.

use std::path::Path;

use anyhow::Result;
use common::device::SimOptions;

use crate::lab::candidate::{Candidate, Seen};
use crate::lab::data::Lab;
use crate::lab::goals::{SHARE_OF_BOUND, short};
use crate::steps::Kernel;

/// A kernel before a task and after it, in counters.
pub struct Gain {
    pub size: [u64; 3],
    /// The kernel before, as people should see it.
    pub before: String,
    /// What has changed: its name, before, now.
    pub rows: Vec<(&'static str, String, String)>,
}

/// A row: its name, a counter, and what that is divided by.
type Row = (&'static str, &'static str, Option<&'static str>);

/// One instruction of a warp makes 32 multiply-adds.
const ROWS: &[Row] = &[
    ("global loads of threads per multiply-add", "global_load_threads", Some("products")),
    ("flop per byte of global memory", "flop_per_byte", None),
    ("sectors per global load of a warp", "global_load_sectors", Some("global_load_requests")),
    ("shared loads per multiply-add of a warp", "shared_load_requests", Some("warp_products")),
    ("passes through shared memory per multiply-add", "shared_wavefronts", Some("warp_products")),
    ("bank conflicts", "bank_conflicts", None),
    ("instructions per multiply-add of a warp", "instructions", Some("warp_products")),
    ("barriers that a warp meets", "barriers_per_warp", None),
    ("asynchronous copies", "copy_requests", None),
    ("largest error, as a share of its bound", SHARE_OF_BOUND, None),
];

/// The gain since the learner's file passed the task before `task`, or since the lab's start. `None` if there is
/// nothing to compare with.
pub fn gain(lab: &Lab, task: usize, kernel: &Path) -> Option<Gain> {
    if lab.transfer.is_some() {
        return None;
    }
    let size = lab.data.gain.size;
    let (before, seen_before) = before(lab, task).and_then(Result::ok).and_then(|kernel| count(kernel, size).ok())?;
    let (now, seen_now) = Candidate::read(lab, kernel, 0, None).and_then(|kernel| count(kernel, size)).ok()?;
    if !seen_before.verification.ok {
        return None;
    }
    let shown = ROWS.iter().filter(|(_, counter, _)| *counter != SHARE_OF_BOUND || lab.data.gain.errors);
    let rows = shown.filter_map(|&(name, counter, per)| {
        let value =
            |kernel: &Candidate, seen| kernel.measure(counter, per, size, seen).filter(|value| value.is_finite());
        let [before, now] =
            [value(&before, &seen_before), value(&now, &seen_now)].map(|value| short(value.unwrap_or(0.0)));
        (before != now).then_some((name, before, now))
    });
    Some(Gain { size, before: before.source.display.clone(), rows: rows.collect() })
}

/// The kernel before a task; `None` if the lab begins with one that computes nothing right.
fn before(lab: &Lab, task: usize) -> Option<Result<Candidate>> {
    let own = task.checked_sub(1).map(|before| lab.as_passed(before)).filter(|file| file.is_file());
    if let Some(file) = own {
        return Some(Candidate::read(lab, &file, 0, None));
    }
    let from = lab.data.gain.from.as_ref()?;
    Some(Kernel::named(from).and_then(|kernel| Candidate::of_the_course(kernel, 0)))
}

fn count(kernel: Candidate, size: [u64; 3]) -> Result<(Candidate, Seen)> {
    let seen = kernel.run(size, &SimOptions { counters: true, ..SimOptions::default() })?;
    Ok((kernel, seen))
}
