//! Memory: every request of a warp is checked (inside an array, aligned) and then carried out, lane by lane or at once.

use super::block::{Cache, Context, Outcome};
use super::fault;
use super::isa::Isa;
use super::pattern::{Arrangement, Pattern, Summary};
use super::registers::Registers;
use super::warp::Warp;
use crate::ast::{Space, Type};
use crate::lower::inst::{AtomicOp, BASES, CopyCount, Inst, NONE, Run, Shape};
use crate::lower::{LOCAL_WINDOW, SHARED_WINDOW};
use crate::observe::{Access, CopyAccess, Observer};
use crate::{AccessKind, Dim3, Fault, FaultKind};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

pub(crate) type Checked<T> = Result<T, Box<Outcome>>;

impl<O> Context<'_, '_, O> {
    /// The thread of a lane.
    pub fn thread(&self, warp: u32, lane: u32) -> Dim3 {
        self.launch.config.block.index(u64::from(warp) * 32 + u64::from(lane))
    }

    #[cold]
    #[inline(never)]
    pub fn fault(&self, kind: FaultKind, pc: u32, warp: u32, lane: Option<u32>) -> Box<Outcome> {
        fault(Fault {
            kind,
            location: self.launch.kernel.location(pc),
            block: self.info.index,
            thread: lane.map(|lane| self.thread(warp, lane)),
        })
    }

    /// A place in shared memory, in words.
    fn shared_place(&self, address: u64) -> String {
        let total = u64::from(self.launch.shared_bytes);
        let arrays = &self.code.shared_arrays;
        let near = arrays.iter().rfind(|array| u64::from(array.offset) <= address);
        let past = if address >= total {
            let far = if address == total { "right".into() } else { format!("{} bytes", address - total) };
            format!(", {far} past the end of the block's {total} bytes of shared memory")
        } else {
            String::new()
        };
        match near {
            Some(array) if address < 1 << 32 => {
                format!("{} + {} bytes{past}", array.source_name, address - u64::from(array.offset))
            }
            _ => format!("shared address {address:#x}{past}"),
        }
    }

    #[cold]
    #[inline(never)]
    fn bad(
        &self,
        pc: u32,
        warp: u32,
        lane: u32,
        space: Space,
        access: AccessKind,
        bytes: u32,
        address: u64,
    ) -> Box<Outcome> {
        let place = match space {
            Space::Shared => self.shared_place(address),
            Space::Local => {
                let has = self.code.local_bytes;
                format!("byte {address} of the thread's {has} bytes of local memory")
            }
            Space::Param => format!("byte {address} of the kernel's {} bytes of parameters", self.launch.params.len()),
            _ => {
                let memory = self.launch.memory;
                let end = address.saturating_add(u64::from(bytes) - 1);
                let inside = memory.at_or_before(address).is_some_and(|index| {
                    let allocation = &memory.allocations()[index];
                    address - allocation.base().0 < allocation.bytes()
                });
                // An access that starts inside and ends outside is described by its end.
                memory.describe(if inside && address.is_multiple_of(u64::from(bytes)) { end } else { address })
            }
        };
        let kind = if address.is_multiple_of(u64::from(bytes)) {
            FaultKind::OutOfBounds { space, access, bytes, place }
        } else {
            FaultKind::Misaligned { space, access, bytes, place }
        };
        self.fault(kind, pc, warp, Some(lane))
    }

    /// The allocation that holds all of `bytes` bytes at `address`.
    fn find(&self, address: u64, bytes: u32) -> Option<usize> {
        let index = self.launch.memory.at_or_before(address)?;
        let allocation = &self.launch.memory.allocations()[index];
        let offset = address - allocation.base().0;
        (offset.checked_add(u64::from(bytes))? <= allocation.bytes()).then_some(index)
    }
}

/// Sets the lanes that do not take part to the address of one that does, so that checks and loads can treat all lanes
/// alike.
#[inline(always)]
fn fill(addresses: &mut [u64; 32], lanes: u32) {
    if lanes != u32::MAX {
        let first = addresses[lanes.trailing_zeros() as usize & 31];
        for (lane, address) in addresses.iter_mut().enumerate() {
            *address = if lanes >> lane & 1 != 0 { *address } else { first };
        }
    }
}

