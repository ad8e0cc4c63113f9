//! A run of a step on the simulator with every access of every warp kept.

use std::collections::BTreeSet;
use std::sync::Mutex;

use anyhow::{Context, Result, anyhow};
use common::code::Source;
use common::describe::Request;
use common::{Arg, DeviceInfo, Dtype, Fill, Problem};
use simt::{AccessKind, Analysis, BlockInfo, CopyAccess, Observer, Space};

use course::steps;

/// One of the three matrices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Matrix {
    A,
    B,
    C,
}

/// What a warp did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    Load,
    Store,
    /// An asynchronous copy; the addresses are those it reads.
    Copy,
    Barrier,
}

/// Something a warp did.
#[derive(Clone, Debug)]
pub struct Event {
    pub block: [u32; 3],
    /// The warp's number in the block.
    pub warp: u32,
    pub what: What,
    /// Global or shared memory; none for a barrier.
    pub space: Option<Space>,
    pub matrix: Option<Matrix>,
    pub bytes: u32,
    lanes: u32,
    /// Addresses, from the matrix's first element on if it is one.
    addresses: [u64; 32],
}

impl Event {
    /// Lanes that took part, with their addresses in bytes.
    pub fn addresses(&self) -> impl Iterator<Item = (u32, u64)> {
        (0..32).filter(|lane| self.lanes >> lane & 1 == 1).map(|lane| (lane, self.addresses[lane as usize]))
    }

    /// The same in elements.
    pub fn indices(&self) -> impl Iterator<Item = (u32, u64)> {
        self.addresses().map(|(lane, address)| (lane, address / 4))
    }
}

/// All events of a run, block after block, in the order in which each block's warps ran.
pub struct Accesses {
    pub events: Vec<Event>,
}

#[derive(Default)]
struct Watcher {
    /// Keep what warp 0 of block 0 does, and nothing else.
    first_warp_only: bool,
    blocks: Mutex<Vec<(u64, Vec<Event>)>>,
}

struct BlockWatcher {
    number: u64,
    /// Warps that are kept.
    warps: u32,
    index: [u32; 3],
    events: Vec<Event>,
}

impl BlockWatcher {
    fn push(&mut self, warp: u32, what: What, space: Option<Space>, bytes: u32, lanes: u32, addresses: [u64; 32]) {
        if warp < self.warps {
            self.events.push(Event { block: self.index, warp, what, space, matrix: None, bytes, lanes, addresses });
        }
    }
}

impl Observer for BlockWatcher {
    fn access(&mut self, access: &simt::Access<'_>) {
        let what = if access.kind == AccessKind::Store { What::Store } else { What::Load };
        self.push(access.warp, what, Some(access.space), access.bytes, access.lanes, *access.addresses);
    }

    fn copy(&mut self, copy: &CopyAccess<'_>) {
        self.push(copy.warp, What::Copy, Some(Space::Global), copy.bytes, copy.lanes, *copy.from);
    }

    fn barrier_arrive(&mut self, warp: u32, _instruction: u32, _id: u32, lanes: u32, _waits: bool) {
        self.push(warp, What::Barrier, None, 0, lanes, [0; 32]);
    }
}

impl Analysis for Watcher {
    type Block = BlockWatcher;

    fn block(&self, block: &BlockInfo) -> BlockWatcher {
        let index = [block.index.x, block.index.y, block.index.z];
        let warps = match (self.first_warp_only, block.number) {
            (false, _) => u32::MAX,
            (true, 0) => 1,
            (true, _) => 0,
        };
        BlockWatcher { number: block.number, warps, index, events: Vec::new() }
    }

    fn end(&self, block: BlockWatcher) {
        if let Ok(mut blocks) = self.blocks.lock() {
            blocks.push((block.number, block.events));
        }
    }
}

impl Accesses {
    /// Runs a step (or one of its variants) from its committed PTX.
    pub fn of(step: &str, variant: Option<&str>, size: [u64; 3]) -> Result<Self> {
        Self::run(step, variant, size, Watcher::default())
    }

    /// The same of the step itself, with the first warp's events alone: for large problems.
    pub fn of_first_warp(step: &str, size: [u64; 3]) -> Result<Self> {
        Self::run(step, None, size, Watcher { first_warp_only: true, ..Watcher::default() })
    }

