//! Arguments that several verbs share.

use std::path::PathBuf;

use clap::builder::{PathBufValueParser, TypedValueParser};

/// A file to write. A dash is for others what they print, and would be a file of that name.
pub fn parse_file() -> impl TypedValueParser<Value = PathBuf> {
    let named = |file: PathBuf| if file.as_os_str() == "-" { Err("give a file's name") } else { Ok(file) };
    PathBufValueParser::new().try_map(named)
}

/// A seed; the error says what to give.
pub fn parse_seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "not a seed; give a whole number, e.g. 7".into())
}
