//! The rule of values: one that was never set, that comes from memory which nobody wrote, or that a race decides must not decide a
//! branch, be an address, or leave the block.
//!
//! Compilers compute with such values if nothing needs the result, and load some before they know whether they need them. So each is
//! followed, byte by byte, through registers, shared memory and local memory, and is reported when it first matters. While a warp has
//! such values, it is asked before each of its instructions; usually there are none, and then nothing is followed.

use super::doubts::{Bytes, Doubts, width};
use super::extent::Extent;
use super::finding::Spot;
use super::hazard::HazardKind;
use super::log::{Part, Scene};
use super::passing::{Operands, Passing, depends_on_all};
use super::quick::QuickMap;
use super::sets::{NOTHING, Set};
use super::setup::{Setup, more};
use super::uses::Use;
use crate::lanes::{each, select};
use crate::observe::{Executed, RegisterFile};
use crate::{Access, AccessKind, Space};
use ptx::lower::inst::{GUARD_NEGATED, Inst, NO_GUARD, Op, Shape};
use ptx::lower::{Flow, Home, flow};
use std::sync::Arc;

/// The doubts about what the lanes of a warp store with one instruction, byte by byte.
type Stored = [[Set; 16]; 32];

/// What an instruction made of the doubts about its operands when a warp executed it last. In a loop it is mostly the same again.
#[derive(Debug)]
struct Memo {
    operands: [Option<Arc<Bytes>>; 5],
    result: Option<Arc<Bytes>>,
}

/// The most instructions of warps whose results are remembered.
const MOST_MEMOS: usize = 1 << 12;

#[derive(Debug)]
pub(super) struct Values {
    doubts: Doubts,
    /// By warp and instruction.
    memos: QuickMap<(u32, u32), Memo>,
    /// For each warp, the registers with doubts.
    warps: Vec<QuickMap<Home, Arc<Bytes>>>,
    /// The bytes of shared memory with doubts.
    shared: QuickMap<u32, Set>,
    /// For each warp, the bytes of local memory with doubts: lane, address.
    local: Vec<QuickMap<(u32, u32), Set>>,
    /// What the instruction that is about to execute stores.
    storing: Option<Box<Stored>>,
    /// The warps that have values with doubts which their present block may touch, one bit for each.
    following: u32,
    /// For each warp, the lanes whose threads have ended.
    ended: Vec<u32>,
}

/// Bytes for the registers of a warp that have doubts, typically.
const TYPICAL: u64 = 16 * size_of::<Bytes>() as u64;

impl Values {
    pub(super) fn new(setup: &Setup, mut doubts: Doubts) -> Self {
        let warps = setup.extent.warps as usize;
        doubts.restart();
        let mut unset = QuickMap::default();
        for (number, (_, home)) in (0..).zip(&setup.code().maybe_unset) {
            let mut bytes = [[NOTHING; 8]; 32];
            for lane in &mut bytes {
                lane[..width(*home)].fill(doubts.of_register(number));
            }
            unset.insert(*home, Arc::new(bytes));
        }
        Self {
            doubts,
            memos: QuickMap::default(),
            warps: vec![unset; warps],
            shared: QuickMap::default(),
            local: vec![QuickMap::default(); warps],
            storing: None,
            following: 0,
            ended: vec![0; warps],
        }
    }

    pub(super) fn bytes(extent: &Extent) -> u64 {
        // Values are followed from the beginning if some are unset, or are loaded before it is known whether they matter.
        let followed = !extent.code.maybe_unset.is_empty() || extent.code.facts.iter().any(|facts| facts.speculated);
        let instructions = if followed { extent.code.facts.len() as u64 } else { 0 };
        let remembered = (instructions * extent.warps).min(MOST_MEMOS as u64);
        let unset = extent.code.maybe_unset.len() as u64 * extent.warps;
        (unset + remembered) * size_of::<Bytes>() as u64 + extent.warps * TYPICAL
    }

    /// Notes that a warp starts to run a basic block.
    pub(super) fn enter(&mut self, setup: &Setup, warp: u32, block: u32) {
        let doubtful = &self.warps[warp as usize];
        let follows = !doubtful.is_empty() && setup.touches(block, doubtful.keys());
        self.following = self.following & !(1 << warp) | u32::from(follows) << warp;
    }

