//! `cargo simt check`: one launch of one kernel of any name, and what is found in it.

use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use findings::analysis::{self, CounterSum};
use findings::declarations::shared_extents;
use findings::{diagnostic, places};
use simt::{
    Analyses, Arg, Counters, Dim3, Error, GlobalMemory, HazardKind, Hazards, LaunchConfig, Launched, Param, Trace,
};
use system::{escape, grouped};

use crate::argument::{Argument, MOST_BYTES, Role, Wrong, example, is_structure, takes_pointer};
use crate::finding::Finding;
use crate::report;
use crate::source::{self, Program};

/// Checks one launch of a kernel: its hazards, what it leaves in memory, and what it counts.
#[derive(Debug, clap::Args)]
#[command(after_help = "An ARGUMENT is an array or a number:
  in A f32[1024]           filled by --seed; the kernel must leave it as it is
  out f32[1024]            not filled; the kernel must write each element
  f32[1024]                filled by --seed; the kernel may change it
  out f32[4] == 1,2,3,4    what is expected: numbers, one number for all, or a file
  in i32[64] = 0..         filled with 0, 1, 2 ...; `= 5` and `= FILE` fill it, too
  i32 = 1024               a number; types are i8 to i64, u8 to u64, f16, bf16, f32, f64
  {f32 0.5, i32 7}         a structure that is passed by value
A FILE holds numbers as text, or as they lie in memory if it is called .bin.

Exit status: 0 nothing found, 1 something found, 2 bad usage.")]
pub struct Check {
    /// The file: CUDA C (.cu), Rust (.rs) or PTX (.ptx)
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// The kernel, if the file has several
    #[arg(long, value_name = "NAME")]
    entry: Option<String>,

    /// Blocks of the grid: X, X,Y or X,Y,Z
    #[arg(long, value_name = "BLOCKS", value_parser = size)]
    grid: Option<Dim3>,

    /// Threads of a block: X, X,Y or X,Y,Z
    #[arg(long, value_name = "THREADS", value_parser = size)]
    block: Option<Dim3>,

    /// An argument, in the order of the kernel's parameters; again for each
    #[arg(long, value_name = "ARGUMENT", allow_hyphen_values = true)]
    arg: Vec<String>,

    /// Size of the `extern __shared__` array in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    shared: u32,

    /// A constant for the compiler, as -D NAME=VALUE; again for each
    #[arg(short = 'D', value_name = "NAME=VALUE")]
    define: Vec<String>,

    /// Seed of the arrays' values
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,

    /// How far a number may be from the expected one, in shares of it
    #[arg(long, value_name = "SHARE", default_value_t = 1e-5)]
    tolerance: f64,

    /// Count requests, sectors, conflicts and operations, in all and by line
    #[arg(long)]
    counters: bool,

    /// Show what a thread reads and writes: its block and its index, e.g. 0,0:3,1; again for each
    #[arg(long, value_name = "BLOCK:THREAD", value_parser = thread)]
    trace: Vec<(Dim3, Dim3)>,

    /// Seconds after which the launch is stopped
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    seconds: u64,

    /// Write the findings to a file: .json, .sarif or .xml (JUnit); `annotations` for a workflow
    #[arg(long, value_name = "FILE")]
    report: Vec<PathBuf>,
}

fn indices(text: &str) -> Option<Dim3> {
    let numbers = text.split(',').map(|part| part.trim().parse::<u32>().ok()).collect::<Option<Vec<u32>>>()?;
    Some(match numbers[..] {
        [x] => Dim3::new(x, u32::MAX, u32::MAX),
        [x, y] => Dim3::new(x, y, u32::MAX),
        [x, y, z] => Dim3::new(x, y, z),
        _ => return None,
    })
}

/// Dimensions that are not given are `rest`.
fn filled(Dim3 { x, y, z }: Dim3, rest: u32) -> Dim3 {
    let or = |size: u32| if size == u32::MAX { rest } else { size };
    Dim3::new(x, or(y), or(z))
}

