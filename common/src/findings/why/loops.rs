//! The loops around a line of a kernel, by how the lines are indented.

use simt::Location;

use crate::code::places::Sources;
use crate::findings::diagnostic::{Mark, code};

/// The loops around a place, the innermost first.
pub fn around(sources: &mut Sources, place: &Location) -> Vec<Mark> {
    let (Some(file), Some(line)) = (&place.file, place.line) else { return vec![] };
    let lines = sources.lines(file);
    let indent = |text: &str| text.len() - text.trim_start().len();
    let is_loop = |text: &str| {
        text.trim_start().starts_with("for ")
            || text.trim_start().starts_with("for(")
            || text.trim_start().starts_with("while")
    };
    let Some(start) = lines.get(line as usize - 1) else { return vec![] };
    let mut most = indent(start) + usize::from(is_loop(start));
    let mut found = vec![];
    for (at, text) in lines.iter().enumerate().take(line as usize).rev() {
        let text = code(text);
        if text.trim().is_empty() || indent(text) >= most {
            continue;
        }
        most = indent(text);
        if is_loop(text) {
            let location = Location { line: Some(at as u32 + 1), column: Some(most as u32 + 1), ..place.clone() };
            found.push(Mark { location, ..Mark::default() });
        }
        if text.starts_with('}') || most == 0 {
            break;
        }
    }
    found
}
