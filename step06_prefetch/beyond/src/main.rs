//! Runs what goes past the course: `cargo run --release -p beyond -- --help`.

use std::process::ExitCode;

use anyhow::{Context as _, Result, ensure};
use beyond::every_shape::{self, IDEAS};
use beyond::{STEP, accuracy, several, shapes};
use clap::{Parser, Subcommand};
use common::Variant;
use common::basics::{line, print};
use common::program::cli::Args;
use common::program::{execute, exit, on_device};

/// Multiplies two matrices with step 6's kernel or, with --variant, one beyond it; verifies the product, and times it.
#[derive(Parser)]
#[command(name = "beyond", version, disable_help_subcommand = true, args_conflicts_with_subcommands = true)]
struct Program {
    #[command(subcommand)]
    verb: Option<Verb>,

    #[command(flatten)]
    args: Args,

    /// With --variant every_shape: plan without one of its ideas, to see what it is worth; --list-variants names them
    #[arg(long, value_name = "IDEA", requires = "variant", conflicts_with = "kernel")]
    without: Option<String>,
}

// Only one value is ever made, so its size does not matter.
#[allow(clippy::large_enum_variant)]
#[derive(Subcommand)]
enum Verb {
    /// One product on several GPUs
    Several(several::Args),
    /// On a machine with a GPU: how accurate and how fast products on tensor cores are, beside the FP32 units and cuBLAS
    Accuracy(accuracy::Options),
    /// On a machine with a GPU: the kernel for every shape at random shapes, and the figures of its rule
    Shapes(shapes::Options),
}

fn main() -> ExitCode {
    let program = line::read(std::env::args_os());
    if let Ok(Program { verb: Some(Verb::Several(args)), .. }) = &program {
        several::configure(args.multicast);
    }
    exit::start(program, |program| match &program.verb {
        Some(Verb::Several(args)) => several::main(args),
        Some(Verb::Accuracy(options)) => accuracy::run(options),
        Some(Verb::Shapes(options)) => shapes::run(options),
        None => multiply(program),
    })
}

/// Does what a step's program does. Returns whether the product is right and nothing was found in its kernel.
fn multiply(Program { args, without, .. }: &Program) -> Result<bool> {
    let variant = args.variant.as_deref().map(|name| STEP.variant(name)).transpose()?;
    let without = variant.zip(without.as_ref()).map(|(variant, idea)| planned_without(variant, idea)).transpose()?;
    let right = execute(&STEP, without.as_ref().or(variant), args, on_device)?;
    if args.list_variants {
        let of = |idea: &every_shape::Idea| format!("  --without {:<12}{}\n", idea.name, idea.title);
        print(&format!("{} can do without\n{}", every_shape::VARIANT.name, IDEAS.iter().map(of).collect::<String>()))?;
    }
    Ok(right)
}

/// The kernel for every shape, restricted to plans that do without `idea`.
fn planned_without(variant: &Variant, idea: &str) -> Result<Variant> {
    let name = variant.name;
    ensure!(name == every_shape::VARIANT.name, "{name} has nothing that it can do without; leave --without out");
    let idea = IDEAS.iter().find(|known| known.name == idea).with_context(|| {
        let names: Vec<&str> = IDEAS.iter().map(|known| known.name).collect();
        format!("{name} has no idea {idea:?} to do without; choose {}", names.join(", "))
    })?;
    Ok(variant.planned(idea.plan))
}