fn size(text: &str) -> Result<Dim3, String> {
    indices(text).map(|size| filled(size, 1)).ok_or_else(|| "not a size; give 4, 4,2 or 4,2,1".into())
}

fn thread(text: &str) -> Result<(Dim3, Dim3), String> {
    let index = |text: &str| indices(text).map(|index| filled(index, 0));
    let thread = text.split_once(':').and_then(|(block, thread)| Some((index(block)?, index(thread)?)));
    thread.ok_or_else(|| "not a thread; give block and thread index, e.g. 0,0:3,1".into())
}

/// What a launch left.
struct Seen {
    launched: Result<Launched, Error>,
    findings: Vec<Finding>,
    /// The pictures of the findings, with colours.
    pictures: Vec<String>,
    analyses: Analyses,
}

/// Checks the kernel. Returns whether nothing was found.
pub fn check(check: &Check) -> Result<bool> {
    for file in &check.report {
        report::check(file)?;
    }
    for define in &check.define {
        let name = define.split('=').next().unwrap_or_default();
        let is_name = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
        ensure!(is_name, "-D {} defines nothing; give NAME=VALUE, as in -D TILE=16", escape(define));
    }
    let arguments = check.arg.iter().map(|text| Argument::read(text)).collect::<Result<Vec<_>>>()?;
    let program = source::program(&check.file, check.entry.as_deref(), &check.define)?;
    let names = check.asked(&program, &arguments)?;
    let (Some(grid), Some(block)) = (check.grid, check.block) else { return Ok(false) };
    let bytes: u64 = arguments.iter().filter_map(|one| Some(one.count? * one.number.bytes as u64)).sum();
    ensure!(
        bytes <= MOST_BYTES,
        "the arrays have {} bytes together; at most {} fit",
        grouped(bytes),
        grouped(MOST_BYTES)
    );
    let mut memory = GlobalMemory::new();
    let placed = arguments.iter().zip(&names).map(|(one, name)| one.place(name, check.seed, &mut memory));
    let placed = placed.collect::<Result<Vec<Arg>>>()?;
    let seen = check.launch(&program, (grid, block), &arguments, &placed, &mut memory)?;
    let Seen { launched, mut findings, mut pictures, analyses } = seen;
    let mut values = String::new();
    for ((argument, name), arg) in arguments.iter().zip(&names).zip(&placed) {
        let Arg::Pointer(pointer) = arg else { continue };
        if launched.is_ok()
            && let Some(wrong) = argument.wrong(*pointer, check.seed, check.tolerance, &memory)?
        {
            let finding = wrong_value(name, argument, &wrong);
            pictures.push(finding.text.clone());
            findings.push(finding);
        }
        if argument.role != Role::In {
            values += &shown(argument, name, *pointer, &memory)?;
        }
    }
    let clean = findings.iter().all(|finding| finding.warning);
    let name = source::plain(program.kernel.name()).to_owned();
    let mut text = verdict(&name, (grid, block), &findings, launched.as_ref().ok());
    text += &pictures.concat();
    let printed = memory.take_printed();
    if !printed.is_empty() {
        text += &format!("the kernel printed:\n{}", escape(&printed));
        text += if printed.ends_with('\n') { "" } else { "\n" };
    }
    if launched.is_ok() && !values.is_empty() {
        text += &format!("values after the launch:\n{values}");
    }
    if let (Some(counters), Ok(_)) = (&analyses.counters, &launched) {
        let mut sum = CounterSum::default();
        sum.add(&program.kernel, counters);
        let counters = sum.report();
        text += &format!("counters:\n{}by line:\n{}", counters.text(&[]), counters.line_table());
    }
    let mut threads = vec![];
    let traced = analyses.trace.map(|trace| trace.threads()).unwrap_or_default();
    analysis::add_trace(&mut threads, traced, &extents(&program));
    if !threads.is_empty() {
        text += &format!("trace:\n{}", threads.iter().map(analysis::ThreadReport::text).collect::<String>());
    }
    system::print(&text)?;
    for file in &check.report {
        report::write(file, &name, &findings)?;
    }
    Ok(clean)
}

