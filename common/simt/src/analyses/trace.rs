//! What chosen threads read and wrote, in order.

use crate::locked::lock;
use crate::observe::{Access, Analysis, BlockInfo, BulkCopy, CopyAccess, LaunchInfo, Observer};
use crate::{AccessKind, Dim3, Kernel, Location, Space};
use std::sync::{Arc, Mutex};

/// The most accesses that a trace keeps for one thread; it drops those after them. A thread of the naive kernel at K = 16,384 makes
/// half as many.
pub const MOST_TRACED: usize = 1 << 16;

/// Bytes of an access, both as numbers ([`Raw`]) and with its texts ([`Step`]): the names of the array and file, the instruction.
const STEP_BYTES: u64 = (3 * size_of::<Raw>() + size_of::<Step>() + 6 * 64) as u64;

/// One access of a traced thread.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)] // Only of fields: their names say enough.
pub struct Step {
    /// Name of the array; a shared array has the name that it has in the source.
    pub array: String,
    /// Index of the element: the byte offset divided by the array's element size (4 bytes for shared arrays).
    pub index: u64,
    pub space: Space,
    pub kind: AccessKind,
    pub bytes: u32,
    pub location: Location,
}

/// The accesses of one thread.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)] // Only of fields: their names say enough.
#[non_exhaustive]
pub struct ThreadTrace {
    pub block: Dim3,
    pub thread: Dim3,
    /// Its first [`MOST_TRACED`] accesses, in order.
    pub steps: Vec<Step>,
}

/// Traces chosen threads. Pass it to [`crate::launch`], then read [`Trace::threads`].
#[derive(Debug, Default)]
pub struct Trace {
    wanted: Vec<(Dim3, Dim3)>,
    setup: Option<Setup>,
    done: Done,
}

/// The accesses of each traced thread, with its position in `wanted`.
type Done = Arc<Mutex<Vec<(usize, Vec<Raw>)>>>;

#[derive(Debug)]
struct Setup {
    kernel: Kernel,
    block: Dim3,
    arrays: Vec<(u64, u64, String, u32)>,
}

/// An access as numbers, before names are looked up.
#[derive(Debug, Clone, Copy)]
struct Raw {
    address: u64,
    space: Space,
    kind: AccessKind,
    bytes: u32,
    instruction: u32,
}

impl Trace {
    /// Traces these threads, each given by its block index and its thread index.
    pub fn new(threads: impl IntoIterator<Item = (Dim3, Dim3)>) -> Self {
        Self { wanted: threads.into_iter().collect(), ..Self::default() }
    }

    /// Returns the bytes of host memory that the traces of `threads` threads take, texts included, at `accesses` accesses each.
    pub fn bytes(threads: u64, accesses: u64) -> u64 {
        threads.saturating_mul(accesses.min(MOST_TRACED as u64) * STEP_BYTES)
    }

    /// Returns the traces, in the order in which the threads were given. A thread that was not launched has no steps.
    pub fn threads(&self) -> Vec<ThreadTrace> {
        let done = lock(&self.done);
        let trace = |number: usize, (block, thread): (Dim3, Dim3)| {
            let raw = done.iter().filter(|(done, _)| *done == number).flat_map(|(_, steps)| steps);
            let steps = self.setup.as_ref().map_or(vec![], |setup| raw.map(|&raw| setup.step(raw)).collect());
            ThreadTrace { block, thread, steps }
        };
        self.wanted.iter().enumerate().map(|(number, &thread)| trace(number, thread)).collect()
    }
}

