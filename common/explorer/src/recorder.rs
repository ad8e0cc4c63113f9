//! Watches the launches of a run and writes what happens to the log, with the counters, the hazards and the origins as they come.

use crate::instructions::Program;
use crate::log::{Array, Effect, Event, Followed, LaunchTape, Log, Request, Target, first_lane, lanes, words};
use simt::analyses::provenance::Tag;
use simt::{
    Access, AccessKind, Analysis, Arrival, BlockInfo, BulkCopy, CopyAccess, CopyLanded, Counters, Counts,
    DevicePointer, Executed, Hazards, LaunchInfo, Observer, Provenance, Space, WarpgroupStep,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Most values that are followed. A block that makes more is not followed, nor are those after it.
const MOST: Tag = 8 << 20;

/// Records launches, one after the other.
pub struct Recorder {
    log: Arc<Mutex<Log>>,
    pub hazards: Hazards,
    counters: Counters,
    /// What was counted of the instruction that has just been executed.
    counted: Arc<Mutex<Counts>>,
    provenance: Provenance,
    file: String,
}

impl Recorder {
    /// Before the first launch, with what global memory holds.
    pub fn new(arrays: Vec<Array>, file: &str) -> Self {
        let counted = Arc::new(Mutex::new(Counts::default()));
        Self {
            log: Arc::new(Mutex::new(Log::new(arrays))),
            hazards: Hazards::new(),
            counters: Counters::new().by_step(counted.clone()),
            counted,
            provenance: Provenance::default(),
            file: file.to_owned(),
        }
    }

    /// The search for hazards in the next launch.
    pub fn search(&mut self, hazards: Hazards) {
        self.hazards = hazards.clock(locked(&self.log).clock.clone());
    }

    pub fn length(&self) -> u32 {
        locked(&self.log).length()
    }

    /// Takes the log; nothing more is recorded.
    pub fn finish(&self) -> Log {
        let mut log = std::mem::take(&mut *locked(&self.log));
        log.end_launch();
        log
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Analysis for Recorder {
    fn begin(&mut self, launch: &LaunchInfo<'_>) {
        self.counters.begin(launch);
        self.hazards.begin(launch);
        self.provenance.begin(launch);
        let mut log = locked(&self.log);
        log.end_launch();
        let program = Program::new(launch.kernel, &self.file, &mut log.lines);
        let (events, shared_bytes) = (log.length()..u32::MAX, launch.shared_bytes);
        let (grid, block) = (launch.config.grid, launch.config.block);
        log.launches.push(LaunchTape { program, grid, block, shared_bytes, events, followed: BTreeMap::new() });
    }

    fn steps(&self) -> bool {
        true
    }

    fn block(&self, block: &BlockInfo) -> Vec<Box<dyn Observer>> {
        let recorder = BlockRecorder {
            log: self.log.clone(),
            counted: self.counted.clone(),
            number: block.number as u32,
            followed: Some(Followed::new(self.provenance.origins(block))),
            ..BlockRecorder::default()
        };
        // The counters come first, so that an instruction has been counted when it is recorded.
        let counters = self.counters.block(block).into_iter();
        counters.chain(self.hazards.block(block)).chain([Box::new(recorder) as Box<dyn Observer>]).collect()
    }
}

#[derive(Default)]
struct BlockRecorder {
    log: Arc<Mutex<Log>>,
    /// What was counted of the instruction that has just been executed.
    counted: Arc<Mutex<Counts>>,
    number: u32,
    /// The origins of this block's values; `None` once there are too many.
    followed: Option<Followed>,
    /// The effects so far of the instruction that is being executed.
    effects: Vec<Effect>,
    /// Words whose values are looked up once the instruction has been executed: array (none for shared memory) and word.
    looked_up: BTreeSet<(Option<usize>, u32)>,
}

impl BlockRecorder {
    /// The array of global memory at an address, and the addresses as places in it.
    fn located(&self, first: Option<u64>, addresses: &[u64; 32]) -> (Option<usize>, [u32; 32]) {
        let (array, start) = first.and_then(|first| locked(&self.log).array_at(first)).unzip();
        (array, addresses.map(|address| address.wrapping_sub(start.unwrap_or(0)) as u32))
    }

    /// Looks up the words of memory that an executed instruction changed.
    fn look_up(&mut self, arrays: &[Array], step: &Executed<'_>) {
        let value = |(array, place): (Option<usize>, u32)| {
            let mut word = [0];
            match array {
                Some(array) => step.memory.download(DevicePointer(arrays[array].base), place.into(), &mut word).ok()?,
                None => word[0] = *step.shared.get(place as usize)?,
            }
            Some((array, place, word[0]))
        };
        let words: Vec<_> = std::mem::take(&mut self.looked_up).into_iter().filter_map(value).collect();
        if !words.is_empty() {
            self.effects.push(Effect::Writes(words));
        }
    }

    /// Follows the values of an executed instruction.
    fn follow(&mut self, log: &mut Log, step: &Executed<'_>) {
        let Some(followed) = &mut self.followed else { return };
        let before = followed.origins.nodes.count();
        followed.origins.executed(step);
        log.followed += followed.origins.nodes.count() - before;
        followed.note(log.length());
        if log.followed > MOST {
            self.followed = None;
        }
    }
}

impl Observer for BlockRecorder {
    fn access(&mut self, access: &Access<'_>) {
        self.followed.iter_mut().for_each(|followed| followed.origins.access(access));
        let &Access { kind, space, lanes: mask, bytes, .. } = access;
        let first = (space == Space::Global).then(|| access.addresses[first_lane(mask)]);
        let (array, addresses) = self.located(first, access.addresses);
        if first.is_some() && array.is_none() {
            return;
        }
        if kind != AccessKind::Load && space != Space::Local {
            let written = lanes(mask).flat_map(|lane| words(addresses[lane], bytes));
            self.looked_up.extend(written.map(|word| (array, word)));
        }
        let request = Request { kind, space, array, lanes: mask, bytes, addresses, copy: None };
        self.effects.push(Effect::Request(Box::new(request)));
    }

    fn copy(&mut self, copy: &CopyAccess<'_>) {
        self.followed.iter_mut().for_each(|followed| followed.origins.copy(copy));
        let reading = lanes(copy.lanes).find(|&lane| copy.source_bytes[lane] > 0);
        let (array, addresses) = self.located(reading.map(|lane| copy.from[lane]), copy.from);
        let &CopyAccess { lanes: mask, bytes, bypass, source_bytes, to, .. } = copy;
        let target = Target { bypass, source_bytes: *source_bytes, to: to.map(|address| address as u32) };
        let (kind, space, copy) = (AccessKind::CopySource, Space::Global, Some(Box::new(target)));
        let request = Request { kind, space, array, lanes: mask, bytes, addresses, copy };
        self.effects.push(Effect::Request(Box::new(request)));
    }

    fn bulk_landed(&mut self, copy: &BulkCopy) {
        self.followed.iter_mut().for_each(|followed| followed.origins.bulk_landed(copy));
        self.looked_up.extend(words(copy.to, copy.bytes).map(|word| (None, word)));
    }

    fn copy_commit(&mut self, _: u32, _: u32, _: u32) {
        self.effects.push(Effect::Commit);
    }

    fn copy_wait(&mut self, _: u32, _: u32, _: u32, pending: Option<u32>) {
        self.effects.push(Effect::Wait(pending));
    }

    fn copy_landed(&mut self, landed: &CopyLanded<'_>) {
        self.followed.iter_mut().for_each(|followed| followed.origins.copy_landed(landed));
        let written = lanes(landed.lanes).flat_map(|lane| words(landed.to[lane], landed.bytes));
        self.looked_up.extend(written.map(|word| (None, word)));
    }

    fn barrier_arrive(&mut self, arrival: &Arrival) {
        if arrival.waits {
            self.effects.push(Effect::Arrive);
        }
    }

    fn barrier_release(&mut self, _: u32, warps: u32) {
        locked(&self.log).open(self.number, warps);
    }

    fn warpgroup(&mut self, _: u32, _: u32, step: WarpgroupStep<'_>) {
        if let WarpgroupStep::Multiply { pieces, own } = step {
            self.effects.push(Effect::Product(pieces[own..].to_vec()));
        }
    }

    fn exit(&mut self, _: u32, _: u32, lanes: u32) {
        self.effects.push(Effect::Exit(lanes));
    }

    fn executed(&mut self, step: &Executed<'_>) {
        let log = self.log.clone();
        let mut log = locked(&log);
        self.look_up(&log.arrays, step);
        self.follow(&mut log, step);
        let (mut written, mut tags) = (vec![], vec![]);
        if let Some(launch) = log.launches.last() {
            for register in launch.program.kernel.registers_written(step.instruction) {
                let values = step.register(register);
                written.extend(lanes(step.lanes).map(|lane| values[lane] as u32));
                if register.bytes() == 8 {
                    written.extend(lanes(step.lanes).map(|lane| (values[lane] >> 32) as u32));
                }
                let known = self.followed.as_ref().map(|followed| followed.origins.tags(step.warp, register));
                tags.extend(lanes(step.lanes).filter_map(|lane| Some(known.as_ref()?[lane])));
            }
        }
        let counts = std::mem::take(&mut *locked(&self.counted));
        let event = Event {
            block: self.number,
            warp: step.warp,
            instruction: step.instruction,
            lanes: step.lanes,
            counts: log.shared(counts),
            written: written.into(),
            tags: tags.into(),
            effects: std::mem::take(&mut self.effects).into(),
        };
        log.push(event);
    }

    fn end(self: Box<Self>) {
        if let (Some(launch), Some(mut followed)) = (locked(&self.log).launches.last_mut(), self.followed) {
            followed.end();
            launch.followed.insert(self.number, followed);
        }
    }
}
