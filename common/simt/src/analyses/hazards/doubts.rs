//! What may be wrong with a value: it was never set, it comes from memory that nobody wrote, or a race decides it. A value may have
//! several doubts, which are kept as numbered sets. None of them is a finding before the value matters.

use super::event::Event;
use super::finding::{Finding, Spot};
use super::hazard::{Action, HazardKind};
use super::log::Scene;
use super::quick::QuickMap;
use super::sets::{NOTHING, Set, Sets};
use super::uses::Use;
use crate::locked::lock;
use ptx::lower::Home;
use std::collections::HashSet;

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

/// The most doubts of a block. What is beyond counts as if it mattered.
const MOST: usize = 1 << 16;

#[derive(Debug)]
pub(super) struct Doubts {
    all: Vec<Doubt>,
    numbers: QuickMap<Origin, u32>,
    /// The one that was asked for last.
    recent: Option<(Origin, u32)>,
    pub sets: Sets,
    /// Reported doubts about registers, by number and thread.
    told: HashSet<(u32, u32)>,
    /// Kinds and instructions of loads whose value has mattered before. Each further one is reported at once.
    settled: QuickMap<(HazardKind, u32, u32), Use>,
}

impl Doubts {
    pub(super) fn new() -> Self {
        Self {
            all: vec![],
            numbers: QuickMap::default(),
            recent: None,
            sets: Sets::new(),
            told: HashSet::new(),
            settled: QuickMap::default(),
        }
    }

    /// Starts another block. The doubts of the one before keep their numbers, because most come again.
    pub(super) fn restart(&mut self) {
        let passing = |doubt: &Doubt| matches!(doubt.origin, Origin::Read(_));
        if self.all.len() > MOST / 2 || self.all.iter().any(passing) {
            *self = Self::new();
        }
        self.all.iter_mut().for_each(|doubt| (doubt.finding, doubt.partial) = (None, true));
        self.told.clear();
        self.settled.clear();
        self.sets.restart();
    }

    fn is_full(&self) -> bool {
        self.all.len() >= MOST || self.sets.is_full()
    }

    fn number(&mut self, origin: Origin) -> u32 {
        if let Some((_, number)) = self.recent.filter(|(recent, _)| *recent == origin) {
            return number;
        }
        let next = self.all.len() as u32;
        let number = *self.numbers.entry(origin).or_insert(next);
        if number == next {
            self.all.push(Doubt { origin, finding: None, partial: true });
        }
        self.recent = Some((origin, number));
        number
    }

    pub(super) fn of_register(&mut self, number: u32) -> Set {
        let number = self.number(Origin::Register(number));
        self.sets.single(number)
    }

    pub(super) fn of_shuffle(&mut self, instruction: u32) -> Set {
        let number = self.number(Origin::Shuffle(instruction));
        self.sets.single(number)
    }

    /// Returns the doubt about what a load has read that is judged by what becomes of it.
    pub(super) fn of_read(&mut self, scene: &mut Scene, load: Event) -> Set {
        if self.is_full() {
            Self::read(scene, load, Use::Needed);
            return NOTHING;
        }
        let number = self.number(Origin::Read(load));
        self.sets.single(number)
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
        let settled = self.settled.get(&(kind, other, reading.instruction)).copied();
        if let Some(how) = settled.or(self.is_full().then_some(Use::Needed)) {
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
        self.sets.single(number)
    }

    /// Whether a value is nothing but padding of a structure, as far as can be known.
    pub(super) fn is_padding(&self, set: Set) -> bool {
        let unwritten = |kind| matches!(kind, HazardKind::UninitialisedShared | HazardKind::UninitialisedLocal);
        self.sets.members(set).iter().all(|member| {
            let doubt = &self.all[(member / 2) as usize];
            let load = matches!(doubt.origin, Origin::Load { kind, .. } if unwritten(kind));
            load && doubt.partial && member & 1 == 0
        })
    }

    /// Reports the races that a value depends on whose thread was stopped before it could use it.
    pub(super) fn left(&mut self, scene: &mut Scene, set: Set) {
        for member in self.sets.members(set) {
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
        for members in self.sets.take_excess() {
            self.tell(scene, &members, by, Use::Needed);
        }
    }

    /// Reports the doubts about a value that a thread needs at an instruction.
    pub(super) fn matter(&mut self, scene: &mut Scene, set: Set, by: (u32, u32), how: Use) {
        if set != NOTHING {
            let members = self.sets.members(set);
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