/// Addresses of an instruction, lanes outside `lanes` filled.
#[inline(always)]
pub(crate) fn addresses(r: Registers, register: u32, wide: bool, offset: i64, lanes: u32) -> [u64; 32] {
    let mut out = [0; 32];
    if wide {
        let from = r.get64(register);
        for (lane, out) in out.iter_mut().enumerate() {
            // SAFETY: a register has 32 lanes; `out` is a local, so nothing overlaps.
            *out = unsafe { (*from)[lane] }.wrapping_add_signed(offset);
        }
    } else {
        let from = r.get(register);
        for (lane, out) in out.iter_mut().enumerate() {
            // SAFETY: as above. Addresses of 32 bits wrap.
            *out = u64::from(unsafe { (*from)[lane] }.wrapping_add(offset as u32));
        }
    }
    fill(&mut out, lanes);
    out
}

/// Reads an element of 1 to 8 bytes from words.
#[inline(always)]
fn read_element(word: impl Fn(usize) -> u32, address: usize, bytes: u32) -> u64 {
    match bytes {
        8 => u64::from(word(address / 4)) | u64::from(word(address / 4 + 1)) << 32,
        4 => u64::from(word(address / 4)),
        2 => u64::from(word(address / 4) >> (8 * (address & 2)) & 0xffff),
        _ => u64::from(word(address / 4) >> (8 * (address & 3)) & 0xff),
    }
}

#[inline(always)]
fn sign_extend(value: u64, bytes: u32, signed: bool) -> u64 {
    if signed {
        let shift = 64 - 8 * bytes;
        ((value << shift) as i64 >> shift) as u64
    } else {
        value
    }
}

/// The mask and position of an element narrower than a word.
fn narrow(address: usize, bytes: u32) -> (u32, u32) {
    let shift = 8 * (address as u32 & 3);
    let mask = if bytes == 2 { 0xffff } else { 0xff };
    (mask << shift, shift)
}

fn write_words(words: &mut [u32], address: usize, bytes: u32, value: u64) {
    match bytes {
        8 => {
            words[address / 4] = value as u32;
            words[address / 4 + 1] = (value >> 32) as u32;
        }
        4 => words[address / 4] = value as u32,
        _ => {
            let (mask, shift) = narrow(address, bytes);
            let word = &mut words[address / 4];
            *word = *word & !mask | (value as u32) << shift & mask;
        }
    }
}

fn write_atomic(words: &[AtomicU32], address: usize, bytes: u32, value: u64) {
    match bytes {
        8 => {
            words[address / 4].store(value as u32, Relaxed);
            words[address / 4 + 1].store((value >> 32) as u32, Relaxed);
        }
        4 => words[address / 4].store(value as u32, Relaxed),
        _ => {
            let (mask, shift) = narrow(address, bytes);
            let _ = words[address / 4]
                .fetch_update(Relaxed, Relaxed, |word| Some(word & !mask | (value as u32) << shift & mask));
        }
    }
}

/// The data registers of a load or store.
#[inline(always)]
fn data(inst: &Inst) -> [u32; 4] {
    [inst.d, inst.b, inst.c, inst.e]
}

#[inline(always)]
fn data_lane(r: Registers, register: u32, wide: bool, lane: usize) -> u64 {
    if wide { r.lane64(register, lane) } else { u64::from(r.lane(register, lane)) }
}

#[inline(always)]
fn set_lane(r: Registers, register: u32, wide: bool, lane: usize, value: u64) {
    if register == NONE {
        return;
    }
    if wide { r.set64(register, lane, value) } else { r.set(register, lane, value as u32) }
}

fn each(lanes: u32) -> impl Iterator<Item = usize> {
    let mut rest = lanes;
    std::iter::from_fn(move || {
        let lane = rest.trailing_zeros() as usize;
        rest &= rest.wrapping_sub(1);
        (lane < 32).then_some(lane)
    })
}

