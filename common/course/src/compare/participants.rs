//! The steps that take part: what they say of themselves, their kernels, and the code of these.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use common::code::{Code, Source};
use common::describe::{Description, Request};
use common::device::Device;
use common::{Plan, Problem};

use crate::record::StepRecord;
use crate::steps::{self, StepFolder};

pub struct Participant {
    pub folder: StepFolder,
    /// What it says of itself, with a plan for each size, or why it does not.
    pub description: Result<Description, String>,
    source: Result<Source, String>,
    /// Code by specialisation.
    code: BTreeMap<String, Result<Code, String>>,
}

impl Participant {
    /// The code of a plan, compiled or looked up once for each specialisation.
    pub fn code(&mut self, plan: &Plan, device: &dyn Device) -> Result<Code, String> {
        let source = self.source.clone()?;
        let key = format!("{:?}", plan.specialisation);
        let committed = self.folder.path.join("ptx");
        let make =
            || source.code(&plan.specialisation, device.info(), Some(&committed)).map_err(|error| format!("{error:#}"));
        self.code.entry(key).or_insert_with(make).clone()
    }

    /// What the record says of the step.
    pub fn record(&self) -> StepRecord {
        let (source, hash) = match &self.source {
            Ok(source) => (source.display.clone(), source.hash.clone()),
            Err(_) => (format!("{}/kernel.cu", self.folder.name), String::new()),
        };
        let description = self.description.as_ref().ok();
        StepRecord {
            name: self.folder.name.clone(),
            title: description.map_or_else(String::new, |description| description.title.clone()),
            source,
            hash,
            host: description.is_some_and(|description| description.host),
        }
    }
}

/// All steps whose names start with one of `names`, or all if it is empty.
pub fn all(names: &[String], device: &dyn Device, problems: &[Problem]) -> Result<Vec<Participant>> {
    let chosen = |step: &StepFolder| names.is_empty() || names.iter().any(|name| step.name.starts_with(name.as_str()));
    let folders: Vec<StepFolder> = steps::find()?.into_iter().filter(chosen).collect();
    ensure!(!folders.is_empty(), "no step's name starts with {}; leave --steps out to compare all", names.join(" or "));
    let request = Request { device: Some(device.info().clone()), problems: problems.to_vec(), variant: None };
    let participant = |folder: StepFolder| {
        let description = folder.describe(&request).map_err(|error| format!("{error:#}"));
        let host = description.as_ref().is_ok_and(|description| description.host);
        let source = Source::read(&folder.path.join(if host { "src/lib.rs" } else { "kernel.cu" }));
        let source = source.map_err(|error| format!("{error:#}"));
        Participant { folder, description, source, code: BTreeMap::new() }
    };
    Ok(folders.into_iter().map(participant).collect())
}
