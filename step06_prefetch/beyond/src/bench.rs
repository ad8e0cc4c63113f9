//! Products of one problem on a device, timed in turns.

use anyhow::Result;
use common::basics::Operands;
use common::code::{Source, file_of};
use common::device::{CublasProduct, Device, Matrices, Product, Session};
use common::measure::{Cache, Spread, timing};
use common::verify::verify_c;
use common::{Plan, PlanFn, Problem};

use crate::STEP;

/// A kernel and the function that plans its launches.
pub struct OneKernel {
    pub plan: PlanFn,
    pub source: Source,
}

impl OneKernel {
    /// Step 6's kernel, or the kernel beyond it with the name `variant`.
    pub fn named(variant: Option<&str>) -> Result<Self> {
        let variant = variant.map(|name| STEP.variant(name)).transpose()?;
        Ok(Self { plan: STEP.plan_of(variant), source: Source::read(&file_of(&STEP, variant))? })
    }

    /// The kernel with this plan, ready to multiply the matrices.
    fn session(&self, device: &mut dyn Device, plan: &Plan, matrices: &Matrices) -> Result<Session> {
        let code = self.source.code(&plan.specialisation, device.info())?;
        Session::sharing(device, plan.clone(), &code, matrices)
    }
}

/// Samples of each product when several products are timed in turns.
const SAMPLES: usize = 9;

/// A problem on a device, and the products that compute it.
pub struct Bench<'a> {
    pub device: &'a mut dyn Device,
    pub matrices: Matrices,
    pub operands: Operands,
    pub products: Vec<Box<dyn Product>>,
}

impl<'a> Bench<'a> {
    pub fn new(device: &'a mut dyn Device, problem: &Problem, operands: Operands) -> Result<Self> {
        let matrices = Matrices::allocate(device, problem)?;
        matrices.upload(device, &operands)?;
        Ok(Self { device, matrices, operands, products: Vec::new() })
    }

    pub fn enter(&mut self, kernel: &OneKernel, plan: &Plan) -> Result<()> {
        self.products.push(Box::new(kernel.session(self.device, plan, &self.matrices)?));
        Ok(())
    }

    /// Enters cuBLAS, in TF32 or in FP32.
    pub fn enter_cublas(&mut self, is_tf32: bool) -> Result<()> {
        let of = if is_tf32 { CublasProduct::in_tf32 } else { CublasProduct::new };
        self.products.push(Box::new(of(self.device, &self.matrices)?));
        Ok(())
    }

    /// Computes a product and returns whether it is right.
    pub fn is_right(&mut self, at: usize) -> Result<bool> {
        let product = self.products[at].as_ref();
        product.run(self.device)?;
        Ok(verify_c(self.device, product, &self.matrices.problem, &self.operands)?.ok)
    }

    /// The shorter of two samples in µs.
    fn least_of_two(&mut self, product: &dyn Product, products: usize) -> Result<f64> {
        let mut sample = || timing::sample(self.device, product, &mut Cache::warm(), products);
        Ok(sample()?.min(sample()?) * 1e3)
    }

    /// The time of a plan in µs when it is timed alone.
    pub fn alone(&mut self, kernel: &OneKernel, plan: &Plan) -> Result<f64> {
        let session = kernel.session(self.device, plan, &self.matrices)?;
        let once = self.least_of_two(&session, 1)?;
        let us = self.least_of_two(&session, Cache::warm().products_per_sample(once / 1e3))?;
        session.close(self.device)?;
        Ok(us)
    }

    /// Times in µs of all products that were entered, measured in turns.
    pub fn in_turns(&mut self) -> Result<Vec<Spread>> {
        let mut cache = Cache::warm();
        let mut counts = vec![];
        for product in &self.products {
            let once = timing::sample(self.device, product.as_ref(), &mut cache, 1)?;
            counts.push(cache.products_per_sample(once));
        }
        let mut samples = vec![Vec::new(); counts.len()];
        for _ in 0..SAMPLES {
            for ((product, &count), samples) in self.products.iter().zip(&counts).zip(&mut samples) {
                samples.push(timing::sample(self.device, product.as_ref(), &mut cache, count)? * 1e3);
            }
        }
        Ok(samples.iter().filter_map(|samples| Spread::of(samples)).collect())
    }

    pub fn close(self) -> Result<()> {
        self.products.iter().try_for_each(|product| product.close(self.device))?;
        self.matrices.release(self.device)
    }
}
