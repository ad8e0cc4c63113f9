//! The situation of a hazard, from which the right remedy follows: what each side did, whose the array is, and how the two
//! lines lie in the kernel.

use simt::Location;

use crate::code::places::Sources;

/// What a side of a hazard did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    Reads,
    Writes,
    /// Reads and writes in one step.
    Updates,
    /// Starts an asynchronous copy into the place.
    Copies,
    /// Anything that is no access: waits at a barrier, has ended.
    Other,
}

impl Deed {
    /// From the simulator's word for it.
    pub fn of(action: &str) -> Self {
        match action {
            "reads" => Self::Reads,
            "writes" => Self::Writes,
            "updates atomically" => Self::Updates,
            "copies to it asynchronously" => Self::Copies,
            _ => Self::Other,
        }
    }

    /// Whether the place is written.
    pub fn writes(self) -> bool {
        matches!(self, Self::Writes | Self::Updates | Self::Copies)
    }
}

/// What an array is to the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A or B, which a product only reads.
    Input,
    /// C or the workspace.
    Output,
    Shared,
    /// Unknown, or two arrays of one name.
    Unknown,
}

/// The names of a launch's arrays.
#[derive(Clone, Debug, Default)]
pub struct Arrays {
    pub(super) global: Vec<String>,
    pub(super) shared: Vec<String>,
}

/// The name at the beginning of a place such as `As[3][17]` or `line + 4 bytes`.
pub fn array_name(place: &str) -> Option<&str> {
    let end = place.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(place.len());
    Some(&place[..end]).filter(|name| name.starts_with(|c: char| c.is_alphabetic() || c == '_'))
}

impl Arrays {
    /// The arrays of a kernel and of the memory it runs on.
    pub fn of(kernel: &simt::Kernel, memory: &simt::GlobalMemory) -> Self {
        Self {
            global: memory.allocations().iter().map(|array| array.name().to_owned()).collect(),
            shared: kernel.shared_arrays().iter().map(|array| array.source_name.clone()).collect(),
        }
    }

    /// The array that a place begins with, if it is one of these.
    pub fn in_place<'a>(&self, place: &'a str) -> Option<&'a str> {
        array_name(place).filter(|name| self.role(name) != Role::Unknown)
    }

    /// What the array of this name is.
    pub fn role(&self, name: &str) -> Role {
        let in_list = |list: &[String]| list.iter().any(|known| known == name);
        match (in_list(&self.global), in_list(&self.shared)) {
            (false, true) => Role::Shared,
            (true, false) if name == "A" || name == "B" => Role::Input,
            (true, false) => Role::Output,
            _ => Role::Unknown,
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
    /// The same, but something is waited for behind the barrier: if that is a copy, the barrier came too early.
    WaitLast,
    /// It cannot be told: other files, other functions, or no lines.
    Unknown,
}

/// The way from one place to another; `first` must not come after `second` in the file.
pub fn way(sources: &mut Sources, first: &Location, second: &Location) -> Way {
    let (Some(file), Some(one), Some(two)) = (&first.file, first.line, second.line) else { return Way::Unknown };
    if second.file.as_ref() != Some(file) || two < one {
        return Way::Unknown;
    }
    if one == two {
        return Way::Same;
    }
    let between = sources.lines(file).get(one as usize..two as usize - 1).unwrap_or_default();
    // Beyond the end of a function lines follow each other on the page only.
    if between.iter().any(|line| line.starts_with('}')) {
        return Way::Unknown;
    }
    let has = |line: &String, word: &str| line.split("//").next().is_some_and(|code| code.contains(word));
    match between.iter().rposition(|line| has(line, "__syncthreads")) {
        Some(at) if between[at..].iter().any(|line| has(line, "wait")) => Way::WaitLast,
        Some(_) => Way::Back,
        None => Way::Down,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_have_roles() {
        let arrays = Arrays {
            global: ["A", "B", "C", "workspace", "both"].map(str::to_owned).to_vec(),
            shared: ["As", "both"].map(str::to_owned).to_vec(),
        };
        let roles = ["A", "C", "workspace", "As", "both", "register"].map(|name| arrays.role(name));
        use Role::{Input, Output, Shared, Unknown};
        assert_eq!(roles, [Input, Output, Output, Shared, Unknown, Unknown]);
        assert_eq!(arrays.in_place("As[3][17] + 2 bytes"), Some("As"));
        assert_eq!(arrays.in_place("C[8] is right past the end of C"), Some("C"));
        assert_eq!(arrays.in_place("register %f1"), None);
        assert_eq!(array_name("0x40"), None);
    }

    #[test]
    fn a_barrier_between_two_lines_is_seen_and_so_is_the_end_of_a_function() {
        let text = "a\nb\n// __syncthreads();\nc\n    __syncthreads();\nd\n}\ne\n";
        let at = |line| Location { file: Some("k.cu".into()), line: Some(line), ..Location::default() };
        let mut sources = Sources::with("k.cu", text);
        let mut between = |one, two| way(&mut sources, &at(one), &at(two));
        assert_eq!(between(1, 1), Way::Same);
        assert_eq!(between(1, 4), Way::Down, "a comment is no barrier");
        assert_eq!(between(4, 6), Way::Back);
        assert_eq!(between(4, 8), Way::Unknown);
        let text = "copy\n__syncthreads();\n__pipeline_wait_prior(0);\nread\n__syncthreads();\nwrite\n";
        let mut sources = Sources::with("k.cu", text);
        assert_eq!(way(&mut sources, &at(1), &at(4)), Way::WaitLast);
        assert_eq!(way(&mut sources, &at(1), &at(6)), Way::Back);
        assert_eq!(between(4, 1), Way::Unknown);
    }
}
