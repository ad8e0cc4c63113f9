//! Watches a launch and writes what happens to the tape, with the counters and the hazards as they come.

use crate::bits::{lanes, put_lanes};
use crate::effect::{AccessEvent, CopyEvent, Effect};
use crate::log::Array;
use crate::tape::Tape;
use simt::analyses::counters::BlockCounters;
use simt::analyses::hazards::BlockHazards;
use simt::{
    Access, AccessKind, Analysis, Arrival, BlockInfo, BulkCopy, CopyAccess, Counters, DevicePointer, Executed,
    GlobalMemory, Hazards, LaunchInfo, Observer, Space, WarpgroupStep,
};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Records a launch.
pub struct Recorder {
    /// What is written.
    pub tape: Arc<Mutex<Tape>>,
    /// The search for hazards.
    pub hazards: Hazards,
    counters: Counters,
    /// The length of the tape.
    length: Arc<AtomicU64>,
}

impl Recorder {
    /// Goes on with a tape.
    pub fn new(tape: Tape, hazards: Hazards) -> Self {
        let length = Arc::new(AtomicU64::new(tape.length().into()));
        Self { tape: Arc::new(Mutex::new(tape)), hazards, counters: Counters::new(), length }
    }

    /// The tape; this recorder is at its end.
    pub fn finish(&self) -> Tape {
        let mut tape = std::mem::take(&mut *locked(&self.tape));
        let length = tape.length();
        if let Some(launch) = tape.log.launches.last_mut() {
            launch.events.1 = length;
        }
        tape
    }
}

fn locked(tape: &Mutex<Tape>) -> MutexGuard<'_, Tape> {
    tape.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Analysis for Recorder {
    type Block = BlockRecorder;

    fn begin(&mut self, launch: &LaunchInfo<'_>) {
        self.counters.begin(launch);
        self.hazards.begin(launch);
    }

    fn steps(&self) -> bool {
        true
    }

    fn in_order(&self) -> bool {
        true
    }

    fn block(&self, block: &BlockInfo) -> BlockRecorder {
        BlockRecorder {
            tape: self.tape.clone(),
            length: self.length.clone(),
            counters: self.counters.block(block),
            hazards: self.hazards.block(block),
            number: block.number as u32,
            effects: vec![],
            looked_up: vec![],
            waited: false,
        }
    }

    fn end(&self, block: BlockRecorder) {
        locked(&self.tape).block_ended(block.number);
        self.counters.end(block.counters);
        self.hazards.end(block.hazards);
    }
}

/// Records a block.
pub struct BlockRecorder {
    tape: Arc<Mutex<Tape>>,
    length: Arc<AtomicU64>,
    counters: BlockCounters,
    hazards: Option<BlockHazards>,
    number: u32,
    /// What the instruction that is being executed has done so far.
    effects: Vec<Effect>,
    /// Words whose values are looked up once the instruction has been executed: array (none for shared memory) and word.
    looked_up: Vec<(Option<usize>, u32)>,
    /// Copies may have landed.
    waited: bool,
}

/// The array that an address lies in, and how far.
fn placed(arrays: &[Array], address: u64) -> Option<(usize, u32)> {
    let holds = |array: &Array| address >= array.base && address - array.base < array.bytes;
    let at = arrays.iter().position(holds)?;
    Some((at, (address - arrays[at].base) as u32))
}

impl BlockRecorder {
    /// Tells the search for hazards what time it is: that right after the event that is being made, or after the latest one.
    fn tick(&mut self, ahead: u64) -> Option<&mut BlockHazards> {
        let now = self.length.load(Ordering::Relaxed) + ahead;
        let hazards = self.hazards.as_mut()?;
        hazards.at(now);
        Some(hazards)
    }

