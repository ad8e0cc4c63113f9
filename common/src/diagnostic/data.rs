//! A diagnostic as data: what is said, and the places it is about.

/// A message about a kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diagnostic {
    /// What is wrong, in one line.
    pub title: String,
    /// The places in the kernel: none, one or two.
    pub marks: Vec<Mark>,
    /// Something else worth knowing.
    pub note: Option<String>,
    /// What to do, in a sentence.
    pub help: String,
}

/// A place in the kernel, and what happened there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// The source file, relative to the workspace; `None` if the PTX has no line information.
    pub file: Option<String>,
    /// Its line, counted from 1, or the PTX's line if there is no file.
    pub line: u32,
    /// The column at which the statement starts, counted from 1, if it is known.
    pub column: Option<u32>,
    /// The PTX instruction and its line, shown if the source cannot be.
    pub instruction: (String, u32),
    /// The element that is accessed, such as `As[3][17]`, if its array has a name.
    pub element: Option<String>,
    /// Whether the access writes.
    pub writes: bool,
    /// Who did what here.
    pub label: String,
}

impl Mark {
    /// A mark at an instruction; `element` is what it accesses.
    pub fn new(location: &simt::Location, element: Option<&str>, writes: bool, label: String) -> Self {
        let known = location.file.as_ref().zip(location.line);
        Self {
            file: known.map(|(file, _)| file.clone()),
            line: known.map_or(location.ptx_line, |(_, line)| line),
            column: location.column,
            instruction: (location.instruction.clone(), location.ptx_line),
            element: element.map(str::to_owned),
            writes,
            label,
        }
    }
}
