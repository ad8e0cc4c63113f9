//! What chosen threads read and wrote.

use std::fmt::Write as _;

use serde::Serialize;
use simt::analyses::trace::Step;
use simt::{AccessKind, Extents, Space};

use crate::places::{index, triple};

/// What a traced thread read and wrote.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ThreadReport {
    /// Block index.
    pub block: [u32; 3],
    /// Thread index in its block.
    pub thread: [u32; 3],
    /// Its accesses to global and shared memory, in order; of two loads for one product the one of A comes first, as in the formula.
    pub accesses: Vec<AccessReport>,
}

/// One access of a traced thread.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AccessReport {
    /// `load`, `store`, ...
    pub kind: String,
    /// `global` or `shared`.
    pub space: String,
    /// The array: A, B, C or a shared array's name.
    pub array: String,
    /// The element, counted from the array's start.
    pub index: u64,
    /// The element as the kernel writes it, such as `As[3][2]`.
    pub element: String,
    /// Size of the access in bytes.
    pub bytes: u32,
    /// The file, relative to the workspace; `null` where the PTX has no line information.
    pub file: Option<String>,
    /// The line in the file, or in the PTX where there is no file.
    pub line: u32,
}

/// Adds the accesses of one launch to those of the launches before it.
/// `extents` are those of shared arrays, by name.
pub fn add_trace(sum: &mut Vec<ThreadReport>, found: Vec<simt::ThreadTrace>, extents: &[(String, Extents)]) {
    for thread in found {
        let (block, at) = (index(thread.block), index(thread.thread));
        let accesses = as_in_the_formula(thread.steps).into_iter().map(|step| AccessReport {
            kind: step.kind.to_string(),
            space: step.space.to_string(),
            element: element(&step, extents),
            array: step.array,
            index: step.index,
            bytes: step.bytes,
            line: step.location.line.unwrap_or(step.location.ptx_line),
            file: step.location.file,
        });
        match sum.iter_mut().find(|known| known.block == block && known.thread == at) {
            Some(known) => known.accesses.extend(accesses),
            None => sum.push(ThreadReport { block, thread: at, accesses: accesses.collect() }),
        }
    }
}

/// The element of a step, in an array of several extents by all its indices.
fn element(step: &Step, extents: &[(String, Extents)]) -> String {
    let known = extents.iter().find(|(name, known)| *name == step.array && known.element_bytes == 4);
    let extents = known.filter(|_| step.space == Space::Shared).map_or(&[][..], |(_, known)| &known.extents);
    let (mut left, mut indices) = (step.index, String::new());
    for &extent in extents.iter().skip(1).rev() {
        let extent = u64::from(extent.max(1));
        indices = format!("[{}]{indices}", left % extent);
        left /= extent;
    }
    format!("{}[{left}]{indices}", step.array)
}

/// The compiler is free to load the second factor of a product before the first. A reader compares a trace with the formula.
fn as_in_the_formula(mut steps: Vec<Step>) -> Vec<Step> {
    let line = |step: &Step| (step.location.file.clone(), step.location.line.unwrap_or(step.location.ptx_line));
    let mut at = 0;
    while let Some([one, other]) = steps.get(at..at + 2) {
        let loads = [one, other].iter().all(|step| step.kind == AccessKind::Load) && one.space == other.space;
        let pair = loads && line(one) == line(other) && other.array != one.array;
        if pair && other.array < one.array {
            steps.swap(at, at + 1);
        }
        at += if pair { 2 } else { 1 };
    }
    steps
}

impl ThreadReport {
    /// Several lines for people.
    pub fn text(&self) -> String {
        let mut text = format!("  block {} thread {}\n", triple(self.block), triple(self.thread));
        if self.accesses.is_empty() {
            text.push_str("    accesses nothing, or is not in the grid\n");
        }
        for access in &self.accesses {
            let AccessReport { kind, space, element, bytes, file, line, .. } = access;
            let file = file.as_ref().map_or("PTX line ".to_owned(), |file| format!("{file}:"));
            let width = if *bytes == 4 { String::new() } else { format!(", {bytes} bytes") };
            let does = format!("{space} {kind}");
            let _ = writeln!(text, "    {does:<14} {element:<14} {file}{line}{width}");
        }
        if self.accesses.len() >= simt::MOST_TRACED {
            let _ = writeln!(text, "    a trace keeps the first {} accesses of a thread", simt::MOST_TRACED);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use simt::Location;

    #[test]
    fn the_first_factor_comes_first_and_lines_stay_apart() {
        let step = |&(array, line): &(&str, u32)| Step {
            array: array.into(),
            index: 0,
            space: Space::Global,
            kind: AccessKind::Load,
            bytes: 4,
            location: Location { ptx_line: line, ..Location::default() },
        };
        let order = |names: &[(&str, u32)]| -> String {
            as_in_the_formula(names.iter().map(step).collect()).iter().map(|step| step.array.as_str()).collect()
        };
        assert_eq!(order(&[("B", 1), ("A", 1), ("B", 1), ("A", 1)]), "ABAB");
        assert_eq!(order(&[("A", 1), ("B", 1), ("A", 1), ("B", 1)]), "ABAB");
        assert_eq!(order(&[("B", 1), ("A", 2)]), "BA");
        let shared = Step { array: "As".into(), index: 98, space: Space::Shared, ..step(&("As", 1)) };
        let extents = |bytes| [("As".to_owned(), Extents { element_bytes: bytes, extents: vec![32, 32] })];
        assert_eq!([4, 2].map(|bytes| element(&shared, &extents(bytes))), ["As[3][2]", "As[98]"]);
    }
}
