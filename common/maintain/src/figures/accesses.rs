//! A run of a step on the simulator with every access of every warp kept.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use anyhow::{Context, Result, anyhow};
use common::code::Source;
use common::program::describe::Request;
use common::{Arg, DeviceInfo, Problem};
use course::steps;
use simt::{AccessKind, Analysis, BlockInfo, CopyAccess, Observer, Space};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Matrix {
    A,
    B,
    C,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    Load,
    Store,
    /// An asynchronous copy; the addresses are those it reads.
    Copy,
    Barrier,
}

pub struct Event {
    pub block: [u32; 3],
    pub warp: u32,
    pub what: What,
    /// Global or shared memory; none for a barrier.
    pub space: Option<Space>,
    pub matrix: Option<Matrix>,
    bytes: u32,
    /// Lanes that took part, with their addresses in bytes: from the matrix's first element on if it is one.
    pub addresses: Vec<(u32, u64)>,
    /// Of a copy: where each of these lanes writes, in bytes from the start of shared memory.
    pub to: Vec<u64>,
}

/// Which warps are kept, by their block's number and their own.
type Kept = fn(u64, u32) -> bool;

struct Watcher {
    kept: Kept,
    blocks: Mutex<BTreeMap<u64, Vec<Event>>>,
}

struct BlockWatcher {
    kept: Kept,
    number: u64,
    index: [u32; 3],
    events: Vec<Event>,
}

impl BlockWatcher {
    fn push(&mut self, warp: u32, what: What, space: Option<Space>, bytes: u32, lanes: u32, addresses: &[u64; 32]) {
        if (self.kept)(self.number, warp) {
            let addresses = (0..32).zip(*addresses).filter(|(lane, _)| lanes >> lane & 1 == 1).collect();
            self.events.push(Event {
                block: self.index,
                warp,
                what,
                space,
                matrix: None,
                bytes,
                addresses,
                to: vec![],
            });
        }
    }
}

impl Observer for BlockWatcher {
    fn access(&mut self, access: &simt::Access<'_>) {
        let what = if access.kind == AccessKind::Store { What::Store } else { What::Load };
        self.push(access.warp, what, Some(access.space), access.bytes, access.lanes, access.addresses);
    }

    fn copy(&mut self, copy: &CopyAccess<'_>) {
        self.push(copy.warp, What::Copy, Some(Space::Global), copy.bytes, copy.lanes, copy.from);
        if let Some(event) = self.events.last_mut().filter(|event| event.what == What::Copy && event.to.is_empty()) {
            event.to = event.addresses.iter().map(|&(lane, _)| copy.to[lane as usize]).collect();
        }
    }

    fn barrier_arrive(&mut self, arrival: &simt::Arrival) {
        self.push(arrival.warp, What::Barrier, None, 0, arrival.lanes, &[0; 32]);
    }
}

impl Analysis for Watcher {
    type Block = BlockWatcher;

    fn block(&self, block: &BlockInfo) -> BlockWatcher {
        let index = [block.index.x, block.index.y, block.index.z];
        BlockWatcher { kept: self.kept, number: block.number, index, events: Vec::new() }
    }

    fn end(&self, block: BlockWatcher) {
        if let Ok(mut blocks) = self.blocks.lock() {
            blocks.entry(block.number).or_default().extend(block.events);
        }
    }
}

/// Runs a step (or one of its variants) from its committed PTX: block after block, in the order in which each block's
/// warps ran.
pub fn of(step: &str, variant: Option<&str>, size: [u64; 3]) -> Result<Vec<Event>> {
    run(step, variant, size, |_, _| true)
}

/// The same of the step itself, with the first warp's events alone: for large problems.
pub fn of_first_warp(step: &str, size: [u64; 3]) -> Result<Vec<Event>> {
    run(step, None, size, |block, warp| block == 0 && warp == 0)
}

fn run(step: &str, variant: Option<&str>, size: [u64; 3], kept: Kept) -> Result<Vec<Event>> {
    let step = steps::find()?.into_iter().find(|found| found.name == step).context("there is no such step")?;
    let problem = Problem::uniform(size);
    let device = DeviceInfo::simulated(1 << 32);
    let request =
        Request { device: Some(device.clone()), problems: vec![problem], variant: variant.map(str::to_owned) };
    let plan = step.describe(&request)?.plans.into_iter().next().context("the step plans nothing")?;
    let plan = plan.map_err(|error| anyhow!("{error}"))?;
    let source = Source::read(&step.source(variant))?;
    let code = source.code(&plan.specialisation, &device, source.committed_folder().as_deref())?;
    let module = simt::Module::parse(&code.ptx)?;
    let mut memory = simt::GlobalMemory::new();
    let elements = [problem.a_elements(), problem.b_elements(), problem.c_elements(), plan.workspace_elements.max(1)];
    let mut places = Vec::new();
    for (name, elements) in ["A", "B", "C", "workspace"].into_iter().zip(elements) {
        places.push(memory.alloc(name, elements * 4, 4)?);
    }
    let mut watcher = Watcher { kept, blocks: Mutex::default() };
    for launch in &plan.launches {
        let kernel = module.kernel(&launch.entry)?;
        let [grid, block] = [launch.grid, launch.block].map(|[x, y, z]| (x, y, z));
        let mut config = simt::LaunchConfig::new(grid, block);
        config.dynamic_shared_bytes = launch.shared_bytes;
        config.shared_opt_in = true;
        let pointer = |number: usize, offset: u64| simt::Arg::Pointer(places[number].offset(offset as i64 * 4));
        let arg = |arg: &Arg| match *arg {
            Arg::A(offset) => pointer(0, offset),
            Arg::B(offset) => pointer(1, offset),
            Arg::C(offset) => pointer(2, offset),
            Arg::Workspace(offset) => pointer(3, offset),
            Arg::Int(value) => simt::Arg::U32(value as u32),
        };
        let args: Vec<simt::Arg> = launch.args.iter().map(arg).collect();
        simt::launch(&kernel, &mut memory, &config, &args, &mut watcher)?;
    }
    let blocks = watcher.blocks.into_inner();
    let blocks = blocks.map_err(|_| anyhow!("a block's accesses are lost; run the command again"))?;
    let mut events: Vec<Event> = blocks.into_values().flatten().collect();
    for event in events.iter_mut().filter(|event| event.space == Some(Space::Global)) {
        let Some(&(_, first)) = event.addresses.first() else { continue };
        let mut matrices = [Matrix::A, Matrix::B, Matrix::C].into_iter().zip(&places).zip(elements);
        let found = matrices.find(|((_, place), elements)| (place.0..place.0 + elements * 4).contains(&first));
        if let Some(((matrix, place), _)) = found {
            event.matrix = Some(matrix);
            event.addresses.iter_mut().for_each(|(_, address)| *address = address.wrapping_sub(place.0));
        }
    }
    Ok(events)
}

/// Elements of a matrix that accesses of all lanes, or of one, touch: (row, column).
pub fn touched<'a>(
    events: impl Iterator<Item = &'a Event>,
    matrix: Matrix,
    columns: u64,
    lane: Option<u32>,
) -> BTreeSet<(u64, u64)> {
    let mut elements = BTreeSet::new();
    for event in events.filter(|event| event.matrix == Some(matrix)) {
        for (_, address) in event.addresses.iter().filter(|(number, _)| lane.is_none_or(|lane| lane == *number)) {
            let first = address / 4;
            elements
                .extend((first..first + u64::from(event.bytes / 4)).map(|index| (index / columns, index % columns)));
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
