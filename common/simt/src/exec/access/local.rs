//! Memory that only the thread itself sees: its local memory, and the kernel's parameters.

use super::elements::{addresses, get_lane, load_element, parts, set_lane, sign_extend, write_words};
use super::request::{check_within, request, show};
use crate::ast::Space;
use crate::error::AccessKind;
use crate::exec::context::{Checked, Context};
use crate::exec::registers::Registers;
use crate::exec::warp::Warp;
use crate::lanes::each;
use crate::lower::inst::{Inst, Shape};

/// A load or store of local memory: `Warp::local` holds the lanes' areas one after the other. `window` is where local
/// memory starts in the addresses of this instruction.
#[inline(never)]
pub(crate) fn local(
    context: &mut Context,
    inst: &Inst,
    r: Registers,
    warp: &mut Warp,
    lanes: u32,
    window: u64,
    load: bool,
) -> Checked<()> {
    let shape = Shape::unpack(inst.sub);
    let addresses = addresses(r, inst.a, shape.wide_address, i64::from(inst.imm).wrapping_sub_unsigned(window), lanes);
    let size = u64::from(context.code.local_bytes);
    let kind = if load { AccessKind::Load } else { AccessKind::Store };
    let access = request(inst, warp.number, lanes, kind, Space::Local, &addresses);
    check_within(context, &access, size)?;
    show(context, &access);
    for lane in each(lanes) {
        for (register, before) in parts(inst, shape) {
            let at = lane * size as usize + addresses[lane] as usize + before as usize;
            if load {
                set_lane(r, register, shape.wide, lane, load_element(|word| warp.local.read(word), at, shape));
            } else {
                write_words(warp.local.at(at), at, shape.bytes, get_lane(r, register, shape.wide, lane));
            }
        }
    }
    Ok(())
}

/// A load from the parameter area at an address computed by the kernel.
#[inline(never)]
pub(crate) fn load_param(context: &Context, inst: &Inst, r: Registers, warp: u32, lanes: u32) -> Checked<()> {
    let shape = Shape::unpack(inst.sub);
    let addresses = addresses(r, inst.a, shape.wide_address, i64::from(inst.imm), lanes);
    let params = &context.launch.params;
    let access = request(inst, warp, lanes, AccessKind::Load, Space::Param, &addresses);
    check_within(context, &access, params.len() as u64)?;
    for lane in each(lanes) {
        for (register, before) in parts(inst, shape) {
            let start = addresses[lane] as usize + before as usize;
            let mut value = [0; 8];
            value[..shape.bytes as usize].copy_from_slice(&params[start..start + shape.bytes as usize]);
            let value = u64::from_le_bytes(value);
            let value = if shape.signed { sign_extend(value, shape.bytes) } else { value };
            set_lane(r, register, shape.wide, lane, value);
        }
    }
    Ok(())
}
