//! The order of accesses in a block, by vector clocks.
//!
//! Every warp has a clock, which steps whenever its lanes synchronise with other threads. What a warp knows of the others is a row
//! of times, one for each warp. A barrier joins the rows of the warps that arrive, and gives the result to those that wait.
//! Views hold what is known of other blocks, and what only some lanes know (those that met under part of the mask, or the
//! one that holds a lock). Most kernels need no views.

use super::event::Slot;
use super::extent::Extent;
use crate::lanes::each;
use std::sync::Arc;

/// How an earlier access is ordered relative to the current one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Order {
    /// The earlier access happens before the current one.
    Before,
    /// Only an exchange of values (a shuffle or a vote) orders the two.
    Exchange,
    /// Nothing orders the two.
    None,
}

/// When lanes of a warp last exchanged values.
#[derive(Debug, Clone, Default)]
struct Exchanges {
    /// When all lanes of the warp last did.
    all: u32,
    /// When each pair of lanes last did. Empty until some but not all lanes exchange values.
    pairs: Vec<u32>,
}

#[derive(Debug)]
pub(super) struct Clock {
    pub block: u32,
    warps: usize,
    /// The lanes that each warp has.
    pub full: Vec<u32>,
    times: Vec<u32>,
    /// One row for each warp: the times up to which it knows the accesses of each warp.
    known: Vec<u32>,
    /// For each barrier, what the warps that have arrived know together. Empty if none has arrived.
    gathered: Vec<Vec<u32>>,
    exchanges: Vec<Exchanges>,
    /// What threads know in addition to the rows.
    beyond: Knowledge,
}

impl Clock {
    pub(super) fn new(block: u32, threads: u32) -> Self {
        let warps = threads.div_ceil(32) as usize;
        let lanes = |warp: usize| u32::MAX >> 32_u32.saturating_sub(threads - 32 * warp as u32);
        Self {
            block,
            warps,
            full: (0..warps).map(lanes).collect(),
            times: vec![1; warps],
            known: vec![0; warps * warps],
            gathered: vec![vec![]; 16],
            exchanges: vec![Exchanges::default(); warps],
            beyond: Knowledge::new(warps),
        }
    }

    pub(super) fn bytes(extent: &Extent) -> u64 {
        let row = extent.warps * size_of::<u32>() as u64;
        // For each warp: its row, pairs of lanes, exchanges, views, time and lanes. For each of 16 barriers: a row.
        extent.warps * (row + 4 * 32 * 32 + (size_of::<Exchanges>() + size_of::<Views>() + 8) as u64) + 16 * row
    }

    #[inline]
    pub(super) fn time(&self, warp: u32) -> u32 {
        self.times[warp as usize]
    }

    /// Returns the times up to which a warp knows the accesses of each warp of the block.
    #[inline]
    pub(super) fn row(&self, warp: usize) -> &[u32] {
        &self.known[warp * self.warps..(warp + 1) * self.warps]
    }

    /// Steps a warp's clock, so that what others have learnt of the warp does not include what it does from now on.
    pub(super) fn step(&mut self, warp: u32) {
        let time = &mut self.times[warp as usize];
        *time = time.saturating_add(1);
    }

    pub(super) fn arrive(&mut self, warp: u32, id: u32) {
        let Some(gathered) = self.gathered.get_mut(id as usize) else { return };
        gathered.resize(self.warps, 0);
        let own = warp as usize;
        for (known, &time) in gathered.iter_mut().zip(&self.known[own * self.warps..]) {
            *known = time.max(*known);
        }
        gathered[own] = self.times[own];
        self.beyond.arrive(warp, u32::MAX, id);
        self.step(warp);
    }

