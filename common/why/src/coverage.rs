//! Elements in whose sum products are missing, or are there too often: which k, and why.

use std::collections::{BTreeMap, BTreeSet};

use simt::analyses::provenance::{Arrived, Source};

use super::asked::{Kind, Side};
use super::element::Pair;
use super::mistake::Mistake;
use super::teller::{Teller, helped, listed, of_k};
use super::texts::help;
use findings::analysis::HazardReport;
use findings::diagnostic::{HEADS, LOOPS, Mark, READ, STORE, Spot, Word, add, words};

impl Teller<'_> {
    pub fn beyond(&self, pair: &Pair) -> HazardReport {
        let at = self.place(pair.term.instruction);
        let mut marks = vec![self.mark(pair.term.instruction, None, "it is multiplied here")];
        marks.extend(self.passages(pair));
        let bound = at.bounds();
        let lines = bound.as_ref().map_or_else(|| at.around(LOOPS), |bound| vec![bound.line]);
        let lines = of_k(&at, lines, true);
        marks.extend(at.at_lines(lines, "this lets it"));
        let k = self.element.depth;
        let cause = if k == self.asked.problem.k { "k too large" } else { "k that the element does not need" };
        let words = [self.product(pair), vec![("k", k.to_string())]].concat();
        // With a tile it follows from what was loaded, and a fault of that load may explain it better.
        let of_tile = Side::BOTH.iter().any(|&side| pair.shared(side).is_some());
        let mistake = if of_tile { Mistake::Part } else { Mistake::Beyond };
        helped(self.told(mistake, cause, marks, &words), bound.map(|bound| bound.help))
    }

    fn is_shared(&self, side: Side) -> bool {
        self.element.pairs.iter().any(|pair| pair.shared(side).is_some())
    }

    /// Where an element that belongs here was put, if the operand is multiplied from shared memory.
    fn came(&self, side: Side, k: u64) -> Option<Arrived> {
        let (_, value) = self.element.pairs.iter().find_map(|pair| pair.of(side))?;
        value.shared.and_then(|_| self.arrival(side, (self.element.own(side), k), &value))
    }

    /// Some k are missing, or are there too often.
    pub fn part(&self, missing: &[u64], repeated: &[u64]) -> HazardReport {
        let name = &self.element.name;
        let [never, twice] = [missing, repeated].map(|ks| self.asked.ks(ks));
        let what = match (missing, repeated) {
            ([], _) => format!("{twice} {} multiplied more than once for {name}", are(&twice)),
            (_, []) => format!("{never} {} never multiplied for {name}", are(&never)),
            _ => format!("for {name} {twice} {} multiplied more than once, and {never} never", are(&twice)),
        };
        // A sum with missing or repeated k has at least one product. The line of most of them is in the loop over k.
        let mut counts: BTreeMap<Option<u32>, usize> = BTreeMap::new();
        let multiplies = self.element.pairs.iter().map(|pair| pair.term.instruction);
        let most = multiplies.max_by_key(|&multiply| {
            let count = counts.entry(self.origins.line(multiply)).or_default();
            *count += 1;
            *count
        });
        let multiply = most.unwrap_or_default();
        let place = self.place(multiply);
        let loops = place.around(LOOPS);
        let words = vec![("what", what), ("never", never), ("twice", twice)];
        let ks = self.element.pairs.iter().filter_map(|pair| pair.k_of(self.element.needs)).collect();
        let gap = Gap { missing, repeated, ks, multiply, place, loops, words };
        self.lacking(&gap)
            .or_else(|| self.taken_again(&gap))
            .or_else(|| self.called_for_another_tile(&gap))
            .or_else(|| self.overlapping(&gap).filter(|_| !missing.is_empty()))
            .or_else(|| self.another_tile(&gap))
            .unwrap_or_else(|| if missing.is_empty() { self.again(&gap) } else { self.left_out(&gap) })
    }

    /// Products that were formed and are not in the sum.
    fn lacking(&self, gap: &Gap) -> Option<HazardReport> {
        let element = self.element;
        let lacks = |k| gap.missing.contains(&k);
        let is_missing = |pair: &Pair| !pair.has_part() && pair.k_of(element.needs).is_some_and(lacks);
        let formed = |own| self.origins.product(self.asked, element, own, is_missing);
        let (pair, later) = &formed(true).or_else(|| formed(false))?;
        let location = self.place(pair.term.instruction);
        let thread = self.origins.thread(pair.term.thread);
        let words = [self.product(pair), gap.words.clone(), vec![("thread", thread)]].concat();
        let mut marks = vec![self.mark(pair.term.instruction, None, "the product is formed here")];
        if !self.is_own(pair) || !element.formed.passages.is_empty() {
            self.parts(&mut marks);
            marks.extend(self.store_mark("this sum lacks them"));
            add(&mut marks, self.store().into_iter().flat_map(|store| self.place(store).value_set()));
            let mut lanes = String::new();
            for line in location.lines_with(|word| word.contains("shfl")) {
                let at = location.on_line(line);
                add(&mut marks, at.at_lines([line], "lanes exchange values here"));
                add(&mut marks, at.depends(HEADS));
                lanes = help("parts put together by shuffles", &[]);
            }
            let words = [words, vec![("lanes", lanes)]].concat();
            return Some(self.told(Mistake::Lost, "parts lost", marks, &words));
        }
        if *later {
            marks.extend(self.store_mark("the sum is stored before it is complete"));
            return Some(self.told(Mistake::Early, "stored before the end", marks, &words));
        }
        marks.extend(self.store_mark("this sum lacks it"));
        if let Some(replaced) = self.replaced(gap, marks.clone()) {
            return Some(replaced);
        }
        add(&mut marks, location.also_set());
        let rest = element.formed.rest.iter().filter(|value| matches!(value.source, Source::Constant(_)));
        let begins = rest.filter_map(|value| Some(self.mark(value.loaded?, None, "it begins with this number here")));
        // If several lines may have set a number, the compiler names any of them.
        let root = |place: &Spot| place.set_by_line().map(|set| set.root().to_owned());
        let own = root(&location);
        add(&mut marks, begins.filter(|mark| own.is_some() && root(&mark.spot) == own));
        self.set_by(self.store(), READ, &mut marks);
        let cause = if pair.term.matrix { "begun again" } else { "replaced elsewhere" };
        Some(self.told(Mistake::Lost, cause, marks, &words))
    }

    /// A line in the loop gives the sum a new value: that which multiplies, one that calls it, or another one.
    fn replaced(&self, gap: &Gap, more: Vec<Mark>) -> Option<HazardReport> {
        let store = self.store().map(|store| self.place(store));
        let replaced = gap.place.and_callers().find_map(|place| place.replaced(store.as_ref()));
        let by_call = || gap.place.and_callers().find_map(|place| place.replaced_by_call());
        let (line, name) = replaced.or_else(by_call)?;
        let mut marks = gap.place.at_lines([line], "the sum is overwritten here");
        marks[0].aside = false;
        add(&mut marks, gap.place.declared_and_set(&name));
        add(&mut marks, more);
        Some(self.told(Mistake::Lost, "set in each step", marks, &gap.and(&[("line", format!("line {line}"))])))
    }

    /// One product is there twice, or two threads have formed it.
    fn taken_again(&self, gap: &Gap) -> Option<HazardReport> {
        let pairs = &self.element.pairs;
        let of_a = |pair: &Pair| pair.of(Side::A).map(|(place, _)| place);
        let before = |(at, one): (usize, _)| Some((one, pairs[..at].iter().find(|other| of_a(one) == of_a(other))?));
        let again: Vec<(&Pair, &Pair)> = pairs.iter().enumerate().filter_map(before).collect();
        // Of a product that two lines form of the same factors, the compiler makes one.
        let is_one = |(one, other): &&(&Pair, &Pair)| one.term.tag == other.term.tag && !one.term.matrix;
        if let Some((one, _)) = again.iter().find(is_one).filter(|_| gap.missing.is_empty()) {
            let mut marks = vec![self.mark(one.term.instruction, None, "the sum is formed here, once")];
            self.parts(&mut marks);
            self.store_marks("and it is in this more than once", None, &mut marks);
            let loops = self.common_loops(self.store(), &mut marks);
            let cause = if loops.is_empty() { "sum added twice" } else { "sum stored in each step" };
            return Some(self.told(Mistake::Part, cause, marks, &gap.and(&[("loops", loops)])));
        }
        let (one, other) = again.into_iter().find(|(one, other)| one.term.thread != other.term.thread)?;
        let [other_thread, thread] = [other, one].map(|pair| self.origins.thread(pair.term.thread));
        let mut marks = vec![self.mark(one.term.instruction, None, "all of them multiply here")];
        marks.extend(gap.loops("it is done in this loop"));
        self.parts(&mut marks);
        let words = gap.and(&[("one", other_thread), ("other", thread)]);
        Some(self.told(Mistake::Part, "k taken by several threads", marks, &words))
    }

    /// All tiles come in order, but a call has loaded one before or after the one that comes next.
    fn called_for_another_tile(&self, gap: &Gap) -> Option<HazardReport> {
        let (element, ks) = (self.element, &gap.ks);
        let shift = |at: usize| ks[at] as i64 - at as i64;
        let at = (0..ks.len()).find(|&at| shift(at) != 0)?;
        let by = shift(at);
        let called = |pair: &Pair| -> Vec<Spot> {
            let loads = pair.factors.iter().filter_map(|(_, value)| value.shared.and(value.loaded));
            loads.filter_map(|at| self.call_of(at)).collect()
        };
        let lines = |calls: &[Spot]| calls.iter().filter_map(|call| call.at.line).collect::<BTreeSet<u32>>();
        let [before, calls] = [at.saturating_sub(1), at].map(|at| called(&element.pairs[at]));
        // In a loop that goes on by too much, one call loads all, and each tile is farther away.
        let in_order = (at..ks.len()).all(|at| [0, by].contains(&shift(at)));
        let many = ks.len() - at > 2 * by.unsigned_abs() as usize;
        // What was loaded for another step may have been read in place of the right tile, which came as well.
        let missing = *gap.missing.first()?;
        let again = self.arrivals(Side::A, (element.own(Side::A), ks[at])).len() > 1;
        let came = Side::BOTH.into_iter().any(|side| self.came(side, missing).is_some());
        let is_load = if by < 0 { again } else { !came };
        // Only the first tile is another one, or only the first is not, if a call of its own loads it.
        let is_one = at == 0 && (1..ks.len()).any(|at| shift(at) == 0) || at > 0 && lines(&before) != lines(&calls);
        (!calls.is_empty() && in_order && is_load && (is_one || at > 0 && many)).then_some(())?;
        let tile = self.depth_of_tile(Side::A, false).unwrap_or(by.unsigned_abs());
        let of_tile = |k: u64| self.asked.ks(&(k..element.depth.min(k + tile)).collect::<Vec<u64>>());
        let [found, next] = [ks[at], at as u64].map(of_tile);
        let words = [("call", listed(&lines(&calls))), ("found", found.clone()), ("next", next)];
        let mark = |spot| Mark { spot, label: format!("this loads {found}"), ..Mark::default() };
        let mut marks = vec![];
        add(&mut marks, calls.into_iter().map(mark));
        add(&mut marks, self.passages(&element.pairs[at]).into_iter().map(|mark| Mark { aside: true, ..mark }));
        Some(self.told(Mistake::Part, "call for another tile", marks, &gap.and(&words)))
    }

    /// The elements came, or may have come, and others were multiplied in their place.
    fn another_tile(&self, gap: &Gap) -> Option<HazardReport> {
        let (element, k) = (self.element, *gap.missing.first()?);
        let again = gap.repeated.first();
        let stands_for_zero = || element.with_zeros.get(k as usize).is_some_and(Pair::is_zero);
        let arrived = Side::BOTH.into_iter().find_map(|side| Some((side, self.came(side, k)?)));
        // The arrivals of an element that is multiplied again.
        let times = again.zip(Side::BOTH.into_iter().find(|&side| self.is_shared(side)));
        let came = times.map_or(vec![], |(&again, side)| self.arrivals(side, (element.own(side), again)));
        let loads: BTreeSet<Option<u32>> = came.iter().map(|arrived| arrived.value.loaded).collect();
        let arrived = arrived.filter(|_| loads.len() < 2);
        let Some((side, arrived)) = arrived.filter(|_| again.is_some() || stands_for_zero()) else {
            again?;
            let pair = element.pairs.last()?;
            let mut marks = self.passages(pair);
            let first = || Side::BOTH.into_iter().find_map(|side| Some((side, pair.of(side)?)));
            if let ([_], Some((side, (place, value)))) = (&came[..], first()) {
                let passage = value.shared?;
                // The first tile may be stored by a line of its own. The line that stores the others is to blame.
                let loops = passage.stored.map_or(vec![], |stored| self.place(stored).around(LOOPS));
                let in_loop = gap.loops.last().is_some_and(|over| loops.contains(over));
                let others = self.arrived(side).into_iter().filter(|_| !in_loop).map(|(_, arrived)| arrived);
                let mut others = others.filter(|other| self.same_but_for_buffer(other.address, passage.address));
                let other = others.rfind(|other| Some(other.stored) != passage.stored);
                let stored = other.map(|other| other.stored).or(passage.stored)?;
                add(&mut marks, other.map(|_| self.stores(stored, None, "tiles of other steps are stored here")));
                let under = Self::not_only_under(&self.place(stored), &mut marks);
                self.added_here(gap, &mut marks);
                let words = [
                    ("one", self.asked.name(side, place)),
                    ("need", self.asked.name(side, (place.0, k))),
                    ("put", self.line(stored)),
                    ("under", under),
                ];
                let cause = "tile of an earlier step left in its place";
                return Some(self.told(Mistake::Stale, cause, marks, &gap.and(&words)));
            }
            let loads = pair.factors.iter().filter_map(|(_, value)| value.loaded);
            let lines: BTreeSet<String> = loads.map(|at| self.line(at) + &self.called(at)).collect();
            self.added_here(gap, &mut marks);
            let words = gap.and(&[("lines", Vec::from_iter(lines).join(" and "))]);
            return Some(self.told(Mistake::Part, "same elements loaded again", marks, &words));
        };
        let is_again = |pair: &&Pair| pair.of(Side::A).is_some_and(|((_, k), _)| gap.repeated.contains(&k));
        let pair = element.pairs.iter().rfind(is_again).or(element.pairs.last())?;
        let mut marks = self.passages(pair);
        let is_stale = |again| Side::BOTH.iter().any(|&side| self.is_tile_of_another_step(side, k, again));
        let expected = self.expected(side, (element.own(side), k), Some(arrived));
        let words = [gap.words.clone(), self.product(pair), expected, vec![("k", k.to_string())]].concat();
        if again.is_some_and(|&again| !is_stale(again)) {
            marks.extend(gap.loops("it depends on this"));
            let field = pair.shared(Side::A).and_then(|passage| Some((passage, self.origins.field(passage.address)?)));
            let pointers = field.map(|(passage, field)| self.place(passage.loaded).pointers(&field.root).len());
            let turns = if pointers > Some(1) { help("tiles that take turns", &[]) } else { String::new() };
            let words = [words, vec![("turns", turns)]].concat();
            return Some(self.told(Mistake::Part, "k of a tile taken again", marks, &words));
        }
        if let Some(passage) = pair.shared(Side::A) {
            self.read_set_by(passage, READ, &mut marks);
            self.set_by(passage.stored, STORE, &mut marks);
        }
        self.added_here(gap, &mut marks);
        Some(self.told(Mistake::Stale, "tile read in place of the next", marks, &words))
    }

    fn added_here(&self, gap: &Gap, marks: &mut Vec<Mark>) {
        add(marks, [self.mark(gap.multiply, None, "the products are added here")]);
    }

    /// No k is missing, and some are there too often.
    fn again(&self, gap: &Gap) -> HazardReport {
        let (pairs, depth) = (&self.element.pairs, self.element.depth as usize);
        let passage = |pair: &Pair| Side::BOTH.map(|side| pair.shared(side));
        // The first products are those of the sum, in their order.
        let in_order = gap.ks.iter().copied().take(depth).eq(0..self.element.depth);
        let first = pairs.get(depth).filter(|pair| !pair.term.matrix && in_order);
        if let Some((pair, own)) = first.and_then(|pair| Some((pair, pair.shared(Side::A)?))) {
            // What was left there has been multiplied from there before.
            let is_there = |other: &Pair| other.shared(Side::A).is_some_and(|it| it.address == own.address);
            let left = pairs[..depth].iter().any(|other| other.places() == pair.places() && is_there(other));
            let mut marks = self.passages(pair);
            self.set_by(own.stored, READ, &mut marks);
            self.added_here(gap, &mut marks);
            if let Some(&line) = gap.loops.first().filter(|_| !left) {
                let head = gap.place.on_line(line);
                add(&mut marks, gap.place.at_lines([line], "it depends on this"));
                add(&mut marks, head.set_by(READ));
            }
            let found = pair.of(Side::A).map(|(place, value)| (self.asked.name(Side::A, place), self.found(&value)));
            let (taken, found) = found.unwrap_or_default();
            let words = gap.and(&[&found[..], &[("taken", taken)]].concat());
            let cause = if left { "left over beyond the end" } else { "taken again beyond the end" };
            return self.told(Mistake::Stale, cause, marks, &words);
        }
        // Two lines have put the number into the tile.
        let twice = pairs.iter().enumerate().find_map(|(at, one)| {
            let stored = |pair: &Pair| passage(pair).map(|it| it?.stored);
            let is_other = |other: &&Pair| other.places() == one.places() && stored(other) != stored(one);
            let other = pairs[..at].iter().find(is_other)?;
            let both = std::iter::zip(stored(other), stored(one)).find(|(one, other)| one != other)?;
            Some([both.0?, both.1?])
        });
        if let Some(lines) = twice.filter(|_| pairs[0].term.matrix) {
            let mut marks: Vec<Mark> = lines.map(|at| self.stores(at, None, "the whole number is stored here")).into();
            self.added_here(gap, &mut marks);
            let both = BTreeSet::from(lines.map(|at| self.origins.line(at).unwrap_or_default()));
            let words = gap.and(&[("both", format!("{} store", listed(&both)))]);
            return self.told(Mistake::Part, "whole number in place of a part", marks, &words);
        }
        if let Some(overlapping) = self.overlapping(gap) {
            return overlapping;
        }
        let line = |pair: &Pair| self.origins.line(pair.term.instruction);
        let same = |one: &Pair| pairs.iter().find(|other| other.places() == one.places() && line(other) != line(one));
        if let Some(both) = pairs.iter().find_map(|one| Some([one, same(one)?].map(|pair| pair.term.instruction))) {
            let mut marks: Vec<Mark> = both.map(|at| self.mark(at, None, "they are formed here")).into();
            add(&mut marks, gap.loops("it is done in this loop"));
            let both = both.iter().filter_map(|at| self.origins.line(*at)).collect();
            return self.told(Mistake::Part, "formed by two lines", marks, &gap.and(&[("both", listed(&both))]));
        }
        let mut marks = gap.loops("it is done in this loop");
        self.added_here(gap, &mut marks);
        if let Some(line) = gap.loops.first() {
            add(&mut marks, gap.place.on_line(*line).set_by(READ));
        }
        self.told(Mistake::Part, "", marks, &gap.words)
    }

    /// The loop over k goes on by less than a tile has.
    fn overlapping(&self, gap: &Gap) -> Option<HazardReport> {
        let ks = &gap.ks;
        let begins: Vec<usize> = (0..ks.len()).filter(|&at| at == 0 || ks[at] != ks[at - 1] + 1).collect();
        let last = ks.len() - begins.last()?;
        let depth = begins.windows(2).map(|pair| pair[1] - pair[0]).chain([last]).max()? as u64;
        let mut steps = begins.windows(2).map(|pair| ks[pair[1]].abs_diff(ks[pair[0]]));
        let step = steps.next().filter(|step| (1..depth).contains(step) && steps.all(|other| other == *step))?;
        // The tiles that are too short leave out the end alone. Otherwise another tile may have been read in place of the next.
        let falls = ks[begins[0]] > ks[*begins.last()?];
        let end = |first: u64| if falls { 0..gap.missing.len() as u64 } else { first..self.element.depth };
        let is_end = |first: &u64| last as u64 == depth && gap.missing.iter().copied().eq(end(*first));
        gap.missing.first().is_none_or(is_end).then_some(())?;
        // One instruction of tensor cores multiplies many k.
        let outer = if self.element.pairs[0].term.matrix { gap.loops.first() } else { gap.loops.last() }?;
        let mut marks = gap.loops("it is done in this loop");
        self.added_here(gap, &mut marks);
        add(&mut marks, gap.place.on_line(*outer).set_by(READ));
        let over = format!("the loop in line {outer}");
        let words = [("step", step.to_string()), ("depth", depth.to_string()), ("loop", over)];
        Some(self.told(Mistake::Part, "tiles overlap", marks, &gap.and(&words)))
    }

    /// A whole tile is left out although the loop takes all its turns: the next one is taken or stored too early.
    fn turned(&self, gap: &Gap, sides: &[Side]) -> Option<HazardReport> {
        let first = gap.missing[0];
        let pair = self.element.pairs.last()?;
        let mut marks = self.passages(pair);
        self.added_here(gap, &mut marks);
        let taken = |side: &Side| {
            let place = self.place(pair.shared(*side)?.stored?);
            let (variable, line, before) = place.taken()?;
            let is_early = before && Some(line) < place.at.line && first == 0;
            (is_early || !before && Some(line) > place.at.line && first > 0).then_some((place, variable, line))
        };
        if let Some((place, variable, take)) = sides.iter().find_map(taken) {
            add(&mut marks, place.declared_and_set(&variable));
            let cause =
                if first == 0 { "tile taken before the last one is stored" } else { "tile stored before it is taken" };
            let put = format!("line {}", place.at.line?);
            let words = [("variable", variable), ("take", format!("line {take}")), ("put", put)];
            return Some(self.told(Mistake::Part, cause, marks, &gap.and(&words)));
        }
        let (side, arrived) = sides.iter().find_map(|&side| Some((side, self.came(side, first)?)))?;
        let expected = self.expected(side, (self.element.own(side), first), Some(arrived));
        let label = format!("{} is stored in {} here", expected[0].1, expected[2].1);
        add(&mut marks, [self.stores(arrived.stored, Some(self.word(arrived.address)), label)]);
        pair.shared(side).into_iter().for_each(|passage| self.read_set_by(passage, READ, &mut marks));
        Some(self.told(Mistake::Stale, "tile stored and not multiplied", marks, &gap.and(&expected)))
    }

    /// Some k are not multiplied at all.
    fn left_out(&self, gap: &Gap) -> HazardReport {
        let (missing, place, depth) = (gap.missing, &gap.place, self.element.depth);
        let sides: Vec<Side> = Side::BOTH.into_iter().filter(|&side| self.is_shared(side)).collect();
        let shared = !sides.is_empty();
        // Whole tiles are left out by the outer loop, and what else was loaded and not multiplied by the inner one.
        let tile = sides.iter().find_map(|&side| self.depth_of_tile(side, true));
        let is_missing = |first: u64, tile: u64| (first..depth.min(first + tile)).all(|k| missing.contains(&k));
        let is_whole = |tile: u64| tile > 1 && missing.iter().all(|k| is_missing(k / tile * tile, tile));
        let came = sides.iter().all(|&side| self.came(side, missing[0]).is_some());
        let inner = came && !tile.is_some_and(is_whole);
        // Only the end of the sum is left, and nothing was replaced by zeros.
        let lost = missing.len() as u64;
        let is_end = lost * 2 >= depth && missing.last() == Some(&(lost - 1));
        let no_zeros = self.element.with_zeros.len() as u64 + lost < depth + lost.min(64);
        let sets = place.set_by_line().is_some_and(|set| !place.keeps(&set));
        let turns = self.element.with_zeros.len() as u64;
        // Of each tile, one product is left; or those of the last step of a loop that runs from the end.
        let of_last = came && no_zeros && missing.first() == Some(&(depth - lost));
        if (of_last || tile.is_some_and(|it| it > 1 && turns == depth.div_ceil(it)))
            && let Some(replaced) = self.replaced(gap, vec![])
        {
            return replaced;
        }
        if tile.is_some_and(is_whole)
            && turns >= depth
            && let Some(turned) = self.turned(gap, &sides)
        {
            return turned;
        }
        if is_end && no_zeros && came || sets && lost + 1 == depth {
            let mut marks = vec![self.mark(gap.multiply, None, "the sum is set here")];
            add(&mut marks, place.also_set());
            let told = || self.told(Mistake::Lost, "sum set in the loop", marks, &gap.words);
            return self.replaced(gap, vec![]).unwrap_or_else(told);
        }
        let columns = self.asked.are_columns(missing);
        let head = |line: u32| place.beside(line);
        let all = gap.loops.clone();
        let mut over = if self.asked.kind == Kind::RowSums { of_k(place, all, !columns) } else { all };
        // The loop that counts k is also around the line that reads a factor.
        let reads = self.element.pairs[0].factors.map(|(_, value)| value.shared.map(|it| it.loaded).or(value.loaded));
        let of_reads: Vec<u32> = reads.iter().flatten().flat_map(|&at| self.place(at).around(LOOPS)).collect();
        let around_one = |line: &u32| of_reads.contains(line);
        if over.iter().any(around_one) {
            over.retain(around_one);
        }
        let found = if inner { over.first() } else { over.last() }.copied();
        // The size at which the loop ends, if it is not K.
        let ends = |line: u32| {
            let mut all = vec![head(line)];
            all.extend(all[0].set_by(READ).into_iter().map(|mark| mark.spot));
            let names = |size: &str| all.iter().any(|place| place.has_word(|word| word == size));
            ["M", "N"].into_iter().find(|size| names(size) && !names("K"))
        };
        let size = found.filter(|_| !columns).and_then(ends);
        let mut marks = vec![];
        if let Some(line) = found {
            let label = format!("this loop counts {}", if columns { "columns" } else { "k" });
            marks.extend(place.at_lines([line], &label));
            add(&mut marks, head(line).set_by(READ));
            for exit in place.exits(line) {
                add(&mut marks, place.at_lines([exit], "this ends it"));
                add(&mut marks, head(exit).set_by(READ));
            }
        }
        let steps = found.is_some_and(|line| head(line).code().split(')').next().unwrap_or_default().contains("+="));
        let (head, tail) = (missing.contains(&0), missing.contains(&(depth - 1)));
        let at_the_end = lost == depth - missing[0];
        if !tail && !head || tail && !at_the_end {
            marks.extend(self.store_mark("this sum lacks them"));
            let loads = Side::BOTH.into_iter().filter_map(|side| self.element.pairs.last()?.of(side)?.1.loaded);
            loads.filter(|_| shared && !inner).for_each(|loaded| self.set_by(loaded, READ, &mut marks));
        }
        self.added_here(gap, &mut marks);
        let rest_of_k = inner && at_the_end && !shared && !columns && tail && steps && lost < 2 + depth / 2;
        let last_tile = tail && at_the_end && tile.is_none_or(|tile| lost <= tile);
        let cause = match inner {
            _ if size.is_some() => "loop that ends at another size",
            true if rest_of_k => "rest of K left out",
            true => "left out by the inner loop",
            false if depth > 1 && last_tile => "last tile left out",
            false => "tiles left out",
        };
        // What is missing in a tile, or in all of k; the loop may count down.
        let cycle = tile.filter(|_| inner).unwrap_or(depth);
        let lacks: BTreeSet<u64> = missing.iter().map(|k| k % cycle).collect();
        let [first, last] = [lacks.first(), lacks.last()].map(|k| k.copied().unwrap_or_default());
        let falls = gap.ks.first() > if inner { gap.ks.get(1).or(gap.ks.last()) } else { gap.ks.last() };
        let how = match (first == 0, last + 1 == cycle) {
            (_, true) | (true, _) if last + 1 - first > lacks.len() as u64 => "it leaves some out",
            (begin, end) if if falls { end } else { begin } => "it begins too late",
            (true, _) | (_, true) => "it ends too early",
            _ => "it leaves some out",
        };
        let all = match shared {
            _ if columns => "every column from 0 to N - 1",
            true => "every k of the tile",
            false if depth == self.asked.problem.k || self.asked.kind == Kind::RowSums => "every k from 0 to K - 1",
            false => "every k that the element needs",
        };
        if let Some((variable, line)) = place.dead_sum() {
            let mut marks = place.at_lines([line], "nothing uses this sum");
            marks.extend(self.store_mark("it is not in this"));
            let words = [("variable", variable), ("dead", format!("line {line}"))];
            return self.told(Mistake::Lost, "sum that nobody stores", marks, &gap.and(&words));
        }
        let called = self.called(gap.multiply);
        let which = found.map_or_else(|| "the loop over k".into(), |line| format!("the loop in line {line}{called}"));
        let words = words([("how", how), ("all", all), ("loop", &which), ("size", size.unwrap_or_default())]);
        self.told(Mistake::Part, cause, marks, &gap.and(&words))
    }
}

/// Which k are missing in a sum and which are there too often, and what is known of its first product.
struct Gap<'a> {
    missing: &'a [u64],
    repeated: &'a [u64],
    /// The k of the products that are there, in order.
    ks: Vec<u64>,
    multiply: u32,
    place: Spot,
    /// The loops around it, the innermost first.
    loops: Vec<u32>,
    words: Vec<Word>,
}

impl Gap<'_> {
    fn and(&self, words: &[Word]) -> Vec<Word> {
        [&self.words, words].concat()
    }

    fn loops(&self, label: &str) -> Vec<Mark> {
        self.place.at_lines(self.loops.iter().copied(), label)
    }
}

fn are(all: &str) -> &'static str {
    if all.contains(", ") || all.contains(" to ") { "are" } else { "is" }
}
