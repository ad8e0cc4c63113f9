//! All that the driver knows: one value behind one lock.

use crate::check::Check;
use crate::errors::{Answer, CONTEXT_IS_DESTROYED, Code, INVALID_CONTEXT, INVALID_HANDLE};
use crate::gpus::Gpu;
use crate::log::Log;
use crate::op::{Op, Ticket};
use crate::options::Options;
use crate::ranges::Ranges;
use crate::raw::Pages;
use simt::{GlobalMemory, Kernel, Module};
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

/// Objects that programs know by handles.
#[derive(Debug)]
pub struct Table<T>(HashMap<u64, T>);

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<T> Table<T> {
    /// The object with a handle.
    pub fn get(&self, handle: u64) -> Answer<&T> {
        self.0.get(&handle).ok_or(INVALID_HANDLE)
    }

    /// The object with a handle, to be changed.
    pub fn get_mut(&mut self, handle: u64) -> Answer<&mut T> {
        self.0.get_mut(&handle).ok_or(INVALID_HANDLE)
    }

    /// Takes an object away.
    pub fn remove(&mut self, handle: u64) -> Answer<T> {
        self.0.remove(&handle).ok_or(INVALID_HANDLE)
    }

    /// Puts an object there.
    pub fn put(&mut self, handle: u64, object: T) -> u64 {
        self.0.insert(handle, object);
        handle
    }

    /// All objects, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &T)> {
        self.0.iter().map(|(&handle, object)| (handle, object))
    }

    /// Handles of the objects for which something holds, oldest first.
    pub fn which(&self, holds: impl Fn(&T) -> bool) -> Vec<u64> {
        let mut all: Vec<u64> = self.iter().filter(|(_, object)| holds(object)).map(|(handle, _)| handle).collect();
        all.sort_unstable();
        all
    }
}

/// A device.
#[derive(Debug, Default)]
pub struct Device {
    /// Its primary context, once it has been asked for.
    pub primary: u64,
    /// How many hold it.
    pub retained: u32,
    pub flags: u32,
    /// The default pool, and the one that is used.
    pub pools: [u64; 2],
    /// Bytes that are allocated.
    pub used: u64,
}

/// A context.
#[derive(Debug, Default)]
pub struct Context {
    pub device: usize,
    pub flags: u32,
    pub number: u64,
    /// The stream that other streams wait for.
    pub legacy: u64,
    pub per_thread: HashMap<ThreadId, u64>,
    /// What a kernel did wrong. Nothing is done after it, and it shows when the program next waits or asks.
    pub fault: Option<Code>,
    /// The fault once it has shown: every later call answers it.
    pub failed: Option<Code>,
    pub limits: HashMap<u32, usize>,
    /// Preferences that change nothing: of caches and of shared memory.
    pub preferences: [u32; 2],
    pub peers: HashSet<u64>,
}

/// What an allocation is.
#[derive(Debug)]
pub enum Kind {
    /// Of the device, by `cuMemAlloc` or from a pool.
    Device { pool: u64 },
    /// Of both, by `cuMemAllocManaged`.
    Managed(Pages),
    /// Of the host, by `cuMemHostAlloc`.
    Pinned(Pages),
    /// Of the program, by `cuMemHostRegister`; the bytes before its start that were taken, too, for words to be whole.
    Registered,
    /// A variable of a module.
    Variable,
}

/// An allocation.
#[derive(Debug)]
pub struct Block {
    pub bytes: u64,
    pub kind: Kind,
    pub context: u64,
    pub device: usize,
    pub flags: u32,
    pub number: u64,
}

impl Block {
    /// Whether the host may access it.
    pub fn is_host(&self) -> bool {
        matches!(self.kind, Kind::Managed(_) | Kind::Pinned(_) | Kind::Registered)
    }
}

/// A stream.
#[derive(Debug, Default)]
pub struct Stream {
    pub context: u64,
    pub flags: u32,
    pub priority: i32,
    pub number: u64,
    /// What waits, because a function of the program has not returned yet or another stream is not so far.
    pub queue: VecDeque<Op>,
    /// Whether a function of the program runs.
    pub busy: bool,
    /// How many operations it was given, and how many it has done.
    pub given: u64,
    pub done: u64,
    /// When it has done all, in milliseconds.
    pub tail: f64,
    /// The capture that it belongs to, and the nodes on which its next one depends.
    pub capture: Option<(u64, Vec<u64>)>,
    pub destroyed: bool,
}