/// Checks all loads of a run at once; none when one of them would be a fault (or might be, for a wide address), which
/// the instructions one by one will find.
#[inline(always)]
pub(crate) fn bases<I: Isa, O>(context: &Context<'_, '_, O>, run: &Run, r: Registers) -> Option<[Pattern; BASES]> {
    let mut patterns = [Pattern { index: [0; 32], kind: Arrangement::Scattered }; BASES];
    for (base, pattern) in run.bases.iter().zip(&mut patterns) {
        let addresses = addresses(r, base.register, base.wide, 0, u32::MAX);
        let Summary { low, high, bits, same, next } = I::summary(&addresses);
        // Positions beyond 4 GiB are outside without further sums.
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

/// Shows an observer the loads of a run.
#[inline(never)]
pub(crate) fn watch_run<O: Observer>(context: &mut Context<'_, '_, O>, run: &Run, bases: &[Pattern; BASES], warp: u32) {
    for &(instruction, base, offset, bytes) in &run.loads {
        let index = &bases[base as usize % BASES].index;
        let mut addresses = [0; 32];
        for (address, &index) in addresses.iter_mut().zip(index) {
            *address = u64::from((4 * index).wrapping_add_signed(offset));
        }
        context.observer.access(&Access {
            warp,
            instruction,
            lanes: u32::MAX,
            kind: AccessKind::Load,
            space: Space::Shared,
            bytes,
            addresses: &addresses,
            values: None,
        });
    }
}

/// Checks a request to shared memory.
#[inline(always)]
fn check_shared<I: Isa, O>(
    context: &Context<'_, '_, O>,
    inst: &Inst,
    warp: u32,
    lanes: u32,
    kind: AccessKind,
    bytes: u32,
    addresses: &[u64; 32],
) -> Checked<()> {
    let Summary { high, bits, .. } = I::summary(addresses);
    if bits & u64::from(bytes - 1) != 0
        || high.saturating_add(u64::from(bytes)) > u64::from(context.launch.shared_bytes)
    {
        let total = u64::from(context.launch.shared_bytes);
        let bad = |address: u64| {
            !address.is_multiple_of(u64::from(bytes)) || address.saturating_add(u64::from(bytes)) > total
        };
        let lane = each(lanes).find(|&lane| bad(addresses[lane])).unwrap_or(0);
        return Err(context.bad(inst.pc, warp, lane as u32, Space::Shared, kind, bytes, addresses[lane]));
    }
    Ok(())
}

#[inline(always)]
fn watch<O: Observer>(
    context: &mut Context<'_, '_, O>,
    inst: &Inst,
    warp: u32,
    lanes: u32,
    kind: AccessKind,
    space: Space,
    bytes: u32,
    addresses: &[u64; 32],
) {
    if O::ACTIVE {
        let values = None;
        context.observer.access(&Access { warp, instruction: inst.pc, lanes, kind, space, bytes, addresses, values });
    }
}

/// The same for a store, whose values are shown too.
#[inline(always)]
fn watch_store<O: Observer>(
    context: &mut Context<'_, '_, O>,
    inst: &Inst,
    r: Registers,
    warp: u32,
    lanes: u32,
    space: Space,
    addresses: &[u64; 32],
) {
    if O::ACTIVE {
        let shape = Shape::unpack(inst.sub);
        let mut values = [0; 32];
        for lane in each(lanes) {
            values[lane] = data_lane(r, inst.d, shape.wide, lane);
        }
        context.observer.access(&Access {
            warp,
            instruction: inst.pc,
            lanes,
            kind: AccessKind::Store,
            space,
            bytes: shape.bytes * shape.count,
            addresses,
            values: Some(&values),
        });
    }
}

#[inline(always)]
pub(crate) fn load_shared<I: Isa, O: Observer>(
    context: &mut Context<'_, '_, O>,
    inst: &Inst,
    r: Registers,
    warp: u32,
    lanes: u32,
    base: u64,
) -> Checked<()> {
    let shape = Shape::unpack(inst.sub);
    let addresses = addresses(r, inst.a, shape.wide_address, i64::from(inst.imm).wrapping_sub_unsigned(base), lanes);
    let bytes = shape.bytes * shape.count;
    check_shared::<I, _>(context, inst, warp, lanes, AccessKind::Load, bytes, &addresses)?;
    watch(context, inst, warp, lanes, AccessKind::Load, Space::Shared, bytes, &addresses);
    let words = &*context.shared;
    if shape.bytes == 4 && !shape.wide {
        let mut index = [0u32; 32];
        for lane in 0..32 {
            index[lane] = addresses[lane] as u32 / 4;
        }
        for (register, part) in data(inst).into_iter().zip(0..shape.count) {
            if register == NONE {
                continue;
            }
            let mut out = [0u32; 32];
            for lane in 0..32 {
                // SAFETY: `check_shared` found every address, and the bytes after it, inside shared memory.
                out[lane] = unsafe { *words.get_unchecked((index[lane] + part) as usize) };
            }
            r.write(register, lanes, &out);
        }
        return Ok(());
    }
    for lane in each(lanes) {
        for (register, part) in data(inst).into_iter().zip(0..shape.count) {
            let at = (addresses[lane] + u64::from(part * shape.bytes)) as usize;
            let value = sign_extend(read_element(|word| words[word], at, shape.bytes), shape.bytes, shape.signed);
            set_lane(r, register, shape.wide, lane, value);
        }
    }
    Ok(())
}

#[inline(always)]
pub(crate) fn store_shared<I: Isa, O: Observer>(
    context: &mut Context<'_, '_, O>,
    inst: &Inst,
    r: Registers,
    warp: u32,
    lanes: u32,
    base: u64,
) -> Checked<()> {
    let shape = Shape::unpack(inst.sub);
    let addresses = addresses(r, inst.a, shape.wide_address, i64::from(inst.imm).wrapping_sub_unsigned(base), lanes);
    let bytes = shape.bytes * shape.count;
    check_shared::<I, _>(context, inst, warp, lanes, AccessKind::Store, bytes, &addresses)?;
    watch_store(context, inst, r, warp, lanes, Space::Shared, &addresses);
    for lane in each(lanes) {
        for (register, part) in data(inst).into_iter().zip(0..shape.count) {
            let at = (addresses[lane] + u64::from(part * shape.bytes)) as usize;
            write_words(context.shared, at, shape.bytes, data_lane(r, register, shape.wide, lane));
        }
    }
    Ok(())
}

/// Finds the allocation of a request to global memory when all lanes are in one; otherwise checks each lane and returns
/// none.
#[inline(always)]
fn check_global<'a, I: Isa, O>(
    context: &mut Context<'a, '_, O>,
    pc: u32,
    warp: u32,
    lanes: u32,
    kind: AccessKind,
    bytes: u32,
    addresses: &[u64; 32],
) -> Checked<(Option<Cache<'a>>, Summary)> {
    let summary = I::summary(addresses);
    let Summary { low, high, bits, .. } = summary;
    if bits & u64::from(bytes - 1) == 0 {
        let inside = |cache: &Cache<'_>| {
            low >= cache.base
                && high - cache.base < cache.bytes
                && cache.bytes - (high - cache.base) >= u64::from(bytes)
        };
        let cache = context.caches[pc as usize];
        if inside(&cache) {
            return Ok((Some(cache), summary));
        }
        if let Some(index) = context.find(low, bytes) {
            let allocation = &context.launch.memory.allocations()[index];
            let cache = Cache { base: allocation.base().0, bytes: allocation.bytes(), words: allocation.words() };
            if inside(&cache) {
                context.caches[pc as usize] = cache;
                return Ok((Some(cache), summary));
            }
        }
    }
    for lane in each(lanes) {
        let address = addresses[lane];
        if !address.is_multiple_of(u64::from(bytes)) || context.find(address, bytes).is_none() {
            return Err(context.bad(pc, warp, lane as u32, Space::Global, kind, bytes, address));
        }
    }
    Ok((None, summary))
}

