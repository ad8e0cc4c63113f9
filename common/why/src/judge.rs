//! What is wrong with an element of C, by the pairs that formed it and those that it should have.

use std::collections::{BTreeMap, BTreeSet};

use plan::Problem;
use simt::analyses::provenance::Source;

use super::asked::{Asked, Kind, Place, Side};
use super::element::{Element, Factor, Origins, Pair};

#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    Right,
    /// Not everything could be followed.
    Unknown,
    Unwritten,
    /// It was right, and another sum was stored over it.
    Overwritten,
    /// There is no product in the sum.
    Empty,
    /// This pair, one of those with zeros, has a zero in place of an element of the operand.
    Zero(Side, usize, u64),
    /// Elements are added and not multiplied.
    Added,
    /// This pair multiplies a word that nobody set.
    Unset(usize),
    /// This pair is not one of A and one of B.
    Operands(usize),
    /// The sum begins with something else than 0.
    Beginning,
    /// It is subtracted.
    Sign(usize),
    /// It is B·A.
    Swapped,
    /// The whole sum belongs to another element.
    Elsewhere(Place),
    /// It is the sum of a row and a column that C does not have: what a thread beyond the edge has computed.
    Outside(Place),
    /// All products are there, and also this one, which belongs to another element.
    Mixed(usize),
    /// The sum is complete before this pair, and goes on.
    Beyond(usize),
    /// The elements of one operand are not those that belong here: the first such pair, and the k that it should have.
    Factor(Side, usize, u64),
    /// These k are missing, and these are there more than once.
    Part(Vec<u64>, Vec<u64>),
    /// Its products are right, and their sum or what is added of C has another factor.
    Weight,
    /// The larger or the smaller one of two sums was kept.
    Chosen(u32),
    /// The elements of these operands were rounded, by this instruction, and nothing adds what they have lost.
    Rounded([bool; 2], u32),
    /// The sum or a factor was given another type on its way.
    Converted(u32),
}

pub fn judge(origins: &Origins, asked: &Asked, element: &Element) -> Verdict {
    if element.store.is_none() {
        return Verdict::Unwritten;
    }
    let verdict = of_sum(asked, element);
    if verdict == Verdict::Right {
        return verdict;
    }
    let rights = |store| {
        let pairs = origins.pairs(asked, element, store);
        let other = Element { pairs: pairs.into_iter().filter(|pair| !pair.is_zero()).collect(), ..element.clone() };
        of_sum(asked, &other) == Verdict::Right
    };
    match outside(asked, element) {
        Some(place) => Verdict::Outside(place),
        None if element.earlier.iter().any(rights) => Verdict::Overwritten,
        None => element.formed.chosen.last().map_or(verdict, |&chosen| Verdict::Chosen(chosen)),
    }
}

/// The row and the column of the thread that stores the element, if that thread lies beyond the end of an earlier row. Such a
/// thread multiplies the elements that follow that row of B in memory, or zeros.
fn outside(asked: &Asked, element: &Element) -> Option<Place> {
    let Problem { n, k: depth, .. } = asked.problem;
    let (row, _) = element.with_zeros.iter().find_map(|pair| pair.of(Side::A))?.0;
    let column = element.needs[1] + element.needs[0].checked_sub(row).filter(|rows| *rows > 0)? * n;
    let beyond = |pair: &Pair| match pair.places() {
        // The loop over k may go on beyond the end, too, where the next row of A begins.
        Some([(own, k), (col, q)]) => {
            (own * depth + k).checked_sub(row * depth).is_some_and(|k| q * n + col == k * n + column)
        }
        // Zeros do not show how far beyond the end they lie.
        None => element.needs[0] == row + 1 && pair.of(Side::B).is_none(),
    };
    let is_product = asked.kind == Kind::Product;
    (is_product && element.with_zeros.iter().all(beyond)).then_some((row, column))
}

