//! Memory that only the thread itself sees: its local memory, and the kernel's parameters.

use super::elements::{get_lane, load_element, parts, set_lane, sign_extend, write_words};
use super::request::{At, check_within, show};
use crate::ast::Space;
use crate::error::AccessKind;
use crate::exec::context::{Checked, Context};
use crate::exec::frame::LocalMemory;
use crate::lanes::each;

/// A load or store of the local memory of a warp, which holds the lanes' areas one after the other. `window` is where it starts in
/// the addresses of this instruction.
#[inline(never)]
pub(crate) fn local(context: &mut Context, at: At, memory: &mut LocalMemory, window: u64, load: bool) -> Checked<()> {
    let (shape, addresses) = at.addresses(window);
    let size = u64::from(context.code.local_bytes);
    let access = at.request(if load { AccessKind::Load } else { AccessKind::Store }, Space::Local, &addresses);
    check_within(context, &access, size)?;
    show(context, &access);
    for lane in each(at.lanes) {
        for (register, before) in parts(at.inst, shape) {
            let place = lane * size as usize + addresses[lane] as usize + before as usize;
            if load {
                set_lane(at.r, register, shape.wide, lane, load_element(|word| memory.read(word), place, shape));
            } else {
                write_words(memory.at(place), place, shape.bytes, get_lane(at.r, register, shape.wide, lane));
            }
        }
    }
    Ok(())
}

/// A load from the parameter area at an address computed by the kernel.
#[inline(never)]
pub(crate) fn load_param(context: &Context, at: At) -> Checked<()> {
    let (shape, addresses) = at.addresses(0);
    let params = &context.launch.params;
    check_within(context, &at.request(AccessKind::Load, Space::Param, &addresses), params.len() as u64)?;
    for lane in each(at.lanes) {
        for (register, before) in parts(at.inst, shape) {
            let start = addresses[lane] as usize + before as usize;
            let mut value = [0; 8];
            value[..shape.bytes as usize].copy_from_slice(&params[start..start + shape.bytes as usize]);
            let value = u64::from_le_bytes(value);
            let value = if shape.signed { sign_extend(value, shape.bytes) } else { value };
            set_lane(at.r, register, shape.wide, lane, value);
        }
    }
    Ok(())
}
