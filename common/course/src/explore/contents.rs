//! The contents of a page: steps, smaller tiles where the usual ones show only one block, tours, counters.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use common::basics::{output, packed, workspace};
use common::code::Source;
use explorer::planner::Planner;
use plan::{DeviceInfo, Dtype, Specialisation, Step};
use serde_json::Value;
use simt::Counts;

use super::data::{self, Chapter, Counter, Data, Form, PageKernel, specialisations};
use crate::files;
use crate::record::{self, Record};
use crate::steps::{self, Role, STEPS};

/// The contents of the book's page: everything, except a step for which there is no code.
pub fn of_book() -> Data {
    let mut data = Data { counters: counters(), ..Data::default() };
    for step in STEPS {
        match of_step(step) {
            Ok((chapters, kernels)) => {
                data.chapters.extend(chapters);
                data.kernels.extend(kernels);
            }
            Err(error) => output::note(&format!("the explorer's page goes without {}: {error:#}", step.name)),
        }
    }
    data
}

/// A kernel of the course, and its chapter with the stops that are about it.
pub fn of_kernel(kernel: &steps::Kernel) -> Result<(PageKernel, Chapter)> {
    let id = kernel.name();
    // The book's page leaves out kernels in Rust, because it shows the same kernels in CUDA C.
    if kernel.role() == Role::Rust {
        let chapter = Chapter { id: "own".into(), title: kernel.step.title.into(), ..Chapter::default() };
        return Ok((of_course(*kernel)?, chapter));
    }
    let (chapters, kernels) = of_step(kernel.step)?;
    let found = kernels.into_iter().find(|kernel| kernel.id == id);
    let chapter = chapters.into_iter().find(|chapter| chapter.kernels.contains(&id));
    let (kernel, mut chapter) = found.zip(chapter).with_context(|| format!("the explorer has no kernel {id}"))?;
    chapter.tour.retain(|stop| stop["kernel"] == id.as_str());
    Ok((kernel, chapter))
}

/// The chapter that goes beyond the course.
const BEYOND: &str = "tensor_cores";

/// The kernels of a step in the order of the path: rungs, the step's own, counter-examples, those beyond the course.
pub fn kernels_of(step: &'static Step) -> Result<Vec<PageKernel>> {
    steps::Kernel::of(step).filter(|kernel| kernel.role() != Role::Rust).map(of_course).collect()
}

fn of_course(kernel: steps::Kernel) -> Result<PageKernel> {
    let source = Source::read(&kernel.file())?;
    let committed = kernel.step.committed_of(kernel.variant);
    let variant = kernel.variant_name();
    let planner =
        Planner { step: Some(kernel.step.name.into()), variant: variant.map(str::to_owned), ..Planner::default() };
    let taken = [Dtype::F32, Dtype::I32].into_iter().flat_map(|dtype| specialisations(&planner, dtype, &source.text));
    // A device that cannot compile takes committed PTX.
    let device = DeviceInfo::simulated(1 << 32);
    let form = |one: Specialisation| Ok(data::form(&planner, &one, source.code(&one, &device)?.ptx));
    let all = taken.filter(|one| committed.contains(one)).map(form).collect::<Result<Vec<_>>>()?;
    let id = kernel.name();
    ensure!(!all.is_empty(), "{id} has no plan for a product of up to 64×64×64; leave it out of the explorer");
    let (step, name) = (kernel.step.name.into(), variant.unwrap_or("kernel").to_owned());
    Ok(PageKernel { id, step, name, role: kernel.role(), ..PageKernel::of(&source, all) })
}