impl Setup {
    fn step(&self, raw: Raw) -> Step {
        let location = self.kernel.location(raw.instruction);
        let (array, index) = match raw.space {
            Space::Shared => match self.kernel.code.shared_array(raw.address) {
                Some((_, array)) => (array.source_name.clone(), (raw.address - u64::from(array.offset)) / 4),
                None => ("shared".into(), raw.address / 4),
            },
            Space::Global => {
                match self.arrays.iter().find(|array| raw.address >= array.0 && raw.address - array.0 < array.1) {
                    Some((base, _, name, element)) => (name.clone(), (raw.address - base) / u64::from(*element)),
                    None => ("global".into(), raw.address),
                }
            }
            _ => ("local".into(), raw.address),
        };
        Step { array, index, space: raw.space, kind: raw.kind, bytes: raw.bytes, location }
    }
}

impl Analysis for Trace {
    fn begin(&mut self, launch: &LaunchInfo<'_>) {
        let arrays = launch.memory.allocations().iter();
        self.setup = Some(Setup {
            kernel: launch.kernel.clone(),
            block: launch.config.block,
            arrays: arrays.map(|a| (a.base.0, a.bytes, a.name.clone(), a.element_bytes)).collect(),
        });
        lock(&self.done).clear();
    }

    fn block(&self, block: &BlockInfo) -> Vec<Box<dyn Observer>> {
        let size = self.setup.as_ref().map_or_else(Dim3::default, |setup| setup.block);
        let inside = |thread: Dim3| thread.x < size.x && thread.y < size.y && thread.z < size.z;
        let wanted = self.wanted.iter().enumerate().filter(|(_, wanted)| wanted.0 == block.index && inside(wanted.1));
        let linear = |thread: Dim3| thread.x + size.x * (thread.y + size.y * thread.z);
        let threads = wanted.map(|(number, wanted)| (number, linear(wanted.1), vec![])).collect();
        vec![Box::new(BlockTrace { threads, done: self.done.clone() })]
    }
}

#[derive(Debug)]
struct BlockTrace {
    /// Position in `wanted`, linear thread index, accesses.
    threads: Vec<(usize, u32, Vec<Raw>)>,
    done: Done,
}

impl BlockTrace {
    /// Returns the traced threads among these lanes of a warp that have not reached [`MOST_TRACED`] accesses.
    fn of(&mut self, warp: u32, lanes: u32) -> impl Iterator<Item = (usize, &mut Vec<Raw>)> {
        self.threads.iter_mut().filter_map(move |(_, thread, steps)| {
            let lane = *thread % 32;
            let wanted = *thread / 32 == warp && lanes >> lane & 1 != 0 && steps.len() < MOST_TRACED;
            wanted.then_some((lane as usize, steps))
        })
    }
}

impl Observer for BlockTrace {
    fn access(&mut self, access: &Access<'_>) {
        let &Access { space, kind, bytes, instruction, .. } = access;
        for (lane, steps) in self.of(access.warp, access.lanes) {
            steps.push(Raw { address: access.addresses[lane], space, kind, bytes, instruction });
        }
    }

    fn copy(&mut self, copy: &CopyAccess<'_>) {
        for (lane, steps) in self.of(copy.warp, copy.lanes) {
            let mut step = |space, kind, address, bytes| {
                steps.push(Raw { address, space, kind, bytes, instruction: copy.instruction });
            };
            if copy.source_bytes[lane] > 0 {
                step(Space::Global, AccessKind::CopySource, copy.from[lane], copy.source_bytes[lane]);
            }
            step(Space::Shared, AccessKind::CopyDestination, copy.to[lane], copy.bytes);
        }
    }

    fn bulk_copy(&mut self, &BulkCopy { thread, instruction, bytes, from, to, .. }: &BulkCopy) {
        for (_, steps) in self.of(thread / 32, 1 << (thread % 32)) {
            let step = |space, kind, address| Raw { address, space, kind, bytes, instruction };
            steps.push(step(Space::Global, AccessKind::CopySource, from));
            steps.push(step(Space::Shared, AccessKind::CopyDestination, to.into()));
        }
    }

    fn end(self: Box<Self>) {
        let mut done = lock(&self.done);
        done.extend(self.threads.into_iter().map(|(number, _, steps)| (number, steps)));
    }
}
