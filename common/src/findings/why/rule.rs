//! How the elements that a kernel takes follow from those that it should take: the one rule that explains all samples.

use super::asked::{Asked, Kind, Place, Side};

/// An element that is needed, and the one that was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Sample {
    pub needed: Place,
    pub taken: Place,
}

/// How the one follows from the other; own is the row of A or the column of B.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// The two indices are exchanged.
    Exchanged,
    /// The two indices are exchanged within tiles of this edge.
    ExchangedInTiles(u64),
    /// The place in memory is own · `own` + k · `k` + `start`, as if the matrix had other rows.
    Strides {
        own: i64,
        k: i64,
        start: i64,
    },
    /// k lags or leads.
    KShift(i64),
    /// k begins again after so many.
    KRepeats(u64),
    /// k stays as it is.
    KConstant(u64),
    /// The row or column is the wrong one by so many.
    OwnShift(i64),
    /// It is the same for all.
    OwnConstant(u64),
    /// The row or column is another one, always the same for one that is needed.
    OwnPermuted,
    /// The k is another one, always the same for one that is needed.
    KPermuted,
    None,
}

/// The edges that tiles may have.
const EDGES: [u64; 8] = [4, 8, 16, 32, 64, 128, 256, 2];

impl Rule {
    /// The rule of these samples; `strides` are those of own and of k in memory.
    pub fn of(samples: &[Sample], right: (i64, i64)) -> Self {
        let all = |test: &dyn Fn(Place, Place) -> bool| samples.iter().all(|sample| test(sample.needed, sample.taken));
        let edge =
            |test: &dyn Fn(u64, Place, Place) -> bool| EDGES.into_iter().find(|&edge| all(&|n, t| test(edge, n, t)));
        let Some(first) = samples.first() else { return Self::None };
        let (needed, taken) = (first.needed, first.taken);
        let difference = |one: u64, other: u64| one as i64 - other as i64;
        let (by_own, by_k) = (difference(taken.0, needed.0), difference(taken.1, needed.1));
        if all(&|(own, k), taken| taken == (k, own)) {
            return Self::Exchanged;
        }
        if all(&|(own, _), (own_taken, _)| own == own_taken) {
            if all(&|_, (_, k)| k == taken.1) && !all(&|(_, k), _| k == needed.1) {
                return Self::KConstant(taken.1);
            }
            if all(&|(_, k), (_, k_taken)| difference(k_taken, k) == by_k) {
                return Self::KShift(by_k);
            }
            if let Some(edge) = edge(&|edge, (_, k), (_, k_taken)| k_taken == k % edge) {
                return Self::KRepeats(edge);
            }
            if let Some(rule) = strides(samples, right) {
                return rule;
            }
            if is_function(samples, |place| place.1) {
                return Self::KPermuted;
            }
        }
        if all(&|(_, k), (_, k_taken)| k == k_taken) {
            if all(&|_, (own, _)| own == taken.0) && !all(&|(own, _), _| own == needed.0) {
                return Self::OwnConstant(taken.0);
            }
            if all(&|(own, _), (own_taken, _)| difference(own_taken, own) == by_own) {
                return Self::OwnShift(by_own);
            }
            if is_function(samples, |place| place.0) {
                return Self::OwnPermuted;
            }
        }
        let tiles = |edge: u64, (own, k): Place, (own_taken, k_taken): Place| {
            own / edge == own_taken / edge
                && k / edge == k_taken / edge
                && own % edge == k_taken % edge
                && k % edge == own_taken % edge
        };
        if let Some(edge) = edge(&tiles) {
            return Self::ExchangedInTiles(edge);
        }
        strides(samples, right).unwrap_or(Self::None)
    }
}

/// Whether what is taken depends on nothing but the same index of what is needed.
fn is_function(samples: &[Sample], index: impl Fn(Place) -> u64) -> bool {
    let mut known = std::collections::BTreeMap::new();
    samples.iter().all(|sample| {
        let taken = index(sample.taken);
        *known.entry(index(sample.needed)).or_insert(taken) == taken
    })
}

