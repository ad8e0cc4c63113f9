//! Values that are known before a warp starts: constants, parameters, addresses, special registers.

use super::access::sign_extend;
use super::context::Launch;
use super::registers::{Plane, Registers};
use crate::dim3::Dim3;
use crate::lower::{Index, Preset, Special};
use crate::observe::BlockInfo;

/// Sets what is known before the warps of a block start: everything (no block given), or what changes with the block.
pub(super) fn set_presets(launch: &Launch, planes: &mut [Plane], block: Option<&BlockInfo>) {
    let code = &launch.kernel.code;
    for (warp, planes) in (0u64..).zip(planes.chunks_exact_mut((code.planes as usize).max(1))) {
        let registers = Registers::new(planes);
        for &(offset, wide, preset) in &code.presets {
            let changes = matches!(preset, Preset::Index(Index::Ctaid, _));
            if changes != block.is_some() {
                continue;
            }
            let constant = constant(launch, preset);
            for lane in 0..32usize {
                let value = constant.unwrap_or_else(|| of_lane(preset, launch.config.block, block, warp, lane));
                if wide {
                    registers.set(offset, lane, value);
                } else {
                    registers.set(offset, lane, value as u32);
                }
            }
        }
    }
}

fn axis(size: Dim3, axis: u8) -> u64 {
    u64::from([size.x, size.y, size.z][axis as usize % 3])
}

/// A special register of one lane.
fn of_lane(preset: Preset, size: Dim3, block: Option<&BlockInfo>, warp: u64, lane: usize) -> u64 {
    match preset {
        Preset::Index(Index::Tid, dimension) => axis(size.index(warp * 32 + lane as u64), dimension),
        Preset::Index(Index::Ctaid, dimension) => block.map_or(0, |block| axis(block.index, dimension)),
        Preset::Special(Special::LaneId) => lane as u64,
        Preset::Special(Special::WarpId) => warp,
        Preset::Special(Special::LaneMaskEq) => 1 << lane,
        Preset::Special(Special::LaneMaskLt) => (1 << lane) - 1,
        Preset::Special(Special::LaneMaskLe) => (2 << lane) - 1,
        Preset::Special(Special::LaneMaskGt) => 0xffff_ffff & !((2 << lane) - 1),
        Preset::Special(Special::LaneMaskGe) => 0xffff_ffff & !((1 << lane) - 1),
        _ => 0,
    }
}

/// The value of a preset that is the same for the whole launch, or none when it depends on block or thread.
fn constant(launch: &Launch, preset: Preset) -> Option<u64> {
    let config = launch.config;
    Some(match preset {
        Preset::Constant(value) | Preset::Shared { address: value, .. } => value,
        Preset::Param { offset, bytes, signed } => {
            let start = offset as usize;
            let mut value = [0; 8];
            if let Some(from) = launch.params.get(start..start + bytes as usize) {
                value[..from.len()].copy_from_slice(from);
            }
            let value = u64::from_le_bytes(value);
            if signed { sign_extend(value, bytes) } else { value }
        }
        Preset::Variable { number, offset } => launch.variables[number as usize].wrapping_add_signed(offset),
        Preset::Index(Index::Ntid, dimension) => axis(config.block, dimension),
        Preset::Index(Index::Nctaid, dimension) => axis(config.grid, dimension),
        Preset::Index(..) => return None,
        Preset::Special(special) => match special {
            Special::NWarpId => config.block.count().div_ceil(32),
            Special::GridBarrierLow => launch.grid_barrier & 0xffff_ffff,
            Special::GridBarrierHigh => launch.grid_barrier >> 32,
            Special::DynamicShared => u64::from(config.dynamic_shared_bytes),
            Special::TotalShared => u64::from(launch.shared_bytes),
            Special::Zero => 0,
            Special::One => 1,
            _ => return None,
        },
    })
}
