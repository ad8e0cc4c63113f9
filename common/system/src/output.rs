//! Text that leaves the program, and words for I/O errors.

use std::io::Write as _;
use std::path::Path;

use anyhow::{Result, anyhow};

/// The most characters that are shown of a line, because a kernel can have names of any length.
const LONGEST: usize = 2000;

/// Writes words to standard output, with their styles if that is a terminal with colours. A closed pipe or a full disk is an error,
/// not a panic.
pub fn print(text: &str) -> Result<()> {
    print_whole(&text.split_inclusive('\n').map(cut).collect::<String>())
}

/// Writes lines of any length to standard output, such as JSON or the output of a kernel.
pub fn print_whole(text: &str) -> Result<()> {
    let mut stdout = anstream::stdout().lock();
    stdout.write_all(but_styles(text).as_bytes()).and_then(|()| stdout.flush()).map_err(|error| {
        let reason = io_reason(&error);
        anyhow!(
            "standard output cannot be written ({reason}); send it to a file with room or to a program that reads it"
        )
    })
}

/// Writes words to standard error. If that is closed, only the exit status remains.
pub fn complain(text: &str) {
    let text: String = text.split_inclusive('\n').map(cut).collect();
    let _ = anstream::stderr().write_all(but_styles(&text).as_bytes());
}

/// The most columns of a line.
const WIDTH: usize = 100;

/// A text that begins at a column, broken between words if it gets too wide. Further lines begin at the same column.
pub fn wrapped(text: &str, column: usize) -> String {
    lines(text, column).join(&format!("\n{:column$}", ""))
}

/// The lines of a text that begins at a column, broken between words if it gets too wide.
pub fn lines(text: &str, column: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut at = WIDTH;
    for word in text.split(' ') {
        let width = word.chars().count();
        match lines.last_mut() {
            Some(line) if at + 1 + width <= WIDTH => {
                *line += " ";
                *line += word;
                at += 1 + width;
            }
            _ => {
                lines.push(word.to_owned());
                at = column + width;
            }
        }
    }
    lines
}

/// Writes a note to standard error, about something that is no reason to stop.
pub fn note(words: &str) {
    complain(&format!("note: {}\n", escape(words)));
}

/// A text from elsewhere, such as a kernel, its compiler or a thread that prints, with control characters and changes of the
/// direction of reading escaped. The result is still valid in a string of C or JSON.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        match c {
            '\n' | '\t' => escaped.push(c),
            '\r' if text[at + 1..].starts_with('\n') => escaped.push(c),
            '\r' | '\u{b}' | '\u{c}' => escaped.push(' '),
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => escaped += &format!("\\u{:04x}", c as u32),
            c if c.is_control() => escaped += &format!("\\u{:04x}", c as u32),
            c => escaped.push(c),
        }
    }
    escaped
}

/// The text with everything escaped except styles: bold, dim and colours.
fn but_styles(text: &str) -> String {
    let mut escaped = String::new();
    for (number, part) in text.split("\u{1b}[").enumerate() {
        let digits = part.find(|c: char| !c.is_ascii_digit() && c != ';').unwrap_or(part.len());
        escaped += match (number, part[digits..].starts_with('m')) {
            (0, _) => "",
            (_, true) => "\u{1b}[",
            (_, false) => "\\u001b[",
        };
        escaped += &escape(part);
    }
    escaped
}

/// The line, cut if it is very long.
fn cut(line: &str) -> String {
    let Some((at, _)) = line.char_indices().nth(LONGEST) else { return line.to_owned() };
    let end = if line.ends_with('\n') { "\n" } else { "" };
    format!("{}... ({} more bytes){end}", &line[..at], line.len() - at)
}

/// The reason of an I/O error in lower case, without the full stop that Windows adds and without the operating system's error
/// number.
pub fn io_reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).trim_end_matches('.').to_lowercase()
}

/// A path with its line breaks and control characters escaped, so that a message stays on one line and no file name controls the
/// terminal.
pub fn escaped(path: &Path) -> String {
    let breaks = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    let mut text = String::new();
    for c in path.to_string_lossy().chars() {
        if breaks(c) { text.extend(c.escape_default()) } else { text.push(c) }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_styles_reach_a_terminal() {
        assert_eq!(
            escape("a\tb\r\n\u{1b}[31m\u{9b}2J\u{7f}\u{202e}\rü\u{7}"),
            "a\tb\r\n\\u001b[31m\\u009b2J\\u007f\\u202e ü\\u0007"
        );
        let styled = "\u{1b}[1;31mred\u{1b}[0m";
        assert_eq!(but_styles(styled), styled);
        assert_eq!(but_styles("\u{1b}[2J\u{1b}]0;title\u{7}\u{1b}["), "\\u001b[2J\\u001b]0;title\\u0007\\u001b[");
        let json = serde_json::to_string("\u{7f}\u{9b}").unwrap();
        assert_eq!(serde_json::from_str::<String>(&escape(&json)).unwrap(), "\u{7f}\u{9b}");
        assert_eq!(
            cut(&format!("{}\n", "é".repeat(LONGEST + 3))),
            format!("{}... (7 more bytes)\n", "é".repeat(LONGEST))
        );
    }
}
