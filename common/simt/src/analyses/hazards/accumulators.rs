//! The registers of products that go on while the warp does: who touches one before the product has been waited for, and which
//! product takes one that was touched without a fence between.
//!
//! `wgmma.fence` must lie between an access to a register and a product that uses it. Only products of one shape may follow each
//! other with the same sums and nothing between. A warp's products are done once it waits for their group.
//!
//! Moves from register to register need no fence here. Compilers put them right before a product, behind the fence of the source,
//! to bring values into its registers, and the assembler orders what it makes of them.

use super::extent::Extent;
use super::finding::Spot;
use super::hazard::{Action, HazardKind};
use super::log::Log;
use super::setup::Setup;
use crate::lower::ProductUse;

/// A product that uses a register and has not been waited for.
#[derive(Debug, Clone, Copy)]
struct Busy {
    instruction: u32,
    group: u32,
    /// Its shape, if the register is one of its sums.
    shape: Option<u32>,
}

/// A register of a warp.
#[derive(Debug, Clone, Copy, Default)]
struct Register {
    busy: Option<Busy>,
    /// What touched it since the last fence: the instruction, and whether it wrote.
    touched: Option<(u32, bool)>,
}

/// A warp.
#[derive(Debug, Clone, Copy, Default)]
struct OfWarp {
    /// Groups closed.
    closed: u32,
    /// There has been a fence.
    fenced: bool,
}

/// The registers of a block that products use.
#[derive(Debug)]
pub(super) struct Accumulators {
    warps: Vec<OfWarp>,
    /// By warp and number.
    registers: Vec<Register>,
    count: usize,
}

impl Accumulators {
    pub(super) fn new(setup: &Setup) -> Self {
        let count = setup.code().products.registers.len();
        Self {
            warps: vec![OfWarp::default(); setup.warps()],
            registers: vec![Register::default(); count * setup.warps()],
            count,
        }
    }

    pub(super) fn bytes(extent: &Extent) -> u64 {
        extent.product_registers * extent.warps * size_of::<Register>() as u64
    }

    pub(super) fn restart(&mut self) {
        self.warps.fill(OfWarp::default());
        self.registers.fill(Register::default());
    }

    /// Whether the kernel has such registers at all.
    #[inline]
    pub(super) fn any(&self) -> bool {
        self.count > 0
    }

    fn of(&mut self, warp: u32) -> &mut [Register] {
        let start = warp as usize * self.count;
        &mut self.registers[start..start + self.count]
    }

    /// A warp runs the instructions `first..end`, those without a guard or (if `guarded`) one with a guard.
    pub(super) fn run(&mut self, setup: &Setup, log: &mut Log, warp: u32, first: u32, end: u32, guarded: bool) {
        for (instruction, number, how) in setup.product_uses(first, end) {
            let ProductUse::Access { writes, moves } = how else { continue };
            if setup.facts(instruction).guarded != guarded {
                continue;
            }
            let register = &mut self.of(warp)[number as usize];
            if !moves {
                register.touched = Some((instruction, writes));
            }
            if let Some(busy) = register.busy {
                let first = log.side(warp * 32, busy.instruction, Action::Multiplies);
                let action = if writes { Action::Writes } else { Action::Reads };
                let second = log.side(warp * 32, instruction, action);
                log.add(HazardKind::ProductNotWaited, Spot::Accumulator(number), first, Some(second));
            }
        }
    }

    /// A product starts.
    pub(super) fn multiply(&mut self, setup: &Setup, log: &mut Log, warp: u32, instruction: u32) {
        let OfWarp { closed, fenced } = self.warps[warp as usize];
        let own = log.side(warp * 32, instruction, Action::Multiplies);
        let mut unfenced = !fenced;
        for (_, number, how) in setup.product_uses(instruction, instruction + 1) {
            let register = &mut self.of(warp)[number as usize];
            let shape = match how {
                ProductUse::Sum { shape } => Some(shape),
                _ => None,
            };
            // Two products may read one register, and two of one shape may add to it.
            let waits = register.busy.filter(|busy| busy.shape != shape);
            if let Some(busy) = waits {
                let first = log.side(warp * 32, busy.instruction, Action::Multiplies);
                log.add(HazardKind::ProductNotWaited, Spot::Accumulator(number), first, Some(own));
            } else if let Some((touch, writes)) = register.touched {
                let action = if writes { Action::Writes } else { Action::Reads };
                let first = log.side(warp * 32, touch, action);
                log.add(HazardKind::ProductNotFenced, Spot::Accumulator(number), first, Some(own));
                unfenced = false;
            }
            register.busy = Some(Busy { instruction, group: closed, shape });
        }
        if unfenced {
            log.add(HazardKind::ProductNotFenced, Spot::Accumulator(0), own, None);
        }
        self.warps[warp as usize].fenced = true;
    }

    /// The registers may be used by products from now on.
    pub(super) fn fence(&mut self, warp: u32) {
        self.warps[warp as usize].fenced = true;
        self.of(warp).iter_mut().for_each(|register| register.touched = None);
    }

    /// A group is closed.
    pub(super) fn commit(&mut self, warp: u32) {
        self.warps[warp as usize].closed += 1;
    }

    /// A warp waits until at most `pending` of its groups are under way.
    pub(super) fn wait(&mut self, warp: u32, pending: u32) {
        let closed = self.warps[warp as usize].closed;
        for register in self.of(warp) {
            register.busy = register.busy.filter(|busy| busy.group.saturating_add(pending) >= closed);
        }
    }
}