    fn note_access(&mut self, access: &Access<'_>) {
        let tape = locked(&self.tape);
        let first = access.addresses[access.lanes.trailing_zeros() as usize & 31];
        let mut array = None;
        let mut start = 0;
        if access.space == Space::Global {
            let Some((at, _)) = placed(&tape.arrays, first) else { return };
            (array, start) = (Some(at), tape.arrays[at].base);
        }
        let addresses = access.addresses.map(|address| address.wrapping_sub(start) as u32);
        let data = access.data.map(|data| std::array::from_fn(|part| data.map(|lane| lane[part])));
        let (kind, space, lanes_of, bytes) = (access.kind, access.space, access.lanes, access.bytes);
        let changes = kind != AccessKind::Load && data.is_none() && space != Space::Local;
        if changes {
            for lane in lanes(lanes_of) {
                let word = addresses[lane] / 4;
                self.looked_up.extend((word..word + bytes.div_ceil(4)).map(|word| (array, word)));
            }
        }
        self.effects.push(Effect::Access(AccessEvent { kind, space, array, lanes: lanes_of, bytes, addresses, data }));
    }

    /// What changed in memory by other ways than a store whose values are known.
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
            let word = |&(_, place): &(Option<usize>, u32)| {
                let value = match array {
                    None => step.shared.get(place as usize).copied(),
                    Some(array) => word_of(step.memory, tape.arrays[array].base, place),
                };
                Some((place, value?))
            };
            self.effects.push(Effect::Writes(array, same.iter().filter_map(word).collect()));
        }
    }
}

fn word_of(memory: &GlobalMemory, base: u64, place: u32) -> Option<u32> {
    let mut word = [0u32];
    memory.download(DevicePointer(base), place.into(), &mut word).ok()?;
    Some(word[0])
}

impl Observer for BlockRecorder {
    fn enter(&mut self, warp: u32, block: u32, first: u32, end: u32, lanes: u32) {
        if let Some(hazards) = self.tick(1) {
            hazards.enter(warp, block, first, end, lanes);
        }
    }

    fn guarded(&mut self, warp: u32, instruction: u32, lanes: u32) {
        self.counters.guarded(warp, instruction, lanes);
        if let Some(hazards) = self.tick(1) {
            hazards.guarded(warp, instruction, lanes);
        }
    }

    fn follow(&mut self, step: &Executed<'_>) {
        if let Some(hazards) = self.tick(1) {
            hazards.follow(step);
        }
    }

    fn branch(&mut self, warp: u32, instruction: u32, taken: u32, not_taken: u32) {
        self.counters.branch(warp, instruction, taken, not_taken);
        if let Some(hazards) = self.tick(1) {
            hazards.branch(warp, instruction, taken, not_taken);
        }
    }

    fn access(&mut self, access: &Access<'_>) {
        self.counters.access(access);
        if let Some(hazards) = self.tick(1) {
            hazards.access(access);
        }
        self.note_access(access);
    }

    fn copy(&mut self, copy: &CopyAccess<'_>) {
        self.counters.copy(copy);
        if let Some(hazards) = self.tick(1) {
            hazards.copy(copy);
        }
        // So many in flight that the oldest may land.
        self.waited = true;
        let tape = locked(&self.tape);
        let reading = lanes(copy.lanes).find(|&lane| copy.source_bytes[lane] > 0);
        let placed = reading.and_then(|lane| placed(&tape.arrays, copy.from[lane]));
        let array = placed.map(|(array, _)| array);
        let start = array.map_or(0, |array| tape.arrays[array].base);
        self.effects.push(Effect::Copy(CopyEvent {
            array,
            lanes: copy.lanes,
            bytes: copy.bytes,
            bypass: copy.bypass,
            source_bytes: *copy.source_bytes,
            from: copy.from.map(|address| address.wrapping_sub(start) as u32),
            to: copy.to.map(|address| address as u32),
        }));
    }

    fn bulk_copy(&mut self, copy: &BulkCopy) {
        self.counters.bulk_copy(copy);
        if let Some(hazards) = self.tick(1) {
            hazards.bulk_copy(copy);
        }
    }

