//! The rule of local memory: a thread must only read what it has written.

use super::extent::Extent;
use super::hazard::HazardKind;
use super::log::{Part, Scene, Spot};
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
            // A load of partly written bytes is allowed, because it may copy a structure with padding.
            let bytes = written.get(start.min(written.len())..end.min(written.len())).unwrap_or_default();
            if bytes.iter().all(|lanes| lanes >> lane & 1 == 0) {
                scene.alone(HazardKind::UninitialisedLocal, Spot::Local(start as u32), Part::of(access, lane));
            }
        }
    }
}
