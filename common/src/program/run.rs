//! A step's program, from the command line to the exit status.

use std::process::ExitCode;

use anyhow::Result;

use crate::basics::{print, print_whole, wrapped};
use crate::code::{Source, file_of};
use crate::device::Choice;
use crate::program::cli::Args;
use crate::program::{exit, on_device, on_host};
use plan::{Step, Variant};

/// Runs a step's program and returns its exit status: 0 verified, 1 wrong product or a fault of the kernel, 2 bad usage or
/// environment.
pub fn run(step: &Step) -> ExitCode {
    let about = format!("{}: {}. Multiplies two matrices, verifies the product, and times it.", step.name, step.title);
    exit::start(Args::read(step.name, about), |args| {
        let variant = args.variant.as_deref().map(|name| step.variant(name)).transpose()?;
        execute(step, variant, args)
    })
}

/// Does what the command line asks with a step's kernel or its variant. Returns whether the product is right and nothing was found
/// in the kernel.
pub fn execute(step: &Step, variant: Option<&Variant>, args: &Args) -> Result<bool> {
    if args.list_variants {
        return print(&list_variants(step)?).map(|()| true);
    }
    if args.plan {
        return print_whole(&on_device::planned(step, variant, args)?).map(|()| true);
    }
    // A step of the host also has a kernel, which runs on a device if the user asks for one.
    let on_host = args.device == Choice::Auto && args.kernel.is_none() && variant.is_none() && !args.analyses();
    let report = match step.host.filter(|_| on_host) {
        Some(host) => on_host::run(step, args, host)?,
        None => on_device::run(step, variant, args)?,
    };
    if args.json {
        print_whole(&report.json()?)?;
    } else {
        print(&report.text(args.counters))?;
    }
    Ok(report.verification.ok && report.hazards.iter().flatten().all(|hazard| hazard.diagnostic.warning))
}

/// A line for each variant: its name and the first comment of its file.
fn list_variants(step: &Step) -> Result<String> {
    if step.variants.is_empty() {
        return Ok(format!("{} has no variants\n", step.name));
    }
    let line = |variant: &Variant| {
        let comment = Source::read(&file_of(step, Some(variant)))?.comment();
        Ok(format!("{:<24}{}\n", variant.name, wrapped(&comment, 24)))
    };
    step.variants.iter().map(line).collect()
}
