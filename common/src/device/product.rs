//! What computes C = A·B in a device's memory, and the three matrices there.
//!
//! A step's kernels do ([`crate::device::session::Session`]) and so does the vendor's library
//! ([`crate::device::cublas::CublasProduct`]). Verification and timing treat both alike.

use std::cell::Cell;
use std::time::Instant;

use anyhow::Result;

use crate::basics::Operands;
use crate::device::{Buffer, Device, KernelHandle};
use plan::{Problem, Shape};

/// A, B and C of a problem in a device's memory.
#[derive(Clone, Copy, Debug)]
pub struct Matrices {
    /// What is to be computed.
    pub problem: Problem,
    /// M×K.
    pub a: Buffer,
    /// K×N.
    pub b: Buffer,
    /// The product, M×N.
    pub c: Buffer,
}

impl Matrices {
    /// Memory for the matrices of a problem; copies nothing yet.
    pub fn allocate(device: &mut dyn Device, problem: &Problem) -> Result<Self> {
        let a = device.alloc("A", problem.a_elements() * 4)?;
        let b = device.alloc("B", problem.b_elements() * 4)?;
        let c = device.alloc("C", problem.c_elements() * 4)?;
        Ok(Self { problem: *problem, a, b, c })
    }

    /// The buffers of A, B and C.
    pub fn buffers(&self) -> [Buffer; 3] {
        [self.a, self.b, self.c]
    }

    /// Copies A and B to the device.
    pub fn upload(&self, device: &mut dyn Device, operands: &Operands) -> Result<()> {
        let [a, b] = operands.bytes();
        device.write(self.a, 0, a)?;
        device.write(self.b, 0, b)
    }

    /// Overwrites C with a pattern that no kernel writes by accident.
    pub fn poison(&self, device: &mut dyn Device) -> Result<()> {
        device.fill(self.c, self.problem.dtype.poison_byte())
    }

    /// Copies C to the host in panels, as a part of an end-to-end time.
    pub fn download(&self, device: &mut dyn Device) -> Result<()> {
        let bytes = self.problem.c_elements() * 4;
        let mut panel = vec![0_u8; bytes.min(64 << 20) as usize];
        for offset in (0..bytes).step_by(panel.len().max(1)) {
            let len = (bytes - offset).min(panel.len() as u64);
            device.read(self.c, offset, &mut panel[..len as usize])?;
        }
        Ok(())
    }

    /// Gives the memory back.
    pub fn release(self, device: &mut dyn Device) -> Result<()> {
        self.buffers().into_iter().try_for_each(|buffer| device.free(buffer))
    }
}

/// Milliseconds from launch to end of the first product, on the host's clock: the driver loads the kernel during it.
pub type FirstRun = Cell<Option<f64>>;

/// Something that computes C = A·B in a device's memory.
pub trait Product {
    /// Where A, B and C are.
    fn matrices(&self) -> &Matrices;

    /// How the work is divided, for the diagnosis of a wrong product.
    fn shape(&self) -> Shape {
        Shape::whole(&self.matrices().problem)
    }

    /// Launches that one product takes.
    fn launches(&self) -> usize {
        1
    }

    /// Starts the product; on a GPU it may still run when this returns.
    fn launch(&self, device: &mut dyn Device) -> Result<()>;

    /// For each launch, the instructions that come with each multiply-add of a warp on a GPU of this compute capability and that
    /// the simulator does not count; empty if unknown.
    fn others_per_fma(&self, _capability: u32) -> Vec<f64> {
        Vec::new()
    }

    /// The time of the first run; `None` before it.
    fn first_run(&self) -> &FirstRun;

    /// Overwrites C, and everything else that the product writes, with a pattern that no kernel writes by accident.
    fn poison(&self, device: &mut dyn Device) -> Result<()> {
        self.matrices().poison(device)
    }

    /// The kernel of the first launch, if the device knows it.
    fn main_kernel(&self) -> Option<KernelHandle> {
        None
    }

    /// Frees what was allocated for this product.
    fn close(&self, _device: &mut dyn Device) -> Result<()> {
        Ok(())
    }

    /// Poisons C, computes the product and waits for it.
    fn run(&self, device: &mut dyn Device) -> Result<()> {
        self.poison(device)?;
        device.synchronize()?;
        let begin = Instant::now();
        self.launch(device)?;
        device.synchronize()?;
        let first = self.first_run();
        first.set(first.get().or(Some(begin.elapsed().as_secs_f64() * 1e3)));
        Ok(())
    }
}
