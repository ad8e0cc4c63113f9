//! `cargo x explorer`: makes the parts of the explorer's page that cannot be made on every machine: PTX with smaller tiles, and for a
//! release the engine. `cargo course` puts the page together. It also writes every run that the page can show, as the engine records
//! it natively; the page is compared with that in a browser.

use std::path::PathBuf;

use anyhow::{Context, Error, Result};
use common::basics::{print, workspace};
use common::code::{Source, find_nvrtc};
use course::explore::data::{self, Data, Form, PageKernel};
use course::explore::{contents, engine};
use course::files;
use course::steps::STEPS;
use explorer::engine::Engine;
use explorer::request::{LookRequest, Request};
use explorer::run::Run;
use serde_json::{Value, json};

use crate::generated::Generated;

#[derive(clap::Args, Default)]
pub struct Options {
    /// Change nothing; exit with 1 if a file is not what its sources give
    #[arg(long)]
    pub check: bool,
    /// Build the engine of today's sources, with which pages are made here until they change
    #[arg(long)]
    pub engine: bool,
    /// Build the engine and pack it, for a release that docs/CHANGELOG.md names
    #[arg(long)]
    pub pack: bool,
    /// Write what the engine records of every kernel of the page, as JSON: the browser's test compares it
    #[arg(long, value_name = "FILE")]
    pub native: Option<PathBuf>,
}

/// Runs the command. Returns `false` if the check fails.
pub fn run(options: &Options) -> Result<bool> {
    if let Some(path) = &options.native {
        let data = contents::of_book();
        let recorded = |(kernel, form, size): (&PageKernel, &Form, [u32; 3])| {
            recorded(kernel, form, size).with_context(|| format!("{} as {} at {size:?}", kernel.id, form.id))
        };
        let runs: Vec<Value> = runs(&data).map(recorded).collect::<Result<_>>()?;
        files::write(path, format!("{}\n", json!({ "runs": runs })))?;
        print(&format!("{}: {} runs\n", workspace::display(path), runs.len()))?;
        return Ok(true);
    }
    let name = workspace::display(&engine::packed());
    if options.pack {
        let bytes = engine::pack()?;
        print(&format!("made {name}, {bytes} bytes unpacked; {} names its sources:\n{}\n", CHANGELOG, released()?.0))?;
        return Ok(true);
    }
    if options.engine {
        print(&format!("the engine of today's sources is built, {} bytes\n", engine::build_for_pages()?))?;
        return Ok(true);
    }
    let mut generated = Generated::new(options.check);
    smaller_tiles(&mut generated)?;
    let mut text = format!("{}{}\n", generated.text, generated.verdict("PTX files with smaller tiles", "explorer"));
    let (sources, is_named) = released()?;
    text += &match is_named {
        true if engine::is_fresh()? => format!("{name} is of today's sources\n"),
        true => format!("{name} is of the last release; who can build the engine gets pages with today's\n"),
        false => format!(
            "{name} is of no release: {CHANGELOG} does not name its sources, {sources}; pack it for a release only\n"
        ),
    };
    print(&text)?;
    Ok(generated.ok() && is_named)
}

/// Where releases are listed, each with the sources of its engine.
const CHANGELOG: &str = "docs/CHANGELOG.md";

/// The hash of the packed engine's sources, and whether a release names it.
fn released() -> Result<(String, bool)> {
    let sources = engine::packed_sources()?;
    let is_named = files::read(&workspace::root().join(CHANGELOG))?.contains(&sources);
    Ok((sources, is_named))
}

/// Makes PTX with a smaller tile for each kernel whose usual tile would cover all of a small C.
fn smaller_tiles(generated: &mut Generated) -> Result<()> {
    find_nvrtc()?;
    for step in STEPS {
        for kernel in &contents::kernels_of(step)? {
            let source = Source::read(&workspace::root().join(&kernel.file))?;
            for usual in &kernel.forms {
                let Some((file, form)) = data::smaller(kernel, usual, &source) else { continue };
                // Not every kernel takes that tile: a form is left out if it does not compile, or is wrong unlike the usual one.
                let Some(Ok(ptx)) = form.code.as_ref().map(|code| source.compile_to_commit(code)) else { continue };
                let form = Form { ptx, ..form };
                if is_right(kernel, &form) || !is_right(kernel, usual) {
                    generated.file(&file, &form.ptx)?;
                }
            }
        }
    }
    generated.left_over(&data::smaller_folder())
}

/// Whether a form computes the right product, without hazards.
fn is_right(kernel: &PageKernel, form: &Form) -> bool {
    let sizes = [[64, 64, 64], [33, 48, 20], [17, 33, 7]];
    sizes.into_iter().filter(|&size| form.plan(size, &kernel.source).is_some()).all(|size| {
        let run = Run::new(&kernel.request(form, size));
        run.is_ok_and(|run| run.is_right() && run.hazards.iter().all(|found| found.hazard.kind.is_warning()))
    })
}

/// Sizes at which forms are run: each form at the first three that it can compute.
const SIZES: [[u32; 3]; 10] = [
    [64, 64, 64],
    [33, 47, 20],
    [48, 40, 33],
    [64, 32, 32],
    [32, 32, 64],
    [16, 64, 64],
    [24, 36, 17],
    [16, 16, 16],
    [7, 60, 45],
    [64, 128, 64],
];
const RUNS: usize = 3;