/// The words of the allocation that holds an address already checked, and the position in it.
fn place<'a, O>(context: &Context<'a, '_, O>, cache: Option<Cache<'a>>, address: u64) -> (&'a [AtomicU32], usize) {
    if let Some(cache) = cache {
        return (cache.words, (address - cache.base) as usize);
    }
    match context.launch.memory.at_or_before(address) {
        Some(index) => {
            let allocation = &context.launch.memory.allocations()[index];
            (allocation.words(), (address - allocation.base().0) as usize)
        }
        None => (&[], 0),
    }
}

#[inline(always)]
pub(crate) fn load_global<I: Isa, O: Observer>(
    context: &mut Context<'_, '_, O>,
    inst: &Inst,
    r: Registers,
    warp: u32,
    lanes: u32,
) -> Checked<()> {
    let shape = Shape::unpack(inst.sub);
    let addresses = addresses(r, inst.a, shape.wide_address, i64::from(inst.imm), lanes);
    let bytes = shape.bytes * shape.count;
    let (cache, summary) = check_global::<I, _>(context, inst.pc, warp, lanes, AccessKind::Load, bytes, &addresses)?;
    watch(context, inst, warp, lanes, AccessKind::Load, Space::Global, bytes, &addresses);
    if let (4, false, Some(cache)) = (shape.bytes, shape.wide, cache) {
        let first = ((addresses[0] - cache.base) / 4) as usize;
        for (register, part) in data(inst).into_iter().zip(0..shape.count as usize) {
            if register == NONE {
                continue;
            }
            let mut out = [0u32; 32];
            if summary.same {
                out = [cache.words[first + part].load(Relaxed); 32];
            } else if summary.next {
                for (out, word) in out.iter_mut().zip(&cache.words[first + part..]) {
                    *out = word.load(Relaxed);
                }
            } else {
                for lane in 0..32 {
                    out[lane] = cache.words[(addresses[lane] - cache.base) as usize / 4 + part].load(Relaxed);
                }
            }
            r.write(register, lanes, &out);
        }
        return Ok(());
    }
    for lane in each(lanes) {
        let (words, start) = place(context, cache, addresses[lane]);
        for (register, part) in data(inst).into_iter().zip(0..shape.count) {
            let at = start + (part * shape.bytes) as usize;
            let value = read_element(|word| words[word].load(Relaxed), at, shape.bytes);
            set_lane(r, register, shape.wide, lane, sign_extend(value, shape.bytes, shape.signed));
        }
    }
    Ok(())
}