/// The extents of the kernel's shared arrays.
fn extents(program: &Program) -> Vec<(String, simt::Extents)> {
    let constants: Vec<(&str, i64)> = program.constants.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    shared_extents(&program.source, &constants)
}

impl Check {
    /// Asks for what was left out, and refuses what does not fit. Returns the arguments' names.
    fn asked(&self, program: &Program, arguments: &[Argument]) -> Result<Vec<String>> {
        let params = program.kernel.params();
        let declared: Vec<String> =
            params.iter().zip(&program.names).map(|(param, name)| declared(param, name)).collect();
        let signature = format!("{}({})", source::plain(program.kernel.name()), declared.join(", "));
        let mut missing = vec![];
        missing.extend(self.grid.is_none().then(|| "--grid 4".to_owned()));
        missing.extend(self.block.is_none().then(|| "--block 256".to_owned()));
        let left = params.iter().zip(&program.names).skip(arguments.len());
        let left: Vec<String> = left.map(|(param, name)| format!("'{}'", proposed(param, name))).collect();
        missing.extend(left.iter().map(|left| format!("--arg {left}")));
        ensure!(missing.is_empty(), "{signature} cannot be launched yet; add, for example, {}", missing.join(" "));
        ensure!(
            arguments.len() == params.len(),
            "{signature} takes {} arguments, {} are given; leave out the last --arg",
            params.len(),
            arguments.len()
        );
        for (at, (argument, (param, name))) in (1..).zip(arguments.iter().zip(params.iter().zip(&program.names))) {
            argument.check(at, param, name).with_context(|| signature.clone())?;
        }
        Ok(arguments
            .iter()
            .zip(&program.names)
            .map(|(one, name)| one.name.clone().unwrap_or_else(|| name.clone()))
            .collect())
    }

    fn launch(
        &self,
        program: &Program,
        (grid, block): (Dim3, Dim3),
        arguments: &[Argument],
        placed: &[Arg],
        memory: &mut GlobalMemory,
    ) -> Result<Seen> {
        let mut config = LaunchConfig::new(grid, block).with_dynamic_shared(self.shared);
        config.deadline = Some(simt::Deadline::after(self.seconds));
        let mut hazards = Hazards::new();
        for (argument, arg) in arguments.iter().zip(placed) {
            if let (Role::Out, Arg::Pointer(pointer)) = (argument.role, arg) {
                hazards = hazards.output(*pointer);
            }
        }
        for (name, extents) in extents(program) {
            hazards = hazards.extents(&name, extents);
        }
        let counters = self.counters.then(Counters::new);
        let trace = (!self.trace.is_empty()).then(|| Trace::new(self.trace.iter().copied()));
        let mut analyses = Analyses { counters, hazards: Some(hazards), trace };
        let launched = simt::launch(&program.kernel, memory, &config, placed, &mut analyses);
        let found = analyses.hazards.as_ref().map(|hazards| hazards.found().to_vec()).unwrap_or_default();
        // What has no value, and how often elements were written, means nothing if the launch was broken off.
        let unset = |kind: HazardKind| {
            use HazardKind::{UninitialisedGlobal, UninitialisedLocal, UninitialisedShared};
            matches!(kind, UninitialisedGlobal | UninitialisedLocal | UninitialisedShared) || kind.is_coverage()
        };
        let found = found.into_iter().filter(|hazard| launched.is_ok() || !unset(hazard.kind));
        let mut reports = analysis::hazards(found.collect(), places::index(block));
        let mut findings = vec![];
        let mut pictures = vec![];
        match &launched {
            Ok(_) => {}
            Err(Error::Fault(fault)) => reports.insert(0, analysis::fault(fault)),
            Err(Error::Limit(limit)) => {
                let picture = diagnostic::limit(limit).unwrap_or_default();
                let text = diagnostic::plain(&picture);
                let title = picture.title.clone();
                let finding = Finding {
                    kind: "limit reached".into(),
                    help: picture.advice().to_owned(),
                    title,
                    text,
                    ..Finding::default()
                };
                findings.push(finding);
                pictures.push(diagnostic::render(&picture));
            }
            Err(error) => return Err(error.clone().into()),
        }
        pictures.extend(reports.iter().map(|report| diagnostic::render(&report.diagnostic)));
        findings.extend(reports.iter().map(Finding::of));
        Ok(Seen { launched, findings, pictures, analyses })
    }
}

