//! What a learner is told about the commonest mistakes in a product. Each kernel of `mistakes/` is wrong in a different way, and
//! `mistakes.txt` has the messages about it, without and with `--check`. The cause must come first, and alone if all else follows
//! from it. `SNAPSHOTS=overwrite cargo test -p common --test program mistake` writes the file again; read the diff.
//!
//! The first line of a kernel is its launch, the second its problem. Their PTX is in `mistakes.ptx.gz`, made by
//! `simt/tests/corpus/make_ptx.py`.

use anyhow::{Result, bail};
use common::Problem;
use common::basics::Operands;
use common::code::Code;
use common::device::{Session, SimDevice, SimOptions};
use common::verify::{beside, verify_on};
use findings::{HazardReport, KernelFault, diagnostic};
use plan::OwnLaunch;

use super::{root, said_of_each};

/// The edge of the kernels' tiles along K.
const TILE_K: u32 = 16;

/// The verdict on the program's product, and the hazards that `--check` finds.
fn said(name: &str, ptx: &str, source: &str) -> Result<String> {
    let Some(size) = source.lines().nth(1).and_then(|line| line.strip_prefix("// size: ")) else {
        bail!("{name}.cu has no size in its second line");
    };
    let problem = Problem::uniform(common::program::cli::parse_size(size).map_err(anyhow::Error::msg)?);
    let launch = OwnLaunch::of(name, source)?;
    let plan = launch.plan(source, &problem, Err(anyhow::anyhow!("no step plans this")))?.with_tile_k(TILE_K);
    let mut code = Code::of_ptx(ptx.to_owned(), format!("{name}.cu"));
    code.source = (source.to_owned(), Vec::new());
    let options =
        SimOptions { check: true, instruction_limit: Some(1_000_000), one_by_one: true, ..SimOptions::default() };
    let device = &mut SimDevice::new(options);
    let session = Session::new(device, &problem, plan, &code)?;
    let verification = verify_on(device, &session, &problem, &Operands::new(&problem)?)?;
    let hazards = beside(device.observations(), &verification).hazards.unwrap_or_default();
    let product = if verification.ok { "right".to_owned() } else { verification.words(None) };
    let checked: Vec<String> = hazards.iter().map(HazardReport::text).collect();
    let blank = if hazards.is_empty() { "" } else { "\n" };
    Ok(format!("product: {product}\nhazards: {}\n{blank}{}", hazards.len(), checked.join("\n")))
}

pub fn each() -> Result<()> {
    said_of_each(&root().join("common/tests/mistakes"), "mistakes.txt", |name, ptx, source| {
        said(name, ptx, source).unwrap_or_else(|error| {
            let fault = KernelFault::behind(&error).and_then(KernelFault::diagnostic);
            fault.map_or_else(|| format!("error: {error:#}\n"), diagnostic::plain)
        })
    })
}