    /// Opens a barrier: the `waiting` warps learn what all warps that had arrived knew.
    pub(super) fn open(&mut self, id: u32, waiting: u32) {
        let Some(gathered) = self.gathered.get_mut(id as usize) else { return };
        let known = std::mem::take(gathered);
        for warp in each(waiting).filter(|&warp| warp < self.warps) {
            for (own, &time) in self.known[warp * self.warps..].iter_mut().zip(&known) {
                *own = time.max(*own);
            }
        }
        // After a barrier of all warps, the rows say more about this block than the views do.
        let all = waiting.count_ones() as usize == self.warps;
        self.beyond.open(id, waiting, |view| if all { view.without(self.block) } else { view });
    }

    /// Notes that lanes of a warp wait for each other.
    pub(super) fn lanes_meet(&mut self, warp: u32, lanes: u32) {
        let (own, time) = (warp as usize, self.time(warp));
        self.beyond.warps[own].meet(lanes, self.full[own]);
        if lanes == self.full[own] {
            self.known[own * self.warps + own] = time;
        } else if lanes.count_ones() > 1 {
            let met = View::new(self.block, each(lanes).map(|lane| (Who::thread(warp * 32 + lane as u32), time)));
            each(lanes).for_each(|lane| self.beyond.warps[own].learn(lane, &met));
        }
        self.step(warp);
    }

    /// Notes that lanes of a warp exchange values. PTX orders nothing by that. But every GPU runs the lanes on together, so all of them
    /// come after what one of them has acquired from another warp: cooperative groups pass on in this way that a barrier is complete.
    pub(super) fn lanes_exchange(&mut self, warp: u32, lanes: u32) {
        let (own, time) = (warp as usize, self.time(warp));
        self.beyond.warps[own].meet(lanes, self.full[own]);
        let Exchanges { all, pairs } = &mut self.exchanges[own];
        if lanes == self.full[own] {
            *all = time;
        } else {
            pairs.resize(32 * 32, 0);
            for lane in each(lanes) {
                each(lanes).for_each(|other| pairs[32 * lane + other] = time);
            }
        }
        self.step(warp);
    }

    pub(super) fn learn(&mut self, thread: u32, view: &View) {
        self.beyond.warps[thread as usize / 32].learn(thread as usize % 32, view);
    }

    /// Returns a view of what a thread itself did up to now, without what it knows of others.
    pub(super) fn own(&self, thread: u32) -> View {
        View::new(self.block, [(Who::thread(thread), self.time(thread / 32))])
    }

    /// Returns a view of all that a thread knows now, including what it did itself.
    pub(super) fn knowledge(&self, thread: u32) -> View {
        let warp = thread as usize / 32;
        let row = self.row(warp);
        let least = row.iter().copied().min().unwrap_or(0);
        let block = (least > 0).then_some((Who::BLOCK, least));
        let warps = row.iter().enumerate().filter(|&(_, &time)| time > least);
        let warps = warps.map(|(other, &time)| (Who::warp(other), time));
        let own = (Who::thread(thread), self.times[warp]);
        let mut view = View::new(self.block, block.into_iter().chain(warps).chain([own]));
        view.learn(self.beyond.warps[warp].of(thread as usize % 32));
        view
    }

    /// Returns how earlier accesses are ordered before one that a thread makes now, and the thread of the least ordered of them.
    pub(super) fn order(&self, earlier: &Slot, thread: u32) -> (Order, u32) {
        let event = earlier.event;
        let (warp, lane) = (thread as usize / 32, thread as usize % 32);
        let mut lanes = earlier.lanes;
        if event.block == self.block {
            if event.warp() == warp {
                lanes &= !(1 << lane);
            }
            if self.row(warp)[event.warp()] >= event.time {
                return (Order::Before, event.thread());
            }
        }
        let view = self.beyond.warps[warp].of(lane);
        let mut worst = (Order::Before, event.thread());
        let known = view.known(event.block, event.warp(), event.time);
        let first = event.thread() as usize % 32;
        let in_order =
            std::iter::once(first).filter(|&first| lanes >> first & 1 != 0).chain(each(lanes & !(1 << first)));
        for other in in_order {
            let by = event.by_lane(other).thread();
            let order = if known >> other & 1 == 1 {
                Order::Before
            } else if event.block == self.block
                && event.warp() == warp
                && self.exchanged(warp, lane, other) >= event.time
            {
                Order::Exchange
            } else {
                Order::None
            };
            if order > worst.0 {
                worst = (order, by);
            }
            if order == Order::None {
                break;
            }
        }
        worst
    }

