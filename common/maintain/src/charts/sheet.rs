//! What every chart has: a width, a title above, and below it where the numbers are from.

use anyhow::Result;
use course::record::Record;

use crate::picture::{self, Anchor, Canvas, Frame, HEADING, Kind, NOTE};

/// Width of every chart in pixels.
pub const WIDTH: f64 = 860.0;

/// The words around a chart.
pub struct Sheet<'a> {
    pub name: &'a str,
    pub title: &'a str,
    /// Its height in pixels, words included.
    pub height: f64,
    /// What it shows, for those who do not see it.
    pub description: &'a str,
}

/// The SVG of a chart of a record.
pub fn draw(sheet: &Sheet, record: &Record, paint: impl FnOnce(&mut Canvas) -> Result<()>) -> Result<String> {
    let Sheet { name, title, height, description } = *sheet;
    let frame = Frame { kind: Kind::Chart, name, width: WIDTH as u32, height: height as u32, title, description };
    picture::draw(&frame, |canvas| {
        canvas.text(16.0, 26.0, Anchor::Start, HEADING, title);
        canvas.text(16.0, height - 28.0, Anchor::Start, NOTE, &record.provenance());
        canvas.text(16.0, height - 12.0, Anchor::Start, NOTE, &format!("median of samples; {}", record.l2.words()));
        paint(canvas)
    })
}