#[inline(always)]
pub(crate) fn store_global<I: Isa, O: Observer>(
    context: &mut Context<'_, '_, O>,
    inst: &Inst,
    r: Registers,
    warp: u32,
    lanes: u32,
) -> Checked<()> {
    let shape = Shape::unpack(inst.sub);
    let addresses = addresses(r, inst.a, shape.wide_address, i64::from(inst.imm), lanes);
    let bytes = shape.bytes * shape.count;
    let (cache, _) = check_global::<I, _>(context, inst.pc, warp, lanes, AccessKind::Store, bytes, &addresses)?;
    watch_store(context, inst, r, warp, lanes, Space::Global, &addresses);
    for lane in each(lanes) {
        let (words, start) = place(context, cache, addresses[lane]);
        for (register, part) in data(inst).into_iter().zip(0..shape.count) {
            let at = start + (part * shape.bytes) as usize;
            write_atomic(words, at, shape.bytes, data_lane(r, register, shape.wide, lane));
        }
    }
    Ok(())
}

/// Local memory: `local` holds the lanes' areas one after the other.
#[inline(never)]
pub(crate) fn local<O: Observer>(
    context: &mut Context<'_, '_, O>,
    inst: &Inst,
    r: Registers,
    warp: &mut Warp,
    lanes: u32,
    base: u64,
    load: bool,
) -> Checked<()> {
    let shape = Shape::unpack(inst.sub);
    let addresses = addresses(r, inst.a, shape.wide_address, i64::from(inst.imm).wrapping_sub_unsigned(base), lanes);
    let bytes = shape.bytes * shape.count;
    let size = u64::from(context.code.local_bytes);
    let kind = if load { AccessKind::Load } else { AccessKind::Store };
    for lane in each(lanes) {
        let address = addresses[lane];
        if !address.is_multiple_of(u64::from(bytes)) || address.saturating_add(u64::from(bytes)) > size {
            return Err(context.bad(inst.pc, warp.number, lane as u32, Space::Local, kind, bytes, address));
        }
    }
    watch(context, inst, warp.number, lanes, kind, Space::Local, bytes, &addresses);
    for lane in each(lanes) {
        for (register, part) in data(inst).into_iter().zip(0..shape.count) {
            let at = lane * size as usize + addresses[lane] as usize + (part * shape.bytes) as usize;
            if load {
                let value = read_element(|word| warp.local[word], at, shape.bytes);
                set_lane(r, register, shape.wide, lane, sign_extend(value, shape.bytes, shape.signed));
            } else {
                write_words(&mut warp.local, at, shape.bytes, data_lane(r, register, shape.wide, lane));
            }
        }
    }
    Ok(())
}

