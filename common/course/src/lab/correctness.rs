//! Whether a kernel compiles, is right, and has no hazard.

use anyhow::Result;
use common::device::SimOptions;
use common::findings::analysis::HazardReport;
use common::findings::diagnostic;
use common::findings::fault::KernelFault;
use common::findings::hazard_kind::ReportKind;
use common::verify::Verification;

use crate::lab::candidate::{Candidate, INSTRUCTION_LIMIT};
use crate::lab::checklist::{Next, Verdict};
use crate::lab::shapes::{names, smallest_ragged};

impl Candidate {
    /// Whether NVRTC and the simulator take the kernel.
    pub fn compiles(&self, shapes: &[[u64; 3]]) -> Verdict {
        let compiled = shapes.iter().find_map(|&size| self.plan(size).ok()).map(|plan| self.code(&plan));
        let text = match compiled {
            Some(Ok(_)) => return Verdict::Passed(None),
            Some(Err(error)) => format!("{error:#}"),
            None => "the step has no launch for any of the lab's shapes; say yours: // launch: block 32,32 tile 32,32"
                .into(),
        };
        Verdict::Failed(None, Next::new(text, None))
    }

    /// Whether the product is right at all of these shapes.
    pub fn right(&self, shapes: &[[u64; 3]]) -> Verdict {
        for &size in shapes {
            let next = match self.run(size, &SimOptions::default()) {
                Ok(seen) if seen.verification.ok => continue,
                Ok(seen) => self.wrong(size, seen.verification),
                Err(error) if self.plan(size).is_err() => {
                    let ask = "the step's own launch cannot do it; ask for yours in a line of your file, such as";
                    let text = format!(
                        "at {}: {error:#}\n{ask}\n// launch: block 32,32 tile 32,32 shared 8192",
                        names(&[size])
                    );
                    Next::new(text, None)
                }
                Err(error) if KernelFault::behind(&error).is_none() && self.has_own_launch() => {
                    let agree = "make the launch line of your file and its constants agree";
                    Next::new(format!("at {} {error:#}; {agree}", names(&[size])), self.command(size, "--check"))
                }
                Err(error) if is_endless(&error) => self.endless(size, shapes, &error),
                Err(error) => Next::new(at(&names(&[size]), &explain(&error)), self.command(size, "--check")),
            };
            return Verdict::Failed(Some(format!("not at {}", names(&[size]))), next);
        }
        Verdict::Passed(None)
    }

    /// What to look at if the product is wrong at a size.
    fn wrong(&self, size: [u64; 3], verification: Verification) -> Next {
        let name = names(&[size]);
        let diagnosis = verification.diagnosis.unwrap_or_default();
        // What comes before any wrong sum says more than the sum.
        if let Some(hazard) = self.first_hazard(size, is_a_cause) {
            // What it would say of the cause is beside the point then.
            let count = diagnosis.split(": ").next().unwrap_or_default();
            let text = format!("at {name}\n{hazard}\nthe product is wrong, too: {count}");
            return Next::new(text, self.command(size, "--check"));
        }
        let mut text = format!("at {name} {diagnosis}");
        for mismatch in verification.mismatches.iter().take(3) {
            let got = match (mismatch.unwritten, mismatch.got) {
                (true, _) => "was never written".to_owned(),
                (false, Some(got)) => format!("is {got}"),
                (false, None) => "is NaN or infinite".to_owned(),
            };
            text += &format!("\nC[{}][{}] {got}, and should be {}", mismatch.row, mismatch.col, mismatch.expected);
        }
        // Without a hazard, the map of the wrong elements shows most.
        Next::new(text, self.command(size, "--device sim"))
    }

    /// What to look at if a launch was stopped because it took too long. Threads that do each other's work may take for
    /// ever, too; at a small size the hazard behind it shows.
    fn endless(&self, size: [u64; 3], shapes: &[[u64; 3]], error: &anyhow::Error) -> Next {
        let name = names(&[size]);
        if let Some(&small) = smallest_ragged(&[shapes, &[size]].concat()).first()
            && let Some(hazard) = self.first_hazard(small, |_| true)
        {
            let text = format!("at {name} the kernel does not end in time, and at {}\n{hazard}", names(&[small]));
            return Next::new(text, self.command(small, "--check"));
        }
        let command = self.command(size, &format!("--device sim --instruction-limit {}", INSTRUCTION_LIMIT / 30));
        Next::new(at(&name, &explain(error)), command)
    }

    fn first_hazard(&self, size: [u64; 3], wanted: fn(&HazardReport) -> bool) -> Option<String> {
        self.checked(size).ok()?.iter().find(|hazard| wanted(hazard)).map(picture)
    }

    fn checked(&self, size: [u64; 3]) -> Result<Vec<HazardReport>> {
        let seen = self.run(size, &SimOptions { check: true, ..SimOptions::default() })?;
        Ok(seen.hazards.into_iter().filter(|hazard| !hazard.is_warning()).collect())
    }

    /// Whether the simulator finds no hazard at any of these shapes.
    pub fn safe(&self, shapes: &[[u64; 3]]) -> Verdict {
        for &size in shapes {
            let name = names(&[size]);
            let text = match self.checked(size) {
                Ok(hazards) => {
                    let Some(first) = hazards.first() else { continue };
                    let more = hazards.len() - 1;
                    let more = if more == 0 { String::new() } else { format!("\n... and {more} more") };
                    format!("the product is right only by luck: at {name}\n{}{more}", picture(first))
                }
                Err(error) => at(&name, &explain(&error)),
            };
            return Verdict::Failed(Some(format!("not at {name}")), Next::new(text, self.command(size, "--check")));
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

/// Whether a launch was stopped because it took too long.
fn is_endless(error: &anyhow::Error) -> bool {
    KernelFault::behind(error).is_some_and(|fault| fault.stopped.is_some())
}

/// Whether a hazard is a cause of wrong products that a look at the product does not show.
fn is_a_cause(hazard: &HazardReport) -> bool {
    matches!(hazard.kind, ReportKind::Hazard(kind) if kind.is_hidden_cause())
}
