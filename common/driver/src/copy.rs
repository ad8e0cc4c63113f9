//! Copies and fills, at once or in the order of a stream.

use crate::entry::{Guard, api};
use crate::errors::{Answer, INVALID_VALUE};
use crate::logged;
use crate::op::{Copy, Fill, Op, Side};
use crate::queue::{enqueue, synchronize};
use crate::raw::In;
use crate::state::State;
use crate::watch;

/// When a copy is made.
#[derive(Clone, Copy)]
enum When {
    /// In the default stream, and the host waits.
    Now,
    /// In the order of a stream.
    In(u64),
}

/// What the program says that an address is.
#[derive(Clone, Copy, PartialEq)]
enum Where {
    Host,
    Device,
    Either,
}

/// Refuses bytes that are not where the program says: memory of the device must be in one allocation.
fn check_side(state: &mut State, at: Where, address: u64, bytes: u64, side: &'static str) -> Answer {
    let inside = state
        .block(address)
        .map(|(base, block)| (address - base).checked_add(bytes).is_some_and(|end| end <= block.bytes));
    match (at, inside) {
        (_, Some(true)) | (Where::Host | Where::Either, None) => Ok(()),
        (Where::Host, Some(false)) if address != 0 => Ok(()),
        _ => {
            watch::out_of_bounds(state, address, bytes, side);
            if side == "writes" {
                watch::refused(state, "a copy or memset", vec![address], INVALID_VALUE);
            }
            Err(INVALID_VALUE)
        }
    }
}

fn make(guard: &mut Guard, when: When, copy: Copy, to: Where, from: Where) -> Answer {
    guard.context()?;
    let stream = guard.stream(if let When::In(stream) = when { stream } else { 0 })?;
    if copy.width == 0 || copy.rows == 0 || copy.slices == 0 {
        return Ok(());
    }
    if copy.to.address == 0 || copy.from.address == 0 {
        watch::gave_nothing(guard, 0, "this copies with it");
        return Err(INVALID_VALUE);
    }
    let extent = |side: Side| (copy.slices - 1) * side.slice + (copy.rows - 1) * side.pitch + copy.width;
    check_side(guard, to, copy.to.address, extent(copy.to), "writes")?;
    check_side(guard, from, copy.from.address, extent(copy.from), "reads")?;
    // Memory of the host that is not pinned is read or written before the function returns.
    let pageable = [copy.to, copy.from].iter().any(|side| guard.block(side.address).is_none());
    let now = matches!(when, When::Now);
    let captured = guard.streams.get(stream)?.capture.is_some();
    if captured && now {
        return crate::queue::refuse_capturing(guard, stream);
    }
    watch::copies(guard, stream, &copy)?;
    enqueue(guard, stream, Op::Copy(copy))?;
    if now || pageable && !captured {
        synchronize(guard, stream)?;
        // A copy from memory that is not pinned may still be under way when the function returns.
        let back = guard.block(copy.to.address).is_none_or(|(_, block)| block.is_host());
        if back || now && from != Where::Device {
            watch::synchronized(guard, stream);
            logged::waited(guard, Some(stream), None);
        }
    }
    Ok(())
}

/// `(address, value, width, rows, pitch)`
type Filled = (u64, u32, u64, u64, u64);

fn set(guard: &mut Guard, when: When, bytes: u64, (to, value, width, rows, pitch): Filled) -> Answer {
    guard.context()?;
    let stream = guard.stream(if let When::In(stream) = when { stream } else { 0 })?;
    if width == 0 || rows == 0 {
        return Ok(());
    }
    if !to.is_multiple_of(bytes) || rows > 1 && pitch < width.saturating_mul(bytes) {
        return Err(INVALID_VALUE);
    }
    let extent = width.checked_mul(bytes).and_then(|row| pitch.checked_mul(rows - 1)?.checked_add(row));
    check_side(guard, Where::Device, to, extent.ok_or(INVALID_VALUE)?, "writes")?;
    let fill = Fill { to, pitch, value, bytes, width, rows };
    watch::fills(guard, stream, &fill)?;
    enqueue(guard, stream, Op::Fill(fill))
}

