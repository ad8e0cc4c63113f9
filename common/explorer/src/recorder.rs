//! Watches a launch and writes what happens to the tape, with the counters and the hazards as they come.

use crate::effect::{AccessEvent, CopyEvent, Effect, lanes, words};
use crate::log::Array;
use crate::tape::Tape;
use simt::analyses::counters::BlockCounters;
use simt::analyses::hazards::BlockHazards;
use simt::{
    Access, AccessKind, Analysis, Arrival, BlockInfo, BulkCopy, CopyAccess, Counters, Counts, DevicePointer, Executed,
    Hazards, LaunchInfo, Observer, Space, WarpgroupStep,
};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Records a launch.
pub struct Recorder {
    tape: Arc<Mutex<Tape>>,
    /// The search for hazards, which reads the time from the clock.
    pub hazards: Hazards,
    counters: Counters,
    clock: Arc<AtomicU64>,
}

impl Recorder {
    /// Goes on with a tape.
    pub fn new(tape: Tape, hazards: Hazards) -> Self {
        let clock = Arc::new(AtomicU64::new(u64::from(tape.length()) + 1));
        let hazards = hazards.clock(clock.clone());
        Self { tape: Arc::new(Mutex::new(tape)), hazards, counters: Counters::new(), clock }
    }

    /// The tape; this recorder is at its end.
    pub fn finish(&self) -> Tape {
        let mut tape = std::mem::take(&mut *locked(&self.tape));
        let length = tape.length();
        if let Some(launch) = tape.log.launches.last_mut() {
            launch.events.end = length;
        }
        tape
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Analysis for Recorder {
    /// The counters first: what they counted of an instruction is there when the instruction is recorded.
    type Block = ((BlockCounters, Option<BlockHazards>), BlockRecorder);

    fn begin(&mut self, launch: &LaunchInfo<'_>) {
        self.counters.begin(launch);
        self.hazards.begin(launch);
        if let Some(own) = locked(&self.tape).log.launches.last_mut() {
            own.shared_bytes = launch.shared_bytes;
        }
    }

    fn steps(&self) -> bool {
        true
    }

    fn in_order(&self) -> bool {
        true
    }

    fn block(&self, block: &BlockInfo) -> Self::Block {
        let counted = Arc::new(Mutex::new(Counts::default()));
        let recorder = BlockRecorder {
            tape: self.tape.clone(),
            clock: self.clock.clone(),
            counted: counted.clone(),
            number: block.number as u32,
            effects: vec![],
            looked_up: vec![],
            waited: false,
        };
        ((self.counters.block(block).by_step(counted), self.hazards.block(block)), recorder)
    }

    fn end(&self, ((counters, hazards), recorder): Self::Block) {
        locked(&self.tape).block_ended(recorder.number);
        self.counters.end(counters);
        self.hazards.end(hazards);
    }
}

/// Records a block.
pub struct BlockRecorder {
    tape: Arc<Mutex<Tape>>,
    /// The time right after the event that is being made.
    clock: Arc<AtomicU64>,
    /// What was counted of the instruction that has just been executed.
    counted: Arc<Mutex<Counts>>,
    number: u32,
    /// What the instruction that is being executed has done so far.
    effects: Vec<Effect>,
    /// Words whose values are looked up once the instruction has been executed: array (none for shared memory) and word.
    looked_up: Vec<(Option<usize>, u32)>,
    /// Copies may have landed.
    waited: bool,
}

/// The array that an address lies in.
fn array_of(arrays: &[Array], address: u64) -> Option<usize> {
    arrays.iter().position(|array| address >= array.base && address - array.base < array.bytes)
}

impl BlockRecorder {
    /// What an executed instruction changed in memory.
    fn look_up(&mut self, tape: &Tape, step: &Executed<'_>) {
        if std::mem::take(&mut self.waited)
            && let Some(block) = tape.end.blocks.get(&self.number)
            && !block.flights.is_empty()
        {
            let words = (0u32..).zip(step.shared).zip(&block.shared).filter(|((_, now), then)| now != then);
            let words: Vec<(u32, u32)> = words.map(|((place, &now), _)| (place, now)).collect();
            self.effects.push(Effect::Writes(None, words));
        }
        let mut looked_up = std::mem::take(&mut self.looked_up);
        looked_up.sort_unstable();
        looked_up.dedup();
        for same in looked_up.chunk_by(|one, other| one.0 == other.0) {
            let array = same[0].0;
            let value = |&(_, place): &(Option<usize>, u32)| {
                let Some(array) = array else { return Some((place, *step.shared.get(place as usize)?)) };
                let mut word = [0_u32];
                step.memory.download(DevicePointer(tape.arrays[array].base), place.into(), &mut word).ok()?;
                Some((place, word[0]))
            };
            self.effects.push(Effect::Writes(array, same.iter().filter_map(value).collect()));
        }
    }
}

impl Observer for BlockRecorder {
    fn access(&mut self, access: &Access<'_>) {
        let tape = locked(&self.tape);
        let &Access { kind, space, lanes: mask, bytes, .. } = access;
        let first = access.addresses[mask.trailing_zeros() as usize & 31];
        let array = if space == Space::Global { array_of(&tape.arrays, first) } else { None };
        if space == Space::Global && array.is_none() {
            return;
        }
        let start = array.map_or(0, |array| tape.arrays[array].base);
        let addresses = access.addresses.map(|address| address.wrapping_sub(start) as u32);
        if kind != AccessKind::Load && space != Space::Local {
            let written = lanes(mask).flat_map(|lane| words(addresses[lane], bytes));
            self.looked_up.extend(written.map(|word| (array, word)));
        }
        let access = AccessEvent { kind, space, array, lanes: mask, bytes, addresses };
        self.effects.push(Effect::Access(Box::new(access)));
    }

    fn copy(&mut self, copy: &CopyAccess<'_>) {
        // So many in flight that the oldest may land.
        self.waited = true;
        let tape = locked(&self.tape);
        let reading = lanes(copy.lanes).find(|&lane| copy.source_bytes[lane] > 0);
        let array = reading.and_then(|lane| array_of(&tape.arrays, copy.from[lane]));
        let start = array.map_or(0, |array| tape.arrays[array].base);
        self.effects.push(Effect::Copy(Box::new(CopyEvent {
            array,
            lanes: copy.lanes,
            bytes: copy.bytes,
            bypass: copy.bypass,
            source_bytes: *copy.source_bytes,
            from: copy.from.map(|address| address.wrapping_sub(start) as u32),
            to: copy.to.map(|address| address as u32),
        })));
    }

    fn bulk_landed(&mut self, _: &BulkCopy) {
        self.waited = true;
    }

    fn copy_commit(&mut self, _: u32, _: u32, _: u32) {
        self.effects.push(Effect::Commit);
    }

    fn copy_wait(&mut self, _: u32, _: u32, _: u32, pending: Option<u32>) {
        self.waited = true;
        self.effects.push(Effect::Wait(pending));
    }

    fn barrier_arrive(&mut self, arrival: &Arrival) {
        if arrival.waits {
            self.effects.push(Effect::Arrive);
        }
    }

    fn barrier_release(&mut self, _: u32, warps: u32) {
        locked(&self.tape).open(self.number, warps);
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
        let tape = self.tape.clone();
        let mut tape = locked(&tape);
        self.look_up(&tape, step);
        let mut written = vec![];
        if step.lanes != 0
            && let Some(launch) = tape.launches.last()
        {
            for register in launch.program.kernel.registers_written(step.instruction) {
                let values = step.register(&register);
                written.push(values.map(|value| value as u32));
                if register.bytes() == 8 {
                    written.push(values.map(|value| (value >> 32) as u32));
                }
            }
        }
        let counts = std::mem::take(&mut *locked(&self.counted));
        let effects = std::mem::take(&mut self.effects);
        tape.push((self.number, step.warp), (step.instruction, step.lanes), counts, &written, effects);
        self.clock.store(u64::from(tape.length()) + 1, Ordering::Relaxed);
    }
}