/// A load from the parameter area at an address computed by the kernel.
#[inline(never)]
pub(crate) fn load_param<O>(
    context: &Context<'_, '_, O>,
    inst: &Inst,
    r: Registers,
    warp: u32,
    lanes: u32,
) -> Checked<()> {
    let shape = Shape::unpack(inst.sub);
    let addresses = addresses(r, inst.a, shape.wide_address, i64::from(inst.imm), lanes);
    let bytes = shape.bytes * shape.count;
    let params = &context.launch.params;
    for lane in each(lanes) {
        let address = addresses[lane];
        let end = address.saturating_add(u64::from(bytes));
        if !address.is_multiple_of(u64::from(bytes)) || end > params.len() as u64 {
            return Err(context.bad(inst.pc, warp, lane as u32, Space::Param, AccessKind::Load, bytes, address));
        }
        for (register, part) in data(inst).into_iter().zip(0..shape.count) {
            let start = address as usize + (part * shape.bytes) as usize;
            let mut value = [0; 8];
            value[..shape.bytes as usize].copy_from_slice(&params[start..start + shape.bytes as usize]);
            let value = sign_extend(u64::from_le_bytes(value), shape.bytes, shape.signed);
            set_lane(r, register, shape.wide, lane, value);
        }
    }
    Ok(())
}

/// A load or store whose address says which memory it means: the lanes are sorted by memory.
#[inline(never)]
pub(crate) fn generic<I: Isa, O: Observer>(
    context: &mut Context<'_, '_, O>,
    inst: &Inst,
    r: Registers,
    warp: &mut Warp,
    lanes: u32,
    load: bool,
) -> Checked<()> {
    let shape = Shape::unpack(inst.sub);
    let addresses = addresses(r, inst.a, true, i64::from(inst.imm), lanes);
    let window = |start: u64| {
        each(lanes)
            .filter(|&lane| (start..start + (1 << 32)).contains(&addresses[lane]))
            .fold(0, |m, lane| m | 1 << lane)
    };
    let (shared, own) = (window(SHARED_WINDOW), window(LOCAL_WINDOW));
    let global = lanes & !shared & !own;
    // Loads of one memory may overwrite the address register the next needs, which is safe as lanes differ.
    let _ = shape;
    if global != 0 {
        if load {
            load_global::<I, _>(context, inst, r, warp.number, global)?;
        } else {
            store_global::<I, _>(context, inst, r, warp.number, global)?;
        }
    }
    if shared != 0 {
        if load {
            load_shared::<I, _>(context, inst, r, warp.number, shared, SHARED_WINDOW)?;
        } else {
            store_shared::<I, _>(context, inst, r, warp.number, shared, SHARED_WINDOW)?;
        }
    }
    if own != 0 {
        local(context, inst, r, warp, own, LOCAL_WINDOW, load)?;
    }
    Ok(())
}

/// What an atomic operation leaves in memory.
fn combine(op: AtomicOp, kind: Type, old: u64, b: u64, c: u64) -> u64 {
    let signed = kind.is_signed();
    let narrow = kind.bytes() == 4;
    let mask = if narrow { 0xffff_ffff } else { u64::MAX };
    let signed_of = |value: u64| if narrow { i64::from(value as i32) } else { value as i64 };
    let (old, b, c) = (old & mask, b & mask, c & mask);
    let value = match (op, kind) {
        (AtomicOp::Add, Type::F32) => {
            let sum = f32::from_bits(old as u32) + f32::from_bits(b as u32);
            u64::from(if sum.is_nan() { super::float::NAN } else { sum.to_bits() })
        }
        (AtomicOp::Add, Type::F64) => (f64::from_bits(old) + f64::from_bits(b)).to_bits(),
        (AtomicOp::Add, _) => old.wrapping_add(b),
        (AtomicOp::Min, _) if signed => signed_of(old).min(signed_of(b)) as u64,
        (AtomicOp::Max, _) if signed => signed_of(old).max(signed_of(b)) as u64,
        (AtomicOp::Min, _) => old.min(b),
        (AtomicOp::Max, _) => old.max(b),
        (AtomicOp::Exch, _) => b,
        (AtomicOp::Cas, _) => {
            if old == b {
                c
            } else {
                old
            }
        }
        (AtomicOp::And, _) => old & b,
        (AtomicOp::Or, _) => old | b,
        (AtomicOp::Xor, _) => old ^ b,
        (AtomicOp::Inc, _) => {
            if old >= b {
                0
            } else {
                old + 1
            }
        }
        (AtomicOp::Dec, _) => {
            if old == 0 || old > b {
                b
            } else {
                old - 1
            }
        }
    };
    value & mask
}

