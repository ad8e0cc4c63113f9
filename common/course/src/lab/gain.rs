//! What a task has changed: the counters of the learner's kernel before it and after it.

use std::path::Path;

use anyhow::Result;
use common::device::SimOptions;

use crate::lab::candidate::{Candidate, Seen};
use crate::lab::data::Lab;
use crate::lab::goals::{SHARE_OF_BOUND, short};
use crate::lab::shapes::names;
use crate::steps::Kernel;

/// A row: its name, and a term of counters. One instruction of a warp makes 32 multiply-adds.
const ROWS: &[(&str, &str)] = &[
    ("global loads of threads per multiply-add", "global_load_threads / products"),
    ("flop per byte of global memory", "flop_per_byte"),
    ("sectors per global load of a warp", "global_load_sectors / global_load_requests"),
    ("shared loads per multiply-add of a warp", "shared_load_requests / products * 32"),
    ("passes through shared memory per multiply-add", "shared_wavefronts / products * 32"),
    ("bank conflicts", "shared_load_bank_conflicts + shared_store_bank_conflicts"),
    ("instructions per multiply-add of a warp", "instructions / products * 32"),
    ("barriers that a warp meets", "barriers / warps"),
    ("asynchronous copies", "copy_requests"),
    ("largest error, as a share of its bound", SHARE_OF_BOUND),
];

/// What has changed since the learner's file passed the task before `task`, or since the lab's start, in words. `None` if there is
/// nothing to compare with.
pub fn gain(lab: &Lab, task: usize, kernel: &Path) -> Option<String> {
    if lab.transfer.is_some() {
        return None;
    }
    let size = lab.data.gain.size;
    let (before, seen_before) = before(lab, task).and_then(Result::ok).and_then(|kernel| count(kernel, size).ok())?;
    let (now, seen_now) = Candidate::read(lab, kernel, 0, None).and_then(|kernel| count(kernel, size)).ok()?;
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
