//! What a step is to the rest of the course.

use std::num::Wrapping;

use anyhow::{Result, anyhow};

use crate::info::{DeviceInfo, Kind};
use crate::plan::{Plan, Specialisation};
use crate::problem::{Dtype, Problem};

/// Plans the launches of one problem on one device; the error says which limit of the step's algorithm the problem
/// breaks.
pub type PlanFn = fn(&Problem, &DeviceInfo) -> Result<Plan>;

/// The committed specialisations of a kernel for one element type.
pub type SpecialisationsFn = fn(Dtype) -> Vec<Specialisation>;

/// What is wrong with a counter-example on purpose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Defect {
    /// Nothing but its speed, or how far it stays within the bound of its errors: the product is right.
    #[default]
    None,
    /// A barrier is missing: the product may be right by luck, and the race is always there.
    Race,
    /// Nothing keeps it inside the matrices if a size is not a multiple of the tile.
    Edges,
    /// It keeps fewer bits of A and B than they have: products of small integers are right, and others of a short K wrong.
    Rounding,
}

/// The folder, within a step's, of the kernels on the way to `kernel.cu`: each one idea after the one before.
pub const RUNGS: &str = "rungs";
/// The folder of the kernels with one thing undone, to see what it was for.
pub const COUNTER_EXAMPLES: &str = "variants";

/// Another kernel of a step, run with `--variant NAME`.
#[derive(Clone, Copy, Debug)]
pub struct Variant {
    /// Name of the file without `.cu`, and of `--variant`.
    pub name: &'static str,
    /// The folder of its file, within the step's.
    pub folder: &'static str,
    /// What is wrong with it.
    pub defect: Defect,
    /// Its launch, if it differs from the step's own.
    pub plan: Option<PlanFn>,
    /// Those for which PTX is committed, if its plan can choose among several on a device that compiles none.
    pub specialisations: Option<SpecialisationsFn>,
}

impl Variant {
    /// A counter-example launched like the step itself.
    pub const fn same_launch(name: &'static str) -> Self {
        Self { name, folder: COUNTER_EXAMPLES, defect: Defect::None, plan: None, specialisations: None }
    }

    /// A rung launched like the step itself.
    pub const fn rung(name: &'static str) -> Self {
        Self { folder: RUNGS, ..Self::same_launch(name) }
    }

    /// The step's own kernel, in Rust.
    pub const fn rust() -> Self {
        Self { folder: "", ..Self::same_launch("rust") }
    }

    /// With PTX committed for these, in f32.
    #[must_use]
    pub const fn committed(self, specialisations: SpecialisationsFn) -> Self {
        Self { specialisations: Some(specialisations), ..self }
    }

    /// Its file, within the step's folder.
    pub fn file(&self) -> String {
        if self.is_rust() { "kernel.rs".to_owned() } else { format!("{}/{}.cu", self.folder, self.name) }
    }

    /// Whether it is the step's kernel in another language.
    pub fn is_rust(&self) -> bool {
        self.folder.is_empty()
    }

    /// With launches of its own.
    #[must_use]
    pub const fn planned(self, plan: PlanFn) -> Self {
        Self { plan: Some(plan), ..self }
    }

    /// Whether it is a kernel on the way to the step's.
    pub fn is_rung(&self) -> bool {
        self.folder == RUNGS
    }

    /// Whether it is there to show what goes wrong, or slow, without one thing.
    pub fn is_counter_example(&self) -> bool {
        self.folder.ends_with(COUNTER_EXAMPLES)
    }

    /// With this defect.
    #[must_use]
    pub const fn with_defect(self, defect: Defect) -> Self {
        Self { defect, ..self }
    }
}

/// Computes C from A, B and M, N, K.
pub type HostFn<E> = fn(&[E], &[E], &mut [E], [usize; 3]);

/// Computes C = A·B on the host; all three row-major.
#[derive(Clone, Copy, Debug)]
pub struct HostProduct {
    /// For `f32`.
    pub f32: HostFn<f32>,
    /// For `i32`, wrapping around.
    pub i32: HostFn<Wrapping<i32>>,
}

/// M, N, K where nobody says which.
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
    /// N×N×N on a GPU, and less on the simulator.
    pub const fn cubes(gpu: u64, sim: u64) -> Self {
        Self { gpu: [gpu; 3], sim: [sim; 3], host: [sim; 3] }
    }

    /// On every kind of device.
    pub const fn everywhere(size: [u64; 3]) -> Self {
        Self { gpu: size, sim: size, host: size }
    }

    /// On this kind of device.
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
    /// Name of the crate and of its folder, e.g. `step04_tiled`.
    pub name: &'static str,
    /// Its folder, from the root of the workspace.
    pub folder: &'static str,
    /// One line for people.
    pub title: &'static str,
    /// The launches of `kernel.cu`.
    pub plan: PlanFn,
    /// The specialisations that `plan` can choose for this element type on a device that compiles none: PTX is
    /// committed for each.
    pub specialisations: SpecialisationsFn,
    /// The other kernels: rungs in their order, and counter-examples.
    pub variants: &'static [Variant],
    /// What it multiplies if `--size` is not given.
    pub default_size: DefaultSize,
    /// The product on the host, in the step that runs there.
    pub host: Option<HostProduct>,
}

impl Step {
    /// The variant of this name; the error names those that there are.
    pub fn variant(&self, name: &str) -> Result<&Variant> {
        self.variants.iter().find(|variant| variant.name == name).ok_or_else(|| {
            let names: Vec<&str> = self.variants.iter().map(|variant| variant.name).collect();
            match names.as_slice() {
                [] => anyhow!("{} has no variants; leave --variant out", self.name),
                names => anyhow!("{} has no variant {name:?}; choose {}", self.name, names.join(", ")),
            }
        })
    }

    /// Every committed specialisation of the step itself or of one of its variants. Variants are there to be compared
    /// with the kernel, so they come in f32 only, and in the one form that they have for a product of multiples.
    pub fn committed_of(&self, variant: Option<&Variant>) -> Vec<Specialisation> {
        let Some(variant) = variant else {
            return [Dtype::F32, Dtype::I32].into_iter().flat_map(self.specialisations).collect();
        };
        variant.specialisations.map_or_else(
            || {
                let problem = Problem::uniform([32; 3]);
                let plan = self.plan_of(Some(variant))(&problem, &DeviceInfo::simulated(u64::MAX));
                plan.into_iter().map(|plan| plan.specialisation).collect()
            },
            |all| all(Dtype::F32),
        )
    }

    /// The plan of the step itself or of one of its variants.
    pub fn plan_of(&self, variant: Option<&Variant>) -> PlanFn {
        variant.and_then(|variant| variant.plan).unwrap_or(self.plan)
    }
}
