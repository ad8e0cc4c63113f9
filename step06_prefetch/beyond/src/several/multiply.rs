//! The product: while a panel is multiplied, the next one travels. Step 6's two buffers, one level up.

use std::ops::Range;
use std::thread;
use std::time::Duration;

use anyhow::Result;
use common::basics::matrix::{Side, integer_range};
use common::device::{Buffer, Device, SimDevice};
use common::{Dtype, Fill, Problem};

use super::kernels::{At, Kernels, Sources};
use super::nccl::Nccl;
use super::plan::{Place, Plan, length};
use super::streams::{Span, Streams};

/// How often GPUs are asked whether they are done: a small part of the shortest product that is worth several of them.
const ASKS: Duration = Duration::from_micros(50);

/// A GPU of this machine, or a simulated one, which does all its work before a call returns.
pub enum Gpu {
    Real(Box<Streams>),
    Simulated(Box<SimDevice>),
}

impl Gpu {
    pub fn device(&mut self) -> Result<&mut dyn Device> {
        Ok(match self {
            Self::Real(streams) => streams.bind()?,
            Self::Simulated(device) => device.as_mut(),
        })
    }

    /// Does what only a real GPU has to.
    fn real(&mut self, what: impl FnOnce(&mut Streams) -> Result<()>) -> Result<()> {
        if let Self::Real(streams) = self { what(streams) } else { Ok(()) }
    }
}

/// What one GPU has of a product: its block of C, its panels of A and B, and two buffers for those of others.
pub struct Share<'a> {
    pub gpu: &'a mut Gpu,
    pub rank: usize,
    /// Rows and columns of C.
    pub block: [Range<u64>; 2],
    pub kernels: Kernels,
    own: [Buffer; 2],
    pub c: Buffer,
    buffers: [[Buffer; 2]; 2],
}

impl<'a> Share<'a> {
    fn allocate(gpu: &'a mut Gpu, plan: &Plan, rank: usize, sources: &mut Sources) -> Result<Self> {
        let (block, bytes) = (plan.block(rank), plan.bytes(rank));
        let device = gpu.device()?;
        let kernels = sources.load(device, rank, block.each_ref().map(length))?;
        // A rank may have no panel of its own; a buffer of nothing is no buffer.
        let mut alloc = |name: &str, bytes: u64| device.alloc(name, bytes.max(4));
        let own = [alloc("A", bytes.own[0])?, alloc("B", bytes.own[1])?];
        let c = alloc("C", bytes.c)?;
        let mut two = |name: &str, bytes| Ok::<_, anyhow::Error>([alloc(name, bytes)?, alloc(name, bytes)?]);
        let buffers = [two("panel of A", bytes.buffers[0])?, two("panel of B", bytes.buffers[1])?];
        Ok(Self { gpu, rank, block, kernels, own, c, buffers })
    }

    fn release(self) -> Result<()> {
        let device = self.gpu.device()?;
        let buffers = [self.own, self.buffers[0], self.buffers[1]].concat();
        buffers.into_iter().chain([self.c]).try_for_each(|buffer| device.free(buffer))
    }

    /// Where a panel is when it is multiplied.
    pub fn at(&self, plan: &Plan, side: Side, panel: usize) -> At {
        match plan.place(side, panel, self.rank) {
            Place::Own(at) => (self.own[side as usize], at),
            Place::Buffer(number) => (self.buffers[side as usize][number], 0),
        }
    }

    /// Draws the panels that this GPU has: the elements that any program of the course draws for the seed.
    fn draw(&mut self, problem: &Problem, plan: &Plan) -> Result<()> {
        let range = if problem.fill == Fill::Uniform { 0 } else { u64::from(integer_range(problem.k).unsigned_abs()) };
        for side in Side::BOTH {
            for panel in plan.own(side, self.rank) {
                let ([rows, cols], k, to) =
                    (self.block.clone(), plan.panels[panel].clone(), self.at(plan, side, panel));
                let (part, width) = if side == Side::A { ([rows, k], problem.k) } else { ([k, cols], problem.n) };
                self.kernels.draw(self.gpu.device()?, to, &part, [width, range], side.key(problem))?;
            }
        }
        // C holds what no kernel leaves by accident.
        self.gpu.device()?.fill(self.c, Dtype::F32.poison_byte())?;
        self.gpu.device()?.synchronize()
    }

