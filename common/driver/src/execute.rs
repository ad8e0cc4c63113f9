//! Does what operations say: copies, fills, launches.

use crate::errors::{
    ASSERT, Answer, Code, ILLEGAL_ADDRESS, INVALID_VALUE, LAUNCH_FAILED, LAUNCH_TIMEOUT, MISALIGNED_ADDRESS,
    NOT_SUPPORTED,
};
use crate::logged;
use crate::op::{Copy, Fill, Launch, Op};
use crate::raw;
use crate::report;
use crate::state::{Kind, State};
use crate::touched::Touched;
use crate::watch;
use simt::{Analyses, Counters, DevicePointer, Error, FaultKind, Hazards, Space};
use std::io::Write as _;

/// Bytes that are copied at once from one allocation to another.
const PIECE: usize = 1 << 20;

/// Whether all of these bytes are in an allocation, or none of them is: then they are the host's.
fn is_device(state: &State, address: u64, bytes: u64) -> Answer<bool> {
    match state.block(address) {
        Some((base, block)) if address - base + bytes <= block.bytes => Ok(true),
        Some(_) => Err(INVALID_VALUE),
        None => Ok(false),
    }
}

/// Copies bytes that lie one after the other.
fn copy_row(state: &mut State, to: u64, from: u64, bytes: u64) -> Answer {
    let failed = |_| INVALID_VALUE;
    let count = bytes as usize;
    match (is_device(state, to, bytes)?, is_device(state, from, bytes)?) {
        (true, false) => {
            state.memory.bytes_mut(DevicePointer(to), count).map_err(failed)?.copy_from_slice(raw::host(from, count));
            Ok(())
        }
        (false, true) => {
            raw::host_mut(to, count)
                .copy_from_slice(state.memory.bytes_mut(DevicePointer(from), count).map_err(failed)?);
            Ok(())
        }
        (false, false) => {
            raw::host_copy(to, from, count);
            Ok(())
        }
        (true, true) => {
            let mut piece = vec![0; count.min(PIECE)];
            for start in (0..count).step_by(PIECE) {
                let piece = &mut piece[..PIECE.min(count - start)];
                let [from, to] = [from, to].map(|side| DevicePointer(side + start as u64));
                piece.copy_from_slice(state.memory.bytes_mut(from, piece.len()).map_err(failed)?);
                state.memory.bytes_mut(to, piece.len()).map_err(failed)?.copy_from_slice(piece);
            }
            Ok(())
        }
    }
}

/// Copies.
pub fn copy(state: &mut State, copy: Copy) -> Answer {
    if copy.width == 0 {
        return Ok(());
    }
    copy.rows().try_for_each(|(to, from)| copy_row(state, to, from, copy.width))
}

/// Fills.
pub fn fill(state: &mut State, fill: Fill) -> Answer {
    let value = &fill.value.to_le_bytes()[..fill.bytes as usize];
    let bytes = (fill.width * fill.bytes) as usize;
    for row in 0..fill.rows {
        let to = state.memory.bytes_mut(DevicePointer(fill.to + row * fill.pitch), bytes).map_err(|_| INVALID_VALUE)?;
        match value {
            [value] => to.fill(*value),
            value => to.chunks_exact_mut(value.len()).for_each(|to| to.copy_from_slice(value)),
        }
    }
    Ok(())
}

/// The code of the driver for what went wrong in a launch.
fn code(error: &Error) -> Code {
    match error {
        Error::Fault(fault) => match &fault.kind {
            FaultKind::OutOfBounds { space: Space::Global | Space::Shared, .. } => ILLEGAL_ADDRESS,
            FaultKind::Misaligned { .. } => MISALIGNED_ADDRESS,
            FaultKind::Assert { .. } => ASSERT,
            FaultKind::Deadlock { .. } => LAUNCH_TIMEOUT,
            _ => LAUNCH_FAILED,
        },
        Error::Limit(_) => LAUNCH_TIMEOUT,
        Error::Unsupported { .. } | Error::Call { .. } => NOT_SUPPORTED,
        _ => INVALID_VALUE,
    }
}