impl Stream {
    /// Whether it has nothing to do.
    pub fn is_idle(&self) -> bool {
        self.queue.is_empty() && !self.busy
    }

    /// Whether it and the legacy stream wait for each other.
    pub fn is_blocking(&self) -> bool {
        self.flags & 1 == 0
    }
}

/// An event.
#[derive(Debug, Default)]
pub struct Event {
    pub context: u64,
    pub flags: u32,
    pub recorded: Option<Ticket>,
    /// When it happened, in milliseconds.
    pub time: f64,
    /// If it was last recorded in a capture: the capture, and the nodes before it.
    pub captured: Option<(u64, Vec<u64>)>,
}

/// Streams whose work becomes nodes of a graph.
#[derive(Debug)]
pub struct Capture {
    pub graph: u64,
    /// The stream in which it began.
    pub origin: u64,
    pub thread: ThreadId,
    pub mode: u32,
    pub invalid: bool,
}

/// A node of a graph.
#[derive(Debug, Clone)]
pub struct Node {
    pub graph: u64,
    pub op: Op,
    /// The nodes before it.
    pub after: Vec<u64>,
    /// Its kind, as `cuGraphNodeGetType` says it.
    pub kind: u32,
}

/// A module.
#[derive(Debug)]
pub struct Loaded {
    pub context: u64,
    pub number: u64,
    pub module: Module,
    pub functions: HashMap<String, u64>,
    /// Address and size of its variables.
    pub variables: HashMap<String, (u64, u64)>,
}

/// A kernel of a module.
#[derive(Debug)]
pub struct Function {
    pub module: u64,
    pub kernel: Kernel,
    /// Its name with a zero at its end.
    pub name: Box<[u8]>,
    /// Dynamic shared memory that it may have, and other attributes that were set, by number.
    pub attributes: HashMap<u32, i32>,
}

/// A pool of memory.
#[derive(Debug, Default)]
pub struct Pool {
    pub device: usize,
    pub attributes: HashMap<u32, u64>,
    pub used: u64,
    pub most: u64,
}

/// The whole driver.
#[derive(Debug)]
#[allow(missing_docs)] // Their names say it.
pub struct State {
    pub options: Options,
    pub log: Log,
    pub initialised: bool,
    pub gpu: Gpu,
    pub devices: Vec<Device>,
    pub memory: GlobalMemory,
    /// Allocations by address.
    pub blocks: BTreeMap<u64, Block>,
    pub contexts: Table<Context>,
    pub streams: Table<Stream>,
    pub events: Table<Event>,
    pub captures: Table<Capture>,
    /// Each graph's nodes, in the order in which they came.
    pub graphs: Table<Vec<u64>>,
    pub nodes: Table<Node>,
    /// Operations of graphs that are ready to run, in an order that is right.
    pub executables: Table<(Vec<Op>, u64)>,
    pub modules: Table<Loaded>,
    pub functions: Table<Function>,
    pub pools: Table<Pool>,
    /// PTX that is being linked.
    pub links: Table<Vec<Vec<u8>>>,
    pub check: Option<Check>,
    /// Findings of kernels that were told.
    pub kernels: HashSet<String>,
    /// Streams that have something to do.
    pub active: usize,
    next: u64,
    numbers: u64,
    allocations: u64,
    started: Instant,
    /// Milliseconds that the host's clock is behind: those in which it worked for the device, less those that it waited for it.
    behind: f64,
}

thread_local! {
    /// The contexts of this thread; the last one is current.
    static STACK: RefCell<Vec<u64>> = const { RefCell::new(vec![]) };
}

/// Does something with the contexts of this thread.
pub fn with_stack<T>(use_it: impl FnOnce(&mut Vec<u64>) -> T) -> T {
    STACK.with_borrow_mut(use_it)
}

/// Addresses below this one are the host's, on every system that we know.
const DEVICE_MEMORY: u64 = 1 << 48;

