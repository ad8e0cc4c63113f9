//! Every message about a kernel, as learners see it. `diagnostics.txt` has the picture and the remedy for each of the simulator's
//! programs with a defect.

use anyhow::Result as Outcome;
use common::findings::{analysis, diagnostic};
use simt::analyses::declarations::shared_extents;
use simt::{Arg, Error, GlobalMemory, Hazards, LaunchConfig, Module};

use super::{root, said_of_each};

/// The messages about a program, whose first line is its launch. An error that is not a fault of the kernel is returned.
fn said(ptx: &str, source: &str) -> Result<String, Error> {
    let header = ptx.lines().next().unwrap_or_default();
    let numbers: Vec<u32> = header.split([' ', ',']).filter_map(|word| word.parse().ok()).collect();
    let [gx, gy, bx, by, shared, m, n, k] = numbers[..] else { panic!("no launch line: {header}") };
    let kernel = Module::parse(ptx)?.kernel("matmul")?;
    let mut memory = GlobalMemory::new();
    let mut arguments = Vec::new();
    for (name, elements) in [("A", m * k), ("B", k * n), ("C", m * n)] {
        arguments.push(Arg::Pointer(memory.alloc(name, 4 * u64::from(elements), 4)?));
    }
    let output = memory.allocations()[2].base;
    arguments.extend([m, n, k].map(|size| Arg::I32(size as i32)));
    let mut config = LaunchConfig::new((gx, gy), (bx, by));
    config.dynamic_shared_bytes = shared;
    config.instruction_limit = 1_000_000;
    // With one host thread, the limit stops the same warp on every machine.
    config.threads = 1;
    let mut hazards = Hazards::new().output(output);
    for (name, extents) in shared_extents(source, &[]) {
        hazards = hazards.extents(&name, extents);
    }
    let ended = simt::launch(&kernel, &mut memory, &config, &arguments, &mut hazards);
    match ended {
        Ok(_) => {
            let reports = analysis::hazards(hazards.found(), [bx, by, 1]);
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
