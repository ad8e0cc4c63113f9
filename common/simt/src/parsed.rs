//! A PTX file as read: its text, and the program in it.

use crate::ast::{Position, Program};
use crate::error::Location;

/// A PTX file as read.
#[derive(Debug)]
pub(crate) struct Parsed {
    /// Tells the module's global variables from those of every other module.
    pub id: u64,
    pub source: String,
    pub program: Program,
}

impl Parsed {
    /// An instruction as written, without its line breaks.
    pub fn text(&self, position: Position) -> String {
        let (start, end) = (position.text.0 as usize, position.text.1 as usize);
        let text = self.source.get(start..end).unwrap_or_default();
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// What messages say of an instruction.
    pub fn location(&self, position: Position) -> Location {
        let known = position.line != 0;
        let file = self.program.files.iter().find(|file| file.0 == position.file).map(|file| file.1.clone());
        Location {
            file: file.filter(|_| known),
            line: known.then_some(position.line),
            column: (known && position.column != 0).then_some(position.column),
            ptx_line: position.ptx,
            instruction: self.text(position),
        }
    }
}