#[inline(never)]
pub(crate) fn atomic<I: Isa, O: Observer>(
    context: &mut Context<'_, '_, O>,
    inst: &Inst,
    r: Registers,
    warp: u32,
    lanes: u32,
) -> Checked<()> {
    let atomic = context.code.atomics[inst.imm as usize];
    let mut all = addresses(r, inst.a, true, atomic.offset, lanes);
    let bytes = atomic.kind.bytes();
    let in_window = |lane: usize| (SHARED_WINDOW..SHARED_WINDOW + (1 << 32)).contains(&all[lane]);
    let shared = match atomic.space {
        Space::Shared => lanes,
        Space::Generic => each(lanes).filter(|&lane| in_window(lane)).fold(0, |mask, lane| mask | 1 << lane),
        _ => 0,
    };
    let global = lanes & !shared;
    let wide = bytes == 8;
    let operands = |lane: usize| {
        let get = |register| if register == NONE { 0 } else { data_lane(r, register, wide, lane) };
        (get(inst.b), get(inst.c))
    };
    if shared != 0 {
        if atomic.space == Space::Generic {
            all = all.map(|address| address.wrapping_sub(SHARED_WINDOW));
        }
        let mut addresses = all;
        fill(&mut addresses, shared);
        check_shared::<I, _>(context, inst, warp, shared, AccessKind::Atomic, bytes, &addresses)?;
        watch(context, inst, warp, shared, AccessKind::Atomic, Space::Shared, bytes, &addresses);
        for lane in each(shared) {
            let (b, c) = operands(lane);
            let at = addresses[lane] as usize;
            let old = read_element(|word| context.shared[word], at, bytes);
            write_words(context.shared, at, bytes, combine(atomic.op, atomic.kind, old, b, c));
            set_lane(r, inst.d, wide, lane, old);
        }
        if atomic.space == Space::Generic {
            all = all.map(|address| address.wrapping_add(SHARED_WINDOW));
        }
    }
    if global != 0 {
        fill(&mut all, global);
        let (cache, _) = check_global::<I, _>(context, inst.pc, warp, global, AccessKind::Atomic, bytes, &all)?;
        watch(context, inst, warp, global, AccessKind::Atomic, Space::Global, bytes, &all);
        for lane in each(global) {
            let (b, c) = operands(lane);
            let (words, at) = place(context, cache, all[lane]);
            let old = if wide {
                let _lock = context.launch.atomic.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                let old = read_element(|word| words[word].load(Relaxed), at, 8);
                write_atomic(words, at, 8, combine(atomic.op, atomic.kind, old, b, c));
                old
            } else {
                let update = |old| Some(combine(atomic.op, atomic.kind, u64::from(old), b, c) as u32);
                match words[at / 4].fetch_update(Relaxed, Relaxed, update) {
                    Ok(old) | Err(old) => u64::from(old),
                }
            };
            set_lane(r, inst.d, wide, lane, old);
        }
    }
    Ok(())
}

/// An asynchronous copy in flight: read, but not yet written.
pub(crate) struct Pending {
    pub lanes: u32,
    pub bytes: u32,
    pub to: [u32; 32],
    pub data: [[u32; 4]; 32],
    /// The group of each lane's copy.
    pub group: [u32; 32],
}