/// The chapters of a step and its kernels, with smaller tiles, times and tours. Kernels on tensor cores have a chapter of their own.
pub fn of_step(step: &'static Step) -> Result<(Vec<Chapter>, Vec<PageKernel>)> {
    let mut kernels = kernels_of(step)?;
    let records = [record::within(&record::folder())?, record::within(&record::folder().join("prefetching"))?].concat();
    for kernel in &mut kernels {
        // A form with a smaller tile, if the usual one computes all of C in one block.
        let source = Source::read(&workspace::root().join(&kernel.file))?;
        let found = kernel.forms.iter().filter_map(|form| data::smaller(kernel, form, &source));
        let found = found.filter(|(file, _)| file.is_file());
        let read = |(file, form): (PathBuf, Form)| -> Result<Form> {
            let ptx = packed::read(&file).with_context(|| format!("cannot read {}", workspace::display(&file)))?;
            Ok(Form { ptx, ..form })
        };
        let added: Vec<Form> = found.map(read).collect::<Result<_>>()?;
        kernel.forms.extend(added);
        kernel.choose_first();
        kernel.measured = records.iter().filter_map(|(_, record)| measured(record, &kernel.id)).collect();
    }
    let needs = |kernel: &&PageKernel| kernel.forms.iter().any(|form| form.code.as_ref().is_some_and(|code| code.only));
    let (mut beyond, own): (Vec<&PageKernel>, Vec<&PageKernel>) = kernels.iter().partition(needs);
    beyond.sort_by_key(|kernel| kernel.role != Role::Beyond);
    let chapter = |id: &str, title: &str, number, kernels: Vec<&PageKernel>| -> Result<Chapter> {
        let kernels = kernels.iter().map(|kernel| kernel.id.clone()).collect();
        Ok(Chapter { id: id.into(), title: title.into(), number, kernels, tour: tour(id)? })
    };
    let mut chapters = vec![chapter(step.name, step.title, steps::number(step).parse().unwrap_or(0), own)?];
    if !beyond.is_empty() {
        chapters.push(chapter(BEYOND, "Beyond step 6: products on tensor cores", 0, beyond)?);
    }
    Ok((chapters, kernels))
}

/// How long a kernel took at the largest size of a record.
fn measured(record: &Record, kernel: &str) -> Option<String> {
    let times = record.sizes.iter().filter_map(|size| Some((size, size.entry(kernel)?.spread()?.median)));
    let (size, ms) = times.max_by_key(|(size, _)| size.m * size.n * size.k)?;
    let date = record.date.split('T').next().unwrap_or_default();
    Some(format!("{ms:.2} ms for {} on an {} ({date})", size.words(), record.device.name))
}

/// The stops of a chapter's tour: a file beside the step's kernel, or beside those beyond the course.
fn tour(chapter: &str) -> Result<Vec<Value>> {
    let folder = if chapter == BEYOND { "step06_prefetch/beyond" } else { chapter };
    let path = workspace::root().join(folder).join("tour.json");
    let wrong = || format!("{} is not as it should be", workspace::display(&path));
    serde_json::from_str(&files::read(&path)?).with_context(wrong)
}

pub fn counters() -> Vec<Counter> {
    let counter = |&(name, words): &(&str, &str)| {
        let metric = words.split('`').find(|part| part.starts_with("smsp__") || part.starts_with("l1tex__"));
        let metric = metric.filter(|metric| !metric.contains(' ')).map(str::to_owned);
        Counter { name: name.to_owned(), words: words.trim().to_owned(), metric }
    };
    Counts::EXPLAINED.iter().map(counter).collect()
}

#[cfg(test)]
mod tests {
    use explorer::engine::Engine;
    use explorer::request::{Order, Request, RunRequest};

    use super::*;

    /// Each stop asks about something that there is, and the run has an answer.
    #[test]
    fn every_stop_of_a_tour_is_answered_by_its_run() {
        let data = of_book();
        let stops = data.chapters.iter().flat_map(|chapter| &chapter.tour);
        assert!(stops.clone().count() > 15);
        for stop in stops {
            let kernel = data.kernels.iter().find(|kernel| stop["kernel"] == kernel.id.as_str());
            let kernel = kernel.unwrap_or_else(|| panic!("no such kernel: {stop}"));
            let size: Option<[u32; 3]> = serde_json::from_value(stop["size"].clone()).unwrap();
            let wanted = stop["form"].as_str().or(size.is_none().then_some(kernel.form.as_str()));
            let size = size.unwrap_or(kernel.size);
            let able = kernel.forms.iter().filter(|form| form.plan(size, &kernel.source).is_some());
            let form = able.min_by_key(|form| wanted.is_some_and(|wanted| form.id != wanted));
            let form = form.unwrap_or_else(|| panic!("no such form: {stop}"));
            let order = Order::try_from(stop["order"].as_str().unwrap_or("warps").to_owned()).unwrap();
            let mut engine = Engine::default();
            engine.ask(Request::Run(RunRequest { order, ..kernel.request(form, size) }.into())).unwrap();
            let mut count = stop.clone();
            count["do"] = "count".into();
            let answer = engine.ask(serde_json::from_value(count).unwrap()).unwrap();
            assert!(answer["value"].is_number(), "{stop}: {answer}");
        }
    }
}
