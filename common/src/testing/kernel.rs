//! A trial, and a kernel of a step as a trial runs it: its code, the device for which it is planned, and one product.

use anyhow::{Result, ensure};
use libtest_mimic::Trial;

use crate::basics::{Operands, host};
use crate::code::{Source, file_of, find_rustc};
use crate::device::{Device, DeviceInfo, Session};
use crate::verify::{Verification, verify_on};
use plan::{Defect, Dtype, Fill, Kind, Plan, Problem, Role, Step, Variant};

/// A step's kernel or one of its variants, in one element type.
#[derive(Clone, Copy)]
pub(super) struct Kernel {
    pub step: &'static Step,
    pub variant: Option<&'static Variant>,
    pub dtype: Dtype,
    /// Whether the trial runs specialisations that are not committed but compiled by NVRTC. A trial of committed ones allows no
    /// other plan, because a machine without NVRTC has nothing else.
    pub compiled: bool,
}

impl Kernel {
    /// All kernels of a step, for trials of what is committed.
    pub(super) fn all(step: &'static Step) -> impl Iterator<Item = Self> + Clone {
        let variants = std::iter::once(None).chain(step.variants.iter().map(Some));
        variants.flat_map(move |variant| {
            [Dtype::F32, Dtype::I32].map(|dtype| Self { step, variant, dtype, compiled: false })
        })
    }

    pub(super) fn name(self) -> &'static str {
        self.variant.map_or("kernel", |variant| variant.name)
    }

    pub(super) fn defect(self) -> Defect {
        self.variant.map_or(Defect::None, |variant| variant.defect)
    }

    pub(super) fn source(self) -> Result<Source> {
        Source::read(&file_of(self.step, self.variant))
    }

    pub(super) fn problem(self, [m, n, k]: [u64; 3], seed: u64) -> Problem {
        Problem { m, n, k, dtype: self.dtype, fill: Fill::Uniform, seed }
    }

    /// The simulated device for which plans are made.
    pub(super) fn device(self) -> DeviceInfo {
        DeviceInfo { compiles: self.compiled, ..DeviceInfo::simulated(host::total_bytes()) }
    }

    pub(super) fn plan(self, problem: &Problem, device: &DeviceInfo) -> Result<Plan> {
        self.step.plan_of(self.variant)(problem, device)
    }

    /// Whether this trial runs the plan on the device. Fails if the plan must be committed and is not. Variants are committed in
    /// one form, which need not fit the problem.
    pub(super) fn takes(self, plan: &Plan, device: &DeviceInfo) -> Result<bool> {
        let committed = self.step.committed_of(self.variant).contains(&plan.specialisation);
        let stem = plan.specialisation.stem(self.name());
        let may_differ = device.compiles || self.variant.is_some();
        ensure!(committed || may_differ, "a plan without NVRTC takes {stem}, which is not committed");
        let is_rust = self.variant.is_some_and(|variant| variant.role == Role::Rust);
        let compiles = || if is_rust { find_rustc().is_ok() } else { device.compiles };
        Ok(if device.kind == Kind::Sim { committed != self.compiled } else { committed || compiles() })
    }

    /// Whether this trial has a plan of a product of this size to run on the device. What must be committed and is not fails there.
    pub(super) fn runs(self, size: [u64; 3], device: &DeviceInfo) -> bool {
        let plan = self.plan(&self.problem(size, 1), device);
        plan.is_ok_and(|plan| self.takes(&plan, device).unwrap_or(true))
    }

    /// The trials on the simulator: one of committed kernels and, if others are compiled, a slow one of these, which says so in its
    /// name. A problem is given as its size and the SMs of the device.
    pub(super) fn trials(
        self,
        name: &str,
        problems: impl IntoIterator<Item = ([u64; 3], u32)>,
        test: fn(Self) -> Result<()>,
    ) -> Vec<Trial> {
        let compiled = Self { compiled: true, ..self };
        let runs = |(size, sm_count)| compiled.runs(size, &DeviceInfo { sm_count, ..compiled.device() });
        let compiles = problems.into_iter().any(runs);
        // Counter-examples are committed in f32 only.
        let committed = self.variant.is_none() || self.dtype == Dtype::F32;
        let committed = committed.then(|| trial(name, move || test(self)));
        let slow = format!("slow::compiled::{}", name.trim_start_matches("slow::"));
        let compiled = compiles.then(|| trial(slow, move || test(compiled)));
        committed.into_iter().chain(compiled).collect()
    }

    /// Runs and verifies one product.
    pub(super) fn product_on(self, device: &mut dyn Device, plan: Plan, problem: &Problem) -> Result<Verification> {
        let code = self.source()?.code(&plan.specialisation, device.info())?;
        let session = Session::new(device, problem, plan, &code)?;
        verify_on(device, &session, problem, &Operands::new(problem)?)
    }
}

/// Whether a size is a multiple of 32, the tile of the kernels without edge handling.
pub(super) fn is_whole(size: [u64; 3]) -> bool {
    size.iter().all(|size| size % 32 == 0)
}

/// A trial that reports an error with its causes. If its name begins with `slow::`, it runs in CI or, on a machine with everything
/// that it needs, with `cargo test --workspace -- --ignored slow::`.
pub fn trial(name: impl Into<String>, test: impl FnOnce() -> Result<()> + Send + 'static) -> Trial {
    let name = name.into();
    let slow = name.starts_with("slow::");
    let trial = Trial::test(name, move || test().map_err(|error| format!("{error:#}").into()));
    if slow { trial.with_kind("slow").with_ignored_flag(true) } else { trial }
}
