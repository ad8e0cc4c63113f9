//! The product: while a panel is multiplied, the next one travels. These are step 6's two buffers, one level up.

use std::ops::Range;
use std::thread;
use std::time::Duration;

use anyhow::Result;
use common::basics::Side;
use common::device::{Buffer, Device, SimDevice};
use common::{Dtype, Fill, Problem};

use super::{Kernels, Nccl, Plan, Sources, Span, Streams, length};

/// How often GPUs are asked whether they are done: a small part of the shortest product that is worth several GPUs.
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

    /// Calls `what` on a real GPU; a simulated one needs nothing.
    fn real(&mut self, what: impl FnOnce(&mut Streams) -> Result<()>) -> Result<()> {
        if let Self::Real(streams) = self { what(streams) } else { Ok(()) }
    }
}

/// One GPU's share of a product: its block of C, its panels of A and B, and two buffers per operand for panels of others.
pub struct Share<'a> {
    pub gpu: &'a mut Gpu,
    pub rank: usize,
    /// Rows and columns of C.
    pub block: [Range<u64>; 2],
    pub kernels: Kernels,
    /// Panels of A and of B that this GPU has from the start.
    own: [Vec<Option<Buffer>>; 2],
    pub c: Buffer,
    buffers: [[Buffer; 2]; 2],
}

impl<'a> Share<'a> {
    fn allocate(gpu: &'a mut Gpu, plan: &Plan, rank: usize, sources: &mut Sources) -> Result<Self> {
        let block = plan.block(rank);
        let device = gpu.device()?;
        let kernels = sources.load(device, rank, block.each_ref().map(length))?;
        let c = device.alloc("C", plan.bytes(rank)[0])?;
        let mut own = [vec![None; plan.panels.len()], vec![None; plan.panels.len()]];
        let mut buffers = [[c; 2]; 2];
        for (side, name) in Side::BOTH.into_iter().zip(["panel of A", "panel of B"]) {
            for panel in plan.own(side, rank) {
                own[side as usize][panel] = Some(device.alloc(name, plan.panel_bytes(side, panel, rank))?);
            }
            for buffer in &mut buffers[side as usize] {
                // An empty buffer cannot be allocated.
                *buffer = device.alloc(name, plan.buffer_bytes(side, rank).max(4))?;
            }
        }
        Ok(Self { gpu, rank, block, kernels, own, c, buffers })
    }

    fn release(self) -> Result<()> {
        let device = self.gpu.device()?;
        let panels = self.own.into_iter().flatten().flatten().chain(self.buffers.into_iter().flatten());
        panels.chain([self.c]).try_for_each(|buffer| device.free(buffer))
    }

    /// Where a panel is when it is multiplied.
    pub fn panel(&self, side: Side, panel: usize) -> Buffer {
        self.own[side as usize][panel].unwrap_or(self.buffers[side as usize][panel % 2])
    }

    /// Draws the panels that this GPU has from the start.
    fn draw(&mut self, problem: &Problem, plan: &Plan) -> Result<()> {
        for (side, panel) in Side::BOTH.into_iter().flat_map(|side| plan.own(side, self.rank).map(move |p| (side, p))) {
            let (to, part) = (self.panel(side, panel), plan.part(side, panel, self.rank));
            self.kernels.draw(self.gpu.device()?, to, side, problem, &part)?;
        }
        // Poisons C with bits that no kernel leaves by accident.
        self.gpu.device()?.fill(self.c, Dtype::F32.poison_byte())
    }

    /// Multiplies a panel once it has arrived. The first panel's product is stored to C, all others are added.
    fn multiply(&mut self, plan: &Plan, panel: usize) -> Result<()> {
        self.gpu.real(|streams| streams.arrived(panel))?;
        let [a, b] = Side::BOTH.map(|side| self.panel(side, panel));
        let [m, n] = self.block.each_ref().map(length);
        let size = [m, n, length(&plan.panels[panel])];
        self.kernels.multiply(self.gpu.device()?, size, [a, b, self.c], panel > 0)?;
        self.gpu.real(|streams| streams.multiplied(panel))
    }
}

/// A product on several GPUs.
pub struct Product<'a> {
    pub problem: Problem,
    pub plan: Plan,
    pub shares: Vec<Share<'a>>,
    /// Moves panels between real GPUs.
    nccl: Option<&'a Nccl>,
}

impl<'a> Product<'a> {
    /// Allocates the memory of all GPUs; draws nothing yet.
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

    /// Frees the memory and returns the plan.
    pub fn release(self) -> Result<Plan> {
        self.shares.into_iter().try_for_each(Share::release)?;
        Ok(self.plan)
    }

    pub fn draw(&mut self, fill: Fill) -> Result<()> {
        self.problem.fill = fill;
        self.shares.iter_mut().try_for_each(|share| share.draw(&self.problem, &self.plan))?;
        self.shares.iter_mut().try_for_each(|share| share.gpu.device()?.synchronize())
    }

    /// Computes the product and waits for it. With `overlap`, panel p + 1 travels while panel p is multiplied; without it,
    /// afterwards. Returns what each GPU did when, which is empty on the simulator.
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

    /// Lets a panel of A and one of B travel into the buffers of panel `after`, once that one has been multiplied.
    fn travel(&mut self, panel: usize, after: Option<usize>) -> Result<()> {
        self.real(|streams| streams.depart(after))?;
        for side in Side::BOTH {
            let Some(nccl) = self.nccl else {
                self.copy(side, panel)?;
                continue;
            };
            let gpus = self.shares.iter_mut().filter_map(|share| {
                let buffer = share.panel(side, panel);
                if let Gpu::Real(streams) = &mut *share.gpu { Some((share.rank, &mut **streams, buffer)) } else { None }
            });
            nccl.travel(&self.plan, side, panel, gpus)?;
        }
        self.real(Streams::arrive)
    }

    /// Copies a panel to all simulated GPUs that need it.
    fn copy(&mut self, side: Side, panel: usize) -> Result<()> {
        for rank in 0..self.shares.len() {
            let sender = self.plan.sender(side, panel, rank);
            if sender != rank {
                let mut bytes = vec![0; self.plan.panel_bytes(side, panel, rank) as usize];
                let [from, to] = [sender, rank].map(|rank| self.shares[rank].panel(side, panel));
                self.shares[sender].gpu.device()?.read(from, 0, &mut bytes)?;
                self.shares[rank].gpu.device()?.write(to, 0, &bytes)?;
            }
        }
        Ok(())
    }

    /// Waits until everything is done. Asks all GPUs in turn, because a GPU that waits in NCCL for one that has failed waits for
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