fn of_sum(asked: &Asked, element: &Element) -> Verdict {
    let pairs = &element.pairs;
    let has = |wanted: fn(&Factor) -> bool| {
        pairs.iter().position(|pair| pair.factors.iter().any(|(factor, _)| wanted(factor)))
    };
    if let Some(at) = has(|factor| *factor == Factor::Unset) {
        return Verdict::Unset(at);
    }
    if has(|factor| *factor == Factor::Unknown).is_some() {
        return Verdict::Unknown;
    }
    if let Some(at) = pairs.iter().position(|pair| element.of_sums || pair.places().is_none()) {
        return Verdict::Operands(at);
    }
    let rest = &element.formed.rest;
    if rest.iter().any(|value| matches!(value.source, Source::Unknown | Source::Computed) || value.scale.is_nan()) {
        return Verdict::Unknown;
    }
    let not_zero = rest.iter().filter(|value| value.bits as u32 & 0x7fff_ffff != 0).count();
    match (pairs.is_empty(), not_zero) {
        (true, 0) => return zero(element, &(0..element.depth).collect::<Vec<u64>>()).unwrap_or(Verdict::Empty),
        (true, 2..) => return Verdict::Added,
        (_, 1..) => return Verdict::Beginning,
        (false, 0) => {}
    }
    // The k of each product that belongs to the element.
    let ks: Vec<Option<u64>> = pairs.iter().map(|pair| pair.k_of(element.needs)).collect();
    let depth = element.depth as usize;
    let right = |k: &Option<u64>| k.is_some_and(|k| k < element.depth);
    let own: Vec<Option<u64>> = ks.iter().copied().filter(right).collect();
    if let Some(at) = ks.iter().position(|k| !right(k)).filter(|_| BTreeSet::from_iter(&own).len() == own.len()) {
        let is_whole = |part: &[Option<u64>]| part.iter().all(right) && part.len() == depth;
        let of_rows = asked.kind == Kind::RowSums;
        let most = asked.problem.k * if of_rows { asked.problem.n } else { 1 };
        let too_large = |at: usize| ks[at].is_some() || pairs[at].of(Side::B).is_some_and(|((_, k), _)| k >= most);
        let of_another = |pair: &Pair| element.store.is_some_and(|store| store.number != pair.term.thread);
        let mut strangers = pairs.iter().zip(&ks).filter(|(_, k)| !right(k)).map(|(pair, _)| pair);
        let more = ks.len().checked_sub(depth).filter(|_| own.len() == depth);
        match (more, pairs[at].of(Side::A)) {
            _ if own.len() + 1 >= depth && too_large(at) => return Verdict::Beyond(at),
            // Products before a complete sum are what the sum began with.
            (Some(more), _) if is_whole(&ks[more..]) => return Verdict::Beginning,
            // Products after it are too many. Products of parts of numbers may come last.
            (Some(_), _) if is_whole(&ks[..depth]) && !pairs[at].has_part() => return Verdict::Beyond(at),
            // In a row sum, the sum of elements of B goes on with another k.
            (Some(_), Some(((row, k), _))) if of_rows && row == element.needs[0] => {
                return Verdict::Factor(Side::B, at, k);
            }
            (Some(_), _) => return Verdict::Mixed(at),
            _ if !own.is_empty() && strangers.all(of_another) => return Verdict::Mixed(at),
            _ => {}
        }
    }
    if ks.iter().all(right) {
        if let Some(at) = pairs.iter().position(|pair| pair.term.negative) {
            return Verdict::Sign(at);
        }
        // A part of a number with a wrong weight is not a product that is there twice.
        if pairs.iter().any(Pair::has_part) {
            return Verdict::Weight;
        }
        return match coverage(element, &ks) {
            Verdict::Right if element.weights[0].is_nan() => Verdict::Unknown,
            Verdict::Right if element.weights.map(f32::to_bits) != asked.weights.map(f32::to_bits) => Verdict::Weight,
            verdict => verdict,
        };
    }
    if ks.iter().all(Option::is_some) {
        let at = ks.iter().position(|k| !right(k)).unwrap_or_default();
        return Some(coverage(element, &ks)).filter(|part| *part != Verdict::Right).unwrap_or(Verdict::Beyond(at));
    }
    // The parts of a number were read from the same place as the number, so one of them is enough.
    let whole = |at: &usize| !pairs[*at].has_part();
    let kept: Vec<usize> = (0..pairs.len()).filter(|at| whole(at) || !(0..pairs.len()).any(|at| whole(&at))).collect();
    let places: Vec<[Place; 2]> = kept.iter().filter_map(|&at| pairs[at].places()).collect();
    let [row, col] = element.needs;
    // It is of B·A, or each operand is read at the index that belongs to the other one.
    let swapped = |&[a, b]: &[Place; 2]| {
        let [of_a, of_b] = [asked.index(Side::A, a), asked.index(Side::B, b)];
        let (own, k) = asked.place(Side::A, of_b);
        let exchanged = own == row && k < element.depth && of_a == asked.index(Side::B, (col, k));
        exchanged || a == (b.0, col) && b.1 == row
    };
    // Only the first products are compared, because later tiles may differ from those of B·A.
    if row != col && places.iter().take(8).all(swapped) {
        return Verdict::Swapped;
    }
    // Whole sums of several elements were added to one variable.
    if let Some(at) = other_sum(element, pairs) {
        return Verdict::Mixed(at);
    }
    let [(other_row, _), (other_col, _)] = places[0];
    let others: Option<BTreeSet<u64>> = pairs.iter().map(|pair| pair.k_of([other_row, other_col])).collect();
    if other_row != row && other_col != col && others.is_some_and(|ks| 2 * ks.len() >= depth) {
        return Verdict::Elsewhere((other_row, other_col));
    }
    let (side, at, k) = wrong_side(asked, element, &places);
    Verdict::Factor(side, kept[at], k)
}

