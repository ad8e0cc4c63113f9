//! What the driver knows about an address.

use crate::entry::api;
use crate::errors::{Answer, INVALID_VALUE, NOT_SUPPORTED};
use crate::raw::{In, Out};
use crate::state::{Block, Kind, State};

/// Writes an attribute of an address.
fn attribute(state: &State, out: Out<u64>, attribute: u32, address: u64) -> Answer {
    let (base, block) = state.block(address).ok_or(INVALID_VALUE)?;
    let is_host = matches!(block.kind, Kind::Pinned(_) | Kind::Registered);
    let small = |value: u32| out.cast::<u32>().set(value);
    let flag = |value: bool| out.cast::<u8>().set(u8::from(value));
    match attribute {
        // The context, whether it is memory of the host or of the device, and its address there.
        1 => out.set(block.context),
        2 => small(if is_host { 1 } else { 2 }),
        3 => out.set(address),
        4 => {
            if block.is_host() {
                out.set(address)
            } else {
                Err(INVALID_VALUE)
            }
        }
        // Whether copies wait; a number that no other allocation has; whether it is managed; the device.
        6 => flag(false),
        7 => out.set(block.number),
        8 => flag(matches!(block.kind, Kind::Managed(_))),
        9 => small(block.device as u32),
        // Begin and size of the allocation; whether it is mapped; who may read and write it; its pool.
        11 => out.set(base),
        12 => out.set(block.bytes),
        13 => flag(true),
        16 => small(3),
        17 => out.set(pool(block)),
        5 | 10 | 14 | 15 | 18..=23 => Err(NOT_SUPPORTED),
        _ => Err(INVALID_VALUE),
    }
}

fn pool(block: &Block) -> u64 {
    if let Kind::Device { pool } = block.kind { pool } else { 0 }
}

api! {
    fn cuPointerGetAttribute(guard, out: Out<u64>, which: u32, address: u64) {
        guard.context()?;
        attribute(guard, out, which, address)
    }
    fn cuPointerGetAttributes(guard, count: u32, which: In<u32>, outs: In<Out<u64>>, address: u64) {
        guard.context()?;
        for (which, out) in which.list(count as usize)?.into_iter().zip(outs.list(count as usize)?) {
            if attribute(guard, out, which, address).is_err() {
                match which {
                    2 | 16 => out.cast::<u32>().set(0)?,
                    9 => out.cast::<i32>().set(-2)?,
                    6 | 8 | 13 => out.cast::<u8>().set(0)?,
                    _ => out.set(0)?,
                }
            }
        }
        Ok(())
    }
    fn cuPointerSetAttribute(guard, value: In<u32>, which: u32, address: u64) {
        guard.context()?;
        value.get()?;
        guard.block(address).ok_or(INVALID_VALUE)?;
        if which == 6 { Ok(()) } else { Err(INVALID_VALUE) }
    }
    fn cuMemRangeGetAttribute(guard, out: Out<i32>, bytes: u64, which: u32, address: u64, count: u64) {
        guard.context()?;
        let (base, block) = guard.block(address).ok_or(INVALID_VALUE)?;
        if bytes != 4 || !matches!(block.kind, Kind::Managed(_)) || address - base + count > block.bytes {
            return Err(INVALID_VALUE);
        }
        match which {
            1 => out.set(0),
            // Preferred and last location: nowhere in particular.
            2 | 4 => out.set(-2),
            _ => Err(NOT_SUPPORTED),
        }
    }
}