fn runs(data: &Data) -> impl Iterator<Item = (&PageKernel, &Form, [u32; 3])> {
    let forms = data.kernels.iter().flat_map(|kernel| kernel.forms.iter().map(move |form| (kernel, form)));
    forms.flat_map(|(kernel, form)| {
        let sizes = SIZES.into_iter().filter(|&size| form.plan(size, &kernel.source).is_some()).take(RUNS);
        sizes.map(move |size| (kernel, form, size))
    })
}

/// A run in the form that the browser's test reads.
fn recorded(kernel: &PageKernel, form: &Form, size: [u32; 3]) -> Result<Value> {
    let mut engine = Engine::default();
    let facts = engine.ask(Request::Run(kernel.request(form, size).into())).map_err(Error::msg)?;
    let end = LookRequest { time: u32::MAX, ..LookRequest::default() };
    let look = engine.ask(Request::Look(end)).map_err(Error::msg)?;
    let ([m, n, k], outcome) = (size, &facts["outcome"]);
    Ok(json!({
        "kernel": kernel.id, "form": form.id, "dtype": form.dtype, "m": m, "n": n, "k": k,
        "totals": facts["totals"], "lines": look["by_line"], "right": outcome["right"], "stopped": outcome["stopped"],
        "hazards": facts["hazards"],
    }))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use explorer::instructions::file_name;
    use explorer::request::Order;
    use explorer::run::{Setup, counts, stopped};
    use simt::{Analyses, Counters, Counts, Hazard};

    use super::*;

    #[test]
    fn what_is_recorded_counts_what_the_simulator_counts() {
        let some = ["step04_tiled", "step04_tiled/no_second_barrier"];
        compare(|kernel| some.contains(&kernel), some.len());
    }

    mod slow {
        #[test]
        #[ignore = "takes a minute or two"]
        fn what_is_recorded_of_all_kernels_counts_what_the_simulator_counts() {
            super::compare(|_| true, 100);
        }
    }

    /// Compares two ways of counting: the recorder counts by instruction, the simulator alone by basic block.
    fn compare(wanted: impl Fn(&str) -> bool, more_than: usize) {
        let mut data = contents::of_book();
        data.kernels.retain(|kernel| wanted(&kernel.id));
        assert!(runs(&data).count() > more_than);
        for (kernel, form, size) in runs(&data) {
            let run = Run::new(&kernel.request(form, size)).unwrap();
            let by_line = run.tape.by_line(&run.tape.end.lines).map(|(line, counts)| (line.clone(), *counts)).collect();
            let hazards = said(run.hazards.iter().map(|found| &found.hazard));
            let ours = (run.is_right(), run.stopped.clone(), hazards, (run.tape.end.totals, by_line));
            let mut both = [ours, counted(kernel, form, size)];
            if run.stopped.is_some() {
                // The simulator counts to the end of a basic block.
                for run in &mut both {
                    run.3 = Default::default();
                }
            }
            assert_eq!(both[0], both[1], "{} as {} at {size:?}", kernel.id, form.id);
        }
    }

    /// Whether the product is right, why the run was stopped, the hazards, and the counts in total and of each line.
    type Seen = (bool, Option<String>, Vec<String>, (Counts, BTreeMap<String, Counts>));

    fn said<'a>(hazards: impl Iterator<Item = &'a Hazard>) -> Vec<String> {
        let mut said: Vec<String> = hazards.map(|hazard| format!("{} {hazard}", hazard.count)).collect();
        said.sort();
        said
    }

    /// What the simulator alone counts.
    fn counted(kernel: &PageKernel, form: &Form, size: [u32; 3]) -> Seen {
        let setup = Setup::new(&kernel.request(form, size)).unwrap();
        let mut memory = setup.memory().unwrap();
        let (mut total, mut lines, mut found, mut failed) =
            (Counts::default(), BTreeMap::<String, Counts>::new(), vec![], None);
        let files: BTreeMap<u32, &str> = setup.module.source_files().collect();
        for number in 0..setup.plan.launches.len() {
            let (counters, hazards) = (Some(Counters::new()), Some(setup.hazards(number)));
            let mut analyses = Analyses { counters, hazards, trace: None };
            failed = stopped(setup.launch(number, (Order::default(), 0), &mut memory, &mut analyses)).unwrap();
            let Analyses { counters: Some(counters), hazards: Some(hazards), .. } = &analyses else { continue };
            total += &counters.total();
            for ((file, line), counts) in counters.lines() {
                let file = files.get(&file).map_or("", |file| file_name(file));
                let own = file == file_name(&kernel.file) || file.is_empty();
                let name = if own { line.to_string() } else { format!("{file}:{line}") };
                *lines.entry(name).or_default() += &counts;
            }
            found.extend(hazards.found().iter().filter(|hazard| counts(hazard, failed.as_ref())).cloned());
            if failed.is_some() {
                break;
            }
        }
        let right = failed.is_none() && setup.wrong(&setup.c(&memory).unwrap()).next().is_none();
        (right, failed, said(found.iter()), (total, lines))
    }
}