/// The first product of another element, if all products are those of several whole sums.
fn other_sum(element: &Element, pairs: &[Pair]) -> Option<usize> {
    let mut sums: BTreeMap<[u64; 2], BTreeSet<u64>> = BTreeMap::new();
    for pair in pairs {
        let [(row, p), (col, q)] = pair.places()?;
        (p == q && sums.entry([row, col]).or_default().insert(p)).then_some(())?;
    }
    let whole = sums.len() > 1 && sums.values().all(|ks| ks.len() as u64 == element.depth);
    pairs.iter().position(|pair| pair.k_of(element.needs).is_none()).filter(|_| whole)
}

/// Which operand's elements are the wrong ones, if the two do not fit: the first that tells it, and the k that it should have.
fn wrong_side(asked: &Asked, element: &Element, places: &[[Place; 2]]) -> (Side, usize, u64) {
    // Whether all are in the right row, whether each k is there once, and whether the k ascend.
    let fits = |side: Side| {
        let own = places.iter().all(|place| place[side as usize].0 == element.own(side));
        let ks: Vec<u64> = places.iter().map(|place| place[side as usize].1).collect();
        let once = BTreeSet::from_iter(&ks).len() == ks.len();
        (own, once, ks.is_sorted_by(|k, next| k < next), ks.len() as u64 == element.depth)
    };
    let [a, b] = Side::BOTH.map(fits);
    let side = if b > a { Side::A } else { Side::B };
    let (own, once, ..) = if side == Side::A { b } else { a };
    // A row sum may add its products in any order.
    let by_other = own && once || asked.kind == Kind::RowSums;
    let expected = |n: usize| if by_other { places[n][side.other() as usize].1 } else { n as u64 };
    let wrong = (0..places.len()).filter(|&n| places[n][side as usize] != (element.own(side), expected(n)));
    // The clearest example has no index 0, and shows what is wrong with the other factor, too.
    let clear = |n: &usize| {
        let other = places[*n][side.other() as usize] != (element.own(side.other()), expected(*n));
        (other, expected(*n) > 0 && places[*n][side as usize] != (0, 0), std::cmp::Reverse(*n))
    };
    let at = wrong.max_by_key(clear).unwrap_or(0);
    (side, at, expected(at))
}

