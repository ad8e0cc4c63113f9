//! Verification of a product on a device: the room that knows both, so that verification itself knows no device.

use anyhow::Result;

use crate::device::{Buffer, Device};
use crate::matrix::Operands;
use crate::problem::Problem;
use crate::product::Product;
use crate::verify::{self, Rows, Verification};

/// Rows of C on a device.
struct DeviceRows<'a> {
    device: &'a mut dyn Device,
    c: Buffer,
    n: u64,
}

impl Rows for DeviceRows<'_> {
    fn read(&mut self, first: u64, words: &mut [u32]) -> Result<()> {
        self.device.read(self.c, first * self.n * 4, bytemuck::cast_slice_mut(words))
    }
}

/// Checks what lies in C now. `problem` is the one that A and B on the device were drawn for: the product's own or its
/// twin.
pub fn verify_c(
    device: &mut dyn Device,
    product: &dyn Product,
    problem: &Problem,
    operands: &Operands,
) -> Result<Verification> {
    let mut rows = DeviceRows { device, c: product.matrices().c, n: problem.n };
    verify::verify(problem, operands, product.shape(), &mut rows)
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
        device.observations();
        product.run(device)?;
        verify_c(device, product, problem, operands)
    };
    let mut seconds = 0.0;
    if let Some(twin) = verify::twin(problem) {
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
