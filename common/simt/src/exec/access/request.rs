//! A request of a warp: its lanes, their addresses and data registers, and elements of 1 to 8 bytes in words of memory. It is built
//! once, as the observers' [`Access`], then checked and shown. The loads of a run from shared memory are checked and shown all at
//! once.

use crate::Allocation;
use crate::exec::context::{Cache, Checked, Context};
use crate::exec::registers::Registers;
use crate::lanes::each;
use crate::observe::{Access, SharedLoads};
use ptx::error::{AccessKind, FaultKind};
use ptx::lower::inst::{BASES, Inst, NONE, Run, Shape};
use ptx::place::Space;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// What the addresses of a request have in common.
#[derive(Clone, Copy)]
pub(crate) struct Summary {
    pub low: u64,
    pub high: u64,
    /// All bits that are set in any of them.
    pub bits: u64,
    /// Whether all are equal.
    pub same: bool,
    /// Whether each is 4 above the one before.
    pub next: bool,
}

impl Summary {
    #[inline(always)]
    pub fn of(addresses: &[u64; 32]) -> Self {
        let mut summary = Self { low: u64::MAX, high: 0, bits: 0, same: true, next: true };
        let mut expected = addresses[0];
        for &address in addresses {
            summary.low = summary.low.min(address);
            summary.high = summary.high.max(address);
            summary.bits |= address;
            summary.same &= address == addresses[0];
            summary.next &= address == expected;
            expected = expected.wrapping_add(4);
        }
        summary
    }
}

/// The lanes' addresses in a base register of a run, in words.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct Pattern {
    pub index: [u32; 32],
    pub kind: Arrangement,
}

/// The frequent arrangements of 32 addresses.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arrangement {
    /// All lanes have one address.
    Broadcast,
    /// Each lane has the word after that of the lane before.
    Contiguous,
    Scattered,
}

/// An instruction that some lanes of a warp execute.
#[derive(Clone, Copy)]
pub(crate) struct At<'a> {
    pub inst: &'a Inst,
    pub r: Registers<'a>,
    pub warp: u32,
    pub lanes: u32,
}

impl At<'_> {
    /// Returns the shape of a load or store, and its addresses minus `window`, where its memory starts in them.
    #[inline(always)]
    pub(super) fn addresses(self, window: u64) -> (Shape, [u64; 32]) {
        let (shape, offset) = (Shape::unpack(self.inst.sub), i64::from(self.inst.imm).wrapping_sub_unsigned(window));
        (shape, addresses(self.r, self.inst.a, shape.wide_address, offset, self.lanes))
    }

    /// Returns the request of a load or store, as its instruction describes it.
    #[inline(always)]
    pub(super) fn request(self, kind: AccessKind, space: Space, addresses: &[u64; 32]) -> Access<'_> {
        let shape = Shape::unpack(self.inst.sub);
        Access::new((self.warp, self.inst.pc, self.lanes), (kind, space), shape.bytes * shape.count, addresses)
    }

    /// Returns the data of a store for the observers, if there are any.
    #[inline(always)]
    pub(super) fn stored(self, context: &Context) -> Option<[[u32; 4]; 32]> {
        context.is_watched().then(|| {
            let mut data = [[0; 4]; 32];
            let shape = Shape::unpack(self.inst.sub);
            for (register, before) in parts(self.inst, shape) {
                for lane in each(self.lanes) {
                    let value = self.r.bits(register, shape.wide, lane);
                    write_words(&mut data[lane], before as usize, shape.bytes, value);
                }
            }
            data
        })
    }
}

/// Shows the observers a request that has been checked.
#[inline(always)]
pub(super) fn show(context: &mut Context, access: &Access) {
    context.tell(|observer| observer.access(access));
    if access.written == 0 {
        context.ask();
    }
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

/// Checks a request to shared or global memory. Returns the allocation if it is global memory and all lanes are in one.
#[inline]
pub(super) fn check<'a>(context: &mut Context<'a>, access: &Access) -> Checked<Option<Cache<'a>>> {
    match access.space {
        Space::Shared => check_shared(context, access).map(|()| None),
        _ => check_global(context, access).map(|(cache, _)| cache),
    }
}

