//! The situation of a hazard, from which the right remedy follows: whose the array is, and how the two lines lie in the
//! kernel.

use simt::{Array, Location, Place, Space};

use super::around::and_callers;
use super::source::Source;

/// What an array is to the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A or B, which a product only reads.
    Input,
    /// C or the workspace.
    Output,
    Shared,
    /// It is no array.
    Unknown,
}

impl Role {
    /// What the array of a place is.
    pub fn of(place: &Place) -> Self {
        match place.array() {
            None => Self::Unknown,
            Some(Array { space: Space::Shared, .. }) => Self::Shared,
            Some(Array { name, .. }) if name == "A" || name == "B" => Self::Input,
            Some(_) => Self::Output,
        }
    }
}

/// How two places of a kernel lie to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// One line.
    Same,
    /// The first comes before the second, and no barrier lies between them.
    Down,
    /// A barrier lies between them: the one that is missing belongs on the way back, in the next pass of a loop.
    Back,
}

/// How two accesses lie to each other in the function that both belong to. An access in a function that it calls counts as the
/// line of the call.
pub struct Situation {
    pub way: Way,
    /// The upper one first.
    pub lines: [u32; 2],
    /// The line of a condition around a barrier, if neither access is under that condition.
    pub conditional_barrier: Option<u32>,
    /// Both stand in one loop.
    pub in_one_loop: bool,
    /// In that loop there is a barrier.
    pub barrier_in_loop: bool,
    /// In that loop a barrier comes before both.
    pub barrier_before: bool,
}

/// The line of a barrier under a condition in the function of a place, and the line of the condition.
pub fn passed_by(place: &Location) -> Option<(u32, u32)> {
    let source = Source::of(place);
    let conditional = |at: usize| Some((source.line(at), source.line(*source.around(at, &["if"]).first()?)));
    source.function(source.statement(place)?).filter(|&at| source.is_barrier(at)).find_map(conditional)
}

/// The situation of two places; none if they have no function in common.
pub fn situation(one: &Location, other: &Location) -> Option<Situation> {
    let source = Source::of(one);
    if one.file.is_none() || one.file != other.file {
        return None;
    }
    let [ones, others] = [one, other].map(|place| -> Vec<(u32, usize)> {
        and_callers(place).filter_map(|place| Some((place.line?, source.statement(&place)?))).collect()
    });
    let function = |at: usize| source.statements[at].function;
    let body = |at: usize| source.statements[at].body;
    let met = |one: &(u32, usize)| {
        let beside = others.iter().find(|other| body(other.1) == body(one.1) && function(one.1) > 0)?;
        Some([*one, *beside])
    };
    let mut both = ones.iter().find_map(met)?;
    both.sort_by_key(|(line, at)| (*at, *line));
    let [(above, first), (below, second)] = both;
    let conditions = |at: usize| source.around(at, &["if"]);
    let shared = [conditions(first), conditions(second)].concat();
    // Then a thread may get from one access to the other without the barrier.
    let condition_of = |barrier: usize| conditions(barrier).into_iter().find(|at| !shared.contains(at));
    let barriers: Vec<usize> = source.function(first).filter(|&at| source.is_barrier(at)).collect();
    let lies_between = |at: usize| above < source.line(at) && source.line(at) < below;
    let between = barriers.iter().any(|&at| lies_between(at) && condition_of(at).is_none());
    let way = match between {
        _ if above == below => Way::Same,
        _ if between => Way::Back,
        _ => Way::Down,
    };
    let conditional_barrier = barriers.iter().find_map(|&at| condition_of(at)).map(|at| source.line(at));
    let loops = |at: usize| source.around(at, &["for", "while"]);
    let common = loops(first).into_iter().find(|at| loops(second).contains(at));
    let barrier_before =
        common.is_some_and(|common| barriers.iter().any(|&at| at < first && loops(at).contains(&common)));
    let in_one_loop = common.is_some();
    let barrier_in_loop = common.is_some_and(|common| barriers.iter().any(|&at| loops(at).contains(&common)));
    Some(Situation { way, lines: [above, below], conditional_barrier, in_one_loop, barrier_in_loop, barrier_before })
}
