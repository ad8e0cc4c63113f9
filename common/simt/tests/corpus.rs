//! Small programs, each with the simulator's messages about it in a separate file. The programs in `corpus/pass.ptx` must give no
//! message, and those in `corpus/fail.ptx` have one defect each. `SIMT_BLESS=1 cargo test -p simt --test main corpus` regenerates the
//! messages, to be reviewed as a diff.
//!
//! The first line of a program is `// launch GRIDX,GRIDY BLOCKX,BLOCKY DYNAMIC_SHARED_BYTES M N K`.

use super::sections;
use simt::analyses::declarations::shared_extents;
use simt::{Arg, Error, GlobalMemory, Hazard, Hazards, LaunchConfig, Module};
use std::fmt::Write as _;
use std::path::PathBuf;

/// A program, and the path of its source (`.cu`) and its message (`.txt`) without the extension.
struct Program {
    ptx: String,
    path: PathBuf,
}

fn programs(part: &str) -> Vec<Program> {
    let folder = sections::path("corpus").join(part);
    let programs = sections::read(format!("corpus/{part}.ptx"));
    programs.into_iter().map(|(name, ptx)| Program { ptx, path: folder.join(name) }).collect()
}

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

/// The simulator's messages about a program, what the program prints, and C.
struct Outcome {
    said: String,
    printed: String,
    c: Vec<f32>,
}

fn run(Program { ptx, path }: &Program, threads: usize) -> Outcome {
    let source = std::fs::read_to_string(path.with_extension("cu")).ok();
    // Small whole numbers, so that sums are exact.
    let of = |random| (random >> 27) as f32 - 8.0;
    let Launched { result, hazards, printed, c } = match launch(ptx, source.as_deref(), (threads, 1_000_000), of) {
        Ok(launched) => launched,
        Err(error) => return Outcome { said: format!("{error}\n"), printed: String::new(), c: vec![] },
    };
    let mut said = result.as_ref().err().map_or(String::new(), |error| format!("{error}\n"));
    // In a launch that was stopped, it means nothing that elements were not written.
    for hazard in hazards.iter().filter(|hazard| result.is_ok() || !hazard.kind.is_coverage()) {
        writeln!(said, "{hazard}").unwrap();
    }
    Outcome { said, printed, c }
}

/// Runs the programs of a part, with one host thread and with three. Messages, output and results must be as in the file beside each
/// program.
fn check(part: &str, least: usize) {
    let mut wrong = vec![];
    let programs = programs(part);
    assert!(programs.len() >= least);
    for program in programs {
        let (name, beside) = (program.path.display(), program.path.with_extension("txt"));
        let Outcome { said, printed, c } = run(&program, 1);
        let right = part == "pass";
        if said.is_empty() != right {
            wrong.push(format!("{name}: the defect was not found, or there is none: {said}"));
        }
        // Two things may depend on the host threads: which block an instruction limit stops, and C if blocks race. So programs with
        // an endless loop are not compared, and C is compared only for correct programs.
        let three = run(&program, 3);
        if !beside.to_string_lossy().contains("endless") && (&said, &printed) != (&three.said, &three.printed)
            || right && c != three.c
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
