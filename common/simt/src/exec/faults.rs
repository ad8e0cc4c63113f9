//! Faults of a kernel: which instruction of which thread, and where an address points.

use super::context::{Context, Outcome};
use crate::ast::Space;
use crate::error::{Fault, FaultKind};
use crate::observe::Access;
use crate::place::{Array, Place};

impl Context<'_, '_> {
    /// A fault of instruction `pc`, on a lane of the warp.
    #[cold]
    #[inline(never)]
    pub fn fault(&self, kind: FaultKind, pc: u32, warp: u32, lane: Option<u32>) -> Box<Outcome> {
        let block = self.launch.config.block;
        Box::new(Outcome::Fault(Box::new(Fault {
            kind,
            location: self.launch.kernel.location(pc),
            block: self.info.index,
            thread: lane.map(|lane| block.index(u64::from(warp) * 32 + u64::from(lane))),
        })))
    }

    /// The fault of the first lane whose access is misaligned, or does not lie `inside` its memory.
    #[cold]
    #[inline(never)]
    pub fn bad_access(&self, access: Access, inside: impl Fn(u64) -> bool) -> Box<Outcome> {
        let bytes = u64::from(access.bytes);
        let bad = |address: u64| !address.is_multiple_of(bytes) || !inside(address);
        let lane = (0..32).find(|&lane| access.lanes >> lane & 1 != 0 && bad(access.addresses[lane])).unwrap_or(0);
        let (address, Access { space, kind, bytes, .. }) = (access.addresses[lane], access);
        let place = match space {
            Space::Shared => self.shared_place(address),
            Space::Local => {
                let of = self.code.local_bytes.into();
                match before_start(address) {
                    Some(bytes) => Place::BeforeMemory { space, bytes, of },
                    None => Place::Byte { space, byte: address, of },
                }
            }
            Space::Param => Place::Byte { space, byte: address, of: self.launch.params.len() as u64 },
            _ => {
                let memory = self.launch.memory;
                let end = address.saturating_add(u64::from(bytes) - 1);
                // An access that starts inside and ends outside is described by its end.
                let ends_outside = memory.holding(address, 1).is_some() && address.is_multiple_of(u64::from(bytes));
                memory.place(if ends_outside { end } else { address })
            }
        };
        let kind = if address.is_multiple_of(u64::from(bytes)) {
            FaultKind::OutOfBounds { space, access: kind, bytes, place }
        } else {
            // Where it lies outside is another matter.
            let place = if inside(address) { place } else { Place::Address(address) };
            FaultKind::Misaligned { space, access: kind, bytes, place }
        };
        self.fault(kind, access.instruction, access.warp, Some(lane as u32))
    }

    /// A place in shared memory.
    pub fn shared_place(&self, address: u64) -> Place {
        let of = u64::from(self.launch.shared_bytes);
        if let Some(bytes) = before_start(address) {
            return Place::BeforeMemory { space: Space::Shared, bytes, of };
        }
        let before = self.code.shared_arrays.iter().rfind(|array| u64::from(array.offset) <= address);
        let near = match before {
            Some(array) if address < 1 << 32 => Place::Offset {
                array: Array { name: array.source_name.clone(), space: Space::Shared },
                bytes: address - u64::from(array.offset),
            },
            _ => Place::SharedAddress(address),
        };
        match address.checked_sub(of) {
            Some(bytes) => Place::PastShared { near: near.into(), bytes, of },
            None => near,
        }
    }
}

/// How far an address lies before the start of its memory, if it was computed from a negative index, in 32 or in 64 bits.
fn before_start(address: u64) -> Option<u64> {
    let signed = if address >> 32 == 0 { i64::from(address as i32) } else { address as i64 };
    (signed < 0).then_some(signed.unsigned_abs())
}
