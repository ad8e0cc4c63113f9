//! The one place that writes SVG: figures and charts are drawn with `plotters`, then given a title, a description and a
//! theme.
//!
//! A picture follows the reader's theme: each colour of the palette has a value for light and one for dark pages.
//! `plotters` writes the light ones as attributes; a style sheet, which is stronger than attributes, has the dark ones.
//! The ink is `currentColor`, so that a figure that is inlined in a page takes the colour of the page's text.
//!
//! `plotters` counts in whole units, so a unit is a tenth of a pixel.

use anyhow::{Result, anyhow};
use plotters::coord::Shift;
use plotters::drawing::IntoDrawingArea as _;
use plotters::element::{Circle, Polygon, Rectangle, Text};
use plotters::prelude::{DrawingArea, SVGBackend};
pub use plotters::style::text_anchor::HPos;
use plotters::style::text_anchor::{Pos, VPos};
use plotters::style::{Color as _, FontStyle, IntoFont as _, RGBAColor, RGBColor, ShapeStyle, TextStyle};

/// A colour on light and on dark pages, as `0xRRGGBB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Colour {
    light: u32,
    dark: u32,
}

impl Colour {
    const fn new(light: u32, dark: u32) -> Self {
        Self { light, dark }
    }

    /// For `plotters`, more or less transparent.
    pub fn mix(self, opacity: f64) -> RGBAColor {
        let [_, r, g, b] = self.light.to_be_bytes();
        // Three digits are more than one sees, and floating-point noise would only make the file longer.
        RGBColor(r, g, b).mix((opacity * 1000.0).round() / 1000.0)
    }

    /// A line of this colour and so many pixels.
    pub fn line(self, width: f64) -> ShapeStyle {
        self.mix(1.0).stroke_width(units(width) as u32)
    }
}

/// The colour of the page's text.
pub const INK: Colour = Colour::new(0x1f_2328, 0xe6_edf3);
/// Text of less weight, and axes.
pub const MUTED: Colour = Colour::new(0x59_636e, 0x91_98a1);
/// Lines behind a chart.
pub const GRID: Colour = Colour::new(0xd1_d9e0, 0x30_363d);
/// The background of a chart.
pub const PAPER: Colour = Colour::new(0xff_ffff, 0x0d_1117);
/// Colours of the series of a chart.
pub const SERIES: [Colour; 8] = [
    Colour::new(0x5f_6875, 0x9a_a2ad),
    Colour::new(0x8f_5d00, 0xd9_a441),
    Colour::new(0x7b_3fb3, 0xbc_8cff),
    Colour::new(0x00_796b, 0x4d_c4b4),
    Colour::new(0xb3_261e, 0xff_7b72),
    Colour::new(0x05_50ae, 0x6c_b6ff),
    Colour::new(0x9c_2779, 0xf7_78ba),
    Colour::new(0x4d_6b00, 0xa5_c23c),
];

#[derive(Clone, Copy)]
pub struct Font {
    size: f64,
    bold: bool,
    colour: Colour,
}

/// The title of a chart.
pub const HEADING: Font = Font { size: 16.0, bold: true, colour: INK };
/// The name of a series.
pub const NAME: Font = Font { size: 13.0, bold: false, colour: INK };
/// Axes of a chart, and where its numbers are from.
pub const NOTE: Font = Font { size: 12.0, bold: false, colour: MUTED };

impl Font {
    pub fn style(self) -> TextStyle<'static> {
        let font = ("sans-serif", f64::from(units(self.size)) * LINE_HEIGHT).into_font();
        let font = font.style(if self.bold { FontStyle::Bold } else { FontStyle::Normal });
        TextStyle { color: self.colour.mix(1.0).to_backend_color(), ..TextStyle::from(font) }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Inlined in a page, on the page's background.
    Figure,
    /// A file of its own, with a background of its own.
    Chart,
}

/// What a picture is, in words and pixels.
pub struct Frame<'a> {
    pub kind: Kind,
    /// A name for the ids of title and description; unique on a page.
    pub name: &'a str,
    pub width: u32,
    pub height: u32,
    /// The title, for those who do not see the picture.
    pub title: &'a str,
    /// What the picture shows, for those who do not see it.
    pub description: &'a str,
}

pub type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

pub fn units(pixels: f64) -> i32 {
    (pixels * UNITS).round() as i32
}

/// The SVG backend divides sizes of fonts by this.
const LINE_HEIGHT: f64 = 1.24;
const UNITS: f64 = 10.0;

