//! A request of a warp: built once as the observer's [`Access`], checked, and shown.

use super::elements::{addresses, get_lane, parts, write_words};
use crate::Allocation;
use crate::ast::Space;
use crate::error::{AccessKind, FaultKind};
use crate::exec::context::{Cache, Checked, Context};
use crate::exec::pattern::Summary;
use crate::exec::registers::Registers;
use crate::lanes::each;
use crate::lower::inst::{Inst, Shape};
use crate::observe::Access;

/// An instruction that some lanes of a warp execute.
#[derive(Clone, Copy)]
pub(crate) struct At<'a> {
    pub inst: &'a Inst,
    pub r: Registers<'a>,
    pub warp: u32,
    pub lanes: u32,
}

impl At<'_> {
    /// The shape of a load or store, and its addresses; `window` is where its memory starts in them.
    #[inline(always)]
    pub(super) fn addresses(self, window: u64) -> (Shape, [u64; 32]) {
        let (shape, offset) = (Shape::unpack(self.inst.sub), i64::from(self.inst.imm).wrapping_sub_unsigned(window));
        (shape, addresses(self.r, self.inst.a, shape.wide_address, offset, self.lanes))
    }

    /// The request of a load or store as its instruction describes it.
    #[inline(always)]
    pub(super) fn request(self, kind: AccessKind, space: Space, addresses: &[u64; 32]) -> Access<'_> {
        let shape = Shape::unpack(self.inst.sub);
        Access::new((self.warp, self.inst.pc, self.lanes), (kind, space), shape.bytes * shape.count, addresses)
    }

    /// What a store shows an observer of its data.
    #[inline(always)]
    pub(super) fn stored(self, context: &Context) -> Option<[[u32; 4]; 32]> {
        context.is_watched().then(|| {
            let mut data = [[0; 4]; 32];
            let shape = Shape::unpack(self.inst.sub);
            for (register, before) in parts(self.inst, shape) {
                for lane in each(self.lanes) {
                    let value = get_lane(self.r, register, shape.wide, lane);
                    write_words(&mut data[lane], before as usize, shape.bytes, value);
                }
            }
            data
        })
    }
}

/// Shows the observer a request that has been checked.
#[inline(always)]
pub(super) fn show(context: &mut Context, access: &Access) {
    context.tell(|observer| observer.access(access));
}

#[inline(always)]
pub(super) fn check_shared(context: &Context, access: &Access) -> Checked<()> {
    let Summary { high, bits, .. } = Summary::of(access.addresses);
    let (bytes, total) = (u64::from(access.bytes), u64::from(context.launch.shared_bytes));
    if bits & (bytes - 1) != 0 || high.saturating_add(bytes) > total {
        return Err(context.bad_access(*access, |address| address.saturating_add(bytes) <= total));
    }
    Ok(())
}

/// Finds the allocation of a request to global memory when all lanes are in one; otherwise checks each lane and returns
/// none.
#[inline(always)]
pub(super) fn check_global<'a>(context: &mut Context<'a>, access: &Access) -> Checked<(Option<Cache<'a>>, Summary)> {
    let summary = Summary::of(access.addresses);
    let Summary { low, high, bits, .. } = summary;
    let bytes = u64::from(access.bytes);
    if bits & (bytes - 1) == 0 {
        let inside = |cache: &Cache<'_>| {
            low >= cache.base && high - cache.base < cache.bytes && cache.bytes - (high - cache.base) >= bytes
        };
        let cache = context.caches[access.instruction as usize];
        if inside(&cache) {
            return Ok((Some(cache), summary));
        }
        let writable = |allocation: &&Allocation| access.written == 0 || !allocation.is_constant();
        if let Some(allocation) = context.launch.memory.holding(low, access.bytes).filter(writable) {
            let cache = Cache { base: allocation.base().0, bytes: allocation.bytes(), words: allocation.words() };
            if inside(&cache) {
                context.caches[access.instruction as usize] = cache;
                return Ok((Some(cache), summary));
            }
        }
    }
    let memory = context.launch.memory;
    let constant = |lane: &usize| {
        let known = memory.holding(access.addresses[*lane], 1);
        access.written != 0 && known.is_some_and(Allocation::is_constant)
    };
    if let Some(lane) = each(access.lanes).find(constant) {
        let text = format!("{} of {} in constant memory", access.kind, memory.place(access.addresses[lane]));
        return Err(context.fault(FaultKind::Other(text), access.instruction, access.warp, Some(lane as u32)));
    }
    let inside = |address: u64| memory.holding(address, access.bytes).is_some();
    let good = |lane: usize| access.addresses[lane].is_multiple_of(bytes) && inside(access.addresses[lane]);
    if !each(access.lanes).all(good) {
        return Err(context.bad_access(*access, inside));
    }
    Ok((None, summary))
}

/// Checks a request to memory that starts at 0 and has `size` bytes: local memory and parameters.
#[inline]
pub(super) fn check_within(context: &Context, access: &Access, size: u64) -> Checked<()> {
    let bytes = u64::from(access.bytes);
    let inside = |address: u64| address.saturating_add(bytes) <= size;
    let good = |lane: usize| access.addresses[lane].is_multiple_of(bytes) && inside(access.addresses[lane]);
    if each(access.lanes).all(good) { Ok(()) } else { Err(context.bad_access(*access, inside)) }
}
