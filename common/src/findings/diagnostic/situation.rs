//! The situation of a hazard, from which the right remedy follows: whose the array is, and how the two lines lie in the
//! kernel.

use simt::{Array, Location, Place, Space};

use super::around::around;
use super::underline::code;
use crate::code::places;

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

/// Whether a barrier of the block stands in a line.
pub fn is_barrier(line: &str) -> bool {
    let code = code(line);
    code.contains("__syncthreads") || code.contains("sync_threads()")
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
    /// A barrier lies between them, and behind it something is waited for: if that is a copy, the barrier came too early.
    WaitLast,
    /// It cannot be told: other files, other functions, or no lines.
    Unknown,
}

/// The condition of a barrier in a line that the other two lines do not share: not every way between them comes by it.
fn condition_of(first: &Location, barrier: u32, second: &Location) -> Option<u32> {
    let at = |line| Location { line: Some(line), calls: Box::default(), ..second.clone() };
    let conditions = |place: &Location| around(place, &["if", "else", "} else"]);
    let own = code(places::line(second.file.as_deref()?, barrier)?.as_str())
        .trim_start()
        .starts_with("if")
        .then_some(barrier);
    let shared = [conditions(first), conditions(second)].concat();
    own.into_iter().chain(conditions(&at(barrier))).find(|line| !shared.contains(line))
}

/// A barrier near two places that is under a condition which they do not share, with no other one between them.
pub fn conditional_barrier(first: &Location, second: &Location) -> Option<u32> {
    let lines = places::lines(second.file.as_deref()?);
    let start = lines.iter().take(first.line? as usize).rposition(|text| text.starts_with('}')).map_or(0, |at| at + 1);
    let function = (1..).zip(lines.iter()).skip(start).take_while(|(_, text)| !text.starts_with('}'));
    let mut barriers = function.filter(|(_, text)| is_barrier(text)).map(|(line, _)| line);
    barriers.find(|&line| condition_of(first, line, second).is_some())
}

/// The way from one place to another; `first` must not come after `second` in the file.
pub fn way(first: &Location, second: &Location) -> Way {
    let (Some(file), Some(one), Some(two)) = (&first.file, first.line, second.line) else { return Way::Unknown };
    if second.file.as_ref() != Some(file) || two < one {
        return Way::Unknown;
    }
    if one == two {
        return Way::Same;
    }
    let lines = places::lines(file);
    let between = lines.get(one as usize..two as usize - 1).unwrap_or_default();
    // Beyond the end of a function lines follow each other on the page only.
    if between.iter().any(|line| line.starts_with('}')) {
        return Way::Unknown;
    }
    let is_met = |&at: &usize| is_barrier(&between[at]) && condition_of(first, one + 1 + at as u32, second).is_none();
    match (0..between.len()).rfind(is_met) {
        Some(at) if between[at..].iter().any(|line| code(line).contains("wait")) => Way::WaitLast,
        Some(_) => Way::Back,
        None => Way::Down,
    }
}
