//! Text that leaves the program, and words for I/O errors.

use std::io::{ErrorKind, IsTerminal as _, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use anstream::adapter::strip_str;
use anyhow::{Result, bail};
use unicode_width::UnicodeWidthStr;

/// The most characters that are shown of a line, because a kernel can have names of any length.
const LONGEST: usize = 2000;

/// The columns of a line where neither a terminal nor the variable `COLUMNS` says how many there are.
pub const COLUMNS: usize = 80;

/// The most columns of a sentence: wider ones are hard to read.
pub const SENTENCE: usize = 100;

static WIDTH: AtomicUsize = AtomicUsize::new(COLUMNS);

/// From here on lines are broken at this width. A program calls it as it begins; where nobody does, as in tests, it is [`COLUMNS`].
pub fn fit(columns: usize) {
    WIDTH.store(columns, Ordering::Relaxed);
}

/// How many columns a line may have.
pub fn width() -> usize {
    WIDTH.load(Ordering::Relaxed)
}

/// How many columns a text takes in a terminal, which shows no escape sequences.
pub fn columns(text: &str) -> usize {
    UnicodeWidthStr::width(strip_str(text).to_string().as_str())
}

/// Writes words to standard output, with their styles if that is a terminal with colours. Lines that do not fit are broken between
/// words. A full disk is an error. If the pipe is closed, as by `| head -1`, nobody wants to read more, and only the exit status remains.
pub fn print(text: &str) -> Result<()> {
    print_whole(&fitted(text, width()))
}

/// Writes lines of any length to standard output, such as JSON or the output of a kernel.
pub fn print_whole(text: &str) -> Result<()> {
    let mut stdout = anstream::stdout().lock();
    match stdout.write_all(but_styles(text).as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            let reason = io_reason(&error);
            bail!("standard output cannot be written ({reason}); send it to a file with room")
        }
        _ => Ok(()),
    }
}

/// Writes words to standard error. If that is closed, only the exit status remains. Lines are broken for a terminal only, so that
/// a sentence in a log can be searched for.
pub fn complain(text: &str) {
    let is_read = std::io::stderr().is_terminal();
    let text = if is_read { fitted(text, width()) } else { text.split_inclusive('\n').map(cut).collect() };
    let _ = anstream::stderr().write_all(but_styles(&text).as_bytes());
}

/// A text that begins at a column, broken between words if it gets too wide. Further lines begin at the same column.
pub fn wrapped(text: &str, column: usize) -> String {
    lines(text, column, width()).join(&format!("\n{:column$}", ""))
}

/// The lines of a text that begins at a column, broken between words so that none ends after column `width`, or after
/// one at which it is hard to read.
pub fn lines(text: &str, column: usize, width: usize) -> Vec<String> {
    let room = width.min(SENTENCE).saturating_sub(column);
    broken(text, "", room).lines().map(str::to_owned).collect()
}

/// The line, broken between words so that none of its parts has more columns than `width`. Further parts begin with `further`.
pub fn broken(line: &str, further: &str, width: usize) -> String {
    let (mut text, mut at, mut begun) = (String::new(), 0, false);
    for (number, word) in line.split(' ').enumerate() {
        let wide = columns(word);
        if begun && wide > 0 && at + 1 + wide > width {
            text.truncate(text.trim_end_matches(' ').len());
            text += "\n";
            text += further;
            (at, begun) = (columns(further), false);
        } else if number > 0 {
            text.push(' ');
            at += 1;
        }
        text += word;
        at += wide;
        begun |= wide > 0;
    }
    text.truncate(text.trim_end_matches(' ').len());
    text
}

/// Which columns of a table fit into so many columns of a line: all but the first ones of `first_to_go`.
pub fn fitting(widths: &[usize], first_to_go: &[usize], room: usize) -> Vec<usize> {
    let mut kept: Vec<usize> = (0..widths.len()).collect();
    for gone in first_to_go {
        if kept.iter().map(|&column| widths[column]).sum::<usize>() > room {
            kept.retain(|column| column != gone);
        }
    }
    kept
}