    /// Whether a warp must be followed up to the end of its present block.
    #[inline]
    pub(super) fn follows(&self, warp: u32) -> bool {
        self.following >> warp & 1 == 1
    }

    /// Follows the instruction that a warp is about to execute.
    pub(super) fn follow(&mut self, scene: &mut Scene, at: &Executed<'_>) {
        self.pass(scene, at.warp, at.inst, at.lanes, Some(at.registers));
    }

    /// Follows computations that all lanes of a warp have executed, or are about to.
    #[inline]
    pub(super) fn pass_run(&mut self, scene: &mut Scene, warp: u32, first: u32, end: u32) {
        if !self.warps[warp as usize].is_empty() {
            self.pass_all(scene, warp, first, end);
        }
    }

    #[cold]
    #[inline(never)]
    fn pass_all(&mut self, scene: &mut Scene, warp: u32, first: u32, end: u32) {
        let setup = scene.setup.clone();
        (first..end).for_each(|number| self.pass(scene, warp, setup.inst(number), u32::MAX, None));
    }

    /// Notes that a shuffle gives lanes a value that is not there.
    pub(super) fn absent(&mut self, scene: &Scene, warp: u32, instruction: u32, lanes: u32) {
        let doubt = self.doubts.of_shuffle(instruction);
        let (setup, inst) = (&scene.setup, scene.setup.inst(instruction));
        if let Some(home) = setup.facts(instruction).home(0, inst.d) {
            let to = self.register(warp, home);
            each(lanes).for_each(|lane| to[lane][..width(home)].fill(doubt));
            self.following |= 1 << warp;
        }
    }

    fn register(&mut self, warp: u32, home: Home) -> &mut Bytes {
        Arc::make_mut(self.warps[warp as usize].entry(home).or_insert_with(|| Arc::new([[NOTHING; 8]; 32])))
    }

    /// Whether a warp has no value with doubts, and shared memory neither.
    #[inline]
    pub(super) fn has_none(&self, warp: u32) -> bool {
        self.warps[warp as usize].is_empty() && self.shared.is_empty()
    }

    /// Returns the doubts, for another block.
    pub(super) fn into_doubts(self) -> Doubts {
        self.doubts
    }

    /// Whether there is nothing to note of a load: nothing was found to be wrong with it, and nothing doubtful was stored.
    #[inline]
    pub(super) fn is_clean(&self, scene: &Scene, access: &Access<'_>) -> bool {
        let stored = match access.space {
            Space::Shared => !self.shared.is_empty(),
            Space::Local => !self.local[access.warp as usize].is_empty(),
            _ => false,
        };
        scene.suspects.is_empty() && !stored && scene.setup.is_plain(access.instruction)
    }

