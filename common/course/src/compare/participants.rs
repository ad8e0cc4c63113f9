//! The kernels that take part: what their steps say of them, and their code.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use common::code::{Code, Source, folder_of};
use common::device::Device;
use common::measure::{Gpu, LeastTime};
use plan::{Plan, Problem};

use crate::least::least_time;
use crate::record::StepRecord;
use crate::steps::{Kernel, Role, STEPS};

pub struct Participant {
    pub kernel: Kernel,
    /// The step, or `STEP/VARIANT`.
    pub name: String,
    source: Result<Source, String>,
    code: BTreeMap<String, Result<Code, String>>,
}

impl Participant {
    fn new(kernel: Kernel) -> Self {
        let file = if kernel.is_on_host() { folder_of(kernel.step).join("src/lib.rs") } else { kernel.file() };
        let source = Source::read(&file).map_err(|error| format!("{error:#}"));
        Self { kernel, name: kernel.name(), source, code: BTreeMap::new() }
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
        least_time(source, plan, problem, &gpu).ok().flatten()
    }

    /// What the record says of the kernel.
    pub fn record(&self) -> StepRecord {
        let (source, hash) = match &self.source {
            Ok(source) => (source.display.clone(), source.hash.clone()),
            Err(_) => (format!("{}/kernel.cu", self.kernel.step.name), String::new()),
        };
        let title = match &self.source {
            Ok(source) if self.kernel.variant.is_some() => first_sentence(&source.comment()),
            _ => self.kernel.step.title.to_owned(),
        };
        let rung = self.kernel.role() == Role::Rung;
        StepRecord { name: self.name.clone(), title, source, hash, host: self.kernel.is_on_host(), rung }
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
/// `rungs` says so, in Rust as well if `rust` does, and with what lies beyond them.
pub fn all(names: &[String], rungs: bool, rust: bool) -> Result<Vec<Participant>> {
    let chosen = |name: &str| names.is_empty() || names.iter().any(|start| name.starts_with(start.as_str()));
    let kernels = STEPS.iter().filter(|step| chosen(step.name)).flat_map(|step| Kernel::of(step));
    let takes_part = |kernel: &Kernel| match kernel.role() {
        Role::Step | Role::Beyond => true,
        Role::Rung => rungs,
        Role::Rust => rust,
        Role::CounterExample | Role::Own => false,
    };
    let all: Vec<Participant> = kernels.filter(takes_part).map(Participant::new).collect();
    ensure!(!all.is_empty(), "no step's name starts with {}; leave --steps out to compare all", names.join(" or "));
    Ok(all)
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
