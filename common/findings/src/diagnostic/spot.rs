//! A place in a kernel together with the file that it is in.

use std::cell::RefCell;
use std::ops::Deref;
use std::sync::Arc;

use simt::Location;

use super::source::Source;
use crate::places;

/// A place, and the statements of its file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spot {
    /// The place.
    pub at: Location,
    file: Arc<Source>,
}

impl Deref for Spot {
    type Target = Source;

    fn deref(&self) -> &Source {
        &self.file
    }
}

impl Spot {
    /// The last file is kept, because a finding asks for the same one again and again.
    pub fn of(place: &Location) -> Self {
        type Known = (Arc<[String]>, Arc<Source>);
        thread_local!(static LAST: RefCell<Option<Known>> = const { RefCell::new(None) });
        let lines = places::lines_of(place);
        let file = LAST.with_borrow_mut(|last| match last {
            Some((known, source)) if Arc::ptr_eq(known, &lines) => source.clone(),
            _ => last.insert((lines.clone(), Arc::new(Source::read(lines.clone())))).1.clone(),
        });
        Self { at: place.clone(), file }
    }

    /// Another place in this file.
    #[must_use]
    pub fn moved(&self, line: Option<u32>, column: Option<u32>) -> Self {
        Self { at: Location { line, column, calls: Box::default(), ..self.at.clone() }, file: self.file.clone() }
    }

    /// A line of this file.
    #[must_use]
    pub fn on_line(&self, line: u32) -> Self {
        self.moved(Some(line), None)
    }

    /// A line of this file that is reached by the same calls.
    #[must_use]
    pub fn beside(&self, line: u32) -> Self {
        Self { at: Location { line: Some(line), column: None, ..self.at.clone() }, file: self.file.clone() }
    }

    /// The place, and the calls that lead there, the innermost first.
    pub fn and_callers(&self) -> impl Iterator<Item = Self> {
        let calls = self.at.calls.iter().map(|&(line, column)| (Some(line), Some(column)));
        let all = std::iter::once((self.at.line, self.at.column)).chain(calls);
        all.map(|(line, column)| self.moved(line, column))
    }

    /// The tokens from the place on to the end of its line.
    pub fn on_from(&self) -> impl Iterator<Item = usize> {
        let column = self.at.column.unwrap_or_default() as usize;
        self.own_line().filter(move |&at| self.bytes(&(at..at + 1)).end >= column)
    }

    /// The tokens of its line.
    pub fn own_line(&self) -> std::ops::Range<usize> {
        self.on_lines(self.at.line.unwrap_or_default(), 1)
    }

    /// The number of the statement at the place.
    pub fn statement(&self) -> Option<usize> {
        self.statement_at(self.at.line?, self.at.column)
    }

    /// The statement of an access: if it is the head of a loop or of a condition, what follows in its line.
    pub fn access(&self) -> Option<usize> {
        let at = self.statement()?;
        let follows = |at: &usize| {
            let next =
                self.statements.get(at + 1).filter(|next| next.parent == Some(*at) && self.at.column.is_some())?;
            (self.line_of(next.tokens.start) == self.at.line?).then_some(at + 1)
        };
        std::iter::successors(Some(at), follows).last()
    }

    /// Its line without the comment; empty if the source is unknown.
    pub fn code(&self) -> &str {
        let number = self.at.line.and_then(|line| (line as usize).checked_sub(1));
        number.and_then(|number| self.lines.get(number)).map_or("", |line| code(line))
    }
}

/// A line without the comment at its end.
pub fn code(line: &str) -> &str {
    line.split("//").next().unwrap_or_default().trim_end()
}
