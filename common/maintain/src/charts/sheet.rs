//! What every chart has: a width, a title above, below it where the numbers are from, and contenders that look alike
//! in all of them.

use course::record::{CUBLAS, Record};
use course::steps::split;

use crate::picture::{self, Anchor, Canvas, Colour, Frame, HEADING, INK, NOTE, SERIES};

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

pub fn draw(sheet: &Sheet, record: &Record, paint: impl FnOnce(&mut Canvas)) -> String {
    let Sheet { name, title, height, description } = *sheet;
    let frame = Frame { name, width: WIDTH, height, title, description };
    picture::draw(&frame, |canvas| {
        canvas.text(16.0, 26.0, Anchor::Left, HEADING, title);
        canvas.text(16.0, height - 28.0, Anchor::Left, NOTE, &record.provenance());
        canvas.text(16.0, height - 12.0, Anchor::Left, NOTE, &format!("median of samples; {}", record.l2.words()));
        paint(canvas);
    })
}

/// How a contender is told from the others.
#[derive(Clone, Copy)]
pub struct Look {
    /// Its place among all, which decides the shape of its marker.
    pub place: usize,
    pub colour: Colour,
    pub library: bool,
}

/// How a contender looks: by its place among all, or, where rungs are shown, by the place of its step.
pub fn look(record: &Record, name: &str) -> Look {
    let step = if record.has_rungs() { split(name).0 } else { name };
    let places = record.steps.iter().filter(|step| !step.rung);
    match places.map(|step| step.name.as_str()).position(|name| name == step) {
        Some(place) => Look { place, colour: SERIES[place % SERIES.len()], library: false },
        None => Look { place: record.steps.len(), colour: INK, library: name == CUBLAS },
    }
}

/// All contenders but those of the host, whose line would lie on the axis.
pub fn on_gpu(record: &Record) -> Vec<&str> {
    let host = |name: &&str| record.steps.iter().any(|step| step.host && step.name == **name);
    record.names().into_iter().filter(|name| !host(name)).collect()
}

/// A contender's name where room is short: `step 6` for `step06_prefetch`, and a rung's own name.
pub fn short(name: &str) -> String {
    let (step, variant) = split(name);
    let number = step.strip_prefix("step").and_then(|rest| rest.get(..2)?.parse::<u32>().ok());
    variant.map_or_else(|| number.map_or_else(|| name.to_owned(), |number| format!("step {number}")), str::to_owned)
}

pub fn tflops(gflops: f64) -> String {
    if gflops >= 1e3 { format!("{:.1} TFLOP/s", gflops / 1e3) } else { format!("{gflops:.1} GFLOP/s") }
}
