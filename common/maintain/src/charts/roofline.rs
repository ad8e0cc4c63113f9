//! The roofline: speed over arithmetic intensity, under the GPU's roofs.

use std::ops::Range;

use course::record::Record;

use super::plot::{Axis, BOTTOM, HEIGHT, Plot, Scale, apart};
use super::sheet::{self, Sheet, WIDTH, look, short, tflops};
use crate::picture::{Anchor, MUTED, NAME, NOTE};

/// A logarithmic axis with a mark at each power of ten.
fn decades(range: Range<f64>) -> Axis {
    let [first, last] = [range.start, range.end].map(|end| end.log10().round() as i32);
    let marks = (first..=last).map(|power| 10_f64.powi(power)).collect();
    Axis { scale: Scale::Logarithmic, range, marks }
}

/// The chart, or `None` if the record has no peaks or no traffic.
pub fn draw(record: &Record, name: &str, title: &str) -> Option<String> {
    let figures = record.figures.filter(|figures| figures.memory_gb_per_s > 0.0)?;
    let size = record.ladder_size()?;
    let points: Vec<(&str, f64, f64)> = size
        .entries
        .iter()
        .filter_map(|entry| Some((entry.name.as_str(), entry.traffic?.intensity(), size.gflops(&entry.name)?)))
        .filter(|(_, intensity, _)| intensity.is_finite() && *intensity > 0.0)
        .collect();
    if points.is_empty() {
        return None;
    }
    let (peak, rate) = (figures.fp32_peak_gflops, figures.memory_gb_per_s);
    let knee = peak / rate;
    let (intensities, speeds) = (points.iter().map(|point| point.1), points.iter().map(|point| point.2));
    let down = |value: f64| 10_f64.powf(value.log10().floor());
    let up = |value: f64| 10_f64.powf(value.log10().ceil());
    let (x_least, x_most) =
        (down(intensities.clone().fold(0.25, f64::min)), up(intensities.fold(knee * 2.0, f64::max)));
    let (y_least, y_most) = (down(speeds.fold(1e3, f64::min)), up(peak));
    let told: Vec<String> = points
        .iter()
        .map(|(name, intensity, gflops)| format!("{name}: {intensity:.2} flop per byte, {}", tflops(*gflops)))
        .collect();
    let description = format!(
        "{}. The roof is {rate:.0} GB/s of device memory and {} of FP32; a step above the slanted part is served by caches.",
        told.join("; "),
        tflops(peak)
    );
    let sheet = Sheet { name, title, height: HEIGHT, description: &description };
    let (left, right, top) = (92.0, 150.0, 48.0);
    let svg = sheet::draw(&sheet, record, |canvas| {
        let axes = [decades(x_least..x_most), decades(y_least..y_most)];
        let speed = |gflops: f64| tflops(gflops).replace(".0 ", " ");
        let plot = Plot::new(canvas, [left, WIDTH - right, top], axes, [&|flop| format!("{flop}"), &speed], true);
        // The roof: memory's rate, then the peak.
        let start = (y_least / rate).max(x_least);
        let roof = [(start, start * rate), (knee, peak), (x_most, peak)];
        plot.line(canvas, &roof, MUTED, 1.5, false);
        let (x, y) = plot.pixels((x_most, peak));
        canvas.text(x, y - 8.0, Anchor::Right, NOTE, &format!("FP32 peak, {}", tflops(peak)));
        let (x, y) = plot.pixels((start, start * rate));
        canvas.text(x + 36.0, y - 8.0, Anchor::Left, NOTE, &format!("device memory, {rate:.0} GB/s"));
        let words = "flop per byte that requests ask of global memory (32-byte sectors, counted by the simulator)";
        canvas.text(f64::midpoint(left, WIDTH - right), BOTTOM + 40.0, Anchor::Center, NOTE, words);
        let heights: Vec<f64> = points.iter().map(|point| plot.pixels((point.1, point.2)).1 + 4.0).collect();
        for ((name, intensity, gflops), height) in points.iter().zip(apart(&heights, 16.0, BOTTOM - 4.0)) {
            let look = look(record, name);
            let place = plot.pixels((*intensity, *gflops));
            canvas.marker(look.place, place, look.colour);
            canvas.text(place.0 + 10.0, height, Anchor::Left, NAME, &short(name));
        }
    });
    Some(svg)
}
