//! The kernels that take part: what their steps say of them, and their code.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use common::code::{Code, Source};
use common::device::Device;
use common::device::bound::LeastTime;
use common::device::gpus::Gpu;
use common::program::describe::{Description, Request};
use common::{Plan, Problem};

use crate::least::least_time;
use crate::record::StepRecord;
use crate::steps::{self, StepFolder};

pub struct Participant {
    /// The step, or `STEP/VARIANT`.
    pub name: String,
    pub folder: StepFolder,
    /// What the step says of the kernel, with a plan for each size, or why it does not.
    pub description: Result<Description, String>,
    /// Whether it is a rung on the way to its step's kernel.
    rung: bool,
    source: Result<Source, String>,
    /// Code by specialisation.
    code: BTreeMap<String, Result<Code, String>>,
}

impl Participant {
    fn new(folder: &StepFolder, variant: Option<&String>, request: &Request) -> Self {
        let request = Request { variant: variant.cloned(), ..request.clone() };
        let description = folder.describe(&request).map_err(|error| format!("{error:#}"));
        let host = description.as_ref().is_ok_and(|description| description.host);
        let path = if host { folder.path.join("src/lib.rs") } else { folder.source(variant.map(String::as_str)) };
        let rung = |name: &String| description.as_ref().is_ok_and(|description| description.rungs.contains(name));
        Self {
            name: variant.map_or_else(|| folder.name.clone(), |variant| format!("{}/{variant}", folder.name)),
            folder: folder.clone(),
            rung: variant.is_some_and(rung),
            source: Source::read(&path).map_err(|error| format!("{error:#}")),
            description,
            code: BTreeMap::new(),
        }
    }

    /// The code of a plan, compiled or looked up once for each specialisation.
    pub fn code(&mut self, plan: &Plan, device: &dyn Device) -> Result<Code, String> {
        let source = self.source.clone()?;
        let key = format!("{:?}", plan.specialisation);
        let committed = source.committed_folder();
        let make = || {
            let code = source.code(&plan.specialisation, device.info(), committed.as_deref());
            code.map_err(|error| format!("{error:#}"))
        };
        self.code.entry(key).or_insert_with(make).clone()
    }

    /// The least time of a plan on a GPU, counted on the simulator.
    pub fn least_time(&self, plan: &Plan, problem: &Problem, device: &dyn Device) -> Option<LeastTime> {
        let gpu = Gpu::of(device.info(), &device.figures()?);
        let source = self.source.as_ref().ok()?;
        least_time(source, source.committed_folder().as_deref(), plan, problem, &gpu).ok().flatten()
    }

    /// What the record says of the kernel.
    pub fn record(&self) -> StepRecord {
        let (source, hash) = match &self.source {
            Ok(source) => (source.display.clone(), source.hash.clone()),
            Err(_) => (format!("{}/kernel.cu", self.folder.name), String::new()),
        };
        let description = self.description.as_ref().ok();
        let title = match &self.source {
            Ok(source) if self.name != self.folder.name => first_sentence(&source.comment()),
            _ => description.map_or_else(String::new, |description| description.title.clone()),
        };
        let host = description.is_some_and(|description| description.host);
        StepRecord { name: self.name.clone(), title, source, hash, host, rung: self.rung }
    }
}

/// A sentence as a title: up to its first pause, without a capital unless it begins with an abbreviation.
fn first_sentence(text: &str) -> String {
    let sentence = &text[..text.find([':', ';', '.']).unwrap_or(text.len())];
    let mut letters = sentence.chars();
    match letters.next() {
        Some(first) if !letters.clone().next().is_some_and(char::is_uppercase) => {
            first.to_lowercase().chain(letters).collect()
        }
        _ => sentence.to_owned(),
    }
}

/// The kernels of all steps whose names start with one of `names`, or of all steps if it is empty: with their rungs if
/// `rungs` says so, and with what lies beyond them.
pub fn all(names: &[String], rungs: bool, device: &dyn Device, problems: &[Problem]) -> Result<Vec<Participant>> {
    let chosen = |step: &StepFolder| names.is_empty() || names.iter().any(|name| step.name.starts_with(name.as_str()));
    let folders: Vec<StepFolder> = steps::find()?.into_iter().filter(chosen).collect();
    ensure!(!folders.is_empty(), "no step's name starts with {}; leave --steps out to compare all", names.join(" or "));
    let request = Request { device: Some(device.info().clone()), problems: problems.to_vec(), variant: None };
    let mut participants = Vec::new();
    for folder in &folders {
        let step = Participant::new(folder, None, &request);
        let variant = |name: &String| Participant::new(folder, Some(name), &request);
        let before = step.description.iter().filter(|_| rungs).flat_map(|description| &description.rungs);
        participants.extend(before.map(variant).collect::<Vec<_>>());
        participants.push(step);
        let beyond = folder.beyond().into_iter().flat_map(|step| step.variants);
        let beyond = beyond.filter(|variant| !variant.is_counter_example()).map(|known| known.name.to_owned());
        participants.extend(beyond.map(|name| variant(&name)));
    }
    Ok(participants)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_the_first_sentence() {
        assert_eq!(first_sentence("Each thread computes: a tile. More."), "each thread computes");
        assert_eq!(first_sentence(""), "");
    }
}