    fn bulk_landed(&mut self, copy: &BulkCopy) {
        if let Some(hazards) = self.tick(1) {
            hazards.bulk_landed(copy);
        }
        self.waited = true;
    }

    fn copy_commit(&mut self, warp: u32, instruction: u32, lanes: u32) {
        self.counters.copy_commit(warp, instruction, lanes);
        if let Some(hazards) = self.tick(1) {
            hazards.copy_commit(warp, instruction, lanes);
        }
        self.effects.push(Effect::Commit);
    }

    fn copy_wait(&mut self, warp: u32, instruction: u32, lanes: u32, pending: Option<u32>) {
        self.counters.copy_wait(warp, instruction, lanes, pending);
        if let Some(hazards) = self.tick(1) {
            hazards.copy_wait(warp, instruction, lanes, pending);
        }
        self.waited = true;
        self.effects.push(Effect::Wait(pending));
    }

    fn barrier_arrive(&mut self, arrival: &Arrival) {
        self.counters.barrier_arrive(arrival);
        if let Some(hazards) = self.tick(1) {
            hazards.barrier_arrive(arrival);
        }
        if arrival.waits {
            self.effects.push(Effect::Arrive(arrival.id));
        }
    }

    fn barrier_release(&mut self, id: u32, warps: u32) {
        self.counters.barrier_release(id, warps);
        if let Some(hazards) = self.tick(0) {
            hazards.barrier_release(id, warps);
        }
        locked(&self.tape).open(self.number, warps);
    }

    fn warp_sync(&mut self, warp: u32, instruction: u32, lanes: u32, named: u32, exchange: bool) {
        self.counters.warp_sync(warp, instruction, lanes, named, exchange);
        if let Some(hazards) = self.tick(1) {
            hazards.warp_sync(warp, instruction, lanes, named, exchange);
        }
    }

    fn warpgroup(&mut self, warp: u32, instruction: u32, step: WarpgroupStep<'_>) {
        self.counters.warpgroup(warp, instruction, step);
        if let Some(hazards) = self.tick(1) {
            hazards.warpgroup(warp, instruction, step);
        }
        if let WarpgroupStep::Multiply { pieces, own } = step {
            self.effects.push(Effect::Product(pieces[own..].to_vec()));
        }
    }

    fn fence(&mut self, warp: u32, instruction: u32, lanes: u32) {
        self.counters.fence(warp, instruction, lanes);
        if let Some(hazards) = self.tick(1) {
            hazards.fence(warp, instruction, lanes);
        }
    }

    fn exit(&mut self, warp: u32, instruction: u32, lanes: u32) {
        self.counters.exit(warp, instruction, lanes);
        if let Some(hazards) = self.tick(1) {
            hazards.exit(warp, instruction, lanes);
        }
        self.effects.push(Effect::Exit(lanes));
    }

    fn executed(&mut self, step: &Executed<'_>) {
        let counts = self.counters.take_step(step.instruction, step.lanes);
        let tape = self.tape.clone();
        let mut tape = locked(&tape);
        self.look_up(&tape, step);
        let effects = std::mem::take(&mut self.effects);
        let mut written: Vec<[u64; 32]> = vec![];
        let mut wide = vec![];
        if step.lanes != 0
            && let Some(program) = tape.launches.last().map(|launch| &launch.program)
        {
            for register in program.kernel.registers_written(step.instruction) {
                written.push(step.register(&register));
                wide.push(register.bytes() == 8);
            }
        }
        tape.push((self.number, step.warp), step.instruction, step.lanes, counts, |bytes| {
            for (values, wide) in written.iter().zip(&wide) {
                put_lanes(bytes, step.lanes, &values.map(|value| value as u32));
                if *wide {
                    put_lanes(bytes, step.lanes, &values.map(|value| (value >> 32) as u32));
                }
            }
            for effect in &effects {
                effect.put(bytes);
            }
        });
        self.length.store(tape.length().into(), Ordering::Relaxed);
    }
}
