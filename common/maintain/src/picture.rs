//! The one place that writes SVG. Places and sizes are in pixels.
//!
//! A picture follows the reader's theme: a shape has the class of its colour, and the style sheet says what that is on light
//! and on dark pages.

use std::fmt::Write as _;

/// A colour: its place in the palette.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Colour(usize);

/// Each colour on light and on dark pages.
const PALETTE: [[&str; 2]; 14] = [
    ["#1f2328", "#e6edf3"],
    ["#59636e", "#9198a1"],
    ["#d1d9e0", "#30363d"],
    ["#ffffff", "#0d1117"],
    ["#3b82c4", "#3b82c4"],
    ["#3a9d5d", "#3a9d5d"],
    ["#5f6875", "#9aa2ad"],
    ["#8f5d00", "#d9a441"],
    ["#7b3fb3", "#bc8cff"],
    ["#00796b", "#4dc4b4"],
    ["#b3261e", "#ff7b72"],
    ["#0550ae", "#6cb6ff"],
    ["#9c2779", "#f778ba"],
    ["#4d6b00", "#a5c23c"],
];
/// Text.
pub const INK: Colour = Colour(0);
/// Text of less weight, and axes.
pub const MUTED: Colour = Colour(1);
/// Lines behind a chart.
pub const GRID: Colour = Colour(2);
/// The background of a chart.
const PAPER: Colour = Colour(3);
/// Colours of the series of a chart. The two before them are those of figures that never change.
pub const SERIES: [Colour; 8] =
    [Colour(6), Colour(7), Colour(8), Colour(9), Colour(10), Colour(11), Colour(12), Colour(13)];

#[derive(Clone, Copy)]
pub struct Font {
    size: u32,
    bold: bool,
    colour: Colour,
}

/// The title of a chart.
pub const HEADING: Font = Font { size: 16, bold: true, colour: INK };
/// The name of a series.
pub const NAME: Font = Font { size: 13, bold: false, colour: INK };
/// Axes of a chart, and where its numbers are from.
pub const NOTE: Font = Font { size: 12, bold: false, colour: MUTED };

/// Where a text is: it begins at its place, is around it, or ends there.
#[derive(Clone, Copy)]
pub enum Anchor {
    Left,
    Center,
    Right,
}

/// What a picture is, in words and pixels.
pub struct Frame<'a> {
    /// A name for the ids of title and description; unique on a page.
    pub name: &'a str,
    pub width: f64,
    pub height: f64,
    /// The title, for those who do not see the picture.
    pub title: &'a str,
    /// What the picture shows, for those who do not see it.
    pub description: &'a str,
}

pub fn draw(frame: &Frame, paint: impl FnOnce(&mut Canvas)) -> String {
    let Frame { name, width, height, .. } = *frame;
    let mut canvas = Canvas(String::new());
    canvas.rect(0.0, 0.0, width, height, PAPER, 1.0);
    paint(&mut canvas);
    let (title, description) = (escape(frame.title), escape(frame.description));
    let sheet = |theme: usize| {
        let rule = |(at, colours): (usize, &[&str; 2])| format!(".c{at}{{color:{}}}", colours[theme]);
        PALETTE.iter().enumerate().map(rule).collect::<String>()
    };
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         role=\"img\" aria-labelledby=\"{name}-title {name}-description\" fill=\"currentColor\" \
         font-family=\"system-ui,-apple-system,'Segoe UI',Roboto,sans-serif\">\n\
         <title id=\"{name}-title\">{title}</title>\n<desc id=\"{name}-description\">{description}</desc>\n\
         <style>{}@media(prefers-color-scheme:dark){{{}}}</style>\n{}</svg>\n",
        sheet(0),
        sheet(1),
        canvas.0
    )
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// A tenth of a pixel is as much as one sees.
fn tenths(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

/// A picture in progress: the shapes so far.
pub struct Canvas(String);

impl Canvas {
    fn shape(&mut self, name: &str, colour: Colour, attributes: &str) {
        let _ = writeln!(self.0, "<{name} class=\"c{}\" {attributes}/>", colour.0);
    }

    /// A text whose base line is at `y`.
    pub fn text(&mut self, x: f64, y: f64, anchor: Anchor, font: Font, text: &str) {
        let anchor = match anchor {
            Anchor::Left => "start",
            Anchor::Center => "middle",
            Anchor::Right => "end",
        };
        let weight = if font.bold { " font-weight=\"bold\"" } else { "" };
        let (x, y, Font { size, colour, .. }) = (tenths(x), tenths(y), font);
        let _ = writeln!(
            self.0,
            "<text class=\"c{}\" x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\" font-size=\"{size}\"{weight}>{}</text>",
            colour.0,
            escape(text)
        );
    }

    pub fn rect(&mut self, x: f64, y: f64, width: f64, height: f64, colour: Colour, opacity: f64) {
        let [x, y, width, height] = [x, y, width, height].map(tenths);
        let opacity = if opacity < 1.0 { format!(" opacity=\"{opacity}\"") } else { String::new() };
        let place = format!("x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"{opacity}");
        self.shape("rect", colour, &place);
    }

    /// A line through points.
    pub fn line(&mut self, points: &[(f64, f64)], colour: Colour, width: f64, dashed: bool) {
        let points: Vec<String> = points.iter().map(|&(x, y)| format!("{},{}", tenths(x), tenths(y))).collect();
        let dashes = if dashed { " stroke-dasharray=\"7 4\"" } else { "" };
        let line = format!("fill=\"none\" stroke=\"currentColor\" stroke-width=\"{width}\"{dashes}");
        self.shape("polyline", colour, &format!("{line} points=\"{}\"", points.join(" ")));
    }

    /// A marker whose shape differs from series to series.
    pub fn marker(&mut self, series: usize, (x, y): (f64, f64), colour: Colour) {
        let (x, y) = (tenths(x), tenths(y));
        let path = match series % 4 {
            0 => return self.shape("circle", colour, &format!("cx=\"{x}\" cy=\"{y}\" r=\"4.5\"")),
            1 => "m-4-4h8v8h-8z",
            2 => "m0-5.5 5.5 9.5h-11z",
            _ => "m0-5.5 5.5 5.5-5.5 5.5-5.5-5.5z",
        };
        self.shape("path", colour, &format!("d=\"M{x} {y}{path}\""));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_has_a_text_alternative_both_themes_and_a_background() {
        let frame = Frame { name: "n", width: 20.0, height: 10.0, title: "a < b", description: "c & d" };
        let svg = draw(&frame, |canvas| canvas.text(1.0, 2.04, Anchor::Center, NAME, "x > y & z"));
        assert!(svg.starts_with("<svg xmlns=") && svg.ends_with("</svg>\n") && !svg.contains("\n\n"), "{svg}");
        assert!(svg.contains("<title id=\"n-title\">a &lt; b</title>"), "{svg}");
        assert!(svg.contains("<desc id=\"n-description\">c &amp; d</desc>"), "{svg}");
        assert!(svg.contains(" y=\"2\" ") && svg.contains(">x &gt; y &amp; z</text>"), "{svg}");
        let (light, dark) = svg.split_once("prefers-color-scheme:dark").unwrap();
        assert!(light.contains(".c0{color:#1f2328}") && dark.contains(".c0{color:#e6edf3}"), "{svg}");
        assert!(svg.contains("<rect class=\"c3\" "), "{svg}");
    }
}
