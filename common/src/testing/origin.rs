//! Where the code of a trial on the simulator comes from: what is committed, or what NVRTC compiles beside it.

use anyhow::{Result, ensure};
use libtest_mimic::Trial;

use super::product::failed;
use crate::info::DeviceInfo;
use crate::plan::Plan;
use crate::problem::{Dtype, Fill, Problem};
use crate::step::{Step, Variant};
use crate::{host, nvrtc};

/// Which specialisations a trial on the simulator runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// Those that are committed: all that there is on a machine without NVRTC, so every plan must be one of them.
    Committed,
    /// Those that a plan takes beside them on a device that compiles.
    Compiled,
}

impl Origin {
    /// The device to plan for.
    pub(super) fn device(self) -> DeviceInfo {
        DeviceInfo { compiles: self == Self::Compiled, ..DeviceInfo::simulated(host::total_bytes()) }
    }

    /// Whether the plan is one to run; an error where it must be committed and is not.
    pub(super) fn takes(self, step: &Step, variant: Option<&Variant>, plan: &Plan) -> Result<bool> {
        let committed = step.committed_of(variant).contains(&plan.specialisation);
        ensure!(
            committed || self == Self::Compiled,
            "a plan without NVRTC takes {}, which is not committed",
            plan.specialisation.stem(variant.map_or("kernel", |variant| variant.name))
        );
        Ok(committed == (self == Self::Committed))
    }

    /// A trial of this name; one that compiles says so in its name, and is ignored if it cannot.
    pub(super) fn trial(self, name: &str, test: impl FnOnce() -> Result<()> + Send + 'static) -> Trial {
        let test = || test().map_err(|error| failed(&error));
        match self {
            Self::Committed => Trial::test(name, test),
            Self::Compiled => Trial::test(format!("compiled::{name}"), test)
                .with_kind("needs NVRTC")
                .with_ignored_flag(nvrtc::find().is_err()),
        }
    }
}

/// The trials on the simulator of a kernel: what is committed of it, and what is compiled of it if that is anything else. A problem
/// is its size and the multiprocessors of the device to plan for.
pub(super) fn origins(
    step: &Step,
    variant: Option<&Variant>,
    dtype: Dtype,
    problems: impl IntoIterator<Item = ([u64; 3], u32)>,
) -> Vec<Origin> {
    let compiles = problems.into_iter().any(|([m, n, k], sm_count)| {
        let problem = Problem { m, n, k, dtype, fill: Fill::Uniform, seed: 1 };
        let plan = step.plan_of(variant)(&problem, &DeviceInfo { sm_count, ..Origin::Compiled.device() });
        plan.is_ok_and(|plan| Origin::Compiled.takes(step, variant, &plan).unwrap_or(true))
    });
    // Counter-examples are committed in f32 only.
    let committed = variant.is_none() || dtype == Dtype::F32;
    [(Origin::Committed, committed), (Origin::Compiled, compiles)]
        .into_iter()
        .filter_map(|(origin, there)| there.then_some(origin))
        .collect()
}
