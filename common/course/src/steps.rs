//! The steps of the course and their kernels, as learners name them.

use std::path::PathBuf;

use anyhow::{Context, Result, anyhow};
use common::basics::output;
use common::code::file_of;
use explorer::steps::BEYOND;
use plan::{DeviceInfo, Plan, Problem, Step, Variant};

pub use explorer::steps::STEPS;
pub use plan::Role;

/// The step that a learner names: by its number, or by the start of its name.
pub fn named(name: &str) -> Option<&'static Step> {
    let start = name.parse::<u32>().map_or_else(|_| name.to_owned(), |number| format!("step{number:02}_"));
    STEPS.iter().copied().find(|step| !start.is_empty() && step.name.starts_with(&start))
}

/// The step that a learner names; if there is none, the error names them all.
pub fn expect(name: &str) -> Result<&'static Step> {
    named(name).ok_or_else(|| {
        let names: Vec<&str> = STEPS.iter().map(|step| step.name).collect();
        match output::meant(name, names.iter().copied()) {
            Some(meant) => anyhow!("there is no step {name:?}; did you mean {meant}?"),
            None => anyhow!("there is no step {name:?}; choose one of {}, or its number", names.join(", ")),
        }
    })
}

/// The step's number as people write it: `4`.
pub fn number(step: &Step) -> &'static str {
    step.name.trim_start_matches("step").split('_').next().unwrap_or_default().trim_start_matches('0')
}

/// A kernel's name as records have it: its step, and the variant in `STEP/VARIANT`.
pub fn split(kernel: &str) -> (&str, Option<&str>) {
    kernel.split_once('/').map_or((kernel, None), |(step, variant)| (step, Some(variant)))
}

/// A kernel of the course: a step's own, or one of its variants.
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    /// The step; [`BEYOND`] for a kernel beyond the course.
    pub step: &'static Step,
    /// The variant; `None` for the step's `kernel.cu`.
    pub variant: Option<&'static Variant>,
}

impl Kernel {
    /// The kernel that is named: `5`, `step05`, `5/1_column`, `step05_thread_tile/1_column`.
    pub fn named(name: &str) -> Result<Self> {
        let (step, variant) = split(name);
        let step = expect(step)?;
        Self::of(step).find(|kernel| kernel.variant_name() == variant).with_context(|| {
            let mut names: Vec<String> = Self::of(step).map(|kernel| kernel.name()).collect();
            names.sort();
            let variants = Self::of(step).filter_map(|kernel| kernel.variant_name());
            if let Some(meant) = output::meant(variant.unwrap_or_default(), variants) {
                return format!("{} has no kernel {name:?}; did you mean {}/{meant}?", step.name, number(step));
            }
            format!("{} has no kernel {name:?}; choose one of {}", step.name, names.join(", "))
        })
    }

    /// The kernel that a record names; `None` if it no longer exists.
    pub fn recorded(name: &str) -> Option<Self> {
        Self::named(name).ok().filter(|kernel| kernel.name() == name)
    }

    /// The kernels of a step in the order of the path: its rungs, its own, its counter-examples, and what goes past it.
    pub fn of(step: &'static Step) -> impl Iterator<Item = Self> {
        // Kernels beyond the course belong to a separate step with the same name as step 6.
        let step = STEPS.iter().copied().find(|known| known.name == step.name).unwrap_or(step);
        let own = std::iter::once(None).chain(step.variants.iter().map(Some)).map(|variant| Self { step, variant });
        let mut all: Vec<Self> = own.chain(Self::beyond().filter(|kernel| kernel.step.name == step.name)).collect();
        all.sort_by_key(Self::role);
        all.into_iter()
    }

    /// The kernels past the end of the course.
    pub fn beyond() -> impl Iterator<Item = Self> {
        BEYOND.variants.iter().map(|variant| Self { step: BEYOND, variant: Some(variant) })
    }

    pub fn role(&self) -> Role {
        self.variant.map_or(Role::Step, |variant| variant.role)
    }

    /// The package whose program runs it.
    pub fn package(&self) -> &'static str {
        if self.role() == Role::Beyond { "beyond" } else { self.step.name }
    }

    /// Its name as records have it: `step05_thread_tile/1_column`.
    pub fn name(&self) -> String {
        self.variant.map_or_else(|| self.step.name.to_owned(), |variant| format!("{}/{}", self.step.name, variant.name))
    }

    pub fn variant_name(&self) -> Option<&'static str> {
        self.variant.map(|variant| variant.name)
    }

    /// Whether the step runs it on the host.
    pub fn is_on_host(&self) -> bool {
        self.variant.is_none() && self.step.host.is_some()
    }

    pub fn file(&self) -> PathBuf {
        file_of(self.step, self.variant)
    }

    /// Its plan of a problem; the error says which limit the problem breaks.
    pub fn plan(&self, problem: &Problem, device: &DeviceInfo) -> Result<Plan> {
        self.step.plan_of(self.variant)(problem, device)
    }
}

#[cfg(test)]
mod tests {
    use common::basics::workspace;
    use plan::{COUNTER_EXAMPLES, RUNGS};

    use super::*;

    #[test]
    fn kernels_are_named_by_numbers_and_by_names() {
        for (name, file) in [
            ("4", "step04_tiled/kernel.cu"),
            ("04", "step04_tiled/kernel.cu"),
            ("5/1_column", "step05_thread_tile/rungs/1_column.cu"),
            ("step04_tiled/bank_conflicts", "step04_tiled/variants/bank_conflicts.cu"),
        ] {
            assert_eq!(Kernel::named(name).unwrap().file(), workspace::root().join(file));
        }
        for name in ["", "99", "4_", "tiled", "99/1_column", "5/", "5/../kernel"] {
            assert!(Kernel::named(name).is_err(), "{name}");
        }
        assert!(Kernel::recorded("step05_thread_tile/1_column").is_some() && Kernel::recorded("5").is_none());
    }

    /// Who adds a step to the folder may forget the list.
    #[test]
    fn every_step_of_the_folder_is_in_the_list_with_all_its_kernels() {
        for entry in std::fs::read_dir(workspace::root()).unwrap() {
            let folder = entry.unwrap().path();
            let name = folder.file_name().unwrap().to_string_lossy().into_owned();
            if !name.starts_with("step") || !folder.join("Cargo.toml").is_file() {
                continue;
            }
            let step = STEPS.iter().find(|step| step.name == name);
            let step = step.unwrap_or_else(|| panic!("{name} is missing in common/explorer/src/steps.rs"));
            for file in [RUNGS, COUNTER_EXAMPLES].iter().flat_map(|of| crate::files::below(&folder.join(of), "cu")) {
                assert!(Kernel::of(step).any(|kernel| kernel.file() == file), "{} is no variant", file.display());
            }
        }
        assert!(STEPS.iter().flat_map(|step| Kernel::of(step)).all(|kernel| kernel.file().is_file()));
    }
}
