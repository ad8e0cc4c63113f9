//! What a step says of itself: its counter-examples for people (`--list-variants`), and its plans for the course's own
//! program (`--describe`).

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::basics::host;
use crate::code::Source;
use crate::step::{Step, Variant};
use plan::Problem;
use plan::info::{DeviceInfo, Kind};
use plan::{Plan, Specialisation};

/// Names of those of the step's variants that are wanted.
fn names(step: &Step, wanted: impl Fn(&Variant) -> bool) -> Vec<String> {
    step.variants.iter().filter(|variant| wanted(variant)).map(|variant| variant.name.to_owned()).collect()
}

/// A line for each variant: its name and the first comment of its file.
pub fn list_variants(step: &Step) -> Result<String> {
    let mut text = String::new();
    for variant in step.variants {
        let source = Source::read(&step.source_path(Some(variant)))?;
        text += &format!("{:<24}{}\n", variant.name, source.comment());
    }
    if text.is_empty() {
        text = format!("{} has no variants\n", step.name);
    }
    Ok(text)
}

/// What the course's own program asks a step.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Request {
    /// The device to plan for.
    pub device: Option<DeviceInfo>,
    /// The problems to plan.
    #[serde(default)]
    pub problems: Vec<Problem>,
    /// The variant to plan, or the step itself.
    #[serde(default)]
    pub variant: Option<String>,
}

/// What a step answers.
#[derive(Debug, Serialize, Deserialize)]
pub struct Description {
    /// The step's name.
    pub name: String,
    /// The step in one line.
    pub title: String,
    /// Whether the step runs on the host.
    pub host: bool,
    /// Names of the rungs on the way to its kernel, in their order.
    pub rungs: Vec<String>,
    /// Names of all its variants, these included.
    pub variants: Vec<String>,
    /// Every source (its path within the step's folder) with every specialisation for which PTX is committed.
    pub sources: Vec<(String, Vec<Specialisation>)>,
    /// M, N, K if no size is given, on the device of the request.
    pub default_size: [u64; 3],
    /// The plans of the request's problems, or why there is none.
    pub plans: Vec<Result<Plan, String>>,
}

/// Answers a request, in JSON on one line.
pub fn describe(step: &Step, request: &str) -> Result<String> {
    let request: Request = match request {
        "" => Request::default(),
        text => {
            serde_json::from_str(text).context("--describe takes a request of the course's program; leave it out")?
        }
    };
    Ok(serde_json::to_string(&Description::of(step, request)?)? + "\n")
}

impl Description {
    /// What a step answers to a request.
    pub fn of(step: &Step, request: Request) -> Result<Self> {
        let device = request.device.unwrap_or_else(|| DeviceInfo::simulated(host::total_bytes()));
        let variant = request.variant.as_deref().map(|name| step.variant(name)).transpose()?;
        let plan = step.plan_of(variant);
        let mut sources = vec![("kernel.cu".to_owned(), step.committed_of(None))];
        let variants = step.variants.iter();
        sources.extend(
            variants
                .map(|variant| (format!("{}/{}.cu", variant.folder, variant.name), step.committed_of(Some(variant)))),
        );
        let host = if step.host.is_some() { Kind::Host } else { device.kind };
        Ok(Self {
            name: step.name.into(),
            title: step.title.into(),
            host: step.host.is_some(),
            rungs: names(step, Variant::is_rung),
            variants: names(step, |_| true),
            sources,
            default_size: (step.default_size)(&DeviceInfo { kind: host, ..device.clone() }),
            plans: request
                .problems
                .iter()
                .map(|problem| plan(problem, &device).map_err(|error| format!("{error:#}")))
                .collect(),
        })
    }
}
