//! A diagnostic as data, and its picture, drawn with `annotate-snippets`, the library that draws the errors of rustc.

use std::ops::Range;

use annotate_snippets::{Annotation, AnnotationKind, Element, Level, Renderer, Snippet};
use serde::{Deserialize, Serialize};
use simt::Location;

use super::underline::{self, Mark};
use system::output;

/// A message about a kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diagnostic {
    /// What is wrong, in one line.
    pub title: String,
    /// It is a warning: no rule is broken.
    pub warning: bool,
    /// Whether only the place is known, and not what is wrong there.
    pub vague: bool,
    /// The places in the kernel, those that have most to do with it first.
    pub marks: Vec<Mark>,
    /// Something else worth knowing.
    pub note: Option<String>,
    /// The rule behind it, which is true of every kernel; empty if there is none to tell.
    pub rule: String,
    /// What to do, if that was tried or is certain; empty otherwise.
    pub help: String,
}

/// A piece of a line that is underlined, for programs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Underlined {
    /// The line, counted from 1.
    pub line: usize,
    /// The first character of it, counted from 0, and the one behind the last.
    pub span: (usize, usize),
    /// Who did what there.
    pub label: String,
}

impl Diagnostic {
    /// One sentence for a program: what to do if that is known, or the rule.
    pub fn advice(&self) -> &str {
        if self.help.is_empty() { &self.rule } else { &self.help }
    }

    /// What is underlined in a file.
    pub fn underlined(&self, file: &str) -> Vec<Underlined> {
        let in_file = |mark: &Mark| {
            let (path, _, text, span) = source_of(mark);
            let before = &text[..span.start];
            let column = before.rsplit('\n').next().unwrap_or_default().chars().count();
            let length = text[span].chars().take_while(|&c| c != '\n').count();
            let line = before.matches('\n').count() + 1;
            (path == file).then(|| Underlined { line, span: (column, column + length), label: mark.label.clone() })
        };
        self.marks.iter().filter_map(in_file).collect()
    }
}

/// The picture for a terminal, with its colours; streams that are no terminal take them out. Ends with a line feed.
pub fn render(diagnostic: &Diagnostic) -> String {
    draw(diagnostic, &Renderer::styled(), output::width())
}

/// The picture without colours, for files and programs: as wide as where there is no terminal.
pub fn plain(diagnostic: &Diagnostic) -> String {
    draw(diagnostic, &Renderer::plain(), output::COLUMNS)
}

/// The column at which a note or a help begins, behind a line number of three digits.
const INDENT: usize = 12;

fn draw(diagnostic: &Diagnostic, renderer: &Renderer, width: usize) -> String {
    let mut elements: Vec<Element<'static>> = snippets(&diagnostic.marks).into_iter().map(Into::into).collect();
    let broken =
        |text: &str| text.lines().flat_map(|line| output::lines(line, INDENT, width)).collect::<Vec<_>>().join("\n");
    let notes = diagnostic.note.iter().chain(Some(&diagnostic.rule).filter(|rule| !rule.is_empty()));
    elements.extend(notes.map(|note| Level::NOTE.message(broken(note)).into()));
    if !diagnostic.help.is_empty() {
        elements.push(Level::HELP.message(broken(&diagnostic.help)).into());
    }
    let level = if diagnostic.warning { Level::WARNING } else { Level::ERROR };
    let group = level.primary_title(broken(&diagnostic.title)).elements(elements);
    output::fitted(&(renderer.clone().term_width(width).render(&[group]) + "\n"), width)
}

/// One picture for each file, with all its marks, and one for each PTX instruction.
fn snippets(marks: &[Mark]) -> Vec<Snippet<'static, Annotation<'static>>> {
    let mut shown: Vec<(String, Snippet<'static, Annotation<'static>>)> = vec![];
    for mark in marks {
        let (path, first, text, span) = source_of(mark);
        let kind = if mark.aside { AnnotationKind::Context } else { AnnotationKind::Primary };
        let at = shown.iter().position(|(known, _)| *known == path && path != PTX).unwrap_or(shown.len());
        if at == shown.len() {
            shown.push((path.clone(), Snippet::source(text).line_start(first as usize).path(path)));
        }
        let (path, snippet) = shown.remove(at);
        shown.insert(at, (path, snippet.annotation(kind.span(span).label(mark.label.clone()))));
    }
    shown.into_iter().map(|(_, snippet)| snippet).collect()
}

/// What is shown in place of a file that is not known.
const PTX: &str = "PTX";

/// The file of a mark, the number of the first line of its text, that text, and the bytes to underline. What the file does not
/// have is shown as the PTX instruction.
fn source_of(mark: &Mark) -> (String, u32, String, Range<usize>) {
    let Location { file, line, ptx_line, instruction, .. } = &mark.spot.at;
    let lines = &mark.spot.lines;
    match (file, line) {
        (Some(file), Some(line)) if (1..=lines.len()).contains(&(*line as usize)) => {
            let (line, span) = underline::access(mark);
            let start: usize = lines[..line as usize - 1].iter().map(|line| line.len() + 1).sum();
            (file.clone(), 1, lines.join("\n"), start + span.start..start + span.end)
        }
        _ => (PTX.into(), *ptx_line, instruction.clone(), 0..instruction.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Spot;
    use crate::places;

    fn drawn(marks: Vec<Mark>) -> String {
        let diagnostic = Diagnostic { title: "title".into(), marks, help: "help".into(), ..Diagnostic::default() };
        assert!(render(&diagnostic).contains('\u{1b}'), "the picture for a terminal has colours");
        draw(&diagnostic, &Renderer::plain(), output::COLUMNS)
    }

    fn mark(file: &str, line: u32) -> Mark {
        places::may_be_shown("k.cu", "é = Ä[0];\n\n\tlast");
        let (file, line, column, instruction) = (Some(file.into()), Some(line), Some(7), "bar.sync 0;".into());
        let location = simt::Location { file, line, column, calls: Box::default(), ptx_line: 48, instruction };
        Mark { spot: Spot::of(&location), label: "here".into(), ..Mark::default() }
    }

    #[test]
    fn what_cannot_be_shown_is_shown_as_an_instruction() {
        for (line, shown) in
            [(1, "é = Ä[0];"), (2, "2 |"), (3, "last"), (0, "48 | bar.sync 0;"), (4, "48 | bar.sync 0;")]
        {
            let text = drawn(vec![mark("k.cu", line)]);
            assert!(text.contains(shown) && text.contains("here") && text.ends_with("help: help\n"), "{line}: {text}");
        }
        let text = drawn(vec![mark("k.cu", 1), mark("no/such/file.cu", 1), mark("k.cu", 3)]);
        assert!(text.contains("PTX:48") && text.matches("here").count() == 3, "{text}");
    }

    #[test]
    fn nothing_to_mark_leaves_title_and_help() {
        let text = drawn(vec![Mark::default()]);
        assert!(text.starts_with("error: title\n"), "{text}");
        assert_eq!(drawn(vec![]), "error: title\n |\n = help: help\n");
    }
}