    fn run(step: &str, variant: Option<&str>, [m, n, k]: [u64; 3], mut watcher: Watcher) -> Result<Self> {
        let step = steps::find()?
            .into_iter()
            .find(|found| found.name == step)
            .with_context(|| format!("there is no step {step}"))?;
        let problem = Problem { m, n, k, dtype: Dtype::F32, fill: Fill::Uniform, seed: 1 };
        let device = DeviceInfo::simulated(1 << 32);
        let request =
            Request { device: Some(device.clone()), problems: vec![problem], variant: variant.map(str::to_owned) };
        let plan = step.describe(&request)?.plans.into_iter().next().context("the step plans nothing")?;
        let plan = plan.map_err(|error| anyhow!("{error}"))?;
        let code =
            Source::read(&step.source(variant))?.code(&plan.specialisation, &device, Some(&step.path.join("ptx")))?;
        let module = simt::Module::parse(&code.ptx)?;
        let mut memory = simt::GlobalMemory::new();
        let elements =
            [problem.a_elements(), problem.b_elements(), problem.c_elements(), plan.workspace_elements.max(1)];
        let names = ["A", "B", "C", "workspace"];
        let mut places = Vec::new();
        for (name, elements) in names.into_iter().zip(elements) {
            places.push(memory.alloc(name, elements * 4, 4)?);
        }
        for launch in &plan.launches {
            let kernel = module.kernel(&launch.entry)?;
            let [grid, block] = [launch.grid, launch.block].map(|[x, y, z]| (x, y, z));
            let mut config = simt::LaunchConfig::new(grid, block);
            config.dynamic_shared_bytes = launch.shared_bytes;
            config.shared_opt_in = true;
            let pointer = |number: usize, offset: u64| simt::Arg::Pointer(places[number].offset(offset as i64 * 4));
            let args: Vec<simt::Arg> = launch
                .args
                .iter()
                .map(|arg| match *arg {
                    Arg::A(offset) => pointer(0, offset),
                    Arg::B(offset) => pointer(1, offset),
                    Arg::C(offset) => pointer(2, offset),
                    Arg::Workspace(offset) => pointer(3, offset),
                    Arg::Int(value) => simt::Arg::U32(value as u32),
                })
                .collect();
            simt::launch(&kernel, &mut memory, &config, &args, &mut watcher)?;
        }
        let mut blocks =
            watcher.blocks.into_inner().map_err(|_| anyhow!("a block's accesses are lost; run the command again"))?;
        blocks.sort_by_key(|(number, _)| *number);
        let mut events: Vec<Event> = blocks.into_iter().flat_map(|(_, events)| events).collect();
        for event in events.iter_mut().filter(|event| event.space == Some(Space::Global)) {
            let Some((_, first)) = event.addresses().next() else { continue };
            let found = [Matrix::A, Matrix::B, Matrix::C]
                .into_iter()
                .zip(&places)
                .zip(elements)
                .find(|((_, place), elements)| (place.0..place.0 + elements * 4).contains(&first));
            if let Some(((matrix, place), _)) = found {
                event.matrix = Some(matrix);
                for address in &mut event.addresses {
                    *address = address.wrapping_sub(place.0);
                }
            }
        }
        Ok(Self { events })
    }
}

/// Elements of a matrix that accesses touch, as (row, column).
pub fn touched<'a>(
    events: impl Iterator<Item = &'a Event>,
    matrix: Matrix,
    columns: u64,
    lane: Option<u32>,
) -> BTreeSet<(u64, u64)> {
    let mut elements = BTreeSet::new();
    for event in events.filter(|event| event.matrix == Some(matrix)) {
        for (_, index) in event.indices().filter(|(number, _)| lane.is_none_or(|lane| lane == *number)) {
            for i in 0..u64::from(event.bytes / 4) {
                elements.insert(((index + i) / columns, (index + i) % columns));
            }
        }
    }
    elements
}

/// Rows and columns from the origin to the last element.
pub fn extent(set: &BTreeSet<(u64, u64)>) -> (u64, u64) {
    let rows = set.iter().map(|(row, _)| row + 1).max().unwrap_or(1);
    let columns = set.iter().map(|(_, column)| column + 1).max().unwrap_or(1);
    (rows, columns)
}
