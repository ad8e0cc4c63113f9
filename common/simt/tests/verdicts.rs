//! Verdicts on small kernels, correct ones and their faulty twins: `verdicts/*.cu`, with the PTX compiled from them beside. The line
//! above each kernel says how it is launched and exactly which hazards must be reported: `// BLOCKS x THREADS: VERDICT, ...`. With
//! `out is data` after the threads, these two parameters are the same array.

use super::sections;
use simt::{Arg, Error, FaultKind, GlobalMemory, Hazards, LaunchConfig, Module};

/// A kernel, its launch, and the hazards that must be reported.
struct Case {
    name: String,
    blocks: u32,
    threads: u32,
    out_is_data: bool,
    verdict: Vec<String>,
}

fn cases(source: &str) -> Vec<Case> {
    let mut cases = vec![];
    let mut lines = source.lines();
    while let Some(line) = lines.next() {
        let Some((launch, verdict)) = line.strip_prefix("// ").and_then(|line| line.split_once(": ")) else { continue };
        let Some((blocks, threads)) = launch.split_once(" x ") else { continue };
        let (threads, shared) = threads.split_once(' ').unwrap_or((threads, ""));
        let (Ok(blocks), Ok(threads)) = (blocks.parse(), threads.parse()) else { continue };
        let definition = lines.next().and_then(|line| line.split_once('('));
        let name = definition.map_or("", |(_, rest)| rest.split([',', ')']).next().unwrap_or_default());
        let mut verdict: Vec<String> = verdict.split(", ").filter(|&word| word != "clean").map(Into::into).collect();
        verdict.sort_unstable();
        let out_is_data = shared == "out is data";
        cases.push(Case { name: name.into(), blocks, threads, out_is_data, verdict });
    }
    cases
}

/// Runs a kernel, and returns the kinds of all hazards and errors, and the full text of the reports.
fn judge(module: &Module, case: &Case, host_threads: usize) -> Result<(Vec<String>, String), Error> {
    let kernel = module.kernel(&case.name)?;
    let mut memory = GlobalMemory::new();
    let mut arguments = vec![];
    for name in ["flag", "data", "out"] {
        arguments.push(Arg::Pointer(memory.alloc(name, 4096, 4)?));
    }
    if case.out_is_data {
        arguments[2] = arguments[1].clone();
    }
    let mut config = LaunchConfig::new(case.blocks, case.threads);
    config.instruction_limit = 10_000_000;
    config.threads = host_threads;
    let mut hazards = Hazards::new();
    let result = simt::launch(&kernel, &mut memory, &config, &arguments, &mut hazards);
    let found = hazards.found();
    let mut kinds: Vec<String> = found.iter().map(|hazard| hazard.kind.name().into()).collect();
    let mut text = found.iter().fold(String::new(), |text, hazard| text + &format!("{hazard}\n"));
    if let Err(error) = result {
        text += &format!("{error}\n");
        kinds.push(match error {
            Error::Fault(fault) => match fault.kind {
                FaultKind::DivergentBarrier { .. } => "barrier not reached by all threads".into(),
                FaultKind::Deadlock { .. } => "deadlock".into(),
                kind => kind.to_string(),
            },
            Error::Limit(_) => "limit".into(),
            other => other.to_string(),
        });
    }
    kinds.sort_unstable();
    kinds.dedup();
    Ok((kinds, text))
}

/// There is neither a missed race nor a false alarm, and the reports do not depend on the number of host threads.
#[test]
fn verdicts() {
    let mut wrong = vec![];
    let mut count = 0;
    let topics = "accesses barriers bulk_copies copies counters flags fragments idioms locks memory_barriers values warpgroups warps";
    for topic in topics.split(' ') {
        let read = |extension: &str| sections::text(format!("verdicts/{topic}.{extension}"));
        let module = Module::parse(&read("ptx")).unwrap_or_else(|error| panic!("{topic}.ptx: {error}"));
        for case in cases(&read("cu")) {
            let (kinds, text) = judge(&module, &case, 1).unwrap_or_else(|error| panic!("{}: {error}", case.name));
            if kinds != case.verdict {
                wrong.push(format!("{topic}.cu, {}: expected {:?}, found\n{text}", case.name, case.verdict));
            }
            for threads in [2, 4] {
                let again = judge(&module, &case, threads).unwrap().1;
                if again != text {
                    wrong.push(format!("{topic}.cu, {}, on {threads} threads:\n{again}on one:\n{text}", case.name));
                }
            }
            count += 1;
        }
    }
    assert!(wrong.is_empty(), "{}\n{} of {count} verdicts are wrong", wrong.join("\n"), wrong.len());
    assert!(count >= 180, "{count}");
}