/// The strides with which the matrix is read, if there are such.
fn strides(samples: &[Sample], (own_right, k_right): (i64, i64)) -> Option<Rule> {
    let at = |sample: &Sample| {
        let (own, k) = sample.taken;
        own as i64 * own_right + k as i64 * k_right
    };
    let [own, k, start] = affine(&samples.iter().map(|sample| (sample.needed, at(sample))).collect::<Vec<_>>())?;
    Some(Rule::Strides { own, k, start })
}

/// The factors with which a value follows from two indices, and what is added.
pub fn affine(samples: &[(Place, i64)]) -> Option<[i64; 3]> {
    let &((own, k), value) = samples.first()?;
    let delta = |&((other_own, other_k), other): &(Place, i64)| {
        (other_own as i64 - own as i64, other_k as i64 - k as i64, other - value)
    };
    let deltas: Vec<(i64, i64, i64)> = samples.iter().map(delta).collect();
    // Two samples that lie in different directions from the first one tell both factors.
    let &(own_1, k_1, by_1) = deltas.iter().find(|&&(own, k, _)| (own, k) != (0, 0))?;
    let &(own_2, k_2, by_2) = deltas.iter().find(|&&(own, k, _)| own * k_1 != k * own_1)?;
    let determinant = own_1 * k_2 - own_2 * k_1;
    let [by_own, by_k] = [by_1 * k_2 - by_2 * k_1, own_1 * by_2 - own_2 * by_1].map(|times| times / determinant);
    let start = value - own as i64 * by_own - k as i64 * by_k;
    let fits = |&((own, k), value): &(Place, i64)| own as i64 * by_own + k as i64 * by_k + start == value;
    samples.iter().all(fits).then_some([by_own, by_k, start])
}

/// The words of a rule, for an operand of a problem whose sizes have names.
pub fn words(rule: Rule, side: Side, asked: &Asked) -> Option<String> {
    let (name, line) = (asked.array(side), side.line());
    Some(match rule {
        Rule::Exchanged if asked.kind != Kind::Product => {
            format!("its {line} and its k are exchanged; {}", asked.layout(side))
        }
        Rule::Exchanged => format!("its {line} and its k are exchanged: {name} is read transposed"),
        Rule::ExchangedInTiles(edge) => {
            format!(
                "the {line} and the k are exchanged within tiles of {edge} by {edge}: the tile of {name} is transposed"
            )
        }
        Rule::Strides { own, k, start: 0 } => {
            let own_name = if side == Side::A { "row" } else { "col" };
            let read = index([own_name, "k"], [own, k, 0], asked);
            format!("{name} is read as {name}[{read}]; {}", asked.layout(side))
        }
        Rule::KShift(by) => format!("the k of {name} is {} the one of the other factor", ahead(by)),
        Rule::KRepeats(edge) => {
            format!("the k of {name} begins again at 0 after {edge}: always the first tile is taken")
        }
        Rule::KConstant(k) => format!("the k of {name} is always {k}"),
        Rule::OwnShift(by) => format!("the {line} of {name} is {} the one of C", ahead(by)),
        Rule::OwnConstant(own) => format!("the {line} of {name} is always {own}"),
        Rule::OwnPermuted => format!("the {line}s of {name} do not follow each other as those of C do"),
        Rule::KPermuted => format!("the k of {name} come in another order than those of the other factor"),
        Rule::Strides { .. } | Rule::None => return None,
    })
}

/// An index as one writes it: `row * N + col`.
pub fn index(names: [&str; 2], [one, other, start]: [i64; 3], asked: &Asked) -> String {
    let sizes = [("M", asked.problem.m), ("N", asked.problem.n), ("K", asked.problem.k)];
    let named = |stride: i64| {
        let size = sizes.iter().find(|&&(_, size)| size as i64 == stride);
        size.map_or_else(|| stride.to_string(), |(name, _)| (*name).to_owned())
    };
    let factor = |name: &str, stride: i64| match stride {
        0 => None,
        1 => Some(name.to_owned()),
        _ => Some(format!("{name} * {}", named(stride))),
    };
    let mut parts: Vec<String> =
        names.into_iter().zip([one, other]).filter_map(|(name, by)| factor(name, by)).collect();
    parts.extend((start != 0 || parts.is_empty()).then(|| start.to_string()));
    parts.join(" + ").replace("+ -", "- ")
}

fn ahead(by: i64) -> String {
    if by > 0 { format!("{by} more than") } else { format!("{} less than", -by) }
}
