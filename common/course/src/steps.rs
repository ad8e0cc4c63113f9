//! The steps of the workspace: every folder `stepNN_name` with a `Cargo.toml`. A learner's own step joins by existing.
//!
//! The program knows no step by name. It builds and runs each step's own program and asks it to describe itself.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, anyhow, ensure};
use common::basics::workspace;
use common::program::describe::{Description, Request};
use common::step::{COUNTER_EXAMPLES, RUNGS, Step, Variant};

use crate::{files, programs};

/// A step's folder.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StepFolder {
    /// Name of the folder and of the crate.
    pub name: String,
    /// Where it lies.
    pub path: PathBuf,
}

/// All steps, in order.
pub fn find() -> Result<Vec<StepFolder>> {
    let root = workspace::root();
    let entries = std::fs::read_dir(root)
        .with_context(|| format!("the workspace {} cannot be read; run this inside the course", root.display()))?;
    let mut steps: Vec<StepFolder> = entries
        .flatten()
        .map(|entry| StepFolder { name: entry.file_name().to_string_lossy().into_owned(), path: entry.path() })
        .filter(|step| step.name.starts_with("step") && step.path.join("Cargo.toml").is_file())
        .collect();
    steps.sort();
    ensure!(!steps.is_empty(), "there are no steps in {}; run this inside the course", root.display());
    Ok(steps)
}

/// The step that a learner names: by its number, or by the start of its name.
pub fn named<'a>(steps: &'a [StepFolder], name: &str) -> Option<&'a StepFolder> {
    let start = name.parse::<u32>().map_or_else(|_| name.to_owned(), |number| format!("step{number:02}_"));
    steps.iter().find(|step| !start.is_empty() && step.name.starts_with(&start))
}

/// The same; if there is none, the error names them all.
pub fn expect<'a>(steps: &'a [StepFolder], name: &str) -> Result<&'a StepFolder> {
    named(steps, name).ok_or_else(|| {
        let names: Vec<&str> = steps.iter().map(|step| step.name.as_str()).collect();
        anyhow!("there is no step {name:?}; choose one of {}, or its number", names.join(", "))
    })
}

/// A kernel's name as records have it: its step, and the variant in `STEP/VARIANT`.
pub fn split(kernel: &str) -> (&str, Option<&str>) {
    kernel.split_once('/').map_or((kernel, None), |(step, variant)| (step, Some(variant)))
}

/// A kernel of the course: a step's own, or its variant of this name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// The step.
    pub step: StepFolder,
    /// Name of a rung or a counter-example; `None` for the step's `kernel.cu`.
    pub variant: Option<String>,
}

impl Kernel {
    /// The kernel that is named: `5`, `step05`, `5/1_column`, `step05_thread_tile/1_column`.
    pub fn named(steps: &[StepFolder], name: &str) -> Result<Self> {
        let (step, variant) = split(name);
        let kernel = Self { step: expect(steps, step)?.clone(), variant: variant.map(str::to_owned) };
        let there = !name.contains("..") && kernel.source().is_file();
        ensure!(
            there,
            "{} has no kernel {name:?}; choose one of {}",
            kernel.step.name,
            kernel.step.kernels().join(", ")
        );
        Ok(kernel)
    }

    /// Its file.
    pub fn source(&self) -> PathBuf {
        self.step.source(self.variant.as_deref())
    }
}

impl StepFolder {
    /// The names of the step's kernels, its own first.
    fn kernels(&self) -> Vec<String> {
        let files = [RUNGS, COUNTER_EXAMPLES].map(|folder| files::below(&self.path.join(folder), "cu")).concat();
        let stems = files.iter().filter_map(|file| Some(file.file_stem()?.to_string_lossy()));
        let beyond = self.beyond().into_iter().flat_map(|step| step.variants).map(|variant| variant.name.into());
        let others = stems.chain(beyond).map(|name| format!("{}/{name}", self.name));
        std::iter::once(self.name.clone()).chain(others).collect()
    }

