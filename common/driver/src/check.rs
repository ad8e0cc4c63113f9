//! What is known about a program in order to find its faults: who came before whom, and who touched what.
//!
//! Actors are the host (all its threads together, in the order of their calls) and the streams. Each has a vector clock. What the
//! host calls happens before what a stream does because of it; what a stream has done happens before what the host does once it
//! has waited for it. An event carries a stream's clock to who waits for it. Two accesses to the same bytes, at least one of which
//! writes, are a race unless one of them happens before the other.

use crate::errors::{Answer, Code, NOT_READY};
use crate::guard::{Hit, Region};
use crate::ranges::Ranges;
use crate::raw::PAGE;
use crate::report::Finding;
use crate::site::Call;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

/// How far each actor had come; 0 for one that is not listed. Actor 0 is the host.
#[derive(Debug, Clone, Default)]
pub struct Clock(Vec<u64>);

impl Clock {
    /// How far each actor had come.
    pub fn list(&self) -> &[u64] {
        &self.0
    }

    /// How far an actor had come.
    pub fn of(&self, actor: usize) -> u64 {
        self.0.get(actor).copied().unwrap_or(0)
    }

    /// Adds what another clock knows.
    pub fn join(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (own, &other) in self.0.iter_mut().zip(&other.0) {
            *own = (*own).max(other);
        }
    }

    fn tick(&mut self, actor: usize) -> u64 {
        if self.0.len() <= actor {
            self.0.resize(actor + 1, 0);
        }
        self.0[actor] += 1;
        self.0[actor]
    }
}

/// What an access does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // The names say it.
pub enum Does {
    Reads,
    Writes,
    Updates,
}

impl Does {
    /// In words.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Reads => "reads",
            Self::Writes => "writes",
            Self::Updates => "updates",
        }
    }

    /// Whether two accesses need an order. Atomic operations do not, among themselves.
    const fn clashes(self, other: Self) -> bool {
        !matches!((self, other), (Self::Reads, Self::Reads) | (Self::Updates, Self::Updates))
    }
}

/// An access of a stream that the host may not have waited for.
#[derive(Debug, Clone)]
pub struct Record {
    pub ranges: Ranges,
    pub does: Does,
    pub actor: usize,
    pub time: u64,
    /// Who it was: a copy, a kernel.
    pub who: Arc<str>,
    pub call: Arc<Call>,
}

/// What is known about an allocation.
#[derive(Debug, Clone, Default)]
pub struct Known {
    pub number: u64,
    pub bytes: u64,
    pub call: Arc<Call>,
    /// The bytes that somebody has written.
    pub written: Ranges,
    /// Accesses that not everybody has waited for, oldest first.
    pub records: Vec<Record>,
    pub freed: Option<Arc<Call>>,
    /// Whether it is memory of the program that was registered.
    pub registered: bool,
}

/// A call that failed and whose code nobody has asked about.
#[derive(Debug, Clone)]
pub struct Ignored {
    pub code: Code,
    pub call: Arc<Call>,
    /// What it should have done.
    pub what: String,
    /// The allocations that it should have written.
    pub outputs: Vec<u64>,
}

/// Most accesses of an allocation that are kept.
const MOST_RECORDS: usize = 64;
/// Most freed allocations that are kept.
const MOST_FREED: usize = 1 << 14;

/// All of it.
#[derive(Debug, Default)]
pub struct Check {
    /// The function that is being called.
    pub calling: &'static str,
    clocks: HashMap<u64, (usize, Clock)>,
    pub host: Clock,
    pub events: HashMap<u64, Clock>,
    /// Allocations by address, those that were freed as well.
    pub known: BTreeMap<u64, Known>,
    freed: std::collections::VecDeque<u64>,
    pub ignored: Vec<Ignored>,
    told: HashSet<(&'static str, String)>,
}

impl Check {
    /// A function was called.
    pub fn enters(&mut self, name: &'static str) {
        self.calling = name;
    }

    /// The call that is being answered.
    pub fn here(&self) -> Arc<Call> {
        Arc::new(Call::here(self.calling))
    }

    /// A function answers.
    pub fn answered(&mut self, name: &'static str, answer: Answer) {
        if answer.is_ok() {
            self.ignored.retain(|ignored| ignored.call.name != name);
        }
    }

    /// The program asked what a code means.
    pub fn asked(&mut self, code: Code) {
        if code != NOT_READY {
            self.ignored.retain(|ignored| ignored.code != code);
        }
    }

    /// The clock of a stream, which knows what the host has done. It goes on by one.
    pub fn acts(&mut self, stream: u64) -> (usize, Clock) {
        self.host.tick(0);
        let next = self.clocks.len() + 1;
        let (actor, clock) = self.clocks.entry(stream).or_insert_with(|| (next, Clock::default()));
        clock.join(&self.host);
        clock.tick(*actor);
        (*actor, clock.clone())
    }