    /// Notes what a load has read, and what was found to be wrong with it.
    pub(super) fn loaded(&mut self, scene: &mut Scene, access: &Access<'_>) {
        let suspects = std::mem::take(&mut scene.suspects);
        let map_is_empty = match access.space {
            Space::Shared => self.shared.is_empty(),
            Space::Local => self.local[access.warp as usize].is_empty(),
            _ => true,
        };
        let waits = access.space != Space::Local
            && !(access.space == Space::Global && scene.setup.reads_unwritten[access.instruction as usize])
            && scene.sort(access.instruction, false).waits();
        if suspects.is_empty() && map_is_empty && !waits {
            return;
        }
        let mut read: Box<Stored> = Box::new([[NOTHING; 16]; 32]);
        let unit = 1_u64 << scene.setup.extent.unit;
        let places = suspects.iter().map(|(kind, finding)| {
            let lane = finding.second.unwrap_or(finding.first).thread as usize % 32;
            let (start, bytes) = match finding.spot {
                _ if *kind == HazardKind::WrongArray => (access.addresses[lane], u64::from(access.bytes)),
                Spot::Shared(at) => (u64::from(at), unit),
                Spot::Global(at) => (at, unit),
                Spot::Local(at) => (u64::from(at), 1),
                _ => (access.addresses[lane], u64::from(access.bytes)),
            };
            let from = start.max(access.addresses[lane]) - access.addresses[lane];
            let end = (start + bytes).saturating_sub(access.addresses[lane]).min(u64::from(access.bytes));
            (lane, from as usize, end as usize)
        });
        let places: Vec<_> = places.collect();
        let mut unset = [0_u32; 32];
        for ((kind, _), &(lane, from, end)) in suspects.iter().zip(&places) {
            let unwritten = matches!(kind, HazardKind::UninitialisedShared | HazardKind::UninitialisedLocal);
            unset[lane] += if unwritten { end.saturating_sub(from) as u32 } else { 0 };
        }
        for ((kind, finding), (lane, from, end)) in suspects.into_iter().zip(places) {
            let doubt = self.doubts.of_load(scene, kind, finding, unset[lane] < access.bytes);
            for byte in from..end {
                read[lane][byte] = self.doubts.sets.join(read[lane][byte], doubt);
            }
        }
        if !map_is_empty {
            for lane in each(access.lanes) {
                for byte in 0..access.bytes {
                    let address = access.addresses[lane] as u32 + byte;
                    let known = match access.space {
                        Space::Shared => self.shared.get(&address),
                        _ => self.local[access.warp as usize].get(&(lane as u32, address)),
                    };
                    let byte = &mut read[lane][byte as usize];
                    *byte = self.doubts.sets.join(*byte, known.copied().unwrap_or(NOTHING));
                }
            }
        }
        for lane in each(if waits { access.lanes } else { 0 }) {
            let load = scene.event(Part::of(access, lane));
            let doubt = self.doubts.of_read(scene, load);
            for byte in &mut read[lane][..access.bytes as usize] {
                *byte = self.doubts.sets.join(*byte, doubt);
            }
        }
        self.doubts.relieve(scene, (access.warp * 32, access.instruction));
        self.put(scene, access, &read);
    }

    /// Notes the doubts about what a load puts into its registers.
    fn put(&mut self, scene: &Scene, access: &Access<'_>, read: &Stored) {
        if each(access.lanes).all(|lane| read[lane].iter().all(|&set| set == NOTHING)) {
            return;
        }
        let setup = scene.setup.clone();
        let (inst, facts) = (setup.inst(access.instruction), setup.facts(access.instruction));
        let shape = Shape::unpack(inst.sub);
        let bytes = shape.bytes as usize;
        for (part, (field, place)) in [0, 2, 3, 4].into_iter().zip(inst.data()).enumerate().take(shape.count as usize) {
            let Some(home) = facts.home(field, place) else { continue };
            let doubtful = |lane: usize| read[lane][part * bytes..][..bytes].iter().any(|&set| set != NOTHING);
            let lanes = select(access.lanes, doubtful);
            if lanes == 0 {
                continue;
            }
            let to = self.register(access.warp, home);
            for lane in each(lanes) {
                let own = &read[lane][part * bytes..][..bytes];
                to[lane][..bytes].copy_from_slice(own);
                let rest = if shape.signed { own[bytes - 1] } else { NOTHING };
                to[lane][bytes..].fill(rest);
            }
            self.following |= 1 << access.warp;
        }
    }

    /// Notes a store, or what an asynchronous copy or an atomic operation writes.
    pub(super) fn wrote(&mut self, scene: &mut Scene, access: &Access<'_>) {
        let storing = if access.kind == AccessKind::Store { self.storing.as_deref().copied() } else { None };
        let by = |lane: usize| (access.thread(lane), access.instruction);
        if access.space == Space::Global {
            let Some(storing) = storing else { return };
            for lane in each(access.lanes) {
                let bytes = &storing[lane][..access.bytes as usize];
                let whole = bytes.iter().all(|&set| set != NOTHING);
                for &set in bytes.iter().filter(|&&set| set != NOTHING) {
                    if whole || !self.doubts.is_padding(set) {
                        self.doubts.matter(scene, set, by(lane), Use::Needed);
                    }
                }
            }
            return;
        }
        let shared = access.space == Space::Shared;
        let nothing = if shared { self.shared.is_empty() } else { self.local[access.warp as usize].is_empty() };
        if storing.is_none() && nothing {
            return;
        }
        for lane in each(access.written) {
            for byte in 0..access.bytes {
                let address = access.addresses[lane] as u32 + byte;
                let set = storing.as_ref().map_or(NOTHING, |storing| storing[lane][byte as usize]);
                let own = &mut self.local[access.warp as usize];
                let before = match (shared, set) {
                    (true, NOTHING) => self.shared.remove(&address),
                    (true, _) => self.shared.insert(address, set),
                    (false, NOTHING) => own.remove(&(lane as u32, address)),
                    (false, _) => own.insert((lane as u32, address), set),
                };
                if let (Some(before), AccessKind::Atomic) = (before, access.kind) {
                    self.doubts.matter(scene, before, by(lane), Use::Needed);
                }
            }
        }
    }