/// Checks a request to global memory. Returns the allocation if all lanes are in one, and what the addresses have in common.
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
        let writable = |allocation: &&Allocation| access.written == 0 || !allocation.constant;
        if let Some(allocation) = context.launch.memory.holding(low, access.bytes).filter(writable) {
            let cache = Cache { base: allocation.base.0, bytes: allocation.bytes, words: &allocation.words };
            if inside(&cache) {
                context.caches[access.instruction as usize] = cache;
                return Ok((Some(cache), summary));
            }
        }
    }
    let memory = context.launch.memory;
    let constant = |lane: &usize| {
        let known = memory.holding(access.addresses[*lane], 1);
        access.written != 0 && known.is_some_and(|known| known.constant)
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

/// Checks a request to a memory of `size` bytes that starts at 0: local memory or parameters.
#[inline]
pub(super) fn check_within(context: &Context, access: &Access, size: u64) -> Checked<()> {
    let bytes = u64::from(access.bytes);
    let inside = |address: u64| address.saturating_add(bytes) <= size;
    let good = |lane: usize| access.addresses[lane].is_multiple_of(bytes) && inside(access.addresses[lane]);
    if each(access.lanes).all(good) { Ok(()) } else { Err(context.bad_access(*access, inside)) }
}

/// Gives lanes that do not take part the address of one that does, so that checks and loads can treat all lanes alike.
#[inline(always)]
pub(super) fn fill(addresses: &mut [u64; 32], lanes: u32) {
    if lanes != u32::MAX {
        let first = addresses[lanes.trailing_zeros() as usize & 31];
        for (lane, address) in addresses.iter_mut().enumerate() {
            *address = if lanes >> lane & 1 != 0 { *address } else { first };
        }
    }
}

/// Returns the addresses of an instruction. Lanes outside `lanes` are filled.
#[inline(always)]
pub(super) fn addresses(r: Registers, register: u32, wide: bool, offset: i64, lanes: u32) -> [u64; 32] {
    let mut out = [0; 32];
    if wide {
        for (out, from) in out.iter_mut().zip(r.read::<u64>(register)) {
            *out = from.wrapping_add_signed(offset);
        }
    } else {
        for (out, from) in out.iter_mut().zip(r.read::<u32>(register)) {
            // Addresses of 32 bits wrap.
            *out = u64::from(from.wrapping_add(offset as u32));
        }
    }
    fill(&mut out, lanes);
    out
}

/// Returns the data register of each element, and the bytes that lie before the element.
#[inline(always)]
pub(super) fn parts(inst: &Inst, shape: Shape) -> impl Iterator<Item = (u32, u32)> {
    inst.data().into_iter().zip((0..shape.count).map(move |part| part * shape.bytes))
}

#[inline(always)]
pub(super) fn set_lane(r: Registers, register: u32, wide: bool, lane: usize, value: u64) {
    if register != NONE {
        r.set_bits(register, wide, lane, value);
    }
}

/// Reads an element of 1 to 8 bytes from words.
#[inline(always)]
pub(super) fn read_element(word: impl Fn(usize) -> u32, address: usize, bytes: u32) -> u64 {
    match bytes {
        8 => u64::from(word(address / 4)) | u64::from(word(address / 4 + 1)) << 32,
        4 => u64::from(word(address / 4)),
        2 => u64::from(word(address / 4) >> (8 * (address & 2)) & 0xffff),
        _ => u64::from(word(address / 4) >> (8 * (address & 3)) & 0xff),
    }
}

/// Reads what a load of this shape puts into a register.
#[inline(always)]
pub(super) fn load_element(word: impl Fn(usize) -> u32, address: usize, shape: Shape) -> u64 {
    let value = read_element(word, address, shape.bytes);
    if shape.signed { sign_extend(value, shape.bytes) } else { value }
}

#[inline(always)]
pub(crate) fn sign_extend(value: u64, bytes: u32) -> u64 {
    let shift = 64 - 8 * bytes;
    ((value << shift) as i64 >> shift) as u64
}

/// Writes an element of 1 to 8 bytes. `put` sets the bits of a mask in a word.
#[inline(always)]
fn write_element(address: usize, bytes: u32, value: u64, mut put: impl FnMut(usize, u32, u32)) {
    let (low, shift) = (value as u32, 8 * (address as u32 & 3));
    match bytes {
        8 => {
            put(address / 4, u32::MAX, low);
            put(address / 4 + 1, u32::MAX, (value >> 32) as u32);
        }
        4 => put(address / 4, u32::MAX, low),
        2 => put(address / 4, 0xffff << shift, low << shift),
        _ => put(address / 4, 0xff << shift, low << shift),
    }
}

#[inline]
pub(super) fn write_words(words: &mut [u32], address: usize, bytes: u32, value: u64) {
    write_element(address, bytes, value, |at, mask, bits| words[at] = words[at] & !mask | bits & mask);
}

#[inline]
pub(super) fn write_atomic(words: &[AtomicU32], address: usize, bytes: u32, value: u64) {
    write_element(address, bytes, value, |at, mask, bits| match mask {
        u32::MAX => words[at].store(bits, Relaxed),
        _ => _ = words[at].fetch_update(Relaxed, Relaxed, |word| Some(word & !mask | bits & mask)),
    });
}

/// Checks all loads of a run at once. Returns `None` if one of them would be a fault, or might be because an address is wide: the
/// instructions then execute one by one and find it.
#[inline(always)]
pub(crate) fn bases(context: &Context, run: &Run, r: Registers) -> Option<[Pattern; BASES]> {
    let mut patterns = [Pattern { index: [0; 32], kind: Arrangement::Scattered }; BASES];
    for (base, pattern) in run.bases.iter().zip(&mut patterns) {
        let addresses = addresses(r, base.register, base.wide, 0, u32::MAX);
        let Summary { low, high, bits, same, next } = Summary::of(&addresses);
        // Positions beyond 4 GiB are outside, and the sums might overflow.
        let inside = high < 1 << 32
            && low as i64 + i64::from(base.low) >= 0
            && high as i64 + i64::from(base.high) <= i64::from(context.launch.shared_bytes);
        if !inside || bits & u64::from(base.align - 1) != 0 {
            return None;
        }
        pattern.kind = match (same, next) {
            (true, _) => Arrangement::Broadcast,
            (_, true) => Arrangement::Contiguous,
            _ => Arrangement::Scattered,
        };
        for (index, address) in pattern.index.iter_mut().zip(&addresses) {
            *index = *address as u32 / 4;
        }
    }
    Some(patterns)
}

#[inline(never)]
pub(crate) fn show_run(context: &mut Context, run: &Run, bases: &[Pattern; BASES], (warp, end): (u32, u32)) {
    let bases = bases.each_ref().map(|base| &base.index);
    let loads = SharedLoads { warp, end, loads: &run.loads, bases: &bases[..run.bases.len()] };
    context.tell(|observer| observer.shared_loads(&loads));
    context.ask();
}
