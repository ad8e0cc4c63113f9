//! The situation of a hazard, from which the right remedy follows: whose the array is, and how the two lines lie in the
//! kernel.

use simt::{Array, Place, Space};

use super::around::LOOPS;
use super::spot::Spot;

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
    pub fn of(place: &Place) -> Self {
        match place.array() {
            None => Self::Unknown,
            Some(Array { space: Space::Shared, .. }) => Self::Shared,
            Some(Array { name, .. }) if name == "A" || name == "B" => Self::Input,
            Some(_) => Self::Output,
        }
    }
}

/// How two accesses lie to each other in the function that both belong to. An access in a function that it calls counts as the
/// line of the call.
pub struct Situation {
    /// The upper one first.
    pub lines: [u32; 2],
    /// The outermost loop around each that is not around the other, if there is one and it stands above its line.
    pub loops: [Option<u32>; 2],
    /// Then the barrier that is missing belongs on the way back, in the next pass of a loop.
    pub barrier_between: bool,
    /// The line of a condition around a barrier, if neither access is under that condition.
    pub conditional_barrier: Option<u32>,
    /// If both stand in one loop, whether there is a barrier in it.
    pub barrier_in_loop: Option<bool>,
    /// In that loop a barrier comes before both.
    pub barrier_before: bool,
}

/// The line of a barrier under a condition in the function of a place, and the line of the condition.
pub fn passed_by(place: &Spot) -> Option<(u32, u32)> {
    let conditional = |at: usize| Some((place.line(at), place.condition(at)?));
    place.function(place.statement()?).filter(|&at| place.is_barrier(at)).find_map(conditional)
}

/// The situation of two places; none if they have no function in common.
pub fn situation(source: &Spot, other: &Spot) -> Option<Situation> {
    if source.at.file.is_none() || source.at.file != other.at.file {
        return None;
    }
    let [ones, others] = [source, other].map(|place| -> Vec<(u32, usize)> {
        place.and_callers().filter_map(|place| Some((place.at.line?, place.statement()?))).collect()
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
    let conditions = |at: usize| source.heads(at, &["if"]);
    let shared = [conditions(first), conditions(second)].concat();
    // Then a thread may get from one access to the other without the barrier.
    let condition_of = |barrier: usize| conditions(barrier).into_iter().find(|at| !shared.contains(at));
    let barriers: Vec<usize> = source.function(first).filter(|&at| source.is_barrier(at)).collect();
    let lies_between = |at: usize| above < source.line(at) && source.line(at) < below;
    let loops = |at: usize| source.heads(at, LOOPS);
    let common = loops(first).into_iter().find(|at| loops(second).contains(at));
    let in_loop = |barrier: &&usize| common.is_some_and(|common| loops(**barrier).contains(&common));
    let own_loop = |(line, at): (u32, usize), other: usize| {
        let own = loops(at).into_iter().rfind(|around| !loops(other).contains(around));
        own.map(|around| source.line(around)).filter(|around| *around < line)
    };
    Some(Situation {
        lines: [above, below],
        loops: [own_loop(both[0], second), own_loop(both[1], first)],
        barrier_between: barriers.iter().any(|&at| lies_between(at) && condition_of(at).is_none()),
        conditional_barrier: barriers.iter().find_map(|&at| condition_of(at)).map(|at| source.line(at)),
        barrier_in_loop: common.map(|_| barriers.iter().any(|at| in_loop(&at))),
        barrier_before: barriers.iter().filter(in_loop).any(|&at| at < first),
    })
}