    /// The step with what goes past it in place of its own variants, if anything does.
    pub fn beyond(&self) -> Option<&'static Step> {
        (self.name == beyond::STEP.name).then_some(&beyond::STEP)
    }

    /// The variant of this name that goes past the step.
    pub fn variant_beyond(&self, name: &str) -> Option<&'static Variant> {
        self.beyond()?.variants.iter().find(|variant| variant.name == name)
    }

    /// The step's number as people write it: `4`.
    pub fn number(&self) -> &str {
        let digits = self.name.trim_start_matches(|c: char| !c.is_ascii_digit());
        let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        digits[..end].trim_start_matches('0')
    }

    /// The file of the step's kernel, or of a variant.
    pub fn source(&self, variant: Option<&str>) -> PathBuf {
        let Some(name) = variant else { return self.path.join("kernel.cu") };
        let beyond = self.variant_beyond(name).map(|variant| variant.folder);
        let path = |folder: &str| self.path.join(folder).join(name).with_extension("cu");
        let folders = [RUNGS, COUNTER_EXAMPLES].into_iter().chain(beyond);
        folders.map(path).find(|path| path.is_file()).unwrap_or_else(|| path(COUNTER_EXAMPLES))
    }

    /// Whether a variant is there to show what goes wrong, or slow, without one thing.
    pub fn is_counter_example(&self, name: &str) -> bool {
        self.source(Some(name)).parent().is_some_and(|folder| folder.ends_with(COUNTER_EXAMPLES))
    }

    /// The package whose program runs the step's kernel, or a variant.
    pub fn package(&self, variant: Option<&str>) -> &str {
        if variant.is_some_and(|name| self.variant_beyond(name).is_some()) { "beyond" } else { &self.name }
    }

    /// The step's program, built if it is not up to date.
    pub fn program(&self) -> Result<PathBuf> {
        programs::built(&self.name)
    }

    /// Asks the step's program to describe itself. What goes past the step stands after its own variants.
    pub fn describe(&self, request: &Request) -> Result<Description> {
        let Some(beyond) = self.beyond() else { return self.describe_itself(request) };
        if request.variant.as_ref().is_some_and(|name| self.variant_beyond(name).is_some()) {
            return Description::of(beyond, request.clone());
        }
        let mut description = self.describe_itself(request)?;
        let Description { variants, sources, .. } = Description::of(beyond, Request::default())?;
        description.variants.extend(variants);
        description.sources.extend(sources.into_iter().skip(1)); // the step's own kernel
        Ok(description)
    }

    fn describe_itself(&self, request: &Request) -> Result<Description> {
        let output = Command::new(self.program()?).arg("--describe").arg(serde_json::to_string(request)?).output()?;
        let error = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{} does not describe itself: {}", self.name, error.trim());
        serde_json::from_slice(&output.stdout)
            .with_context(|| format!("{} describes itself in another way; build it against this course", self.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_is_a_step_or_one_of_its_variants() {
        let steps = find().unwrap();
        let named = |name: &str| Kernel::named(&steps, name).map(|kernel| kernel.source());
        for (name, file) in [
            ("5", "step05_thread_tile/kernel.cu"),
            ("5/1_column", "step05_thread_tile/rungs/1_column.cu"),
            ("step04_tiled/bank_conflicts", "step04_tiled/variants/bank_conflicts.cu"),
        ] {
            assert_eq!(named(name).unwrap(), workspace::root().join(file));
        }
        let error = named("5/cake").unwrap_err().to_string();
        assert!(error.contains("no kernel \"5/cake\"; choose one of step05_thread_tile, "), "{error}");
        assert!(error.contains("step05_thread_tile/1_column"), "{error}");
        for name in ["99/1_column", "5/", "5/../kernel"] {
            assert!(named(name).is_err(), "{name}");
        }
    }

    #[test]
    fn a_step_is_found_by_number_and_by_name_and_others_are_named() {
        let steps = find().unwrap();
        for (name, found) in [("4", "step04_tiled"), ("04", "step04_tiled"), ("step02", "step02_gpu_naive")] {
            assert_eq!(expect(&steps, name).unwrap().name, found);
        }
        assert_eq!(expect(&steps, "step02").unwrap().number(), "2");
        for name in ["", "99", "4_", "tiled"] {
            assert!(expect(&steps, name).unwrap_err().to_string().contains("step01_cpu_naive"), "{name:?}");
        }
    }
}