impl State {
    /// A driver that has not been initialised.
    pub fn new() -> Self {
        let options = Options::read();
        let (gpu, said) = Gpu::named(&options.gpu);
        if let Some(said) = said {
            eprintln!("simt: {said}");
        }
        Self {
            devices: (0..options.devices).map(|_| Device::default()).collect(),
            check: options.check.then(Check::default),
            kernels: HashSet::new(),
            log: Log::open(options.log.as_deref()),
            options,
            initialised: false,
            gpu,
            memory: GlobalMemory::starting_at(DEVICE_MEMORY),
            blocks: BTreeMap::new(),
            contexts: Table::default(),
            streams: Table::default(),
            events: Table::default(),
            captures: Table::default(),
            graphs: Table::default(),
            nodes: Table::default(),
            executables: Table::default(),
            modules: Table::default(),
            functions: Table::default(),
            pools: Table::default(),
            links: Table::default(),
            active: 0,
            next: 0x5000_0000,
            numbers: 0,
            allocations: 0,
            started: Instant::now(),
            behind: 0.0,
        }
    }

    /// A handle that no object has had.
    pub fn handle(&mut self) -> u64 {
        self.next += 0x40;
        self.next
    }

    /// The next number of contexts and streams, from 1.
    pub fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    /// The next number of allocations, from 1.
    pub fn allocation(&mut self) -> u64 {
        self.allocations += 1;
        self.allocations
    }

    /// The current context's handle, if it exists.
    pub fn current(&self) -> Answer<u64> {
        let current = with_stack(|stack| stack.last().copied()).filter(|&handle| handle != 0).ok_or(INVALID_CONTEXT)?;
        self.contexts.get(current).map_err(|_| CONTEXT_IS_DESTROYED)?;
        Ok(current)
    }

    /// The current context's handle, unless a kernel has failed in it.
    pub fn context(&self) -> Answer<u64> {
        let current = self.current()?;
        self.contexts.get(current)?.failed.map_or(Ok(current), Err)
    }

    /// Lets the fault of a context show, because the program waited or asked.
    pub fn surface(&mut self, context: u64) -> Answer {
        let Ok(context) = self.contexts.get_mut(context) else { return Ok(()) };
        context.failed = context.failed.or(context.fault);
        context.failed.map_or(Ok(()), Err)
    }

    /// The stream with a handle, in the current context; 0, 1 and 2 are the default streams.
    pub fn stream(&mut self, handle: u64) -> Answer<u64> {
        let context = self.context()?;
        match handle {
            0 | 1 => Ok(self.contexts.get(context)?.legacy),
            2 => {
                let thread = std::thread::current().id();
                if let Some(&stream) = self.contexts.get(context)?.per_thread.get(&thread) {
                    return Ok(stream);
                }
                let stream = self.new_stream(context, 0, 0);
                self.contexts.get_mut(context)?.per_thread.insert(thread, stream);
                Ok(stream)
            }
            _ => {
                let stream = self.streams.get(handle).ok().filter(|stream| !stream.destroyed).ok_or(INVALID_HANDLE)?;
                self.contexts.get(stream.context).map_err(|_| CONTEXT_IS_DESTROYED)?.failed.map_or(Ok(handle), Err)
            }
        }
    }

    /// Makes a stream.
    pub fn new_stream(&mut self, context: u64, flags: u32, priority: i32) -> u64 {
        let (handle, number) = (self.handle(), self.number());
        self.streams.put(handle, Stream { context, flags, priority, number, ..Stream::default() })
    }

    /// The allocation that holds an address, and where it begins.
    pub fn block(&self, address: u64) -> Option<(u64, &Block)> {
        let (&base, block) = self.blocks.range(..=address).next_back()?;
        (address - base < block.bytes).then_some((base, block))
    }

    /// The allocations of which ranges have parts, and those parts.
    pub fn split(&self, ranges: &Ranges) -> Vec<(u64, Ranges)> {
        let Some((&(first, _), &(_, last))) = ranges.list().first().zip(ranges.list().last()) else { return vec![] };
        let start = self.blocks.range(..=first).next_back().map_or(first, |(&base, _)| base);
        let parts =
            self.blocks.range(start..last).map(|(&base, block)| (base, ranges.within(base, base + block.bytes)));
        parts.filter(|(_, part)| !part.is_empty()).collect()
    }

    /// Milliseconds since the driver was loaded, as if kernels and copies had taken the host no time.
    pub fn now(&self) -> f64 {
        self.started.elapsed().as_secs_f64() * 1e3 - self.behind
    }

    /// Notes that the host has worked for the device for so long.
    pub fn worked(&mut self, time: Duration) {
        self.behind += time.as_secs_f64() * 1e3;
    }

    /// Lets the host's time go on to that of the device, because the host has waited for it.
    pub fn catch_up(&mut self, time: f64) {
        self.behind -= (time - self.now()).max(0.0);
    }
}
