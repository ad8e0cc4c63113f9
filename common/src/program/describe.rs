//! What a step says of itself: its counter-examples for people (`--list-variants`), and its plans for the course's own
//! program (`--describe`).

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::basics::host;
use crate::code::Source;
use crate::measure::cost::Choice;
use crate::step::{Role, Step};
use plan::Problem;
use plan::info::{DeviceInfo, Kind};
use plan::{Plan, Specialisation};

/// Names of the step's variants with this role, or of all.
fn names(step: &Step, role: Option<Role>) -> Vec<String> {
    let variants = step.variants.iter().filter(|variant| role.is_none_or(|role| variant.role == role));
    variants.map(|variant| variant.name.to_owned()).collect()
}

/// A line for each variant: its name and the first comment of its file; below it the ideas that it can do without.
pub fn list_variants(step: &Step) -> Result<String> {
    let mut text = String::new();
    for variant in step.variants {
        let source = Source::read(&step.source_path(Some(variant)))?;
        text += &format!("{:<24}{}\n", variant.name, source.comment());
        for idea in variant.ideas {
            text += &format!("  --without {:<12}{}\n", idea.name, idea.title);
        }
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
    /// Whether to tell all plans that the variant chooses among, and not only the one that it would take.
    #[serde(default)]
    pub choices: bool,
    /// The idea that the variant's plans are to do without.
    #[serde(default)]
    pub without: Option<String>,
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
    /// Names of its kernels that lie beyond the course.
    pub beyond: Vec<String>,
    /// Names of all its variants, these included.
    pub variants: Vec<String>,
    /// Every source (its path within the step's folder) with every specialisation for which PTX is committed.
    pub sources: Vec<(String, Vec<Specialisation>)>,
    /// M, N, K if no size is given, on the device of the request.
    pub default_size: [u64; 3],
    /// The plans of the request's problems, or why there is none.
    pub plans: Vec<Result<Plan, String>>,
    /// For each problem the plans that the variant chooses among, if they were asked for.
    #[serde(default)]
    pub choices: Vec<Vec<Choice>>,
    /// The ideas that the variant of the request can do without: their names, and what each is.
    #[serde(default)]
    pub ideas: Vec<(String, String)>,
}

/// Answers a request, in JSON on one line.
pub fn describe(step: &Step, request: &str) -> Result<String> {
    let request: Request = match request {
        "" => Request::default(),
        text => {
            serde_json::from_str(text).context("--describe takes a request of the course's program; leave it out")?
        }
    };
    let device = request.device.unwrap_or_else(|| DeviceInfo::simulated(host::total_bytes()));
    let variant = request.variant.as_deref().map(|name| step.variant(name)).transpose()?;
    let without = request.without.as_deref().map(|idea| step.without(variant, idea)).transpose()?;
    let plan = without.map_or_else(|| step.plan_of(variant), |idea| idea.plan);
    let choices = without.map(|idea| idea.choices).or(variant.and_then(|variant| variant.choices));
    let choices = choices.filter(|_| request.choices);
    let ideas = variant.map_or(&[][..], |variant| variant.ideas).iter();
    let mut sources = vec![("kernel.cu".to_owned(), step.committed_of(None))];
    let variants = step.variants.iter();
    sources.extend(
        variants.map(|variant| {
            (format!("{}/{}.cu", variant.role.folder(), variant.name), step.committed_of(Some(variant)))
        }),
    );
    let host = if step.host.is_some() { Kind::Host } else { device.kind };
    let description = Description {
        name: step.name.into(),
        title: step.title.into(),
        host: step.host.is_some(),
        rungs: names(step, Some(Role::Rung)),
        beyond: names(step, Some(Role::Beyond)),
        variants: names(step, None),
        sources,
        default_size: (step.default_size)(&DeviceInfo { kind: host, ..device.clone() }),
        plans: request
            .problems
            .iter()
            .map(|problem| plan(problem, &device).map_err(|error| format!("{error:#}")))
            .collect(),
        choices: choices.map_or_else(Vec::new, |of| request.problems.iter().map(|one| of(one, &device)).collect()),
        ideas: ideas.map(|idea| (idea.name.to_owned(), idea.title.to_owned())).collect(),
    };
    Ok(serde_json::to_string(&description)? + "\n")
}
