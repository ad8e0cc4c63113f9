//! Every message about a kernel, as learners see it. `diagnostics.txt` has the picture and the remedy for each of the simulator's
//! programs with a defect.

use anyhow::Result as Outcome;
use findings::{analysis, diagnostic};
use simt::Error;

use super::launch::{Launched, launch};
use super::{root, said_of_each};

/// The messages about a program, whose first line is its launch. An error that is not a fault of the kernel is returned.
fn said(ptx: &str, source: &str) -> Result<String, Error> {
    // With one host thread, the limit stops the same warp on every machine.
    let Launched { block, result, hazards, .. } = launch(ptx, Some(source), (1, 1_000_000), |_| 0.0)?;
    match result {
        Ok(()) => {
            let reports = analysis::hazards(hazards, block);
            Ok(reports.iter().map(analysis::HazardReport::text).collect::<Vec<_>>().join("\n"))
        }
        Err(Error::Fault(fault)) => Ok(analysis::fault(&fault).text()),
        Err(Error::Limit(limit)) => Ok(diagnostic::plain(&diagnostic::limit(&limit).unwrap())),
        Err(Error::Call { function, recursive, location }) => {
            Ok(format!("{}\n", diagnostic::call(&function, recursive, &location)))
        }
        Err(other) => Err(other),
    }
}

pub fn every() -> Outcome<()> {
    let corpus = root().join("common/simt/tests/corpus/fail");
    said_of_each(&corpus, "diagnostics.txt", |_, ptx, source| {
        said(ptx, source).unwrap_or_else(|error| format!("{error}\n"))
    })
}