    /// Multiplies a panel that has arrived: the first one is stored to C, all others are added.
    fn multiply(&mut self, plan: &Plan, panel: usize) -> Result<()> {
        self.gpu.real(|streams| streams.arrived(panel))?;
        let [a, b] = Side::BOTH.map(|side| self.at(plan, side, panel));
        let [m, n] = self.block.each_ref().map(length);
        let size = [m, n, length(&plan.panels[panel])];
        self.kernels.multiply(self.gpu.device()?, size, [a, b, (self.c, 0)], panel > 0)?;
        self.gpu.real(|streams| streams.multiplied(panel))
    }
}

/// A product on several GPUs.
pub struct Product<'a> {
    pub problem: Problem,
    pub plan: Plan,
    pub shares: Vec<Share<'a>>,
    /// What moves panels between real GPUs.
    nccl: Option<&'a Nccl>,
}

impl<'a> Product<'a> {
    /// Allocates; draws nothing yet.
    pub fn allocate(
        gpus: &'a mut [Gpu],
        nccl: Option<&'a Nccl>,
        sources: &mut Sources,
        plan: Plan,
        seed: u64,
    ) -> Result<Self> {
        let problem = Problem { seed, ..Problem::uniform(plan.size) };
        let shares = gpus.iter_mut().enumerate().map(|(rank, gpu)| Share::allocate(gpu, &plan, rank, sources));
        Ok(Self { problem, shares: shares.collect::<Result<_>>()?, plan, nccl })
    }

    /// Gives the memory back.
    pub fn release(self) -> Result<Plan> {
        self.shares.into_iter().try_for_each(Share::release)?;
        Ok(self.plan)
    }

    /// Draws A and B, filled like this.
    pub fn draw(&mut self, fill: Fill) -> Result<()> {
        self.problem.fill = fill;
        self.shares.iter_mut().try_for_each(|share| share.draw(&self.problem, &self.plan))
    }

    /// Computes the product, and waits for it. With `overlap` panel p + 1 travels while panel p is multiplied; without, only once it
    /// has been. Gives what each GPU did when; nothing on the simulator.
    pub fn multiply(&mut self, overlap: bool) -> Result<Vec<Vec<Span>>> {
        let last = self.plan.panels.len() - 1;
        self.real(Streams::begin)?;
        self.travel(0, None)?;
        for p in 0..=last {
            // The buffers of panel p + 1 are those of panel p - 1.
            if overlap && p < last {
                self.travel(p + 1, p.checked_sub(1))?;
            }
            for share in &mut self.shares {
                share.multiply(&self.plan, p)?;
            }
            if !overlap && p < last {
                self.travel(p + 1, Some(p))?;
            }
        }
        self.end()
    }

    fn real(&mut self, mut what: impl FnMut(&mut Streams) -> Result<()>) -> Result<()> {
        self.shares.iter_mut().try_for_each(|share| share.gpu.real(&mut what))
    }

    /// Lets a panel of A and one of B travel, once panel `after` has been multiplied, whose buffers they take.
    fn travel(&mut self, panel: usize, after: Option<usize>) -> Result<()> {
        self.real(|streams| streams.depart(after))?;
        match self.nccl {
            Some(nccl) => nccl.travel(&self.plan, &mut self.shares, panel)?,
            None => Side::BOTH.into_iter().try_for_each(|side| self.copy(side, panel))?,
        }
        self.real(Streams::arrive)
    }

    /// Copies a panel to all simulated GPUs that do not have it.
    fn copy(&mut self, side: Side, panel: usize) -> Result<()> {
        for rank in 0..self.shares.len() {
            let sender = self.plan.sender(side, panel, rank);
            if sender != rank {
                let mut bytes = vec![0; self.plan.bytes_of(side, panel, rank) as usize];
                let [(from, at), (to, start)] =
                    [sender, rank].map(|rank| self.shares[rank].at(&self.plan, side, panel));
                self.shares[sender].gpu.device()?.read(from, at, &mut bytes)?;
                self.shares[rank].gpu.device()?.write(to, start, &bytes)?;
            }
        }
        Ok(())
    }

    /// Waits until all is done. All GPUs are asked in turn, because one that waits in NCCL for another that has failed waits for
    /// ever.
    fn end(&mut self) -> Result<Vec<Vec<Span>>> {
        loop {
            let mut done = true;
            self.real(|streams| streams.is_done().map(|this| done &= this))?;
            if done {
                break;
            }
            thread::sleep(ASKS);
        }
        let spans = self.shares.iter_mut().map(|share| match &mut *share.gpu {
            Gpu::Real(streams) => streams.end(),
            Gpu::Simulated(_) => Ok(Vec::new()),
        });
        spans.collect()
    }
}
