//! A small SVG writer: shapes and texts that are legible on light and on dark pages.

use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Colours of middle lightness: they stand out on white and on black.
pub const BLUE: &str = "#3b82c4";
/// As above.
pub const ORANGE: &str = "#d9822b";
/// As above.
pub const GREEN: &str = "#3a9d5d";
/// As above.
pub const RED: &str = "#c8475d";
/// The colour of the page's text.
pub const GREY: &str = "currentColor";

/// A drawing in progress.
pub struct Drawing {
    svg: String,
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// A coordinate with as many digits as one can see.
fn at(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

impl Drawing {
    /// A drawing of a size, with a title and a description for those who do not see it.
    pub fn new(name: &str, width: u32, height: u32, title: &str, description: &str) -> Self {
        let (title, description) = (escape(title), escape(description));
        // The style serves the file by itself; in the book the page's own colour of text is stronger.
        Self {
            svg: format!(
                "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"figure\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-labelledby=\"{name}-title {name}-description\" font-family=\"sans-serif\">\n\
                 <title id=\"{name}-title\">{title}</title>\n\
                 <desc id=\"{name}-description\">{description}</desc>\n\
                 <style>svg.figure{{color:#222}}@media(prefers-color-scheme:dark){{svg.figure{{color:#ddd}}}}\
                 svg.figure text{{fill:currentColor;font-size:12px}}svg.figure .title{{font-size:14px;font-weight:600}}svg.figure .small{{font-size:9px}}svg.figure .number{{font-size:13px;font-weight:600}}</style>\n"
            ),
        }
    }

    /// The whole SVG.
    pub fn finish(self) -> String {
        self.svg + "</svg>\n"
    }

    /// A text that begins at a place.
    pub fn text(&mut self, x: f64, y: f64, text: &str, class: &str) {
        let _ = writeln!(self.svg, "<text x=\"{}\" y=\"{}\" class=\"{class}\">{}</text>", at(x), at(y), escape(text));
    }

    /// A text around a place.
    pub fn text_middle(&mut self, x: f64, y: f64, text: &str, class: &str) {
        let _ = writeln!(
            self.svg,
            "<text x=\"{}\" y=\"{}\" class=\"{class}\" text-anchor=\"middle\">{}</text>",
            at(x),
            at(y),
            escape(text)
        );
    }

    /// A filled rectangle.
    pub fn rect(&mut self, x: f64, y: f64, width: f64, height: f64, colour: &str, opacity: f64) {
        let _ = writeln!(
            self.svg,
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{colour}\" fill-opacity=\"{opacity:.2}\"/>",
            at(x),
            at(y),
            at(width),
            at(height)
        );
    }

    /// The outline of a matrix.
    pub fn frame(&mut self, x: f64, y: f64, width: f64, height: f64) {
        let _ = writeln!(
            self.svg,
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"currentColor\" stroke-opacity=\"0.6\"/>",
            at(x),
            at(y),
            at(width),
            at(height)
        );
    }

    /// A thin line.
    pub fn line(&mut self, x1: f64, y1: f64, x2: f64, y2: f64, colour: &str) {
        let _ = writeln!(
            self.svg,
            "<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" stroke=\"{colour}\" stroke-opacity=\"0.7\"/>",
            at(x1),
            at(y1),
            at(x2),
            at(y2)
        );
    }

    /// A thick line.
    pub fn line_wide(&mut self, x1: f64, y1: f64, x2: f64, y2: f64, colour: &str) {
        let _ = writeln!(
            self.svg,
            "<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" stroke=\"{colour}\" stroke-width=\"2\"/>",
            at(x1),
            at(y1),
            at(x2),
            at(y2)
        );
    }

    /// A coloured square and what it stands for.
    pub fn legend(&mut self, x: f64, y: f64, colour: &str, opacity: f64, text: &str) {
        self.rect(x, y - 10.0, 12.0, 12.0, colour, opacity);
        self.text(x + 18.0, y, text, "label");
    }

    /// Elements of a matrix at a scale.
    pub fn cells(&mut self, x: f64, y: f64, scale: f64, set: &BTreeSet<(u64, u64)>, colour: &str) {
        self.cells_with(x, y, scale, set, colour, 0.85);
    }

    /// The same with an opacity; neighbours become one rectangle.
    pub fn cells_with(&mut self, x: f64, y: f64, scale: f64, set: &BTreeSet<(u64, u64)>, colour: &str, opacity: f64) {
        // Runs along rows: (first column, columns), and how many rows below begin and end alike.
        let mut open: Vec<(u64, u64, u64, u64)> = Vec::new();
        let mut done = Vec::new();
        let mut rows: Vec<(u64, Vec<(u64, u64)>)> = Vec::new();
        for &(row, column) in set {
            if rows.last().is_none_or(|(last, _)| *last != row) {
                rows.push((row, Vec::new()));
            }
            let Some((_, runs)) = rows.last_mut() else { continue };
            match runs.last_mut() {
                Some((first, count)) if *first + *count == column => *count += 1,
                _ => runs.push((column, 1)),
            }
        }
        for (row, runs) in rows {
            let mut still = Vec::new();
            for (first, count) in runs {
                match open.iter().position(|&(top, rows, f, c)| (f, c) == (first, count) && top + rows == row) {
                    Some(place) => {
                        let (top, rows, _, _) = open.remove(place);
                        still.push((top, rows + 1, first, count));
                    }
                    None => still.push((row, 1, first, count)),
                }
            }
            done.append(&mut open);
            open = still;
        }
        done.append(&mut open);
        for (top, rows, first, count) in done {
            let [left, top, width, height] = [first, top, count, rows].map(|value| value as f64 * scale);
            self.rect(x + left, y + top, width, height, colour, opacity);
        }
    }
}
