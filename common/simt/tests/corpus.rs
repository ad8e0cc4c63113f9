//! Small programs, each with the simulator's messages about it in a separate file. The programs in `corpus/pass` must give no message,
//! and those in `corpus/fail` have one defect each; `pass.ptx.gz` and `fail.ptx.gz` have the PTX of those in CUDA C. `SIMT_BLESS=1
//! cargo test -p simt-gpu --test main corpus` regenerates the messages, to be reviewed as a diff.

use super::launch::{Launched, launch};
use super::sections;
use std::fmt::Write as _;
use std::path::Path;

/// Runs a program, whose source is at `path` with the extension `cu`. Returns the simulator's messages, what the program prints, and C.
fn run(ptx: &str, path: &Path, threads: usize) -> (String, String, Vec<f32>) {
    let source = std::fs::read_to_string(path.with_extension("cu")).ok();
    // Small whole numbers, so that sums are exact.
    let of = |random| (random >> 27) as f32 - 8.0;
    let Launched { result, hazards, printed, c, .. } = match launch(ptx, source.as_deref(), (threads, 1_000_000), of) {
        Ok(launched) => launched,
        Err(error) => return (format!("{error}\n"), String::new(), vec![]),
    };
    let mut said = result.as_ref().err().map_or(String::new(), |error| format!("{error}\n"));
    // In a launch that was stopped, it means nothing that elements were not written.
    for hazard in hazards.iter().filter(|hazard| result.is_ok() || !hazard.kind.is_coverage()) {
        writeln!(said, "{hazard}").unwrap();
    }
    (said, printed, c)
}

/// Runs the programs of a part, with one host thread and with three. Messages, output and results must be as in the file beside each
/// program.
fn check(part: &str, least: usize) {
    let mut wrong = vec![];
    let programs = sections::read(format!("corpus/{part}.ptx"));
    assert!(programs.len() >= least);
    for (name, ptx) in programs {
        let path = sections::path("corpus").join(part).join(&name);
        let beside = format!("corpus/{part}/{name}.txt");
        let (said, printed, c) = run(&ptx, &path, 1);
        let right = part == "pass";
        if said.is_empty() != right {
            wrong.push(format!("{name}: the defect was not found, or there is none: {said}"));
        }
        // Two things may depend on the host threads: which block an instruction limit stops, and C if blocks race. So programs with
        // an endless loop are not compared, and C is compared only for correct programs.
        let (said_again, printed_again, c_again) = run(&ptx, &path, 3);
        if !name.contains("endless") && (&said, &printed) != (&said_again, &printed_again) || right && c != c_again {
            wrong.push(format!("{name} depends on the number of host threads"));
        }
        let values: Vec<String> = c.iter().take(64).map(ToString::to_string).collect();
        let last = if right { format!("C begins {}\n", values.join(" ")) } else { said };
        super::compare(&beside, &(printed + &last));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn programs_with_a_defect() {
    check("fail", 40);
}

#[test]
fn correct_programs() {
    check("pass", 15);
}
