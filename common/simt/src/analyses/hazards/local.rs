//! The rule of local memory: a thread must only read what it has written.

use super::extent::Extent;
use super::finding::{Finding, Spot};
use super::hazard::HazardKind;
use super::log::{Part, Scene};
use super::setup::Setup;
use crate::lanes::each;
use crate::{Access, AccessKind};

/// Which places of their local memory the threads of a block have written.
#[derive(Debug)]
pub(super) struct LocalShadow {
    /// For each warp and byte, the lanes that have written it.
    written: Vec<Vec<u32>>,
}

impl LocalShadow {
    pub(super) fn new(setup: &Setup) -> Self {
        Self { written: vec![vec![]; setup.extent.warps as usize] }
    }

    pub(super) fn bytes(extent: &Extent) -> u64 {
        extent.warps * u64::from(extent.code.local_bytes) * size_of::<u32>() as u64
    }

    /// Checks a load, or notes a store.
    pub(super) fn access(&mut self, scene: &mut Scene, access: &Access<'_>) {
        let written = &mut self.written[access.warp as usize];
        for lane in each(access.lanes) {
            let start = access.addresses[lane] as usize;
            let end = start + access.bytes as usize;
            if access.kind == AccessKind::Store {
                if written.len() < end {
                    written.resize(end, 0);
                }
                written[start..end].iter_mut().for_each(|lanes| *lanes |= 1 << lane);
                continue;
            }
            let unset = |at: &usize| written.get(*at).is_none_or(|lanes| lanes >> lane & 1 == 0);
            // A load counts once, however many of its bytes nobody wrote.
            for (at, count) in (start..end).filter(unset).zip(std::iter::once(1).chain(std::iter::repeat(0))) {
                let first = scene.side_of(Part::of(access, lane));
                let finding = Finding { spot: Spot::Local(at as u32), first, second: None, count, time: scene.now() };
                scene.note(HazardKind::UninitialisedLocal, finding);
            }
        }
    }
}
