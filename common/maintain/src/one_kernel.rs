//! A kernel of the course on a device: its plans, and its code, compiled once for each specialisation.

use std::collections::BTreeMap;

use anyhow::{Result, anyhow};
use common::basics::nvidia_smi;
use common::code::nvrtc;
use common::code::{Code, Source};
use common::device::Device;
use common::device::cublas;
use common::device::product::Matrices;
use common::device::session::Session;
use common::measure::cost::Choice;
use common::program::describe::{Description, Request};
use common::{DeviceInfo, Plan, Problem};
use course::record;
use course::steps::{self, Kernel};

pub struct OneKernel {
    kernel: Kernel,
    pub source: Source,
    codes: BTreeMap<String, Code>,
}

/// A program is asked about so many problems at once: they are its arguments, and a system allows no more than 128 KiB.
const AT_ONCE: usize = 500;

impl OneKernel {
    /// The kernel of this name: `step06_prefetch`, or `step06_prefetch/every_shape`.
    pub fn named(name: &str) -> Result<Self> {
        let kernel = Kernel::named(&steps::find()?, name)?;
        let source = Source::read(&kernel.source())?.with_headers_of(&kernel.step.path);
        Ok(Self { kernel, source, codes: BTreeMap::new() })
    }

    /// The plan of each problem, and all among which it was chosen if the kernel tells them.
    pub fn plans(&self, device: &DeviceInfo, problems: &[Problem]) -> Result<Vec<(Plan, Vec<Choice>)>> {
        self.plans_without(None, device, problems)
    }

    /// The same without one of the kernel's ideas.
    pub fn plans_without(
        &self,
        idea: Option<&str>,
        device: &DeviceInfo,
        problems: &[Problem],
    ) -> Result<Vec<(Plan, Vec<Choice>)>> {
        let mut all = Vec::with_capacity(problems.len());
        for some in problems.chunks(AT_ONCE) {
            let description = self.describe(Some(device), some, idea)?;
            let choices = description.choices.into_iter().chain(std::iter::repeat(vec![]));
            for (plan, choices) in description.plans.into_iter().zip(choices) {
                all.push((plan.map_err(|error| anyhow!("{error}"))?, choices));
            }
        }
        Ok(all)
    }

    /// The names of the ideas that the kernel can do without, and what each is.
    pub fn ideas(&self) -> Result<Vec<(String, String)>> {
        Ok(self.describe(None, &[], None)?.ideas)
    }

    fn describe(&self, device: Option<&DeviceInfo>, problems: &[Problem], idea: Option<&str>) -> Result<Description> {
        self.kernel.step.describe(&Request {
            device: device.cloned(),
            problems: problems.to_vec(),
            variant: self.kernel.variant.clone(),
            choices: true,
            without: idea.map(ToOwned::to_owned),
        })
    }

    /// The kernel with this plan, ready to multiply the matrices.
    pub fn session(&mut self, device: &mut dyn Device, plan: &Plan, matrices: &Matrices) -> Result<Session> {
        let key = format!("{:?}", plan.specialisation);
        if !self.codes.contains_key(&key) {
            let committed = self.kernel.step.path.join("ptx");
            let code = self.source.code(&plan.specialisation, device.info(), Some(&committed))?;
            self.codes.insert(key.clone(), code);
        }
        Session::sharing(device, plan.clone(), &self.codes[&key], matrices)
    }
}

/// The device, the versions of what takes part, the day and the commit.
pub fn provenance(device: &DeviceInfo, commit: Option<&String>) -> String {
    let nvrtc = nvrtc::find().ok().map(|nvrtc| format!("{}.{}", nvrtc.version.0, nvrtc.version.1));
    let versions = [("driver", &nvidia_smi::driver()), ("NVRTC", &nvrtc), ("cuBLAS", &cublas::find().ok())];
    record::provenance(&device.name, &versions, &record::now(), &commit.cloned().or_else(record::commit))
}
