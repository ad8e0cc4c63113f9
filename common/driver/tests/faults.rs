//! Programs that are wrong, each of which is told with its call, and programs that are right, about which nothing is said: those of
//! `faults.txt`.

#![allow(unsafe_code, reason = "sets the variables that the driver reads, before any thread is there")]

mod script;

use script::Script;
use serde_json::Value;

#[test]
fn each_wrong_program_is_told_with_its_call_and_right_ones_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("report.jsonl");
    // SAFETY: nothing else runs yet that reads variables.
    unsafe {
        std::env::set_var("SIMT_CHECK", "1");
        std::env::set_var("SIMT_REPORT", &report);
    }
    let mut script = Script::new(simt_driver::address);
    script.run("cuInit 0; cuDevicePrimaryCtxRetain &c 0; cuCtxSetCurrent c; cuModuleLoadData &module \"PTX\"");
    let (mut told, mut wrong, mut counts) = (0, vec![], [0, 0]);
    for line in include_str!("faults.txt").lines().filter(|line| !line.starts_with('#')) {
        let (is, rest) = line.split_once(' ').unwrap();
        // Streams of its own, so that no program knows what another one has done.
        script.run("cuStreamCreate &s0 1; cuStreamCreate &s1 1");
        script.run(rest.rsplit_once(": ").unwrap().1);
        let text = std::fs::read_to_string(&report).unwrap_or_default();
        let found: Vec<Value> = text.lines().skip(told).map(|line| serde_json::from_str(line).unwrap()).collect();
        told += found.len();
        counts[usize::from(is == "right")] += 1;
        let fits = match found.first() {
            None => is == "right",
            Some(first) => {
                let [kind, call] = ["kind", "call"].map(|key| first[key].as_str().unwrap_or_default());
                rest.starts_with(&format!("{kind}: {call}: "))
            }
        };
        if !fits {
            wrong.push(format!("{line}\n{found:#?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(counts[0] >= 40 && counts[1] >= 20, "{counts:?}");
}
