//! Places in a kernel's source and threads of a launch: the text of source lines, and words for both.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The lines that messages may quote, by the file names of line information: those of kernels that were read, and of their headers.
/// Line information in PTX may name any file of this machine, so no other file is opened for it.
static TEXTS: Mutex<BTreeMap<String, Arc<[String]>>> = Mutex::new(BTreeMap::new());

/// Allows messages to quote the lines of a text.
pub fn may_be_shown(file: &str, text: &str) {
    let lines = text.lines().map(str::to_owned).collect();
    TEXTS.lock().unwrap_or_else(PoisonError::into_inner).insert(file.to_owned(), lines);
}

/// All lines of a file; empty if they may not be quoted.
pub fn lines(file: &str) -> Arc<[String]> {
    TEXTS.lock().unwrap_or_else(PoisonError::into_inner).get(file).cloned().unwrap_or_default()
}

/// All lines of the file that a place is in; empty if the file is unknown.
pub fn lines_of(place: &simt::Location) -> Arc<[String]> {
    place.file.as_deref().map(lines).unwrap_or_default()
}

/// One line, counted from 1.
pub fn line(file: &str, line: u32) -> Option<String> {
    lines(file).get((line as usize).checked_sub(1)?).cloned()
}

/// One line of the file that a place is in; empty if there is none.
fn text_of(place: &simt::Location, number: u32) -> String {
    place.file.as_deref().and_then(|file| line(file, number)).unwrap_or_default()
}

/// File, line and text of a place. Without line information: the line in the PTX, and the instruction.
pub fn place(location: &simt::Location) -> (Option<String>, u32, String) {
    match (&location.file, location.line) {
        (Some(file), Some(number)) => {
            let text = line(file, number).map(|text| text.trim().to_owned());
            (Some(file.clone()), number, text.unwrap_or_else(|| location.instruction.clone()))
        }
        _ => (None, location.ptx_line, location.instruction.clone()),
    }
}

/// Whether this line of the place's file is inline PTX (`asm`).
pub fn is_ptx(place: &simt::Location, line: u32) -> bool {
    text_of(place, line).contains("asm")
}

/// A place to show for `place`: if its line is inline PTX, which does not name what it works on, the line that calls it.
pub fn told(mut place: simt::Location) -> simt::Location {
    let outer = place.calls.iter().position(|(line, _)| !is_ptx(&place, *line));
    if let Some(at) = outer.filter(|_| place.line.is_some_and(|line| is_ptx(&place, line))) {
        // The caller's line decides the operands of the PTX.
        let inner = (place.line.unwrap_or_default(), place.column.unwrap_or_default());
        let (line, column) = place.calls[at];
        (place.line, place.column) = (Some(line), Some(column));
        place.calls = std::iter::once(inner).chain(place.calls[at + 1..].iter().copied()).collect();
    }
    // A store that the compiler merged from several under a condition has the condition's line, unless the statement is there, too.
    let head = |line: u32| {
        let text = text_of(&place, line);
        let code = text.split("//").next().unwrap_or_default().trim();
        ["if", "else", "} else"].iter().any(|word| code.starts_with(word)) && !code.ends_with(';')
    };
    if place.instruction.contains("st.") {
        place.line = place.line.map(|line| if head(line) { line + 1 } else { line });
    }
    place
}

/// An index in the form that reports use.
pub fn index(at: simt::Dim3) -> [u32; 3] {
    [at.x, at.y, at.z]
}

/// An index as text, without a z of 0: `(3,4)`.
pub fn triple([x, y, z]: [u32; 3]) -> String {
    if z == 0 { format!("({x},{y})") } else { format!("({x},{y},{z})") }
}

/// A thread of a launch as text.
pub fn who(block: simt::Dim3, thread: simt::Dim3) -> String {
    format!("thread {} of block {}", triple(index(thread)), triple(index(block)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_read_is_shown() {
        may_be_shown("read.cu", "one\ntwo\n");
        assert_eq!(*lines("read.cu"), ["one", "two"]);
        for file in ["/etc/passwd", "/dev/zero", "step02_gpu_naive/kernel.cu", "."] {
            assert!(lines(file).is_empty(), "{file}");
        }
    }
}
