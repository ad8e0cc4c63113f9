//! A sum in which the elements of one operand are not those that belong there: which were taken, by what rule, and where they
//! should have come from.

use simt::analyses::provenance::{Passage, Value};

use super::asked::{Kind, Place, Side};
use super::element::Pair;
use super::judge::{Verdict, whole};
use super::mistake::Mistake;
use super::rule::{Rule, Sample, affine};
use super::teller::{Teller, helped, listed, noted};
use super::texts::{help, text};
use findings::analysis::HazardReport;
use findings::diagnostic::{LOOPS, Part, READ, STORE, add, array_name};

impl Teller<'_> {
    /// Every element of an operand that was taken for another one, in all elements of C with this mistake, perhaps by one line alone.
    fn samples(&self, side: Side, line: Option<u32>) -> Vec<Sample> {
        let mut samples = vec![];
        for (element, verdict) in self.alike {
            let Verdict::Factor(_, at, k) = verdict else { continue };
            // The k of the example shows how to number the others: by the other factor, or by their order.
            let other = side.other();
            let by_other = element.pairs[*at].of(other).is_some_and(|((_, other), _)| other == *k);
            for (n, pair) in element.pairs.iter().enumerate() {
                let Some(places) = pair.places() else { continue };
                if line.is_some() && self.origins.line(pair.term.instruction) != line {
                    continue;
                }
                let k = if by_other { places[other as usize].1 } else { n as u64 };
                samples.push([(element.own(side), k), places[side as usize]]);
            }
        }
        samples
    }

    /// Whether a word was stored once, for a step in which it was read rightly, and is read again.
    fn is_left_over(&self, side: Side, taken: Place, passage: Passage) -> bool {
        let times = self.arrivals(side, taken).iter().filter(|it| it.address == passage.address).count();
        let is_same = |(place, value): (Place, Value)| {
            place == taken && value.shared.is_some_and(|other| other.address == passage.address)
        };
        let whole = self.element.pairs.iter().filter(|pair| !pair.has_part());
        let reads = whole.filter(|pair| pair.of(side).is_some_and(is_same)).count();
        times == 1 && reads > 1
    }

    /// What to do if the chunks of 8 k of some operands do not lie where tensor cores look for them, and that explains all products.
    fn swizzle(&self, pair: &Pair) -> Option<String> {
        let fits = |sides: &[Side], places: [Place; 2]| {
            let [a, b] = Side::BOTH.map(|side| {
                let (own, k) = places[side as usize];
                k ^ if sides.contains(&side) { own % 8 * 8 } else { 0 }
            });
            a == b
        };
        let explains = |sides: &&[Side]| {
            let mut pairs = self.alike.iter().flat_map(|(element, _)| &element.pairs);
            pairs.all(|pair| pair.term.matrix && pair.places().is_some_and(|places| fits(sides, places)))
        };
        let stored = |side: &Side| {
            let place = self.place(pair.shared(*side)?.stored?);
            place.at.calls.last().map(|(line, _)| *line).or(place.at.line)
        };
        let sides = [&[Side::A][..], &[Side::B], &Side::BOTH].into_iter().find(explains)?;
        Some(help("swizzle left out", &[("lines", listed(&sides.iter().filter_map(stored).collect()))]))
    }

    pub fn factor(&self, side: Side, at: usize, k: u64) -> Option<HazardReport> {
        let (element, asked) = (self.element, self.asked);
        let pair = &element.pairs[at];
        let (taken, value) = pair.of(side)?;
        let value = self.seen(pair, side, value);
        let (multiply, needed) = (pair.term.instruction, (element.own(side), k));
        let array = asked.array(side);
        let rule = |line| Rule::of(&self.samples(side, line), asked.strides(side));
        // In other lines the operand may be the right one.
        let rule = match rule(None) {
            Rule::None | Rule::OneIndex("k mixed" | "lines mixed", _) => rule(self.origins.line(multiply)),
            rule => rule,
        };
        let steady = matches!(rule, Rule::OneIndex(text, _) if !["k mixed", "lines mixed"].contains(&text));
        let of_rows = asked.kind == Kind::RowSums;
        let mut note = if of_rows { None } else { rule.words(side, asked) };
        let lines = [asked.problem.m, asked.problem.n][side as usize];
        let [of_taken, of_needed] = [taken.0, needed.0].map(|own| own / lines);
        if asked.batch > 1 && of_taken != of_needed {
            let [taken, needed] = [of_taken, of_needed].map(|number| number.to_string());
            let words = [("array", array.to_owned()), ("taken", taken), ("needed", needed)];
            note = Some(help("product of another batch", &words));
        }
        let different = pair.places().is_some_and(|[(_, p), (_, q)]| p != q);
        let mut mistake = if different { Mistake::Pairing } else { Mistake::Line };

        let arrived = self.arrival(side, needed, &value);
        let load = value.loaded.or(Some(multiply));
        let [product, found] = [self.product(pair), self.found(&Value { loaded: load, ..value })];
        let expected = self.expected(side, needed, arrived);
        let told = [product, found.clone(), expected.clone(), vec![("name", element.name.clone())]].concat();
        let [what, _] = text(mistake.name(), &told);
        let taken_name = asked.name(side, taken);

        let mut marks = self.way(&taken_name, array, &value);
        // The other factor may also be wrong.
        if pair.of(side.other()).is_some_and(|(place, _)| place != (element.own(side.other()), k)) {
            marks.extend(self.passage(pair, side.other()));
        }
        let written = value.loaded.map(|loaded| self.place(loaded));
        let [rows, columns] = asked.extents(side).map(|(name, _)| name);
        let layout = asked.layout(side);
        let size = rule.wrong_size(side, asked);
        let stride = written.filter(|_| rows != columns).and_then(|at| {
            let in_call = || at.of_call(size?, columns, &layout);
            let begins = || at.of_pointer(array, columns, &layout);
            at.stride(array, columns, &layout).or_else(begins).or_else(in_call).or_else(|| at.of_vector())
        });
        // If one index alone is wrong, and not the pointer to a product of a batch, only its part of what is written counts.
        let own = taken.0 != needed.0;
        let one_alone = own != (taken.1 != needed.1) && of_taken == of_needed;
        let by_size = one_alone.then(|| own == (asked.strides(side).1 == 1));
        let index = Part { array, by_size, ..READ };
        let (mut under, mut later) = (String::new(), None);
        // A tile that is turned around has no zeros inside the matrix.
        let is_zero = |pair: &&Pair| {
            let other = pair.of(side.other()).map(|(place, _)| place);
            pair.is_zero() && other.is_some_and(|(own, k)| own == element.own(side.other()) && k < element.depth)
        };
        let across = rule == Rule::Exchanged(None) && element.with_zeros.iter().any(|pair| is_zero(&pair));
        // Whether the block keeps all that it puts into shared memory, and whether that lies there with fixed strides at first.
        let first = self.first_fill(side);
        let (keeps_all, laid_out) = (first.len() == self.arrived(side).len(), affine(&first).is_some());
        // A pointer to another tile of the same array is another name.
        let other_buffer = value.shared.zip(arrived).is_some_and(|(passage, arrived)| {
            let [here, there] = [passage.address, arrived.address];
            if self.same_but_for_buffer(here, there) {
                return true;
            }
            let [read, put] = [here, there].map(|at| self.word(at));
            let root = |at: u32| self.origins.field(at).map(|field| field.offset);
            root(here) == root(there) && array_name(&read) != array_name(&put) && read.index() == put.index()
        });
        let cause = match (value.shared, arrived) {
            (Some(_), _) if stride.is_some() => {
                self.set_by(value.loaded, index, &mut marks);
                "not brought to shared memory"
            }
            // Both the tile and the sum are right, but the sum is that of another row or column.
            (Some(passage), Some(_))
                if mistake == Mistake::Line && whole(element).is_some() && self.is_in_order(side) =>
            {
                // How the tile was filled does not matter.
                marks.truncate(1);
                self.read_set_by(passage, Part { begins: true, ..READ }, &mut marks);
                self.store_marks(&format!("{} is stored here", element.name), Some(side == Side::A), &mut marks);
                add(&mut marks, self.store().into_iter().flat_map(|store| self.place(store).value_set()));
                self.set_by(multiply, READ, &mut marks);
                // A thread may read its rows in another loop than that which multiplies them.
                let (read, loops) = (self.place(passage.loaded), self.place(multiply).around(LOOPS));
                let own = read.around(LOOPS).into_iter().find(|line| !loops.contains(line));
                add(&mut marks, read.at_lines(own, "it depends on this"));
                "taken from another row or column of a tile"
            }
            (None, Some(arrived)) if value.loaded.is_some() => {
                marks.push(self.stores(arrived.stored, None, "the tile is stored here"));
                "taken past shared memory"
            }
            (Some(passage), Some(arrived))
                if passage.address == arrived.address && matches!(rule, Rule::None | Rule::OneIndex("k mixed", _)) =>
            {
                self.read_set_by(passage, READ, &mut marks);
                self.set_by(arrived.stored, STORE, &mut marks);
                if taken.0 == needed.0 {
                    mistake = Mistake::Stale;
                    "taken at another time"
                } else {
                    "two elements in one place"
                }
            }
            (Some(passage), Some(arrived))
                if passage.address != arrived.address
                    && !across
                    && (!matches!(rule, Rule::Strides(_)) || keeps_all && laid_out)
                    && (other_buffer || !self.moved(side, needed, passage)) =>
            {
                let moved = matches!(rule, Rule::Exchanged(_));
                note = self.laid_out_in_two_ways(side, false, [&expected, &found]).filter(|_| !moved).or(note);
                self.read_set_by(passage, READ, &mut marks);
                if other_buffer && taken.0 == needed.0 {
                    self.set_by(arrived.stored, STORE, &mut marks);
                    mistake = Mistake::Stale;
                    "taken from another buffer"
                } else if !laid_out && value.loaded.is_some() && !steady {
                    // With fixed strides, the read is wrong, and not the store. So it is if one index is always the same, or always
                    // off by the same distance.
                    let put = passage.stored.unwrap_or(arrived.stored);
                    self.set_by(put, index, &mut marks);
                    self.set_by(put, STORE, &mut marks);
                    "put into another place"
                } else {
                    self.set_by(arrived.stored, STORE, &mut marks);
                    self.set_by(value.loaded, index, &mut marks);
                    "taken from another place"
                }
            }
            (Some(passage), None) if taken.0 == needed.0 && self.is_left_over(side, taken, passage) => {
                (mistake, note) = (Mistake::Stale, None);
                // If a line below stores to the same array, it is the one that should have.
                let place = self.place(passage.stored.unwrap_or(passage.loaded));
                let others = place.stores_of(array_name(&self.word(passage.address)).unwrap_or_default());
                let below = others.into_iter().find(|mark| mark.spot.at.line > place.at.line);
                under = Self::not_only_under(below.as_ref().map_or(&place, |mark| &mark.spot), &mut marks);
                later = below.as_ref().map(|mark| format!("line {}", mark.spot.at.line.unwrap_or_default()));
                add(&mut marks, below);
                "tile not stored again"
            }
            (shared, _) => {
                self.set_by(value.loaded, index, &mut marks);
                let by_shuffle = value.shuffled.filter(|_| shared.is_none());
                let label = format!("{taken_name} is taken from another lane here");
                add(&mut marks, by_shuffle.map(|shuffle| self.mark(shuffle, None, label)));
                let fits = |[(own, p), (_, q)]: &[Place; 2]| *own == element.needs[0] && p == q;
                let all = element.pairs.iter().filter_map(Pair::places).filter(fits).count();
                match () {
                    () if shared.is_some() => "not brought to shared memory",
                    () if by_shuffle.is_some() => "taken from another lane",
                    // All products of a row sum do not show which index is the wrong one.
                    () if of_rows && all as u64 >= element.depth => "multiplied by the sum for another k",
                    () if of_rows => "taken with another k",
                    () if self.line(load) != self.line(multiply) => "multiplied after another load",
                    () => "read from another place",
                }
            }
        };
        add(&mut marks, [self.mark(multiply, None, "they are multiplied here")]);
        if mistake == Mistake::Line && value.shared.is_none() {
            self.store_marks(&format!("{} is stored here", element.name), Some(side == Side::A), &mut marks);
        }
        let [layout_of_a, layout_of_b] = Side::BOTH.map(|side| asked.layout(side));
        let words = [
            ("what", what),
            ("taken_name", taken_name),
            ("of", side.line().to_owned()),
            ("taken", taken.0.to_string()),
            ("needed", needed.0.to_string()),
            ("under", under),
            ("layout_of_a", layout_of_a),
            ("layout_of_b", layout_of_b),
        ];
        let later = later.map(|line| ("put", line));
        let words = [later.as_slice(), &told, &words].concat();
        let told = noted(self.told(mistake, cause, marks, &words), note);
        Some(helped(told, stride.or_else(|| self.swizzle(pair))))
    }
}