/// A parameter for people: its type and name.
fn declared(param: &Param, name: &str) -> String {
    match param.kind {
        _ if takes_pointer(param) => format!("{name}: pointer or u64"),
        _ if is_structure(param) => format!("{name}: {} bytes", param.bytes),
        kind => format!("{name}: {kind}"),
    }
}

/// An argument that a parameter could be given.
fn proposed(param: &Param, name: &str) -> String {
    if is_structure(param) {
        let (member, size) = if param.bytes.is_multiple_of(4) { ("i32 1", 4) } else { ("u8 1", 1) };
        return format!("{{{}}}", vec![member; (param.bytes / size) as usize].join(", "));
    }
    if takes_pointer(param) { format!("in {name} f32[1024]") } else { format!("{} = 1", example(param)) }
}

fn verdict(name: &str, (grid, block): (Dim3, Dim3), findings: &[Finding], launched: Option<&Launched>) -> String {
    let [errors, warnings] = [false, true].map(|warning| findings.iter().filter(|one| one.warning == warning).count());
    let count = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let size = |size: Dim3| {
        let sizes = [size.x, size.y, size.z];
        let used = 3 - sizes.iter().rev().take_while(|&&size| size == 1).count().min(2);
        sizes[..used].iter().map(u32::to_string).collect::<Vec<_>>().join("×")
    };
    let several = |size: Dim3| if size.count() == 1 { "" } else { "s" };
    let [blocks, threads] = [grid, block].map(size);
    let launch = format!("{name}, {blocks} block{} of {threads} thread{}", several(grid), several(block));
    let end = match launched {
        Some(launched) => format!(", {} warp instructions", grouped(launched.warp_instructions)),
        None => ", stopped".into(),
    };
    let warned = if warnings == 0 { String::new() } else { format!(", {}", count(warnings, "warning")) };
    if errors == 0 {
        format!("nothing wrong found in {launch}{end}{warned}\n")
    } else {
        format!("FAILED: {} in {launch}{end}{warned}\n", count(errors, "error"))
    }
}

fn wrong_value(name: &str, argument: &Argument, wrong: &Wrong) -> Finding {
    let Wrong { element, found, expected, changed, count } = wrong;
    let of = grouped(argument.count.unwrap_or(0));
    let count = grouped(*count);
    if *changed {
        let title = format!(
            "the kernel changes `{name}`, which is given as in: {name}[{element}] was {expected} and is {found}"
        );
        let help = format!("leave it as it is, or give it without in; {count} of {of} elements are changed");
        return Finding::plain("input changed", title, &help);
    }
    let title = format!("{name}[{element}] is {found}, expected is {expected}");
    let help = format!("{count} of {of} elements differ; --tolerance says how far a number may be away");
    Finding::plain("value not as expected", title, &help)
}

/// The first values of an array, on one line.
fn shown(argument: &Argument, name: &str, pointer: simt::DevicePointer, memory: &GlobalMemory) -> Result<String> {
    const SHOWN: usize = 8;
    let (count, size) = (argument.count.unwrap_or(0), argument.number.bytes);
    let mut bytes = vec![0; size * SHOWN.min(count as usize)];
    memory.read_bytes(pointer, &mut bytes)?;
    let numbers: Vec<String> = bytes.chunks_exact(size).map(|number| argument.number.shown(number)).collect();
    let more = if count as usize > SHOWN { " ..." } else { "" };
    Ok(format!("  {name} {}[{count}]: {}{more}\n", argument.number.name, numbers.join(" ")))
}