pub fn draw(frame: &Frame, paint: impl FnOnce(&mut Canvas) -> Result<()>) -> Result<String> {
    let mut svg = String::new();
    let size = [frame.width, frame.height].map(|pixels| units(f64::from(pixels)) as u32);
    let area = SVGBackend::with_string(&mut svg, (size[0], size[1])).into_drawing_area();
    let mut canvas = Canvas { area, failed: None };
    if frame.kind == Kind::Chart {
        canvas.rect(0.0, 0.0, f64::from(frame.width), f64::from(frame.height), PAPER, 1.0);
    }
    paint(&mut canvas)?;
    canvas.area.present().map_err(|error| anyhow!("the picture cannot be drawn: {error}"))?;
    if let Some(reason) = canvas.failed.take() {
        return Err(anyhow!("the picture cannot be drawn: {reason}"));
    }
    drop(canvas);
    Ok(finish(frame, &svg))
}

/// What `plotters` wrote, with the title, the description and the theme, and without what the root can say for all.
fn finish(frame: &Frame, svg: &str) -> String {
    let Frame { kind, name, width, height, .. } = frame;
    let (title, description) = (escape(frame.title), escape(frame.description));
    let class = if *kind == Kind::Chart { "chart" } else { "figure" };
    let (_, body) = svg.split_once('\n').unwrap_or_default();
    let mut shapes = String::new();
    let mut inside_text = false;
    for line in body.lines() {
        let line = ["opacity=\"1\"", "stroke=\"none\"", "font-family=\"sans-serif\""]
            .iter()
            .fold(line.to_owned(), |line, said| line.replace(&format!(" {said}"), ""));
        let line = with_round_size(&line);
        inside_text = (inside_text || line.starts_with("<text")) && !line.starts_with("</text");
        shapes += &line;
        // Within a text, an end of line would be a space.
        if !inside_text {
            shapes.push('\n');
        }
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"{class}\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {} {}\" \
         role=\"img\" aria-labelledby=\"{name}-title {name}-description\" font-family=\"system-ui,-apple-system,'Segoe UI',Roboto,sans-serif\">\n\
         <title id=\"{name}-title\">{title}</title>\n<desc id=\"{name}-description\">{description}</desc>\n\
         <style>{}</style>\n{shapes}",
        units(f64::from(*width)),
        units(f64::from(*height)),
        theme(class, &shapes),
    )
}

/// A shape whose size of font is rid of what the division left behind its point.
fn with_round_size(shape: &str) -> String {
    let Some((before, rest)) = shape.split_once("font-size=\"") else { return shape.to_owned() };
    let Some((size, after)) = rest.split_once('"') else { return shape.to_owned() };
    let size = size.parse::<f64>().map_or_else(|_| size.to_owned(), |size| size.round().to_string());
    format!("{before}font-size=\"{size}\"{after}")
}

/// The style sheet: the ink, and the dark values of the colours that are there.
fn theme(class: &str, shapes: &str) -> String {
    let hex = |colour: u32| format!("#{colour:06X}");
    let rules = |colour: Colour, value: &str| -> String {
        let property = |name: &str| {
            let attribute = format!("{name}=\"{}\"", hex(colour.light));
            let rule = format!("svg.{class} [{attribute}]{{{name}:{value}}}");
            if shapes.contains(&attribute) { rule } else { String::new() }
        };
        property("fill") + &property("stroke")
    };
    let dark: String =
        [MUTED, GRID, PAPER].iter().chain(&SERIES).map(|&colour| rules(colour, &hex(colour.dark))).collect();
    format!(
        "svg.{class}{{color:{}}}{}@media(prefers-color-scheme:dark){{svg.{class}{{color:{}}}{dark}}}",
        hex(INK.light),
        rules(INK, "currentColor"),
        hex(INK.dark),
    )
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// A picture in progress; places and sizes are in pixels.
pub struct Canvas<'a> {
    area: Area<'a>,
    /// Why a shape could not be drawn: told once, at the end.
    failed: Option<String>,
}