    /// The actor of a stream and its clock after a step of its own.
    pub fn stamp(&mut self, stream: u64) -> (usize, Clock) {
        let next = self.clocks.len() + 1;
        let (actor, clock) = self.clocks.entry(stream).or_insert_with(|| (next, Clock::default()));
        clock.tick(*actor);
        (*actor, clock.clone())
    }

    /// Lets a stream know what a clock knows.
    pub fn learns(&mut self, stream: u64, from: &Clock) {
        self.acts(stream);
        if let Some((_, clock)) = self.clocks.get_mut(&stream) {
            clock.join(from);
        }
    }

    /// What a stream knows.
    pub fn of_stream(&self, stream: u64) -> Clock {
        self.clocks.get(&stream).map(|(_, clock)| clock.clone()).unwrap_or_default()
    }

    /// The host has waited for something.
    pub fn host_learns(&mut self, from: &Clock) {
        self.host.join(from);
        let host = &self.host;
        for known in self.known.values_mut() {
            known.records.retain(|record| record.time > host.of(record.actor));
        }
    }

    /// The host has waited for all streams.
    pub fn waited_for_all(&mut self) {
        let all = self.clocks.values().fold(Clock::default(), |mut all, (_, clock)| {
            all.join(clock);
            all
        });
        self.host_learns(&all);
    }

    /// The allocation that holds an address or held it.
    pub fn at(&self, address: u64) -> Option<(u64, &Known)> {
        let (&base, known) = self.known.range(..=address).next_back()?;
        Some((base, known))
    }

    /// Notes an access of a stream, and returns an older one that has no order with it, with a byte of both.
    pub fn access(&mut self, base: u64, record: Record, clock: &Clock) -> Option<(Record, u64)> {
        let known = self.known.get_mut(&base)?;
        let older = known.records.iter().rev().filter(|old| old.does.clashes(record.does));
        let mut unordered = older.filter(|old| old.time > clock.of(old.actor));
        let clash = unordered.find_map(|old| Some((old.clone(), old.ranges.meets(&record.ranges)?)));
        if record.does != Does::Reads {
            known.written.add(&record.ranges);
        }
        // Whoever comes after this access comes after an earlier one of the same stream to the same bytes.
        known.records.retain(|old| (old.actor, old.does) != (record.actor, record.does) || old.ranges != record.ranges);
        if known.records.len() >= MOST_RECORDS {
            known.records.remove(0);
        }
        known.records.push(record);
        clash
    }

    /// Notes that an allocation was freed.
    pub fn freed(&mut self, base: u64) {
        let call = self.here();
        if let Some(known) = self.known.get_mut(&base) {
            known.freed = Some(call);
            (known.records, known.written) = (vec![], Ranges::default());
            self.freed.push_back(base);
        }
        if self.freed.len() > MOST_FREED
            && let Some(oldest) = self.freed.pop_front()
        {
            self.known.remove(&oldest);
        }
    }

    /// The pages of memory of the host that streams may still work on. Pages that have other bytes of the allocation as well stay open.
    pub fn closed(&self, base: u64, bytes: u64) -> Vec<Region> {
        let Some(known) = self.known.get(&base) else { return vec![] };
        let page = PAGE as u64;
        let region = |record: &Record, &(start, end): &(u64, u64)| {
            // Its own last page ends with the allocation; in memory that was registered, others may have the rest of it.
            let first = if start == base && base.is_multiple_of(page) { start } else { start.next_multiple_of(page) };
            let whole = base.is_multiple_of(page) && end == base + bytes && !known.registered;
            let last = if whole { end.next_multiple_of(page) } else { end / page * page };
            (first < last).then(|| Region {
                start: first,
                bytes: last - first,
                readable: record.does == Does::Reads,
                allocation: known.number,
                who: record.who.clone(),
                does: record.does.word(),
                call: record.call.clone(),
            })
        };
        // Those that may not be read come last, so that they decide.
        let mut regions: Vec<Region> = known
            .records
            .iter()
            .flat_map(|record| record.ranges.list().iter().filter_map(|range| region(record, range)))
            .collect();
        regions.sort_by_key(|region| !region.readable);
        regions
    }

    /// Tells of an access of the host that came too early.
    pub fn hit(&mut self, hit: Hit, report: Option<&std::path::Path>) {
        let Region { allocation, who, does, call, readable, .. } = hit.region;
        let host = if readable { "writes" } else { "accesses" };
        let title = format!("the host {host} allocation {allocation}, which {who} {does} and may not have finished");
        let calls = vec![(format!("{who} {does}"), (*call).clone()), (format!("the host {host} it"), hit.host)];
        let help = "synchronize with the stream, or with an event after the work, before the host uses the memory";
        self.tell(&Finding { kind: "host access before it waited", title, help, warning: false, calls }, report);
    }

    /// Tells a finding unless it was told before.
    pub fn tell(&mut self, finding: &Finding, report: Option<&std::path::Path>) {
        if self.told.insert(finding.key()) {
            finding.tell(report);
        }
    }
}
