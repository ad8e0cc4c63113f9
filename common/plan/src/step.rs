//! A step of the course, as the other parts of the workspace see it.

use std::num::Wrapping;

use anyhow::{Result, anyhow};
use serde::{Deserialize, Serialize};
use system::output;

use crate::info::{DeviceInfo, Kind};
use crate::plan::{Plan, Specialisation};
use crate::problem::{Dtype, Problem};

/// Plans the launches of one problem on one device. The error says which limit of the step's algorithm the problem exceeds.
pub type PlanFn = fn(&Problem, &DeviceInfo) -> Result<Plan>;

/// Returns the committed specialisations of a kernel for one element type.
pub type SpecialisationsFn = fn(Dtype) -> Vec<Specialisation>;

/// The deliberate fault of a counter-example.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Defect {
    /// The product is right. The kernel is only slow, or uses more or less of its error bound.
    #[default]
    None,
    /// A barrier is missing. The race is always there, but the product may be right by luck.
    Race,
    /// The kernel leaves the matrices if a size is not a multiple of the tile.
    Edges,
    /// The kernel uses fewer bits of A and B than they have. Products of small integers are right; others with a small K are wrong.
    Rounding,
}

/// The folder, inside a step's folder, of the kernels on the way to `kernel.cu`. Each adds one idea to the one before.
pub const RUNGS: &str = "rungs";
/// The folder of the counter-examples: kernels without one idea, to show what it is for.
pub const COUNTER_EXAMPLES: &str = "variants";

/// A kernel's role in its step, in the order of the path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// A kernel on the way to the step's own.
    Rung,
    /// The step's own kernel.
    Step,
    /// A kernel with one thing undone, to see what goes wrong, or becomes slow, without it.
    CounterExample,
    /// The step's own, in Rust.
    Rust,
    /// A kernel past the end of the course.
    Beyond,
    /// A learner's.
    #[default]
    Own,
}

/// Another kernel of a step. `--variant NAME` runs it.
#[derive(Clone, Copy, Debug)]
pub struct Variant {
    /// The name of its file without `.cu`, and the argument of `--variant`.
    pub name: &'static str,
    /// Its role, which also says where its file is.
    pub role: Role,
    /// Its deliberate fault.
    pub defect: Defect,
    /// Its plan, if that differs from the step's.
    pub plan: Option<PlanFn>,
    /// The specialisations with committed PTX, for f32, if its plan can choose among several on a device that cannot compile.
    pub specialisations: Option<SpecialisationsFn>,
}

impl Variant {
    /// Makes a counter-example that is launched like the step's kernel.
    pub const fn same_launch(name: &'static str) -> Self {
        Self { name, role: Role::CounterExample, defect: Defect::None, plan: None, specialisations: None }
    }

    /// Makes a rung that is launched like the step's kernel.
    pub const fn rung(name: &'static str) -> Self {
        Self { role: Role::Rung, ..Self::same_launch(name) }
    }

    /// Makes the step's own kernel, written in Rust.
    pub const fn rust() -> Self {
        Self { role: Role::Rust, ..Self::same_launch("rust") }
    }

    /// Returns the path of its file, inside the step's folder.
    pub fn file(&self) -> String {
        let folder = match self.role {
            Role::Rust => return "kernel.rs".to_owned(),
            Role::Rung => RUNGS,
            Role::Beyond => "beyond",
            _ => COUNTER_EXAMPLES,
        };
        format!("{folder}/{}.cu", self.name)
    }

    /// Sets its plan.
    #[must_use]
    pub const fn planned(self, plan: PlanFn) -> Self {
        Self { plan: Some(plan), ..self }
    }

    /// Sets its deliberate fault.
    #[must_use]
    pub const fn with_defect(self, defect: Defect) -> Self {
        Self { defect, ..self }
    }
}

/// Computes C from A, B and [M, N, K].
type HostFn<E> = fn(&[E], &[E], &mut [E], [usize; 3]);

/// Computes C = A·B on the host. All matrices are row-major.
#[derive(Clone, Copy, Debug)]
pub struct HostProduct {
    /// For `f32`.
    pub f32: HostFn<f32>,
    /// For `i32`, whose sums wrap around.
    pub i32: HostFn<Wrapping<i32>>,
}

/// The sizes M, N, K that are used if none are given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DefaultSize {
    /// On a GPU.
    pub gpu: [u64; 3],
    /// On the simulator.
    pub sim: [u64; 3],
    /// On the host.
    pub host: [u64; 3],
}

impl DefaultSize {
    /// Uses N×N×N: one size on a GPU, and another one on the simulator and the host.
    pub const fn cubes(gpu: u64, sim: u64) -> Self {
        Self { gpu: [gpu; 3], sim: [sim; 3], host: [sim; 3] }
    }

    /// Uses the same sizes on every kind of device.
    pub const fn everywhere(size: [u64; 3]) -> Self {
        Self { gpu: size, sim: size, host: size }
    }

    /// Returns the sizes for this kind of device.
    pub const fn on(&self, kind: Kind) -> [u64; 3] {
        match kind {
            Kind::Cuda => self.gpu,
            Kind::Sim => self.sim,
            Kind::Host => self.host,
        }
    }
}

/// One step of the course.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// The name of its crate, such as `step04_tiled`.
    pub name: &'static str,
    /// Its folder, relative to the root of the workspace.
    pub folder: &'static str,
    /// A description in one line.
    pub title: &'static str,
    /// Plans the launches of `kernel.cu`.
    pub plan: PlanFn,
    /// Returns the specialisations that `plan` can choose for an element type on a device that cannot compile. PTX is committed for
    /// each.
    pub specialisations: SpecialisationsFn,
    /// The other kernels: rungs in order, then counter-examples.
    pub variants: &'static [Variant],
    /// The sizes to use without `--size`.
    pub default_size: DefaultSize,
    /// The product on the host, for the step that runs there.
    pub host: Option<HostProduct>,
}

impl Step {
    /// Returns the variant with this name. The error lists all names.
    pub fn variant(&self, name: &str) -> Result<&Variant> {
        self.variants.iter().find(|variant| variant.name == name).ok_or_else(|| {
            let names: Vec<&str> = self.variants.iter().map(|variant| variant.name).collect();
            match names.as_slice() {
                [] => anyhow!("{} has no variants; leave --variant out", self.name),
                names => match output::meant(name, names.iter().copied()) {
                    Some(meant) => anyhow!("{} has no variant {name:?}; did you mean {meant}?", self.name),
                    None => anyhow!("{} has no variant {name:?}; choose {}", self.name, names.join(", ")),
                },
            }
        })
    }

    /// Returns every committed specialisation of the step's kernel or of a variant. Variants are only there for comparisons, so
    /// they are committed for f32 only, and only as they are for sizes that are multiples of the tile.
    pub fn committed_of(&self, variant: Option<&Variant>) -> Vec<Specialisation> {
        let Some(variant) = variant else {
            return [Dtype::F32, Dtype::I32].into_iter().flat_map(self.specialisations).collect();
        };
        if let Some(all) = variant.specialisations {
            return all(Dtype::F32);
        }
        let plan = self.plan_of(Some(variant))(&Problem::uniform([32; 3]), &DeviceInfo::simulated(u64::MAX));
        plan.into_iter().map(|plan| plan.specialisation).collect()
    }

    /// Returns the plan of the step's kernel or of a variant.
    pub fn plan_of(&self, variant: Option<&Variant>) -> PlanFn {
        variant.and_then(|variant| variant.plan).unwrap_or(self.plan)
    }
}
