//! `cargo x check`: checks everything that is committed, once it is built and tested.

use anyhow::Result;
use common::basics::print;

use crate::{budget, counters, explore, pages, ptx};

/// What must hold, in words, and the function that checks it.
type Check = (&'static str, fn() -> Result<bool>);

/// Runs every check, even after one has failed. Returns `false` if any has failed.
pub fn run() -> Result<bool> {
    let checks: [Check; 6] = [
        ("no crate is larger than its budget", budget::check),
        ("committed PTX is what the sources give", || {
            ptx::run(&ptx::Options { check: true, ..ptx::Options::default() })
        }),
        ("generated parts of the pages are fresh", || {
            pages::run(&pages::Options { check: true, ..pages::Options::default() })
        }),
        ("the explorer's engine and smaller tiles are what their sources give", || {
            explore::run(&explore::Options { check: true, ..explore::Options::default() })
        }),
        ("the simulator counts what the GPU counted", || counters::run(&counters::Options::default())),
        ("mdBook builds the book", book),
    ];
    let mut failed = Vec::new();
    for (what, check) in checks {
        print(&format!("\n-- {what}\n"))?;
        let ok = check().or_else(|error| print(&format!("error: {error:#}\n")).map(|()| false))?;
        if !ok {
            failed.push(what);
        }
    }
    print(&match failed.as_slice() {
        [] => format!("\nall {} checks hold\n", checks.len()),
        failed => format!("\nthis does not hold: {}\n", failed.join("; ")),
    })?;
    Ok(failed.is_empty())
}

fn book() -> Result<bool> {
    let (built, log) = course::book::build()?;
    let ok = built && !complains(&log);
    print(if ok { "the book is in docs/book\n" } else { &log })?;
    Ok(ok)
}

/// Whether mdBook has reported an error. After an error in a page it goes on and still exits with 0.
fn complains(log: &str) -> bool {
    ["WARN", "ERROR"].iter().any(|word| log.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_mdbook_says_counts() {
        assert!(complains("2026-11-21 [WARN] (mdbook::x): a link leads nowhere"));
        assert!(!complains("2026-11-21 [INFO] (mdbook::book): Book building has started"));
    }
}