    /// Returns the time at which two lanes of a warp last exchanged values, or 0.
    fn exchanged(&self, warp: usize, lane: usize, other: usize) -> u32 {
        let Exchanges { all, pairs } = &self.exchanges[warp];
        pairs.get(32 * lane + other).map_or(*all, |&pair| pair.max(*all))
    }
}

/// What an entry of a view is about: a whole block, one of its warps or one of its threads, as numbers in this order.
struct Who;

impl Who {
    const BLOCK: u32 = 0;

    fn warp(warp: usize) -> u32 {
        1 + warp as u32
    }

    fn thread(thread: u32) -> u32 {
        64 + thread
    }
}

/// For some blocks, and some of their warps and threads, the time (by the clock of the warp) up to which their accesses are known. The
/// parts about the blocks, in increasing order, are separate: most stay the same when a thread learns something. Copies
/// share the data until one of them changes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct View(Option<Arc<Vec<Part>>>);

/// What is known of a block.
type Part = (u32, Arc<Times>);

/// The entries of a view about one block. If many threads synchronise, all of them soon know of the same threads, and only the times
/// differ. So the times are stored separately, and the list of threads is shared.
#[derive(Debug, PartialEq, Eq)]
struct Times {
    /// In increasing order. These are plain numbers, so that many are compared at once.
    who: Arc<Vec<u32>>,
    until: Vec<u32>,
}

/// Whether `one` has a key that `other` has not, or says more about a key than `other`. Both are in increasing order.
fn says_more<T>(
    mut one: impl Iterator<Item = (u32, T)>,
    other: impl Iterator<Item = (u32, T)>,
    more: impl Fn(T, T) -> bool,
) -> bool {
    let mut other = other.peekable();
    one.any(|(key, own)| {
        while other.next_if(|(before, _)| *before < key).is_some() {}
        other.next_if(|(same, _)| *same == key).is_none_or(|(_, other)| more(own, other))
    })
}

/// Returns the entries of both in increasing order, and of a key that both have, what `join` makes of the two.
fn merged<T, U: FromIterator<(u32, T)>>(
    one: impl Iterator<Item = (u32, T)>,
    other: impl Iterator<Item = (u32, T)>,
    join: impl Fn(T, T) -> T,
) -> U {
    let (mut one, mut two) = (one.peekable(), other.peekable());
    std::iter::from_fn(|| match (one.peek(), two.peek()) {
        (Some(a), Some(b)) if a.0 == b.0 => one.next().zip(two.next()).map(|(a, b)| (a.0, join(a.1, b.1))),
        (Some(a), Some(b)) if a.0 < b.0 => one.next(),
        (Some(_), None) => one.next(),
        _ => two.next(),
    })
    .collect()
}

impl Times {
    fn entries(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.who.iter().copied().zip(self.until.iter().copied())
    }

