//! A sum in which the elements of one operand are not those that belong there: which were taken, by what rule, and where those
//! that belong there are.

use super::asked::{Kind, Place, Side};
use super::element::Pair;
use super::judge::{Verdict, whole};
use super::mistake::Mistake;
use super::rule::{Rule, Sample, affine};
use super::teller::{Teller, listed};
use findings::analysis::HazardReport;
use findings::element::array_name;

impl Teller<'_> {
    /// Every element of an operand that was taken for another one, in all elements of C with this mistake: the other factor, which is
    /// one that belongs to the sum, tells which.
    fn samples(&self, side: Side) -> Vec<Sample> {
        let mut samples = vec![];
        for (element, _) in self.alike {
            for places in element.pairs.iter().filter_map(Pair::places) {
                let (own, k) = places[side.other() as usize];
                if own == element.own(side.other()) && k < element.depth {
                    samples.push([(element.own(side), k), places[side as usize]]);
                }
            }
        }
        samples
    }

    /// If the chunks of 8 k of some operands do not lie where tensor cores look for them, and that explains all products.
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
            place.calls.last().map(|(line, _)| *line).or(place.line)
        };
        let sides = [&[Side::A][..], &[Side::B], &Side::BOTH].into_iter().find(explains)?;
        let lines = listed(&sides.iter().filter_map(stored).collect());
        Some(format!(
            "tensor cores look for chunk c of line r, 8 steps of k, at place c ^ r % 8 of the line, and it was not \
             stored there in {lines}"
        ))
    }

    /// Whether the element of the operand that a wrong factor stands for was put into shared memory.
    pub fn has_arrived(&self, verdict: &Verdict) -> bool {
        let &Verdict::Factor(side, at, k) = verdict else { return true };
        let shared = self.element.pairs[at].of(side).filter(|(_, value)| value.shared.is_some());
        shared.is_none_or(|(_, value)| self.arrival(side, (self.element.own(side), k), &value).is_some())
    }

    /// A factor of an operand is another one than belongs to the sum.
    pub fn factor(&self, side: Side, at: usize, k: u64) -> Option<HazardReport> {
        let (element, asked) = (self.element, self.asked);
        // An example that does not belong to the sum, wherever its k was expected.
        let is_wrong = |pair: &&Pair| pair.k_of(element.needs).is_none_or(|k| k >= element.depth);
        let pair = Some(&element.pairs[at]).filter(is_wrong).or(element.pairs.iter().find(is_wrong))?;
        let (taken, value) = pair.of(side)?;
        let other = pair.of(side.other()).map(|(place, _)| place);
        // What belongs beside the other factor is certain only if that one belongs to the sum.
        let certain = other.filter(|(own, of)| *own == element.own(side.other()) && *of < element.depth);
        let is_certain = certain.is_some();
        let needed = (element.own(side), certain.map_or(k, |(_, k)| k));
        let (name, need) = (&element.name, asked.name(side, needed));
        let (taken_name, array) = (asked.name(side, taken), asked.array(side));
        let rule = if is_certain { Rule::of(&self.samples(side), asked.strides(side)) } else { Rule::None };
        let of_rows = asked.kind == Kind::RowSums;
        let mut notes = vec![];
        let lines = [asked.problem.m, asked.problem.n][side as usize];
        let [of_taken, of_needed] = [taken.0, needed.0].map(|own| own / lines);
        if asked.batch > 1 && of_taken != of_needed {
            notes.push(format!(
                "products are counted from 0: {array} of product {of_taken} is taken for product {of_needed}"
            ));
        } else if !of_rows {
            notes.extend(rule.words(side, asked));
        }
        notes.extend(self.swizzle(pair));
        let different = pair.places().is_some_and(|[(_, p), (_, q)]| p != q);
        let mut mistake = if different { Mistake::Pairing } else { Mistake::Line };
        let product = self.product(pair);
        let what = match other {
            Some(other) if is_certain => {
                let other = asked.name(side.other(), other);
                format!("{product} for {name}, and {other} needs {need} there")
            }
            _ => format!("{product} for {name}, to which that product does not belong"),
        };
        let arrived = if is_certain { self.arrival(side, needed, &value) } else { None };
        let [read, put, loaded] = self.way(&taken_name, array, &value);
        let multiplied = self.mark(pair.term.instruction, None, "they are multiplied here");
        let first = self.first_fill(side);
        // Whether the block keeps all that it puts into shared memory, and whether that lies there with fixed strides at first.
        let (keeps_all, laid_out) = (first.len() == self.arrived(side).len(), affine(&first).is_some());
        let other_buffer = value.shared.zip(arrived).is_some_and(|(passage, arrived)| {
            let [here, there] = [passage.address, arrived.address];
            let [read, put] = [here, there].map(|at| self.word(at));
            let root = |at: u32| self.origins.field(at).map(|field| field.offset);
            let apart = array_name(&read) != array_name(&put) && read.index() == put.index();
            self.same_but_for_buffer(here, there) || root(here) == root(there) && apart
        });
        let marks = match (value.shared, arrived) {
            // The tile and the sum are right, but the sum is that of another row or column.
            (Some(_), Some(_)) if mistake == Mistake::Line && whole(element).is_some() => {
                let store = self.store_mark(&format!("{name} is stored here"));
                [read, store, Some(multiplied), put]
            }
            (Some(passage), Some(arrived)) => {
                let cell = self.word(arrived.address);
                let there = self.stores(arrived.stored, Some(cell.clone()), format!("{need} is stored in {cell}"));
                if passage.address == arrived.address {
                    notes.push(format!("{need} was stored in {cell}, too, at another time"));
                    if taken.0 == needed.0 && matches!(rule, Rule::None | Rule::OneIndex(_, _)) {
                        mistake = Mistake::Stale;
                    }
                } else {
                    notes.push(format!("{need} was stored in {cell} in {}", self.line(arrived.stored)));
                    if other_buffer
                        && taken.0 == needed.0
                        && (keeps_all || !laid_out || arrived.stored != passage.loaded)
                    {
                        mistake = Mistake::Stale;
                    }
                }
                notes.extend(self.laid_out_in_two_ways(side, arrived.stored, passage.loaded));
                if laid_out { [read, Some(there), loaded, put] } else { [put, read, Some(there), loaded] }
            }
            (Some(passage), None) => {
                if is_certain && taken.0 == needed.0 && self.is_left_over(side, taken, passage) {
                    mistake = Mistake::Stale;
                }
                [loaded, put, read, Some(multiplied)]
            }
            (None, Some(arrived)) => {
                let there = self.stores(arrived.stored, None, format!("{need} is put into shared memory here"));
                [loaded, Some(multiplied), Some(there), None]
            }
            (None, None) => {
                let lane =
                    value.shuffled.map(|at| self.mark(at, None, format!("{taken_name} comes from another lane")));
                [loaded, lane, Some(multiplied), self.store_mark(&format!("{name} is stored here"))]
            }
        };
        Some(self.told(mistake, &what, marks.into_iter().flatten().collect(), notes))
    }
}