    /// Reports the races that values depend on which threads still held when the block failed.
    pub(super) fn end(&mut self, scene: &mut Scene) {
        for (doubtful, ended) in self.warps.iter().zip(&self.ended) {
            // In an order that does not depend on the host.
            let mut homes: Vec<_> = doubtful.iter().collect();
            homes.sort_unstable_by_key(|(home, _)| **home);
            for (_, bytes) in homes {
                for lane in each(!ended) {
                    bytes[lane].iter().for_each(|&set| self.doubts.left(scene, set));
                }
            }
        }
    }

    /// Notes that lanes of a warp have ended.
    pub(super) fn exit(&mut self, warp: u32, lanes: u32) {
        self.ended[warp as usize] |= lanes;
    }

    /// Notes that a copy has filled a place in shared memory.
    pub(super) fn filled(&mut self, address: u32, bytes: u32) {
        if !self.shared.is_empty() {
            (address..address.saturating_add(bytes)).for_each(|at| _ = self.shared.remove(&at));
        }
    }

    /// Follows an instruction. `values` are the values of registers before it, if they are known.
    fn pass(&mut self, scene: &mut Scene, warp: u32, inst: &Inst, lanes: u32, values: Option<&dyn RegisterFile>) {
        self.storing = None;
        let setup = scene.setup.clone();
        let facts = setup.facts(inst.pc);
        let fields = [inst.d, inst.a, inst.b, inst.c, inst.e];
        let homes: [Option<Home>; 5] = std::array::from_fn(|field| facts.home(field, fields[field]));
        let guard = (inst.guard != NO_GUARD).then(|| Home::Predicate((inst.guard & !GUARD_NEGATED).into()));
        let more = more(setup.code(), inst);
        let doubtful = &self.warps[warp as usize];
        let known = |home: &Home| doubtful.contains_key(home);
        if !homes.iter().flatten().chain(&guard).chain(more.iter().map(|(home, _)| home)).any(known) {
            return;
        }
        let (mut lanes, mut open) = (lanes, [NOTHING; 32]);
        if let Some(home) = guard {
            if let Some(bytes) = doubtful.get(&home) {
                open = bytes.map(|lane| lane[0]);
            }
            let truth = values.map_or([1; 32], |values| values.values(home));
            let negated = u64::from(inst.guard & GUARD_NEGATED != 0);
            lanes = select(lanes, |lane| truth[lane] & 1 != negated || open[lane] != NOTHING);
        }
        let operands = Operands::new(doubtful, &homes, values);
        let writes = inst.op.writes();
        let flow = flow(inst, setup.code());
        if flow == Flow::Decides {
            return self.needs(scene, (warp, inst), lanes, (&operands, &homes, &open), &more);
        }
        let is_whole = guard.is_none() && lanes == u32::MAX && flow == Flow::Any && depends_on_all(inst, &homes);
        if let (true, Some(memo)) = (is_whole, self.memos.get(&(warp, inst.pc))) {
            let mut read = (0..5).filter(|&field| !writes[field]);
            if read.all(|field| memo.operands[field] == operands.fields[field])
                && let Some(home) = homes[0]
            {
                let doubtful = &mut self.warps[warp as usize];
                match memo.result.clone() {
                    Some(result) => doubtful.insert(home, result),
                    None => doubtful.remove(&home),
                };
                return;
            }
        }
        let mut passing = Passing { sets: &mut self.doubts.sets, inst, code: setup.code(), operands: &operands };
        let results = passing.results(flow, lanes, writes);
        for (field, home) in homes.iter().enumerate().filter(|(field, _)| writes[*field]) {
            let Some(home) = home else { continue };
            let result = results[usize::from(field == 4)].as_deref();
            if result.is_none() && !self.warps[warp as usize].contains_key(home) && open == [NOTHING; 32] {
                continue;
            }
            let mut after = operands.fields[field].as_deref().copied().unwrap_or([[NOTHING; 8]; 32]);
            for lane in each(lanes) {
                let old = after[lane];
                after[lane] = result.map_or([NOTHING; 8], |result| result[lane]);
                if open[lane] != NOTHING {
                    let guard = self.doubts.sets.computed(open[lane]);
                    for byte in 0..width(*home) {
                        after[lane][byte] = self.doubts.sets.joined(&[after[lane][byte], old[byte], guard]);
                    }
                }
                after[lane][width(*home)..].fill(NOTHING);
            }
            self.set(warp, *home, &after);
        }
        if is_whole && !self.doubts.sets.has_excess() {
            if self.memos.len() >= MOST_MEMOS {
                self.memos.clear();
            }
            let result = homes[0].and_then(|home| self.warps[warp as usize].get(&home).cloned());
            self.memos.insert((warp, inst.pc), Memo { operands: operands.fields, result });
        }
        self.doubts.relieve(scene, (warp * 32, inst.pc));
    }

