//! Whether a kernel compiles, is right, and has no hazard.

use anyhow::Result;
use common::analysis::HazardReport;
use common::device::SimOptions;
use common::diagnostic;
use common::fault::KernelFault;
use common::hazard_kind::ReportKind;
use simt::HazardKind;

use crate::lab::candidate::Candidate;
use crate::lab::checklist::Verdict;
use crate::lab::shapes::{names, smallest_ragged};

impl Candidate<'_> {
    /// Whether NVRTC and the simulator take the kernel.
    pub fn compiles(&self, shapes: &[[u64; 3]]) -> Verdict {
        let compiled = shapes.iter().find_map(|&size| self.plan(size).ok()).map(|plan| self.code(&plan));
        match compiled {
            Some(Err(error)) => Verdict::Failed(None, format!("{error:#}")),
            None => Verdict::Failed(
                None,
                "the step has no launch for any of the lab's shapes; say yours: // launch: block 32,32 tile 32,32"
                    .into(),
            ),
            Some(Ok(_)) => Verdict::Passed(None),
        }
    }

    /// Whether the product is right at all of these shapes.
    pub fn right(&self, shapes: &[[u64; 3]]) -> Verdict {
        for &size in shapes {
            let name = names(&[size]);
            let found = match self.run(size, &SimOptions::default()) {
                Ok(seen) if seen.verification.ok => continue,
                Ok(seen) => {
                    let diagnosis = seen.verification.diagnosis.unwrap_or_default();
                    // What comes before any wrong sum says more than the sum.
                    if let Some(hazard) = self.first_hazard(size, is_a_cause) {
                        // What it would say of the cause is beside the point then.
                        let count = diagnosis.split(": ").next().unwrap_or_default();
                        let next = format!("at {name}\n{hazard}\nthe product is wrong, too: {count}");
                        return Verdict::Failed(Some(format!("not at {name}")), next);
                    }
                    let mut next = format!("at {name} {diagnosis}");
                    for mismatch in seen.verification.mismatches.iter().take(3) {
                        let got = match (mismatch.unwritten, mismatch.got) {
                            (true, _) => "was never written".to_owned(),
                            (false, Some(got)) => format!("is {got}"),
                            (false, None) => "is NaN or infinite".to_owned(),
                        };
                        next += &format!(
                            "\nC[{}][{}] {got}, and should be {}",
                            mismatch.row, mismatch.col, mismatch.expected
                        );
                    }
                    next
                }
                Err(error) => {
                    // Threads that do each other's work may take forever; at a small size the hazard behind it shows.
                    let limit = error.to_string().contains("limit reached");
                    let small = smallest_ragged(&[shapes, &[size]].concat());
                    let hazard = small.first().filter(|_| limit).and_then(|&small| self.first_hazard(small, |_| true));
                    match hazard {
                        Some(hazard) => format!(
                            "at {name} the kernel does not end in time, and at {}\n{hazard}",
                            names(&small[..1])
                        ),
                        None => at(&name, &explain(&error)),
                    }
                }
            };
            return Verdict::Failed(Some(format!("not at {name}")), found);
        }
        Verdict::Passed(None)
    }

    fn first_hazard(&self, size: [u64; 3], wanted: fn(&HazardReport) -> bool) -> Option<String> {
        self.checked(size).ok()?.iter().find(|hazard| wanted(hazard)).map(picture)
    }

    fn checked(&self, size: [u64; 3]) -> Result<Vec<HazardReport>> {
        let seen = self.run(size, &SimOptions { check: true, ..SimOptions::default() })?;
        // An element that one thread writes again and again is not a hazard by itself; goals in counters see the work.
        let again = |hazard: &HazardReport| hazard.kind == HazardKind::WrittenTwice && hazard.threads.is_empty();
        Ok(seen.hazards.into_iter().filter(|hazard| !again(hazard)).collect())
    }

    /// Whether the simulator finds no hazard at any of these shapes.
    pub fn safe(&self, shapes: &[[u64; 3]]) -> Verdict {
        for &size in shapes {
            match self.checked(size) {
                Ok(hazards) => {
                    if let Some(first) = hazards.first() {
                        let more = hazards.len() - 1;
                        let more = if more == 0 { String::new() } else { format!("\n... and {more} more") };
                        return Verdict::Failed(None, format!("at {}\n{}{more}", names(&[size]), picture(first)));
                    }
                }
                Err(error) => return Verdict::Failed(None, at(&names(&[size]), &explain(&error))),
            }
        }
        Verdict::Passed(None)
    }
}

/// A size and what was found there: in the same line, or in lines below.
pub fn at(name: &str, found: &str) -> String {
    let space = if found.starts_with('\n') { "" } else { " " };
    format!("at {name}{space}{found}")
}

fn picture(hazard: &HazardReport) -> String {
    diagnostic::render(&hazard.diagnostic).trim_end().to_owned()
}

/// An error for people: a fault of the kernel with its lines, if they are known.
pub fn explain(error: &anyhow::Error) -> String {
    KernelFault::behind(error)
        .and_then(KernelFault::diagnostic)
        .map_or_else(|| format!("{error:#}"), |diagnostic| format!("\n{}", diagnostic::render(diagnostic).trim_end()))
}

/// Whether a hazard is a cause of wrong products that a look at the product does not show.
fn is_a_cause(hazard: &HazardReport) -> bool {
    matches!(hazard.kind, ReportKind::Hazard(kind) if kind.is_hidden_cause())
}
