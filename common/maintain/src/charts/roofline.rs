//! The roofline: speed over arithmetic intensity, under the GPU's roofs.

use std::ops::Range;

use anyhow::{Result, anyhow};
use course::record::Record;
use plotters::chart::{ChartBuilder, LabelAreaPosition};
use plotters::series::LineSeries;

use super::axis::{Axis, Scale};
use super::places::apart;
use super::series::{look, tflops};
use super::sheet::{self, Sheet, WIDTH};
use crate::picture::{Anchor, GRID, MUTED, NAME, NOTE, units};

/// A logarithmic axis with a mark at each power of ten.
fn decades(range: Range<f64>) -> Axis {
    let [first, last] = [range.start, range.end].map(|end| end.log10().round() as i32);
    Axis::new(Scale::Logarithmic, range, (first..=last).map(|power| 10_f64.powi(power)).collect())
}

/// The chart, or `None` if the record has no peaks or no traffic.
pub fn draw(record: &Record, name: &str, title: &str) -> Result<Option<String>> {
    let Some(figures) = record.figures.filter(|figures| figures.memory_gb_per_s > 0.0) else { return Ok(None) };
    let Some(size) = record.ladder_size() else { return Ok(None) };
    let points: Vec<(&str, f64, f64)> = size
        .entries
        .iter()
        .filter_map(|entry| Some((entry.name.as_str(), entry.traffic?.intensity(), size.gflops(&entry.name)?)))
        .filter(|(_, intensity, _)| intensity.is_finite() && *intensity > 0.0)
        .collect();
    if points.is_empty() {
        return Ok(None);
    }
    let (peak, rate) = (figures.fp32_peak_gflops, figures.memory_gb_per_s);
    let knee = peak / rate;
    let down = |value: f64| 10_f64.powf(value.log10().floor());
    let up = |value: f64| 10_f64.powf(value.log10().ceil());
    let least = |values: &mut dyn Iterator<Item = f64>| values.fold(f64::INFINITY, f64::min);
    let greatest = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, f64::max);
    let x_least = down(least(&mut points.iter().map(|point| point.1)).min(0.25));
    let x_most = up(greatest(&mut points.iter().map(|point| point.1)).max(knee * 2.0));
    let (y_least, y_most) = (down(least(&mut points.iter().map(|point| point.2)).min(1e3)), up(peak));
    let told: Vec<String> = points
        .iter()
        .map(|(name, intensity, gflops)| format!("{name}: {intensity:.2} flop per byte, {}", tflops(*gflops)))
        .collect();
    let description = format!(
        "{}. The roof is {rate:.0} GB/s of device memory and {} of FP32; a step above the slanted part is served by caches.",
        told.join("; "),
        tflops(peak)
    );
    let sheet = Sheet { name, title, height: 512.0, description: &description };
    let (left, right, top, bottom) = (92.0, WIDTH - 150.0, 48.0, 424.0);
    let svg = sheet::draw(&sheet, record, |canvas| {
        let failed = |error: &dyn std::fmt::Display| anyhow!("the chart cannot be drawn: {error}");
        let mut chart = ChartBuilder::on(&canvas.area())
            .margin_left(units(left - 88.0))
            .margin_top(units(top))
            .margin_right(units(WIDTH - right))
            .margin_bottom(units(sheet.height - bottom - 26.0))
            .set_label_area_size(LabelAreaPosition::Left, units(88.0))
            .set_label_area_size(LabelAreaPosition::Bottom, units(26.0))
            .build_cartesian_2d(decades(x_least..x_most), decades(y_least..y_most))
            .map_err(|error| failed(&error))?;
        chart
            .configure_mesh()
            .bold_line_style(GRID.line(1.0))
            .axis_style(MUTED.line(1.0))
            .label_style(NOTE.style())
            .set_all_tick_mark_size(units(5.0))
            .x_label_formatter(&|intensity| format!("{intensity}"))
            .y_label_formatter(&|gflops| tflops(*gflops).replace(".0 ", " "))
            .draw()
            .map_err(|error| failed(&error))?;
        // The roof: memory's rate, then the peak.
        let start = (y_least / rate).max(x_least);
        let roof = [(start, start * rate), (knee, peak), (x_most, peak)];
        chart.draw_series(LineSeries::new(roof, MUTED.line(1.5))).map_err(|error| failed(&error))?;
        let pixels = |x: f64, y: f64| {
            let (x, y) = chart.backend_coord(&(x, y));
            (f64::from(x) / f64::from(units(1.0)), f64::from(y) / f64::from(units(1.0)))
        };
        let (x, y) = pixels(x_most, peak);
        canvas.text(x, y - 8.0, Anchor::End, NOTE, &format!("FP32 peak, {}", tflops(peak)));
        let (x, y) = pixels(start, start * rate);
        canvas.text(x + 36.0, y - 8.0, Anchor::Start, NOTE, &format!("device memory, {rate:.0} GB/s"));
        canvas.text(
            f64::midpoint(left, right),
            bottom + 40.0,
            Anchor::Middle,
            NOTE,
            "flop per byte that requests ask of global memory (32-byte sectors, counted by the simulator)",
        );
        let heights: Vec<f64> = points.iter().map(|point| pixels(point.1, point.2).1 + 4.0).collect();
        for ((name, intensity, gflops), height) in points.iter().zip(apart(&heights, 16.0, bottom - 4.0)) {
            let look = look(record, name);
            let place = pixels(*intensity, *gflops);
            canvas.marker(look.place, place, look.colour);
            canvas.text(place.0 + 10.0, height, Anchor::Start, NAME, name);
        }
        Ok(())
    })?;
    Ok(Some(svg))
}