/// A zero in place of an element: the other factor is the right one, or a zero as well at the place of this k.
fn zero(element: &Element, missing: &[u64]) -> Option<Verdict> {
    let zeros = || element.with_zeros.iter().enumerate().filter(|(_, pair)| pair.is_zero());
    let beside = |side: Side| {
        zeros().find_map(|(at, pair)| {
            let ((own, k), _) = pair.of(side.other())?;
            (own == element.own(side.other()) && missing.contains(&k)).then_some(Verdict::Zero(side, at, k))
        })
    };
    // Only if the products come in the order of k.
    let in_order = |(at, pair): (usize, &Pair)| pair.of(Side::A).is_none_or(|((_, k), _)| k == at as u64);
    let both = || {
        element.with_zeros.iter().enumerate().all(in_order).then_some(())?;
        let (at, _) = zeros().find(|(at, pair)| {
            let is_other = |side: Side| pair.of(side).is_none_or(|((own, _), _)| own != element.own(side));
            missing.contains(&(*at as u64)) && Side::BOTH.into_iter().all(is_other)
        })?;
        let side = if element.with_zeros[at].of(Side::A).is_some() { Side::B } else { Side::A };
        Some(Verdict::Zero(side, at, at as u64))
    };
    Side::BOTH.into_iter().find_map(beside).or_else(both)
}

/// The element of C whose whole sum an element holds, with each k once.
pub fn whole(element: &Element) -> Option<Place> {
    let [(row, _), (col, _)] = element.pairs.first()?.places()?;
    let pairs: Vec<&Pair> = element.pairs.iter().filter(|pair| !pair.is_loss([row, col])).collect();
    let k = |pair: &&Pair| pair.k_of([row, col]).filter(|k| *k < element.depth);
    let ks: BTreeSet<u64> = pairs.iter().map(k).collect::<Option<_>>()?;
    let complete = pairs.len() as u64 == element.depth && ks.len() as u64 == element.depth;
    complete.then_some((row, col))
}

/// Whether every k is there once.
fn coverage(element: &Element, ks: &[Option<u64>]) -> Verdict {
    let mut counts: BTreeMap<u64, usize> = BTreeMap::new();
    for k in ks.iter().flatten() {
        *counts.entry(*k).or_default() += 1;
    }
    let missing: Vec<u64> = (0..element.depth).filter(|k| !counts.contains_key(k)).collect();
    let repeated: Vec<u64> = counts.into_iter().filter(|&(_, count)| count > 1).map(|(k, _)| k).collect();
    if let Some(zero) = zero(element, &missing) {
        return zero;
    }
    if !(missing.is_empty() && repeated.is_empty()) {
        return Verdict::Part(missing, repeated);
    }
    // For tensor cores, the elements have to be converted.
    let own = element.pairs.iter().filter(|pair| !pair.term.matrix);
    let converted = || own.flat_map(|pair| pair.factors).find_map(|(_, value)| value.converted);
    // The last one in the list was made first.
    if let Some(instruction) = element.formed.conversions.last().copied().or_else(converted) {
        return Verdict::Converted(instruction);
    }
    let rounded = Side::BOTH.map(|side| {
        let of = |pair: &Pair| pair.of(side).filter(|_| pair.term.matrix)?.1.converted;
        element.pairs.iter().find_map(of).filter(|_| !element.losses[side as usize])
    });
    rounded[0].or(rounded[1]).map_or(Verdict::Right, |at| Verdict::Rounded(rounded.map(|it| it.is_some()), at))
}
