//! Words that several remedies share.

use simt::{Location, Party};

use super::underline;
use crate::places::Sources;

/// A place for people who look at the picture above.
pub fn at(location: &Location) -> String {
    match location.line {
        Some(line) => format!("line {line}"),
        None => format!("line {} of the PTX", location.ptx_line),
    }
}

/// The line of a place without its comment; empty if the source is unknown.
pub fn code_at<'a>(sources: &'a mut Sources, location: &Location) -> &'a str {
    let known = location.file.as_ref().zip(location.line);
    known.and_then(|(file, line)| sources.line(file, line)).map(underline::code).unwrap_or_default()
}

/// What to do when a thread reads what another thread copies.
pub fn copied_by_another(copy: &Party, read: &Party) -> String {
    format!(
        "let every thread wait for its own copies of {} (cp.async.wait_group) and then at a __syncthreads(), before {} \
         reads what another thread copied",
        at(&copy.location),
        at(&read.location)
    )
}
