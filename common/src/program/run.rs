//! A step's program, from the command line to the exit status.

use std::process::ExitCode;

use anyhow::Result;

use crate::basics::{print, print_whole, wrapped};
use crate::code::{Source, file_of};
use crate::device::Choice;
use crate::program::asked::{Asked, Driver, Options, Purpose};
use crate::program::cli::Args;
use crate::program::exit;
use crate::program::report::Report;
use crate::program::standard::on_device;
use crate::verify;
use plan::{Step, Variant};

/// Runs a step's program with its host driver, and returns its exit status: 0 verified, 1 wrong product or a fault of the kernel, 2
/// bad usage or environment.
pub fn run(step: &Step, driver: Driver) -> ExitCode {
    let about = format!("{}: {}. Multiplies two matrices, verifies the product, and times it.", step.name, step.title);
    exit::start(Args::read(step.name, about), |args| {
        let variant = args.variant.as_deref().map(|name| step.variant(name)).transpose()?;
        execute(step, variant, args, driver)
    })
}

/// Does what the command line asks with a step's kernel or its variant. Returns whether the product is right and nothing was found
/// in the kernel.
pub fn execute(step: &Step, variant: Option<&Variant>, args: &Args, driver: Driver) -> Result<bool> {
    if args.list_variants {
        return print(&list_variants(step)?).map(|()| true);
    }
    if args.plan {
        return print_whole(&Options { step, variant, args, driver }.planned()?).map(|()| true);
    }
    let report = reported(step, variant, args, driver)?;
    if args.json {
        print_whole(&report.json()?)?;
    } else {
        print(&report.text(args))?;
    }
    Ok(report.verification.ok && report.hazards.iter().flatten().all(|hazard| hazard.diagnostic.warning))
}

/// The report of a step's host driver.
pub fn reported(step: &Step, variant: Option<&Variant>, args: &Args, driver: Driver) -> Result<Report> {
    // A step of the host also has a kernel, which runs on a device if the user asks for one.
    let on_host = args.device == Choice::Auto && args.kernel.is_none() && variant.is_none() && !args.analyses();
    if step.host.is_some() && on_host {
        return driver(&Asked::new(Options { step, variant, args, driver }));
    }
    let driver = if step.host.is_some() { on_device } else { driver };
    let mut asked = Asked::new(Options { step, variant, args, driver });
    let kind = asked.device()?.info().kind;
    let mut seconds = 0.0;
    if let Some(twin) = verify::twin(&asked.problem(kind)) {
        asked.purpose = Purpose::Twin(twin);
        let report = driver(&asked)?;
        if !report.verification.ok {
            return Ok(report);
        }
        seconds = report.verification.seconds;
        asked.purpose = Purpose::Product;
    }
    let mut report = driver(&asked)?;
    report.verification.seconds += seconds;
    Ok(report)
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