impl<'a> Canvas<'a> {
    /// The whole picture, for a chart of `plotters`.
    pub fn area(&self) -> Area<'a> {
        self.area.clone()
    }

    fn draw<E>(&mut self, element: &E)
    where
        for<'b> &'b E: plotters::element::PointCollection<'b, (i32, i32)>,
        E: plotters::element::Drawable<SVGBackend<'a>>,
    {
        if let Err(error) = self.area.draw(element) {
            self.failed.get_or_insert(error.to_string());
        }
    }

    /// A text whose base line is at `y`, and which begins at `x`, ends there or is around it.
    pub fn text(&mut self, x: f64, y: f64, anchor: HPos, font: Font, text: &str) {
        // The backend puts the base line half an x-height, about a quarter of the size, below the middle.
        let place = (units(x), units(y - 0.27 * font.size));
        self.draw(&Text::new(text.to_owned(), place, font.style().pos(Pos::new(anchor, VPos::Center))));
    }

    pub fn rect(&mut self, x: f64, y: f64, width: f64, height: f64, colour: Colour, opacity: f64) {
        let corners = [(units(x), units(y)), (units(x + width), units(y + height))];
        self.draw(&Rectangle::new(corners, colour.mix(opacity).filled()));
    }

    /// A marker whose shape differs from series to series.
    pub fn marker(&mut self, series: usize, (x, y): (f64, f64), colour: Colour) {
        let style = colour.mix(1.0).filled();
        let corners: &[(f64, f64)] = match series % 4 {
            0 => return self.draw(&Circle::new((units(x), units(y)), units(4.5), style)),
            1 => &[(-4.0, -4.0), (4.0, -4.0), (4.0, 4.0), (-4.0, 4.0)],
            2 => &[(0.0, -5.5), (5.5, 4.0), (-5.5, 4.0)],
            _ => &[(0.0, -5.5), (5.5, 0.0), (0.0, 5.5), (-5.5, 0.0)],
        };
        let corners: Vec<(i32, i32)> = corners.iter().map(|(dx, dy)| (units(x + dx), units(y + dy))).collect();
        self.draw(&Polygon::new(corners, style));
    }

    /// A contender's marker, and its name beside it.
    pub fn key(&mut self, place: usize, (x, y): (f64, f64), colour: Colour, name: &str) {
        self.marker(place, (x, y), colour);
        self.text(x + 11.0, y + 4.0, HPos::Left, NAME, name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(kind: Kind) -> String {
        let frame = Frame { kind, name: "n", width: 20, height: 10, title: "a < b", description: "c & d" };
        draw(&frame, |canvas| {
            canvas.text(1.0, 2.0, HPos::Center, NAME, "x > y & z");
            canvas.marker(1, (1.5, 2.25), SERIES[1]);
            canvas.rect(0.0, 0.0, 3.8, 3.8, SERIES[1], 0.5);
            Ok(())
        })
        .unwrap()
    }

    #[test]
    fn a_picture_has_a_text_alternative_and_both_themes() {
        let svg = picture(Kind::Chart);
        assert!(svg.starts_with("<svg xmlns=") && svg.ends_with("</svg>\n"), "{svg}");
        assert!(svg.contains("width=\"20\" height=\"10\" viewBox=\"0 0 200 100\""), "{svg}");
        assert!(svg.contains("<title id=\"n-title\">a &lt; b</title>"), "{svg}");
        assert!(svg.contains("<desc id=\"n-description\">c &amp; d</desc>"), "{svg}");
        assert!(svg.contains(">x &gt; y &amp; z</text>"), "{svg}");
        // The colour of the series is there, and its dark value is in the style sheet; other series are in neither.
        assert!(svg.contains("fill=\"#8F5D00\" ") && svg.contains("[fill=\"#8F5D00\"]{fill:#D9A441}"), "{svg}");
        assert!(svg.contains("[fill=\"#FFFFFF\"]{fill:#0D1117}") && !svg.contains("BC8CFF"), "{svg}");
        assert!(svg.contains("[fill=\"#1F2328\"]{fill:currentColor}"), "{svg}");
    }

    #[test]
    fn a_figure_has_no_background_and_no_empty_line_that_would_end_the_html() {
        let svg = picture(Kind::Figure);
        assert!(!svg.contains("FFFFFF") && !svg.contains("\n\n"), "{svg}");
    }

    #[test]
    fn sizes_of_text_are_round() {
        assert!(picture(Kind::Figure).contains(" font-size=\"130\" "));
        assert_eq!(with_round_size("<text font-size=\"119.999\" x=\"1.5\">"), "<text font-size=\"120\" x=\"1.5\">");
    }

    #[test]
    fn no_two_colours_have_one_light_value() {
        let mut all: Vec<u32> = SERIES.iter().chain(&[INK, MUTED, GRID, PAPER]).map(|c| c.light).collect();
        all.sort_unstable();
        assert!(all.windows(2).all(|pair| pair[0] != pair[1]), "{all:x?}");
    }
}