    /// Whether both have entries for the same warps and threads.
    fn same_who(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.who, &other.who) || self.who == other.who
    }

    /// Whether this knows anything that the other does not.
    fn says_more(&self, other: &Self) -> bool {
        if self.same_who(other) {
            // There is no early exit, so that many are compared at once.
            let later = self.until.iter().zip(&other.until).map(|(own, other)| u32::from(own > other));
            return later.fold(0, |any, later| any | later) > 0;
        }
        says_more(self.entries(), other.entries(), |own, other| own > other)
    }

    /// Returns the entries of both. An entry that is in both has the later time.
    fn joined(self: &Arc<Self>, other: &Arc<Self>) -> Arc<Self> {
        if Arc::ptr_eq(self, other) || !other.says_more(self) {
            return self.clone();
        }
        if !self.says_more(other) {
            return other.clone();
        }
        if self.same_who(other) {
            let until = self.until.iter().zip(&other.until).map(|(one, other)| *one.max(other)).collect();
            return Arc::new(Self { who: self.who.clone(), until });
        }
        let (who, until): (Vec<u32>, Vec<u32>) =
            merged::<_, Vec<_>>(self.entries(), other.entries(), u32::max).into_iter().unzip();
        let known = [self, other].into_iter().find(|times| times.until.len() == until.len());
        Arc::new(Self { who: known.map_or_else(|| Arc::new(who), |times| times.who.clone()), until })
    }
}

impl View {
    /// Makes a view of a block from entries in increasing order.
    fn new(block: u32, entries: impl IntoIterator<Item = (u32, u32)>) -> Self {
        let (who, until): (Vec<u32>, Vec<u32>) = entries.into_iter().unzip();
        debug_assert!(who.is_sorted_by(|a, b| a < b));
        Self((!who.is_empty()).then(|| Arc::new(vec![(block, Arc::new(Times { who: Arc::new(who), until }))])))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Whether both share the same data. This is cheaper than comparing it.
    fn is(&self, other: &Self) -> bool {
        self.0.as_ref().map(Arc::as_ptr) == other.0.as_ref().map(Arc::as_ptr)
    }

    /// Returns what is known of each block, in increasing order.
    fn parts(&self) -> impl Iterator<Item = (u32, &Arc<Times>)> {
        self.0.iter().flat_map(|parts| parts.iter()).map(|(block, times)| (*block, times))
    }

    /// Returns the lanes of a warp whose accesses up to a time are known.
    pub(super) fn known(&self, block: u32, warp: usize, time: u32) -> u32 {
        let Some(parts) = &self.0 else { return 0 };
        let Ok(part) = parts.binary_search_by_key(&block, |part| part.0) else { return 0 };
        let Times { who, until } = &*parts[part].1;
        let known = |of: u32| who.binary_search(&of).is_ok_and(|at| until[at] >= time);
        if known(Who::BLOCK) || known(Who::warp(warp)) {
            return u32::MAX;
        }
        let first = Who::thread(warp as u32 * 32);
        let from = who.partition_point(|who| *who < first);
        let threads = who[from..].iter().zip(&until[from..]).take_while(|(who, _)| **who < first + 32);
        threads.filter(|(_, until)| **until >= time).fold(0, |lanes, (who, _)| lanes | 1 << (who - first))
    }

    pub(super) fn learn(&mut self, other: &Self) {
        if self.is(other) {
            return;
        }
        let more = |one: &Self, other: &Self| {
            says_more(one.parts(), other.parts(), |own, other| !Arc::ptr_eq(own, other) && own.says_more(other))
        };
        match [more(other, self), more(self, other)] {
            [false, _] => {}
            // This shares the other's data, so that the next `learn` of the same view returns at once.
            [true, false] => self.0.clone_from(&other.0),
            [true, true] => {
                let [own, other] =
                    [&*self, other].map(|view| view.parts().map(|(block, times)| (block, times.clone())));
                self.0 = Some(Arc::new(merged(own, other, |own, other| own.joined(&other))));
            }
        }
    }

    pub(super) fn without(&self, block: u32) -> Self {
        let others = || self.parts().filter(|part| part.0 != block).map(|(block, times)| (block, times.clone()));
        match others().count() {
            0 => Self::default(),
            count if count == self.parts().count() => self.clone(),
            _ => Self(Some(Arc::new(others().collect()))),
        }
    }
}

/// The views of the lanes of a warp: a single one while all lanes agree.
#[derive(Debug, Clone, Default)]
pub(super) struct Views {
    all: View,
    /// Empty while all lanes agree, else one view for each lane.
    lanes: Vec<View>,
    /// From the last time that a lane learnt something: what it knew, what it learnt, and what it knew afterwards. The next lane
    /// often learns the same.
    last: Option<[View; 3]>,
}

impl Views {
    #[inline]
    pub(super) fn of(&self, lane: usize) -> &View {
        self.lanes.get(lane).unwrap_or(&self.all)
    }

