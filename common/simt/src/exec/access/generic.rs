//! A load or store whose address says which memory it means: the lanes are sorted by memory.

use super::global::{load_global, store_global};
use super::local::local;
use super::request::At;
use super::shared::{load_shared, store_shared};
use crate::exec::context::{Checked, Context};
use crate::exec::frame::LocalMemory;
use crate::exec::isa::Isa;
use crate::lanes::select;
use crate::lower::{LOCAL_WINDOW, SHARED_WINDOW};

/// A load or store of any memory. The load of one memory may overwrite the address register that the next needs, but
/// never in the same lanes.
#[inline(never)]
pub(crate) fn generic<I: Isa>(context: &mut Context, at: At, memory: &mut LocalMemory, load: bool) -> Checked<()> {
    let (_, addresses) = at.addresses(0);
    let window = |start: u64| select(at.lanes, |lane| (start..start + (1 << 32)).contains(&addresses[lane]));
    let (shared, own) = (window(SHARED_WINDOW), window(LOCAL_WINDOW));
    let [global, shared, own] = [at.lanes & !shared & !own, shared, own].map(|lanes| At { lanes, ..at });
    if global.lanes != 0 {
        if load { load_global::<I>(context, global)? } else { store_global::<I>(context, global)? }
    }
    if shared.lanes != 0 {
        if load {
            load_shared::<I>(context, shared, SHARED_WINDOW)?;
        } else {
            store_shared::<I>(context, shared, SHARED_WINDOW)?;
        }
    }
    if own.lanes != 0 { local(context, own, memory, LOCAL_WINDOW, load) } else { Ok(()) }
}
