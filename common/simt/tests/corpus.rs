//! Small programs, each with the simulator's messages about it in a separate file. The programs in `corpus/pass` must give no message,
//! and those in `corpus/fail` have one defect each; `pass.ptx.gz` and `fail.ptx.gz` have the PTX of those in CUDA C. `SIMT_BLESS=1
//! cargo test -p simt --test main corpus` regenerates the messages, to be reviewed as a diff.
//!
//! The first line of a program is `// launch GRIDX,GRIDY BLOCKX,BLOCKY DYNAMIC_SHARED_BYTES M N K`.

use super::sections;
use simt::analyses::declarations::shared_extents;
use simt::{Arg, Error, GlobalMemory, Hazard, Hazards, LaunchConfig, Module};
use std::fmt::Write as _;
use std::path::Path;

/// Returns `count` numbers that `of` makes from pseudo-random bits.
pub fn numbers(count: usize, seed: u32, of: fn(u32) -> f32) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        of(state)
    };
    (0..count).map(|_| next()).collect()
}

/// The outcome of a program's launch: how it ended, the hazards found, what it printed, and C.
pub struct Launched {
    pub result: Result<(), Error>,
    pub hazards: Vec<Hazard>,
    pub printed: String,
    pub c: Vec<f32>,
}

/// Launches a program as its first line says, on numbers that `of` makes. If that line has no matrix sizes, they are 64.
pub fn launch(
    ptx: &str,
    source: Option<&str>,
    (threads, limit): (usize, u64),
    of: fn(u32) -> f32,
) -> Result<Launched, Error> {
    let header = ptx.lines().next().unwrap_or_default();
    let words: Vec<u32> = header.split([' ', ',']).filter_map(|word| word.parse().ok()).collect();
    let [gx, gy, bx, by, shared, ref sizes @ ..] = words[..] else { panic!("no launch line: {header}") };
    let [m, n, k] = sizes.try_into().unwrap_or([64; 3]);
    let kernel = Module::parse(ptx)?.kernel("matmul")?;
    let mut memory = GlobalMemory::new();
    let elements = [m * k, k * n, m * n];
    let mut arguments = vec![];
    for (index, name) in ["A", "B", "C"].into_iter().enumerate() {
        let count = elements[index];
        let pointer = memory.alloc(name, 4 * u64::from(count), 4)?;
        if name == "C" {
            memory.fill(pointer, f32::NAN)?;
        } else {
            memory.upload(pointer, 0, &numbers(count as usize, index as u32 + 1, of))?;
        }
        arguments.push(Arg::Pointer(pointer));
    }
    let output = memory.allocations()[2].base;
    arguments.extend([m, n, k].map(|size| Arg::I32(size as i32)));
    let mut config = LaunchConfig::new((gx, gy), (bx, by));
    (config.dynamic_shared_bytes, config.instruction_limit, config.threads) = (shared, limit, threads);
    let mut hazards = Hazards::new().output(output);
    for (name, extents) in source.map_or(vec![], |source| shared_extents(source, &[])) {
        hazards = hazards.extents(&name, extents);
    }
    let result = simt::launch(&kernel, &mut memory, &config, &arguments, &mut hazards).map(drop);
    let mut c = vec![0.0; elements[2] as usize];
    memory.download(output, 0, &mut c)?;
    Ok(Launched { result, hazards: hazards.found(), printed: memory.take_printed(), c })
}

/// Runs a program, whose source is at `path` with the extension `cu`. Returns the simulator's messages, what the program prints, and C.
fn run(ptx: &str, path: &Path, threads: usize) -> (String, String, Vec<f32>) {
    let source = std::fs::read_to_string(path.with_extension("cu")).ok();
    // Small whole numbers, so that sums are exact.
    let of = |random| (random >> 27) as f32 - 8.0;
    let Launched { result, hazards, printed, c } = match launch(ptx, source.as_deref(), (threads, 1_000_000), of) {
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
        let path = sections::path("corpus").join(part).join(name);
        let (name, beside) = (path.display(), path.with_extension("txt"));
        let (said, printed, c) = run(&ptx, &path, 1);
        let right = part == "pass";
        if said.is_empty() != right {
            wrong.push(format!("{name}: the defect was not found, or there is none: {said}"));
        }
        // Two things may depend on the host threads: which block an instruction limit stops, and C if blocks race. So programs with
        // an endless loop are not compared, and C is compared only for correct programs.
        let (said_again, printed_again, c_again) = run(&ptx, &path, 3);
        if !beside.to_string_lossy().contains("endless") && (&said, &printed) != (&said_again, &printed_again)
            || right && c != c_again
        {
            wrong.push(format!("{name} depends on the number of host threads"));
        }
        let values: Vec<String> = c.iter().take(64).map(ToString::to_string).collect();
        let last = if right { format!("C begins {}\n", values.join(" ")) } else { said };
        let found = printed + &last;
        if std::env::var_os("SIMT_BLESS").is_some() {
            std::fs::write(&beside, &found).unwrap();
        }
        let expected = std::fs::read_to_string(&beside).unwrap_or_default();
        if found != expected {
            wrong.push(format!("{name}\nexpected:\n{expected}\nfound:\n{found}"));
        }
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