    fn set(&mut self, warp: u32, home: Home, bytes: &Bytes) {
        let doubtful = &mut self.warps[warp as usize];
        if bytes.iter().all(|lane| *lane == [NOTHING; 8]) {
            doubtful.remove(&home);
        } else {
            doubtful.insert(home, Arc::new(*bytes));
        }
    }

    /// Follows an instruction that needs its operands. What a store stores is only noted, because it may go to shared memory.
    fn needs(
        &mut self,
        scene: &mut Scene,
        (warp, inst): (u32, &Inst),
        lanes: u32,
        (operands, homes, open): (&Operands<'_>, &[Option<Home>; 5], &[Set; 32]),
        more: &[(Home, bool)],
    ) {
        let by = |lane: usize| (warp * 32 + lane as u32, inst.pc);
        let branches = matches!(inst.op, Op::Bra | Op::Brx | Op::Exit | Op::Bar | Op::BarRed);
        let how = if branches { Use::Decides } else { Use::Needed };
        for lane in each(lanes) {
            self.doubts.matter(scene, open[lane], by(lane), Use::Decides);
        }
        let stores = matches!(inst.op, Op::StShared | Op::StGlobal | Op::StLocal | Op::StGeneric);
        let shape = Shape::unpack(inst.sub);
        let bytes = shape.bytes as usize;
        let mut storing: Box<Stored> = Box::new([[NOTHING; 16]; 32]);
        let mut any = false;
        let writes = inst.op.writes();
        for (field, home) in homes.iter().enumerate() {
            let (Some(home), Some(own)) = (home, operands.fields[field].as_deref()) else { continue };
            let part = [0, 2, 3, 4].iter().position(|&data| data == field);
            match part {
                _ if writes[field] => {}
                Some(part) if stores => {
                    for lane in each(lanes) {
                        storing[lane][part * bytes..][..bytes].copy_from_slice(&own[lane][..bytes]);
                    }
                    any = true;
                    continue;
                }
                _ => {
                    for lane in each(lanes) {
                        let set = self.doubts.sets.joined(&own[lane][..width(*home)]);
                        self.doubts.matter(scene, set, by(lane), how);
                    }
                }
            }
            // Either the instruction sets it, or it has been reported.
            let mut after = *own;
            each(lanes).for_each(|lane| after[lane] = [NOTHING; 8]);
            self.set(warp, *home, &after);
        }
        for &(home, written) in more {
            let Some(own) = self.warps[warp as usize].remove(&home).filter(|_| !written) else { continue };
            for (lane, bytes) in own.iter().enumerate() {
                let set = self.doubts.sets.joined(bytes);
                self.doubts.matter(scene, set, by(lane), Use::Needed);
            }
        }
        self.storing = any.then_some(storing);
        self.doubts.relieve(scene, (warp * 32, inst.pc));
    }
}