/// Runs a kernel, and returns how many instructions its warps have executed. What it does wrong is kept in its context.
pub fn launch(state: &mut State, stream: u64, launch: &Launch) -> Answer<u64> {
    let mut analyses = Analyses {
        hazards: state.check.is_some().then(Hazards::new),
        counters: state.options.counters.then(Counters::default),
        trace: None,
    };
    let mut touched = Touched::new(&mut analyses);
    let analysis: &mut dyn simt::Analysis = match (&state.check, state.options.counters) {
        (Some(_), _) => &mut touched,
        (None, true) => &mut *touched.others,
        (None, false) => &mut (),
    };
    let result = simt::launch(&launch.kernel, &mut state.memory, &launch.config, &launch.args, analysis);
    let bytes = touched.bytes();
    let printed = state.memory.take_printed();
    if !printed.is_empty() {
        let mut out = std::io::stdout().lock();
        // A program that has closed its output does not want it.
        let _ = out.write_all(printed.as_bytes()).and_then(|()| out.flush());
    }
    if let Err(error) = &result {
        let context = state.streams.get(stream)?.context;
        state.contexts.get_mut(context)?.fault = Some(code(error));
        watch::failed(state, launch, error);
    }
    if let Some(counters) = &analyses.counters {
        report::counters(state.options.report.as_deref(), launch.kernel.name(), counters, &launch.kernel);
    }
    if let Some(hazards) = &analyses.hazards {
        watch::ran(state, stream, launch, &bytes, hazards.found().to_vec());
    }
    let result = result.map(|launched| launched.warp_instructions);
    logged::launched(state, stream, launch, &result, (analyses.counters.as_ref(), &bytes));
    Ok(result.unwrap_or(0))
}

/// Frees an allocation.
pub fn free(state: &mut State, base: u64) {
    let Some(block) = state.blocks.remove(&base) else { return };
    logged::allocation(state, "free", &block);
    // It is there, or the simulator would not have allocated it.
    let _ = state.memory.free(DevicePointer(base));
    state.devices[block.device].used -= charged(block.bytes);
    if let Kind::Device { pool } = block.kind
        && let Ok(pool) = state.pools.get_mut(pool)
    {
        pool.used -= block.bytes;
    }
}

/// How much of the device's memory an allocation takes.
pub const fn charged(bytes: u64) -> u64 {
    bytes.next_multiple_of(512)
}

/// Whether a value that a stream waits for is there: equal, as the flags say, or greater, or with a common bit.
pub fn holds(state: &State, address: u64, value: u64, bytes: usize, flags: u32) -> bool {
    let mut there = [0; 8];
    if state.memory.read_bytes(DevicePointer(address), &mut there[..bytes]).is_err() {
        return true;
    }
    let there = u64::from_le_bytes(there);
    let ahead = there.wrapping_sub(value);
    match flags & 3 {
        0 => {
            if bytes == 4 {
                (ahead as u32).cast_signed() >= 0
            } else {
                ahead.cast_signed() >= 0
            }
        }
        1 => there == value,
        2 => there & value != 0,
        _ => !(there | value) & (u64::MAX >> (64 - 8 * bytes)) != 0,
    }
}

/// Milliseconds for a byte that is copied and for an instruction that a warp executes. No GPU's: they only let times grow with the
/// work, the same on every machine, about as fast as this simulation is.
const OF_BYTE: f64 = 1e-7;
const OF_INSTRUCTION: f64 = 2e-5;

/// Does an operation that does not wait. Returns how many milliseconds it is said to take.
pub fn execute(state: &mut State, stream: u64, op: &Op) -> Answer<f64> {
    let context = state.streams.get(stream)?.context;
    if state.contexts.get(context)?.fault.is_some() && !matches!(op, Op::Free(_)) {
        return Ok(0.0);
    }
    Ok(match op {
        Op::Copy(op) => {
            copy(state, *op)?;
            logged::copied(state, stream, op);
            (op.width * op.rows * op.slices) as f64 * OF_BYTE
        }
        Op::Fill(op) => {
            fill(state, *op)?;
            logged::filled(state, stream, op);
            (op.width * op.bytes * op.rows) as f64 * OF_BYTE
        }
        Op::Launch(op) => launch(state, stream, op)? as f64 * OF_INSTRUCTION,
        Op::Free(base) => {
            free(state, *base);
            0.0
        }
        Op::Nothing | Op::Host(_) | Op::Record(_) | Op::Wait(_) | Op::After(_) | Op::WaitValue { .. } => 0.0,
    })
}