/// A copy in two dimensions as the interface describes it: for each side x, y, kind of memory, host, device, array, pitch.
type TwoD = [u64; 16];

/// Returns a copy in two or three dimensions, and where its sides are.
fn described(list: &[u64], three: bool) -> Answer<(Copy, Where, Where)> {
    let size = if three { 11 } else { 7 };
    let side = |list: &[u64]| -> Answer<(Side, Where)> {
        let (z, rest) = if three { (list[2], &list[4..]) } else { (0, &list[2..]) };
        let [kind, host, device] = [rest[0] & 0xffff_ffff, rest[1], rest[2]];
        let (pitch, height) = if three { (rest[5], rest[6]) } else { (rest[4], 0) };
        let (start, at) = match kind {
            1 => (host, Where::Host),
            2 => (device, Where::Device),
            4 => (device, Where::Either),
            _ => return Err(INVALID_VALUE),
        };
        let slice = pitch * height;
        Ok((Side { address: start + z * slice + list[1] * pitch + list[0], pitch, slice }, at))
    };
    let ((from, from_at), (to, to_at)) = (side(&list[..size])?, side(&list[size..2 * size])?);
    let [width, rows] = [list[2 * size], list[2 * size + 1]];
    let slices = if three { list[2 * size + 2] } else { 1 };
    let narrow = |side: Side| rows > 1 && side.pitch < width;
    if narrow(from) || narrow(to) {
        return Err(INVALID_VALUE);
    }
    Ok((Copy { to, from, width, rows, slices }, to_at, from_at))
}

fn make_described(guard: &mut Guard, when: When, described: (Copy, Where, Where)) -> Answer {
    make(guard, when, described.0, described.1, described.2)
}

fn plain(guard: &mut Guard, when: When, (to, to_at): (u64, Where), (from, at): (u64, Where), bytes: u64) -> Answer {
    make(guard, when, Copy::plain(to, from, bytes), to_at, at)
}

/// Refuses contexts that do not exist.
fn peers(guard: &Guard, contexts: [u64; 2]) -> Answer {
    contexts
        .iter()
        .try_for_each(|&context| guard.contexts.get(context).map(|_| ()).map_err(|_| crate::errors::INVALID_CONTEXT))
}

use Where::{Device, Either, Host};

