//! How the elements that a kernel takes follow from those that it should take: the one rule that explains all samples.

use std::collections::BTreeMap;

use super::asked::{Asked, Place, Side};

/// An element that is needed, and the one that was taken.
pub type Sample = [Place; 2];

/// How the one follows from the other. Own is the row of A or the column of B.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// The two indices are exchanged, perhaps within tiles of this edge.
    Exchanged(Option<u64>),
    /// The place in memory is the sum of own and k, each times one of these numbers, and the last one, as if the matrix had other rows.
    Strides([i64; 3]),
    /// One index is the right one; how the other one differs has a name, with a number.
    OneIndex(&'static str, i64),
    None,
}

const EDGES: [u64; 8] = [4, 8, 16, 32, 64, 128, 256, 2];

impl Rule {
    /// The rule of these samples; `strides` are those of own and of k in memory.
    pub fn of(samples: &[Sample], right: (i64, i64)) -> Self {
        if samples.is_empty() {
            return Self::None;
        }
        let all = |test: &dyn Fn(Place, Place) -> bool| samples.iter().all(|&[needed, taken]| test(needed, taken));
        let edge =
            |test: &dyn Fn(u64, Place, Place) -> bool| EDGES.into_iter().find(|&edge| all(&|n, t| test(edge, n, t)));
        if all(&|(own, k), taken| taken == (k, own)) {
            return Self::Exchanged(None);
        }
        let begins_again = || edge(&|edge, (_, k), (_, k_taken)| k_taken == k % edge);
        let of_k = || {
            steady(samples, |place| place.1, ["k the same", "k apart"])
                .or_else(|| Some(Self::OneIndex("k again", begins_again()? as i64)))
                .or_else(|| strides(samples, right))
                .or_else(|| mixed(samples, |place| place.1, "k mixed"))
        };
        let of_own = || {
            steady(samples, |place| place.0, ["line the same", "line apart"])
                .or_else(|| mixed(samples, |place| place.0, "lines mixed"))
        };
        let tiles = |edge: u64, (own, k): Place, (own_taken, k_taken): Place| {
            let same_tile = own / edge == own_taken / edge && k / edge == k_taken / edge;
            same_tile && own % edge == k_taken % edge && k % edge == own_taken % edge
        };
        let own_is_right = all(&|(own, _), (own_taken, _)| own == own_taken);
        let k_is_right = all(&|(_, k), (_, k_taken)| k == k_taken);
        let of_one = own_is_right.then(of_k).flatten().or_else(|| k_is_right.then(of_own)?);
        let of_tiles = || Some(Self::Exchanged(Some(edge(&tiles)?)));
        of_one.or_else(of_tiles).or_else(|| strides(samples, right)).unwrap_or(Self::None)
    }

    /// In words, for an operand of a problem.
    pub fn words(self, side: Side, asked: &Asked) -> Option<String> {
        let (array, line) = (asked.array(side), side.line());
        let ahead = |by: i64| format!("{} {} than", by.abs(), if by > 0 { "more" } else { "less" });
        Some(match self {
            Self::Exchanged(None) => format!("its {line} and its k are exchanged: {array} is read transposed"),
            Self::Exchanged(Some(edge)) => format!(
                "the {line} and the k are exchanged within tiles of {edge} by {edge}: the tile of {array} is transposed"
            ),
            Self::Strides([own, k, 0]) if (own, k) != asked.strides(side) => {
                let [read, lie] = [(own, k), asked.strides(side)].map(|(own, k)| [own, k]);
                let read = apart(&format!("{array} is read"), [line, "k"], read)?;
                format!("{read}, and lies {} and {} apart in memory", lie[0], lie[1])
            }
            Self::OneIndex("k apart", by) => format!("the k of {array} is {} the one of the other factor", ahead(by)),
            Self::OneIndex("k again", by) => {
                format!("the k of {array} begins again at 0 after {by}: always the first tile is taken")
            }
            Self::OneIndex("k the same", by) => format!("the k of {array} is always {by}"),
            Self::OneIndex("line apart", by) => format!("the {line} of {array} is {} the one of C", ahead(by)),
            Self::OneIndex("line the same", by) => format!("the {line} of {array} is always {by}"),
            Self::OneIndex(..) | Self::Strides(_) | Self::None => return None,
        })
    }
}

/// How far apart neighbours lie in one of two directions: "A is read 40 apart from one row to the next and 1 apart from one k to the next".
pub fn apart(what: &str, [one, other]: [&str; 2], [by_one, by_other]: [i64; 2]) -> Option<String> {
    (by_one != 0 || by_other != 0).then(|| {
        format!("{what} {by_one} apart from one {one} to the next and {by_other} apart from one {other} to the next")
    })
}

/// The rule by which an index is always the same, or always as far from the one that is needed.
fn steady(samples: &[Sample], index: impl Fn(Place) -> u64, [same, apart]: [&'static str; 2]) -> Option<Rule> {
    let first = samples.first()?;
    let by = |[needed, taken]: &Sample| index(*taken) as i64 - index(*needed) as i64;
    let stays = |of: usize| samples.iter().all(|sample| index(sample[of]) == index(first[of]));
    if stays(1) && !stays(0) {
        return Some(Rule::OneIndex(same, index(first[1]) as i64));
    }
    samples.iter().all(|sample| by(sample) == by(first)).then(|| Rule::OneIndex(apart, by(first)))
}

/// The rule by which an index depends on nothing but the same index of what is needed.
fn mixed(samples: &[Sample], index: impl Fn(Place) -> u64, text: &'static str) -> Option<Rule> {
    let mut known = BTreeMap::new();
    let mut one = |[needed, taken]: &Sample| *known.entry(index(*needed)).or_insert(index(*taken)) == index(*taken);
    samples.iter().all(&mut one).then_some(Rule::OneIndex(text, 0))
}

/// The strides with which the matrix is read, if there are such.
fn strides(samples: &[Sample], (own_right, k_right): (i64, i64)) -> Option<Rule> {
    let at = |&[needed, (own, k)]: &Sample| (needed, own as i64 * own_right + k as i64 * k_right);
    affine(&samples.iter().map(at).collect::<Vec<_>>()).map(Rule::Strides)
}

/// The factors with which a value follows from two indices, and what is added.
pub fn affine(samples: &[(Place, i64)]) -> Option<[i64; 3]> {
    let &((own, k), value) = samples.first()?;
    let delta = |&((other_own, other_k), other): &(Place, i64)| {
        (other_own as i64 - own as i64, other_k as i64 - k as i64, other - value)
    };
    let deltas: Vec<(i64, i64, i64)> = samples.iter().map(delta).collect();
    // Two samples in different directions from the first one determine both factors.
    let &(own_1, k_1, by_1) = deltas.iter().find(|&&(own, k, _)| (own, k) != (0, 0))?;
    let &(own_2, k_2, by_2) = deltas.iter().find(|&&(own, k, _)| own * k_1 != k * own_1)?;
    let determinant = own_1 * k_2 - own_2 * k_1;
    let [by_own, by_k] = [by_1 * k_2 - by_2 * k_1, own_1 * by_2 - own_2 * by_1].map(|times| times / determinant);
    let start = value - own as i64 * by_own - k as i64 * by_k;
    let fits = |&((own, k), value): &(Place, i64)| own as i64 * by_own + k as i64 * by_k + start == value;
    samples.iter().all(fits).then_some([by_own, by_k, start])
}
