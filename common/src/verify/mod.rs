//! Verification of a product on a device: the room that knows both, so that verification itself, the crate `verify`,
//! knows no device.

mod tried;

use anyhow::Result;

use crate::basics::Operands;
use crate::code::Code;
use crate::device::{Device, Product, Session, SimDevice, SimOptions, observations};
use findings::{HazardReport, Observations};
use plan::{Plan, Problem};
use why::{Asked, Origins};

pub use ::verify::*;
pub use tried::Tried;

/// Checks what lies in C now, and that A and B have stayed as they were. `problem` is the one that A and B on the device were drawn for: the product's own or its
/// twin.
pub fn verify_c(
    device: &mut dyn Device,
    product: &dyn Product,
    problem: &Problem,
    operands: &Operands,
) -> Result<Verification> {
    let ([a, b, c], n) = (product.matrices().buffers(), problem.n);
    let mut rows = |first, words: &mut [u32]| device.read(c, first * n * 4, bytemuck::cast_slice_mut(words));
    let found = verify(problem, operands, product.shape(), &mut rows)?;
    found.with_inputs(problem, operands, &mut |side, first, bytes| device.read([a, b][side as usize], first, bytes))
}

/// Computes the product on the device and checks it; the operands are on the device afterwards.
pub fn verify_on(
    device: &mut dyn Device,
    product: &dyn Product,
    problem: &Problem,
    operands: &Operands,
) -> Result<Verification> {
    let mut check = |problem: &Problem, operands: &Operands| {
        product.matrices().upload(device, operands)?;
        // Analyses tell of the last run: the problem's own and not its twin's.
        observations(device);
        product.run(device)?;
        verify_c(device, product, problem, operands)
    };
    let mut seconds = 0.0;
    if let Some(twin) = twin(problem) {
        let found = check(&twin, &Operands::new(&twin)?)?;
        seconds = found.seconds;
        if !found.ok {
            return Ok(found);
        }
    }
    let mut found = check(problem, operands)?;
    found.seconds += seconds;
    Ok(found)
}

/// What the analyses saw, without what the product itself explains better. If its elements show the cause, it adds nothing to say that
/// some of them were never written, or written twice.
#[must_use]
pub fn beside(mut observations: Observations, verification: &Verification) -> Observations {
    if !verification.ok && !verification.unclear {
        observations.forget_coverage();
    }
    observations
}

/// The largest problem whose values are followed, in multiply-adds: seconds, and some hundred MB.
pub const MOST_FOLLOWED: u64 = 1 << 22;

/// Computes the product of a problem, as [`follow`] runs it.
pub fn multiply(device: &mut SimDevice, problem: &Problem, plan: &Plan, code: &Code) -> Result<()> {
    let session = Session::new(device, problem, plan.clone(), code)?;
    session.matrices().upload(device, &Operands::new(problem)?)?;
    session.run(device)
}

/// Follows the values of a run on the simulator; none if it takes several launches. The turns are those of a warp, in
/// instructions; 0 lets it run to its next barrier.
pub fn follow(turn: u64, run: impl FnOnce(&mut SimDevice) -> Result<()>) -> Result<Option<Origins>> {
    let mut device = SimDevice::new(SimOptions { follow: Some(turn), ..SimOptions::default() });
    run(&mut device)?;
    Ok(device.origins())
}

/// Why what a run leaves in C is not what is asked, as far as the pairs that were multiplied tell. With `always`, only if it
/// does not depend on which warp comes first.
pub fn cause(asked: &Asked, always: bool, run: impl Fn(&mut SimDevice) -> Result<()> + Sync) -> Option<HazardReport> {
    if asked.problem.multiply_adds() > MOST_FOLLOWED.into() {
        return None;
    }
    let followed = |turn| follow(turn, &run).ok()?;
    let (first, other) = rayon::join(|| followed(0), || always.then(|| followed(5)).flatten());
    let cause = why::explain(&first?, asked)?;
    let is_same = |other: HazardReport| other.kind == cause.kind && other.count == cause.count;
    (!always || !why::may_follow(&cause) && why::explain(&other?, asked).is_some_and(is_same)).then_some(cause)
}
