//! cuBLAS as something that computes a product: on a CUDA device, in matrices that are there already.

use anyhow::{Result, bail};

use crate::device::Device;
use crate::device::cublas::{self, Cublas};
use crate::device::product::{FirstRun, Matrices, Product};

/// The vendor's library, ready to multiply matrices that belong to the caller.
pub struct CublasProduct {
    library: Cublas,
    matrices: Matrices,
    first_run: FirstRun,
}

impl CublasProduct {
    /// Opens cuBLAS on the device. Fails if there is no cuBLAS, or if it has no such product.
    pub fn new(device: &dyn Device, matrices: &Matrices) -> Result<Self> {
        if let Some(reason) = cublas::refuses(&matrices.problem) {
            bail!("{reason}");
        }
        Ok(Self { library: device.cublas()?, matrices: *matrices, first_run: FirstRun::default() })
    }

    /// Rounds A and B to TF32: faster than FP32, and far less accurate.
    pub fn in_tf32(device: &dyn Device, matrices: &Matrices) -> Result<Self> {
        let product = Self::new(device, matrices)?;
        product.library.round_to_tf32()?;
        Ok(product)
    }

    /// The library's version.
    pub fn version(&self) -> &str {
        &self.library.version
    }
}

impl Product for CublasProduct {
    fn matrices(&self) -> &Matrices {
        &self.matrices
    }

    fn launch(&self, device: &mut dyn Device) -> Result<()> {
        device.launch_cublas(&self.library, &self.matrices.problem, self.matrices.buffers())
    }

    fn first_run(&self) -> &FirstRun {
        &self.first_run
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::{SimDevice, SimOptions};
    use plan::{Dtype, Fill, Problem};

    #[test]
    fn what_cublas_cannot_do_is_refused_in_one_sentence() {
        let mut device = SimDevice::new(SimOptions::default());
        let mut refused = |dtype| {
            let problem = Problem { m: 2, n: 3, k: 4, dtype, fill: Fill::Uniform, seed: 1 };
            let matrices = Matrices::allocate(&mut device, &problem).unwrap();
            CublasProduct::new(&device, &matrices).err().unwrap().to_string()
        };
        assert_eq!(refused(Dtype::F32), "cuBLAS runs on CUDA only; take --device cuda");
        assert!(refused(Dtype::I32).contains("does not multiply 32-bit integers; leave"));
    }
}
