//! Text that leaves the program: standard output, and what an I/O error is called there.

use std::io::Write as _;

use anyhow::{Result, anyhow};

/// Writes to standard output, with its colours if that is a terminal that wants them; a closed pipe or a full disk is an
/// error, not a panic.
pub fn print(text: &str) -> Result<()> {
    let mut stdout = anstream::stdout().lock();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).map_err(|error| {
        anyhow!(
            "standard output cannot be written ({}); send it to a file with room or to a program that reads it",
            io_reason(&error)
        )
    })
}

/// Columns that a line takes at most.
const WIDTH: usize = 100;

/// A text that begins at a column, with the lines that follow below its beginning: broken between words where it gets too wide.
pub fn wrapped(text: &str, column: usize) -> String {
    let mut wrapped = String::new();
    let mut at = column;
    for word in text.split(' ') {
        let width = word.chars().count();
        if at > column && at + 1 + width > WIDTH {
            wrapped += &format!("\n{:column$}", "");
            at = column;
        } else if at > column {
            wrapped.push(' ');
            at += 1;
        }
        wrapped += word;
        at += width;
    }
    wrapped
}

/// Says on standard error what a reader may want to know, and is no reason to stop.
pub fn note(words: &str) {
    let _ = writeln!(std::io::stderr(), "note: {words}");
}

/// The reason of an I/O error in lower case, without the full stop that Windows puts after it and without the number of the
/// operating system's error.
pub fn io_reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).trim_end_matches('.').to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_broken_between_words_and_only_where_it_is_too_wide() {
        let word = "a".repeat(48);
        assert_eq!(wrapped(&format!("{word} {word}"), 3), format!("{word} {word}"));
        assert_eq!(wrapped(&format!("{word} {word} b"), 4), format!("{word}\n    {word} b"));
        assert_eq!(wrapped(&"a".repeat(200), 9), "a".repeat(200), "a word stays whole");
    }
}