/// The lines of a text, cut if they are very long and broken if they do not fit.
pub fn fitted(text: &str, width: usize) -> String {
    let fitted = |line: &str| {
        let line = cut(line);
        let (words, end) = line.strip_suffix('\n').map_or((&*line, ""), |words| (words, "\n"));
        if columns(words) <= width {
            return line;
        }
        // A command that is broken can still be typed as it is shown.
        let plain = strip_str(words).to_string();
        if plain.trim_start().starts_with("cargo ") {
            let further = plain.len() - plain.trim_start().len() + 4;
            return broken(words, &" ".repeat(further), width - 2).replace('\n', " \\\n") + end;
        }
        broken(words, &begin(words, width), width) + end
    };
    text.split_inclusive('\n').map(fitted).collect()
}

/// The least columns for words below others.
const LEAST_ROOM: usize = 24;

/// What the further parts of a broken line begin with: below the words that follow a name and two spaces, below the label of a piece
/// of code that is underlined, or as far to the right as the line.
fn begin(line: &str, width: usize) -> String {
    let plain = strip_str(line).to_string();
    let indent = plain.len() - plain.trim_start_matches(' ').len();
    let number = plain[indent..].trim_start_matches(|c: char| c.is_ascii_digit()).trim_start();
    if let Some(marked) = number.strip_prefix("| ") {
        let bar = plain.len() - number.len();
        let label = marked.trim_start_matches([' ', '^', '-', '|']);
        let column = bar + 2 + columns(&marked[..marked.len() - label.len()]);
        let column = if column + LEAST_ROOM > width { bar + 6 } else { column };
        return format!("{:bar$}|{:space$}", "", "", space = column - bar - 1);
    }
    let value = plain[indent..].find("  ").map(|at| {
        let rest = plain[indent + at..].trim_start();
        columns(&plain[..plain.len() - rest.len()])
    });
    " ".repeat(value.filter(|&column| column + LEAST_ROOM <= width).unwrap_or(indent))
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

/// The one of these names that is written almost like the one that was given.
pub fn meant<'a>(given: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let likeness = |name: &str| strsim::jaro_winkler(given, name);
    let best = names.into_iter().max_by(|one, other| likeness(one).total_cmp(&likeness(other)))?;
    (likeness(best) > 0.8).then_some(best)
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
    fn lines_that_do_not_fit_are_broken_below_their_words() {
        let words = "word ".repeat(30);
        for (line, second) in [
            (format!("    {words}"), "    word"),
            (format!("  name     {words}"), "           word"),
            (format!("  \u{1b}[1mname\u{1b}[0m     {words}"), "           word"),
            (format!("  12 |   ^^^^ {words}"), "     |        word"),
            (format!("     | {}-- {words}", "  ".repeat(30)), "     |     word"),
        ] {
            let text = fitted(&format!("{line}\nnext\n"), COLUMNS);
            assert!(text.lines().all(|line| columns(line) <= COLUMNS), "{text}");
            assert!(text.lines().nth(1).unwrap().starts_with(second) && text.ends_with("word\nnext\n"), "{text}");
        }
        let command = format!("  cargo run {words}\n");
        let command = fitted(&command, COLUMNS);
        assert!(command.starts_with("  cargo run word") && command.contains("word \\\n      word"), "{command}");
        let long = "x".repeat(90);
        assert_eq!(fitted(&format!("  a {long} b\n"), COLUMNS), format!("  a\n  {long}\n  b\n"));
        assert_eq!(fitted("one\n\n", COLUMNS), "one\n\n");
        assert_eq!(fitting(&[10, 20, 30], &[1, 2], 40), [0, 2]);
        assert_eq!(fitting(&[10, 20, 30], &[1, 2], 60), [0, 1, 2]);
    }

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
