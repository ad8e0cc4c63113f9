//! A kernel on a device: its code, compiled once for each specialisation.

use std::collections::BTreeMap;

use anyhow::Result;
use common::basics::nvidia_smi;
use common::code::nvrtc;
use common::code::{Code, Source, file_of};
use common::device::Device;
use common::device::cublas;
use common::device::product::Matrices;
use common::device::session::Session;
use common::measure::provenance;
use common::{DeviceInfo, Plan, PlanFn};

use crate::STEP;

pub struct OneKernel {
    pub plan: PlanFn,
    pub source: Source,
    codes: BTreeMap<String, Code>,
}

impl OneKernel {
    /// Step 6's kernel, or one of those beyond it.
    pub fn named(variant: Option<&str>) -> Result<Self> {
        let variant = variant.map(|name| STEP.variant(name)).transpose()?;
        let source = Source::read(&file_of(&STEP, variant))?;
        Ok(Self { plan: STEP.plan_of(variant), source, codes: BTreeMap::new() })
    }

    /// The kernel with this plan, ready to multiply the matrices.
    pub fn session(&mut self, device: &mut dyn Device, plan: &Plan, matrices: &Matrices) -> Result<Session> {
        let key = format!("{:?}", plan.specialisation);
        if !self.codes.contains_key(&key) {
            let committed = self.source.committed_folder();
            let code = self.source.code(&plan.specialisation, device.info(), committed.as_deref())?;
            self.codes.insert(key.clone(), code);
        }
        Session::sharing(device, plan.clone(), &self.codes[&key], matrices)
    }
}

/// The device, the versions of what takes part, the day and the commit.
pub fn provenance(device: &DeviceInfo, commit: Option<&String>) -> String {
    let nvrtc = nvrtc::find().ok().map(|nvrtc| format!("{}.{}", nvrtc.version.0, nvrtc.version.1));
    let versions = [("driver", &nvidia_smi::driver()), ("NVRTC", &nvrtc), ("cuBLAS", &cublas::find().ok())];
    let commit = commit.cloned().or_else(provenance::commit);
    provenance::provenance(&device.name, &versions, &provenance::now(), &commit)
}
