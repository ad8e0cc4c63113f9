//! What may be wrong with a value: it was never set, it comes from memory that nobody wrote, or a race decides it. A value may have
//! several doubts, which are kept as numbered sets. None of them is a finding before the value matters.

use super::event::Event;
use super::finding::{Finding, Spot};
use super::hazard::{Action, HazardKind};
use super::log::Scene;
use super::uses::Use;
use crate::locked::lock;
use ptx::lower::Home;
use std::collections::{HashMap, HashSet};

/// The number of a set of doubts; [`NOTHING`] for a value that is beyond doubt.
pub(super) type Set = u32;

pub(super) const NOTHING: Set = 0;

/// The doubts about a register: about each byte in each lane. A predicate has one byte, a word four.
pub(super) type Bytes = [[Set; 8]; 32];

/// Returns how many bytes of a register's doubts count.
pub(super) fn width(home: Home) -> usize {
    match home {
        Home::Predicate(_) => 1,
        Home::Word(_) => 4,
        Home::Double(_) => 8,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Origin {
    /// A register that was not set, by its number among those that may not be.
    Register(u32),
    /// A shuffle that took the value from a lane that is not there.
    Shuffle(u32),
    /// A load, with the kind of hazard and the other side's instruction. Threads share it: each with doubts of its own, a racy sum would
    /// have as many sets as there are threads times its terms, and once a load has mattered in one thread it is reported in all.
    Load { kind: HazardKind, other: u32, instruction: u32 },
    /// Any load that is judged by what becomes of its value.
    Read(Event),
}

#[derive(Debug)]
struct Doubt {
    origin: Origin,
    /// For a load: what is to be reported.
    finding: Option<Finding>,
    /// Whether each load has also read bytes that had been written. Then the others may be padding of a structure.
    partial: bool,
}

/// The most doubts and sets of a block. What is beyond counts as if it mattered.
const MOST: usize = 1 << 16;

/// The most doubts that one value keeps. The others count as if they mattered.
const LONGEST: usize = 256;

#[derive(Debug)]
pub(super) struct Doubts {
    all: Vec<Doubt>,
    numbers: HashMap<Origin, u32>,
    /// The members of each set, in increasing order: twice the number of a doubt, plus 1 if the value was computed from the doubtful one
    /// and not only moved.
    sets: Vec<Box<[u32]>>,
    known: HashMap<Box<[u32]>, Set>,
    joins: HashMap<(Set, Set), Set>,
    /// By the number of a set, that of what is computed from it, once it was asked for.
    computed: Vec<Option<Set>>,
    /// Reported doubts about registers, by number and thread.
    told: HashSet<(u32, u32)>,
    /// Kinds and instructions of loads whose value has mattered before. Each further one is reported at once.
    settled: HashMap<(HazardKind, u32, u32), Use>,
    /// Doubts about values that have too many of them.
    excess: Vec<Box<[u32]>>,
}

impl Doubts {
    pub(super) fn new() -> Self {
        Self {
            all: vec![],
            numbers: HashMap::new(),
            sets: vec![Box::default()],
            known: HashMap::from([(Box::default(), NOTHING)]),
            joins: HashMap::new(),
            computed: vec![],
            told: HashSet::new(),
            settled: HashMap::new(),
            excess: vec![],
        }
    }

    fn set(&mut self, members: Vec<u32>) -> Set {
        let members: Box<[u32]> = members.into();
        if let Some(&known) = self.known.get(&members) {
            return known;
        }
        let number = self.sets.len() as Set;
        self.known.insert(members.clone(), number);
        self.sets.push(members);
        number
    }

    fn number(&mut self, origin: Origin) -> u32 {
        let next = self.all.len() as u32;
        let number = *self.numbers.entry(origin).or_insert(next);
        if number == next {
            self.all.push(Doubt { origin, finding: None, partial: true });
        }
        number
    }

    pub(super) fn of_register(&mut self, number: u32) -> Set {
        let number = self.number(Origin::Register(number));
        self.set(vec![2 * number])
    }

    pub(super) fn of_shuffle(&mut self, instruction: u32) -> Set {
        let number = self.number(Origin::Shuffle(instruction));
        self.set(vec![2 * number])
    }

    /// Returns the doubt about what a load has read that is judged by what becomes of it.
    pub(super) fn of_read(&mut self, scene: &mut Scene, load: Event) -> Set {
        if self.all.len() >= MOST || self.sets.len() >= 4 * MOST {
            Self::read(scene, load, Use::Needed);
            return NOTHING;
        }
        let number = self.number(Origin::Read(load));
        self.set(vec![2 * number])
    }

    fn read(scene: &mut Scene, load: Event, how: Use) {
        let found = lock(&scene.reads).matter(load, how);
        for (kind, finding) in found {
            scene.found.add(kind, finding);
        }
    }

    /// Returns the doubt about what a load has read, or reports it at once if such a value has mattered before.
    pub(super) fn of_load(&mut self, scene: &mut Scene, kind: HazardKind, finding: Finding, partial: bool) -> Set {
        let reading = finding.second.unwrap_or(finding.first);
        let other = finding.second.map_or(u32::MAX, |_| finding.first.instruction);
        let full = self.all.len() >= MOST || self.sets.len() >= 4 * MOST;
        let settled = self.settled.get(&(kind, other, reading.instruction)).copied();
        if let Some(how) = settled.or(full.then_some(Use::Needed)) {
            scene.found.add(how.judged(kind), finding);
            return NOTHING;
        }
        let number = self.number(Origin::Load { kind, other, instruction: reading.instruction });
        let doubt = &mut self.all[number as usize];
        doubt.partial &= partial;
        match &mut doubt.finding {
            Some(known) => known.join(finding),
            none => *none = Some(finding),
        }
        self.set(vec![2 * number])
    }

    /// Returns the doubts about a value that two others make up.
    pub(super) fn join(&mut self, a: Set, b: Set) -> Set {
        if a == b || b == NOTHING {
            return a;
        }
        if a == NOTHING {
            return b;
        }
        let pair = (a.min(b), a.max(b));
        if let Some(&known) = self.joins.get(&pair) {
            return known;
        }
        let mut members: Vec<u32> = [a, b].iter().flat_map(|&set| self.sets[set as usize].iter().copied()).collect();
        members.sort_unstable();
        members.dedup();
        if members.len() > LONGEST {
            let excess: Box<[u32]> = members.split_off(LONGEST).into();
            self.excess.push(excess);
        }
        let joined = if self.sets.len() < 8 * MOST { self.set(members) } else { a };
        self.joins.insert(pair, joined);
        joined
    }

    pub(super) fn joined(&mut self, sets: &[Set]) -> Set {
        sets.iter().fold(NOTHING, |all, &set| self.join(all, set))
    }

    /// Returns the doubts about a value that was computed from one with these.
    pub(super) fn computed(&mut self, set: Set) -> Set {
        if let Some(&Some(known)) = self.computed.get(set as usize) {
            return known;
        }
        let mut members: Vec<u32> = self.sets[set as usize].iter().map(|member| member | 1).collect();
        members.dedup();
        let computed = self.set(members);
        if self.computed.len() <= set as usize {
            self.computed.resize(set as usize + 1, None);
        }
        self.computed[set as usize] = Some(computed);
        computed
    }

    /// Whether a value is nothing but padding of a structure, as far as can be known.
    pub(super) fn is_padding(&self, set: Set) -> bool {
        let unwritten = |kind| matches!(kind, HazardKind::UninitialisedShared | HazardKind::UninitialisedLocal);
        self.sets[set as usize].iter().all(|member| {
            let doubt = &self.all[(member / 2) as usize];
            let load = matches!(doubt.origin, Origin::Load { kind, .. } if unwritten(kind));
            load && doubt.partial && member & 1 == 0
        })
    }

    /// Reports the races that a value depends on whose thread was stopped before it could use it.
    pub(super) fn left(&mut self, scene: &mut Scene, set: Set) {
        for member in self.sets[set as usize].clone() {
            match self.all[(member / 2) as usize].origin {
                Origin::Read(load) => Self::read(scene, load, Use::Needed),
                Origin::Load { kind: kind @ HazardKind::Race, .. } => {
                    let finding = self.all[(member / 2) as usize].finding.take();
                    if let Some(finding) = finding {
                        scene.found.add(kind, finding);
                    }
                }
                _ => {}
            }
        }
    }

    /// Reports the doubts that were too many for a value of this thread.
    pub(super) fn relieve(&mut self, scene: &mut Scene, by: (u32, u32)) {
        for members in std::mem::take(&mut self.excess) {
            self.tell(scene, &members, by, Use::Needed);
        }
    }

    /// Reports the doubts about a value that a thread needs at an instruction.
    pub(super) fn matter(&mut self, scene: &mut Scene, set: Set, by: (u32, u32), how: Use) {
        if set != NOTHING {
            let members = self.sets[set as usize].clone();
            self.tell(scene, &members, by, how);
        }
    }

    fn tell(&mut self, scene: &mut Scene, members: &[u32], (thread, instruction): (u32, u32), how: Use) {
        let time = scene.now();
        let setup = scene.setup.clone();
        // Leaving a loop because of a load outside of it is no polling.
        let how_of = |load: u32| match how {
            Use::Decides if setup.code().leaves_loop(instruction, load) => Use::Polls,
            how => how,
        };
        let mut unwritten = vec![];
        for &member in members {
            if let Origin::Read(load) = self.all[(member / 2) as usize].origin {
                Self::read(scene, load, how_of(load.instruction()));
                continue;
            }
            let doubt = &mut self.all[(member / 2) as usize];
            let reads = scene.side(thread, instruction, Action::Reads);
            let once = |spot, first, second| Finding { spot, first, second, count: 1, time };
            match doubt.origin {
                Origin::Load { kind, other, instruction } => {
                    let Some(finding) = doubt.finding else { continue };
                    let how = how_of(instruction);
                    scene.found.add(how.judged(kind), finding);
                    if how.is_last(kind) {
                        doubt.finding = None;
                        self.settled.insert((kind, other, instruction), how);
                    }
                    unwritten.extend((kind == HazardKind::UninitialisedShared).then_some(instruction));
                }
                Origin::Read(_) => {}
                _ if !self.told.insert((member / 2, thread)) => {}
                Origin::Register(number) => {
                    scene.found.add(HazardKind::UnsetRegister, once(Spot::Register(number), reads, None));
                }
                Origin::Shuffle(shuffle) => {
                    let first = scene.side(thread, shuffle, Action::Executes);
                    scene.found.add(HazardKind::EndedLane, once(Spot::Result(shuffle), first, Some(reads)));
                }
            }
        }
        // If the load has raced in other threads, that explains it better.
        let raced = |doubt: &&mut Doubt| match doubt.origin {
            Origin::Load { kind, instruction, .. } => kind == HazardKind::Race && unwritten.contains(&instruction),
            _ => false,
        };
        if !unwritten.is_empty() {
            for doubt in self.all.iter_mut().filter(raced) {
                doubt.finding.take().into_iter().for_each(|finding| scene.found.add(HazardKind::Race, finding));
            }
        }
    }
}