#[inline(never)]
pub(crate) fn copy_async<I: Isa, O: Observer>(
    context: &mut Context<'_, '_, O>,
    inst: &Inst,
    r: Registers,
    predicates: &[u32],
    warp: &mut Warp,
    lanes: u32,
) -> Checked<()> {
    let copy = context.code.copies[inst.imm as usize];
    let to = addresses(r, inst.a, copy.wide_to, copy.to_offset, lanes);
    let from = addresses(r, inst.b, true, copy.from_offset, lanes);
    let mut source = [copy.bytes; 32];
    if inst.c != NONE {
        for (lane, source) in source.iter_mut().enumerate() {
            let asked = match copy.count {
                CopyCount::Ignore if predicates[inst.c as usize] >> lane & 1 != 0 => 0,
                CopyCount::Ignore => copy.bytes,
                CopyCount::WideBytes => r.lane64(inst.c, lane).min(u64::from(u32::MAX)) as u32,
                CopyCount::Bytes => r.lane(inst.c, lane),
            };
            if asked > copy.bytes && lanes >> lane & 1 != 0 {
                let text = format!("asynchronous copy of {asked} bytes into {} bytes,", copy.bytes);
                return Err(context.fault(FaultKind::Other(text), inst.pc, warp.number, Some(lane as u32)));
            }
            *source = asked;
        }
    }
    check_shared::<I, _>(context, inst, warp.number, lanes, AccessKind::CopyDestination, copy.bytes, &to)?;
    let reading = each(lanes).filter(|&lane| source[lane] > 0).fold(0u32, |mask, lane| mask | 1 << lane);
    let whole = each(reading).all(|lane| source[lane] == copy.bytes);
    let mut cache = None;
    if whole && reading == lanes {
        cache =
            check_global::<I, _>(context, inst.pc, warp.number, lanes, AccessKind::CopySource, copy.bytes, &from)?.0;
    } else {
        for lane in each(lanes) {
            // Lanes that read nothing may name any source, but it must be aligned all the same.
            let outside = source[lane] > 0 && context.find(from[lane], source[lane]).is_none();
            if outside || !from[lane].is_multiple_of(u64::from(copy.bytes)) {
                let kind = AccessKind::CopySource;
                return Err(context.bad(
                    inst.pc,
                    warp.number,
                    lane as u32,
                    Space::Global,
                    kind,
                    copy.bytes,
                    from[lane],
                ));
            }
        }
    }
    if O::ACTIVE {
        context.observer.copy(&CopyAccess {
            warp: warp.number,
            instruction: inst.pc,
            lanes,
            bytes: copy.bytes,
            bypass: copy.bypass,
            source_bytes: &source,
            from: &from,
            to: &to,
        });
    }
    let mut pending = Pending { lanes, bytes: copy.bytes, to: [0; 32], data: [[0; 4]; 32], group: warp.groups };
    for lane in each(lanes) {
        pending.to[lane] = to[lane] as u32;
    }
    for lane in each(reading) {
        let (words, at) = place(context, cache, from[lane]);
        for (part, word) in (0..copy.bytes / 4).zip(&mut pending.data[lane]) {
            let left = source[lane].saturating_sub(4 * part);
            if left > 0 {
                let value = words[at / 4 + part as usize].load(Relaxed);
                *word = if left >= 4 { value } else { value & ((1 << (8 * left)) - 1) };
            }
        }
    }
    warp.pending.push(pending);
    Ok(())
}

/// Lands copies: those of the lanes whose group is older than the `keep` latest closed ones, or all.
#[inline(never)]
pub(crate) fn land(shared: &mut [u32], warp: &mut Warp, lanes: u32, keep: Option<u32>) {
    let groups = warp.groups;
    warp.pending.retain_mut(|pending| {
        // Almost always all lanes of a copy land together.
        for lane in each(pending.lanes & lanes) {
            let landed = keep.is_none_or(|keep| pending.group[lane].saturating_add(keep) < groups[lane]);
            if landed {
                let at = pending.to[lane] as usize / 4;
                let words = pending.bytes as usize / 4;
                shared[at..at + words].copy_from_slice(&pending.data[lane][..words]);
                pending.lanes &= !(1 << lane);
            }
        }
        pending.lanes != 0
    });
}
