//! A load or store whose address says which memory it means: the lanes are sorted by memory.

use super::elements::addresses;
use super::global::{load_global, store_global};
use super::local::local;
use super::shared::{load_shared, store_shared};
use crate::exec::context::{Checked, Context};
use crate::exec::isa::Isa;
use crate::exec::registers::Registers;
use crate::exec::warp::Warp;
use crate::lanes::select;
use crate::lower::inst::Inst;
use crate::lower::{LOCAL_WINDOW, SHARED_WINDOW};

/// A load or store of any memory. The load of one memory may overwrite the address register that the next needs, but
/// never in the same lanes.
#[inline(never)]
pub(crate) fn generic<I: Isa>(
    context: &mut Context,
    inst: &Inst,
    r: Registers,
    warp: &mut Warp,
    lanes: u32,
    load: bool,
) -> Checked<()> {
    let addresses = addresses(r, inst.a, true, i64::from(inst.imm), lanes);
    let window = |start: u64| select(lanes, |lane| (start..start + (1 << 32)).contains(&addresses[lane]));
    let (shared, own) = (window(SHARED_WINDOW), window(LOCAL_WINDOW));
    let global = lanes & !shared & !own;
    if global != 0 {
        if load {
            load_global::<I>(context, inst, r, warp.number, global)?;
        } else {
            store_global::<I>(context, inst, r, warp.number, global)?;
        }
    }
    if shared != 0 {
        if load {
            load_shared::<I>(context, inst, r, warp.number, shared, SHARED_WINDOW)?;
        } else {
            store_shared::<I>(context, inst, r, warp.number, shared, SHARED_WINDOW)?;
        }
    }
    if own != 0 {
        local(context, inst, r, warp, own, LOCAL_WINDOW, load)?;
    }
    Ok(())
}
