//! Draws a diagnostic with `annotate-snippets`, the library that draws the errors of rustc.

use annotate_snippets::{AnnotationKind, Element, Level, Renderer, Snippet};

use super::data::{Diagnostic, Mark};
use super::underline;
use crate::places::Sources;

/// The picture for a terminal, with its colours; streams that are no terminal take them out. Ends with a line feed.
pub fn render(diagnostic: &Diagnostic) -> String {
    draw(diagnostic, &Renderer::styled())
}

/// The picture without colours.
pub fn plain(diagnostic: &Diagnostic) -> String {
    draw(diagnostic, &Renderer::plain())
}

fn draw(diagnostic: &Diagnostic, renderer: &Renderer) -> String {
    let mut elements: Vec<Element<'static>> =
        snippets(&diagnostic.marks, &mut Sources::default()).into_iter().map(Into::into).collect();
    elements.extend(diagnostic.note.as_ref().map(|note| Level::NOTE.message(note.clone()).into()));
    if !diagnostic.help.is_empty() {
        elements.push(Level::HELP.message(diagnostic.help.clone()).into());
    }
    let group = Level::ERROR.primary_title(diagnostic.title.clone()).elements(elements);
    renderer.clone().term_width(WIDTH).render(&[group]) + "\n"
}

/// Columns of a line of the kernel that are shown: more than a kernel's line has, so that none is cut.
const WIDTH: usize = 200;

/// A file of which lines are shown, and what is marked in it.
struct Shown {
    /// What stands above the lines.
    path: String,
    text: String,
    /// Number of the first line of `text`.
    first: u32,
    marks: Vec<(std::ops::Range<usize>, String)>,
}

/// One picture for each file, with all its marks.
fn snippets(marks: &[Mark], sources: &mut Sources) -> Vec<Snippet<'static, annotate_snippets::Annotation<'static>>> {
    let mut shown: Vec<Shown> = Vec::new();
    for mark in marks {
        let label = mark.label.clone();
        if let Some((file, text, span)) = source_of(mark, sources) {
            let at = shown.iter().position(|shown| shown.path == file).unwrap_or_else(|| {
                shown.push(Shown { path: file, text, first: 1, marks: Vec::new() });
                shown.len() - 1
            });
            shown[at].marks.push((span, label));
        } else {
            let (text, first) = mark.instruction.clone();
            shown.push(Shown { path: "PTX".into(), marks: vec![(0..text.len(), label)], text, first });
        }
    }
    let snippet = |shown: Shown| {
        let marks = shown.marks.into_iter().map(|(span, label)| AnnotationKind::Primary.span(span).label(label));
        Snippet::source(shown.text).line_start(shown.first as usize).path(shown.path).annotations(marks)
    };
    shown.into_iter().map(snippet).collect()
}

/// The file of a mark, its text, and the bytes to underline; `None` if the file has no such line.
fn source_of(mark: &Mark, sources: &mut Sources) -> Option<(String, String, std::ops::Range<usize>)> {
    let file = mark.file.clone()?;
    let lines = sources.lines(&file);
    let first = (mark.line as usize).checked_sub(1).filter(|&first| first < lines.len())?;
    let (line, span) = underline::access(lines, first, mark.column, mark.element.as_deref(), mark.writes);
    let start: usize = lines[..line].iter().map(|line| line.len() + 1).sum();
    Some((file, lines.join("\n"), start + span.start..start + span.end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diagnostic(marks: Vec<Mark>) -> Diagnostic {
        Diagnostic { title: "title".into(), marks, note: None, help: "help".into() }
    }

    fn mark(file: &str, line: u32) -> Mark {
        let instruction = ("bar.sync 0;".to_owned(), 48);
        Mark { file: Some(file.into()), line, column: Some(7), instruction, label: "here".into(), ..Mark::default() }
    }

    #[test]
    fn what_cannot_be_shown_is_shown_as_an_instruction() {
        let path = std::env::temp_dir().join(format!("course-render-{}.cu", std::process::id()));
        std::fs::write(&path, "é = Ä[0];\n\n\tlast").unwrap();
        let file = path.display().to_string();
        for (line, shown) in
            [(1, "é = Ä[0];"), (2, "2 |"), (3, "last"), (0, "48 | bar.sync 0;"), (4, "48 | bar.sync 0;")]
        {
            let text = plain(&diagnostic(vec![mark(&file, line)]));
            assert!(text.contains(shown) && text.contains("here") && text.ends_with("help: help\n"), "{line}: {text}");
        }
        let text = plain(&diagnostic(vec![mark(&file, 1), mark("no/such/file.cu", 1), mark(&file, 3)]));
        assert!(text.contains("PTX:48") && text.matches("here").count() == 3, "{text}");
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn nothing_to_mark_leaves_title_and_help() {
        let text = plain(&diagnostic(vec![Mark::default()]));
        assert!(text.starts_with("error: title\n"), "{text}");
        assert_eq!(plain(&diagnostic(vec![])), "error: title\n |\n = help: help\n");
        assert!(render(&diagnostic(vec![])).contains('\u{1b}'), "the picture for a terminal has colours");
    }
}