api! {
    fn cuMemcpyHtoD_v2(guard, to: u64, from: u64, bytes: u64) {
        plain(guard, When::Now, (to, Device), (from, Host), bytes)
    }
    fn cuMemcpyDtoH_v2(guard, to: u64, from: u64, bytes: u64) {
        plain(guard, When::Now, (to, Host), (from, Device), bytes)
    }
    fn cuMemcpyDtoD_v2(guard, to: u64, from: u64, bytes: u64) {
        plain(guard, When::Now, (to, Device), (from, Device), bytes)
    }
    fn cuMemcpy(guard, to: u64, from: u64, bytes: u64) {
        plain(guard, When::Now, (to, Either), (from, Either), bytes)
    }
    fn cuMemcpyPeer(guard, to: u64, to_context: u64, from: u64, from_context: u64, bytes: u64) {
        peers(guard, [to_context, from_context])?;
        plain(guard, When::Now, (to, Device), (from, Device), bytes)
    }
    fn cuMemcpyHtoDAsync_v2(guard, to: u64, from: u64, bytes: u64, stream: u64) {
        plain(guard, When::In(stream), (to, Device), (from, Host), bytes)
    }
    fn cuMemcpyDtoHAsync_v2(guard, to: u64, from: u64, bytes: u64, stream: u64) {
        plain(guard, When::In(stream), (to, Host), (from, Device), bytes)
    }
    fn cuMemcpyDtoDAsync_v2(guard, to: u64, from: u64, bytes: u64, stream: u64) {
        plain(guard, When::In(stream), (to, Device), (from, Device), bytes)
    }
    fn cuMemcpyAsync(guard, to: u64, from: u64, bytes: u64, stream: u64) {
        plain(guard, When::In(stream), (to, Either), (from, Either), bytes)
    }
    fn cuMemcpyPeerAsync(guard, to: u64, to_context: u64, from: u64, from_context: u64, bytes: u64, stream: u64) {
        peers(guard, [to_context, from_context])?;
        plain(guard, When::In(stream), (to, Device), (from, Device), bytes)
    }
    fn cuMemcpy2D_v2(guard, copy: In<TwoD>) {
        let copy = described(&copy.get()?, false)?;
        make_described(guard, When::Now, copy)
    }
    fn cuMemcpy2DUnaligned_v2(guard, copy: In<TwoD>) {
        let copy = described(&copy.get()?, false)?;
        make_described(guard, When::Now, copy)
    }
    fn cuMemcpy2DAsync_v2(guard, copy: In<TwoD>, stream: u64) {
        let copy = described(&copy.get()?, false)?;
        make_described(guard, When::In(stream), copy)
    }
    fn cuMemcpy3D_v2(guard, copy: In<[u64; 25]>) {
        let copy = described(&copy.get()?, true)?;
        make_described(guard, When::Now, copy)
    }
    fn cuMemcpy3DAsync_v2(guard, copy: In<[u64; 25]>, stream: u64) {
        let copy = described(&copy.get()?, true)?;
        make_described(guard, When::In(stream), copy)
    }
    fn cuMemsetD8_v2(guard, to: u64, value: u8, count: u64) { set(guard, When::Now, 1, (to, value.into(), count, 1, 0)) }
    fn cuMemsetD16_v2(guard, to: u64, value: u16, count: u64) { set(guard, When::Now, 2, (to, value.into(), count, 1, 0)) }
    fn cuMemsetD32_v2(guard, to: u64, value: u32, count: u64) { set(guard, When::Now, 4, (to, value, count, 1, 0)) }
    fn cuMemsetD8Async(guard, to: u64, value: u8, count: u64, stream: u64) {
        set(guard, When::In(stream), 1, (to, value.into(), count, 1, 0))
    }
    fn cuMemsetD16Async(guard, to: u64, value: u16, count: u64, stream: u64) {
        set(guard, When::In(stream), 2, (to, value.into(), count, 1, 0))
    }
    fn cuMemsetD32Async(guard, to: u64, value: u32, count: u64, stream: u64) {
        set(guard, When::In(stream), 4, (to, value, count, 1, 0))
    }
    fn cuMemsetD2D8_v2(guard, to: u64, pitch: u64, value: u8, width: u64, rows: u64) {
        set(guard, When::Now, 1, (to, value.into(), width, rows, pitch))
    }
    fn cuMemsetD2D16_v2(guard, to: u64, pitch: u64, value: u16, width: u64, rows: u64) {
        set(guard, When::Now, 2, (to, value.into(), width, rows, pitch))
    }
    fn cuMemsetD2D32_v2(guard, to: u64, pitch: u64, value: u32, width: u64, rows: u64) {
        set(guard, When::Now, 4, (to, value, width, rows, pitch))
    }
    fn cuMemsetD2D8Async(guard, to: u64, pitch: u64, value: u8, width: u64, rows: u64, stream: u64) {
        set(guard, When::In(stream), 1, (to, value.into(), width, rows, pitch))
    }
    fn cuMemsetD2D16Async(guard, to: u64, pitch: u64, value: u16, width: u64, rows: u64, stream: u64) {
        set(guard, When::In(stream), 2, (to, value.into(), width, rows, pitch))
    }
    fn cuMemsetD2D32Async(guard, to: u64, pitch: u64, value: u32, width: u64, rows: u64, stream: u64) {
        set(guard, When::In(stream), 4, (to, value, width, rows, pitch))
    }
}
