//! What a stream does: its operations as data, so that they can run at once, wait in a queue, or be nodes of a graph.

use crate::raw::Callback;
use crate::site::Call;
use simt::{Arg, Kernel, LaunchConfig};
use std::sync::Arc;

/// One side of a copy: memory of the device if its address is in an allocation, else of the host.
#[derive(Clone, Copy, Debug, Default)]
pub struct Side {
    pub address: u64,
    /// Bytes from one row to the next.
    pub pitch: u64,
    /// Bytes from one slice to the next.
    pub slice: u64,
}

/// A copy of rows of bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Copy {
    pub to: Side,
    pub from: Side,
    /// Bytes of a row.
    pub width: u64,
    pub rows: u64,
    pub slices: u64,
}

impl Copy {
    /// A copy of bytes that lie one after the other.
    pub fn plain(to: u64, from: u64, bytes: u64) -> Self {
        let side = |address| Side { address, ..Side::default() };
        Self { to: side(to), from: side(from), width: bytes, rows: 1, slices: 1 }
    }

    /// Where each row goes, and where it comes from.
    pub fn rows(self) -> impl Iterator<Item = (u64, u64)> {
        let at = |side: Side, slice: u64, row: u64| side.address + slice * side.slice + row * side.pitch;
        (0..self.slices)
            .flat_map(move |slice| (0..self.rows).map(move |row| (at(self.to, slice, row), at(self.from, slice, row))))
    }
}

/// Rows of one value again and again.
#[derive(Clone, Copy, Debug)]
pub struct Fill {
    pub to: u64,
    pub pitch: u64,
    pub value: u32,
    /// Size of the value: 1, 2 or 4 bytes.
    pub bytes: u64,
    /// Values of a row.
    pub width: u64,
    pub rows: u64,
}

/// A launch of a kernel.
#[derive(Clone, Debug)]
pub struct Launch {
    pub kernel: Kernel,
    /// The number of its module.
    pub module: u64,
    pub config: LaunchConfig,
    pub args: Vec<Arg>,
    /// Who made it, if faults are looked for.
    pub call: Option<Arc<Call>>,
}

/// A point in the work of a stream: after so many of its operations.
pub type Ticket = (u64, u64);

/// An operation.
#[derive(Clone, Debug)]
#[allow(missing_docs)] // Their names say it.
pub enum Op {
    Nothing,
    Copy(Copy),
    Fill(Fill),
    Launch(Box<Launch>),
    Host(Callback),
    /// Frees an allocation.
    Free(u64),
    /// Notes the time in an event.
    Record(u64),
    /// Waits for an event as it was recorded last, if it was.
    Wait(u64),
    /// Waits for other streams.
    After(Vec<Ticket>),
    /// Waits until a value of the device's memory compares with another one, as the flags say.
    WaitValue {
        address: u64,
        value: u64,
        bytes: usize,
        flags: u32,
    },
}