    /// Returns the views of the lanes, once those that lanes with consecutive numbers share.
    pub(super) fn distinct(&self) -> impl Iterator<Item = &View> {
        let all = if self.lanes.is_empty() { std::slice::from_ref(&self.all) } else { &self.lanes };
        all.chunk_by(View::is).map(|shared| &shared[0])
    }

    pub(super) fn set_all(&mut self, view: View) {
        self.all = view;
        self.lanes.clear();
    }

    pub(super) fn set(&mut self, lane: usize, view: View) {
        if self.lanes.is_empty() {
            if self.all == view {
                return;
            }
            self.lanes = vec![self.all.clone(); 32];
        }
        self.lanes[lane] = view;
    }

    /// Adds what a view knows to what a lane knows.
    pub(super) fn learn(&mut self, lane: usize, view: &View) {
        if view.is_empty() {
            return;
        }
        let own = self.of(lane).clone();
        let known = match &self.last {
            Some([before, learnt, after]) if before.is(&own) && learnt.is(view) => after.clone(),
            _ => {
                let mut after = own.clone();
                after.learn(view);
                self.last = Some([own, view.clone(), after.clone()]);
                after
            }
        };
        self.set(lane, known);
    }

    /// Returns what these lanes know together.
    pub(super) fn joined(&self, lanes: u32) -> View {
        let mut view = self.all.clone();
        for lane in each(if self.lanes.is_empty() { 0 } else { lanes }) {
            view.learn(&self.lanes[lane]);
        }
        view
    }

    /// Lets lanes of the warp synchronise: each learns what the others know.
    pub(super) fn meet(&mut self, lanes: u32, full: u32) {
        if self.lanes.is_empty() {
            return;
        }
        let joint = self.joined(lanes);
        if lanes == full {
            self.set_all(joint);
        } else {
            each(lanes).for_each(|lane| self.set(lane, joint.clone()));
        }
    }
}

/// What the threads of a block know about one subject, and pass on whenever they synchronise.
#[derive(Debug)]
pub(super) struct Knowledge {
    pub warps: Vec<Views>,
    /// For each barrier, what the warps that have arrived know.
    gathered: Vec<View>,
}

impl Knowledge {
    pub(super) fn new(warps: usize) -> Self {
        Self { warps: vec![Views::default(); warps], gathered: vec![View::default(); 16] }
    }

    pub(super) fn arrive(&mut self, warp: u32, lanes: u32, id: u32) {
        if let Some(gathered) = self.gathered.get_mut(id as usize) {
            gathered.learn(&self.warps[warp as usize].joined(lanes));
        }
    }

    /// Opens a barrier: the `waiting` warps now know exactly the part that `keep` returns of what the arrived warps knew.
    pub(super) fn open(&mut self, id: u32, waiting: u32, keep: impl FnOnce(View) -> View) {
        let Some(gathered) = self.gathered.get_mut(id as usize) else { return };
        let gathered = keep(std::mem::take(gathered));
        for warp in each(waiting) {
            let Some(views) = self.warps.get_mut(warp) else { return };
            views.set_all(gathered.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_of_a_block_can_be_left_out() {
        let mut view = View::new(1, [(Who::thread(40), 7)]);
        view.learn(&View::new(2, [(Who::BLOCK, 9)]));
        assert_eq!([view.known(1, 1, 7), view.known(2, 5, 9)], [1 << 8, u32::MAX]);
        assert_eq!(view.without(1), View::new(2, [(Who::BLOCK, 9)]));
        assert!(view.without(1).without(2).is_empty());
    }
}
