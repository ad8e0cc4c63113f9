//! What a generated part is made for, and what it is.

use std::path::Path;

use course::record::Record;

/// A page and what its parts are made from.
pub struct Page<'a> {
    /// The page's file.
    pub path: &'a Path,
    /// The records of `docs/results` and their names.
    pub records: &'a [(String, Record)],
}

/// The content of a part.
pub enum Content {
    /// A block of code in a language.
    Code(&'static str, String),
    /// Markdown.
    Markdown(String),
}
