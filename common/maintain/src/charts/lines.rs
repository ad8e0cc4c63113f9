//! Speed over the edge of a cube: a line for each contender.

use anyhow::{Result, anyhow};
use course::record::{Record, SizeRecord};
use plotters::chart::{ChartBuilder, LabelAreaPosition};
use plotters::series::{DashedLineSeries, LineSeries};

use super::axis::{Axis, Scale};
use super::places::{apart, tick};
use super::series::{look, on_gpu, tflops};
use super::sheet::{self, Sheet, WIDTH};
use crate::picture::{Anchor, GRID, MUTED, NAME, NOTE, units};

/// Sizes that are powers of two.
pub fn powers_of_two(record: &Record) -> Vec<&SizeRecord> {
    let mut sizes: Vec<&SizeRecord> =
        record.sizes.iter().filter(|size| size.is_cube() && size.m.is_power_of_two()).collect();
    sizes.sort_by_key(|size| size.m);
    sizes
}

/// Sizes from 1000³ to 1100³.
pub fn saw_tooth(record: &Record) -> Vec<&SizeRecord> {
    let in_range = |size: &&SizeRecord| size.is_cube() && (1000..=1100).contains(&size.m);
    let mut sizes: Vec<&SizeRecord> = record.sizes.iter().filter(in_range).collect();
    sizes.sort_by_key(|size| size.m);
    sizes
}

/// The chart, or `None` if there are too few sizes for a line.
pub fn draw(record: &Record, name: &str, title: &str, scale: Scale, sizes: &[&SizeRecord]) -> Result<Option<String>> {
    let (Some(first), Some(last)) = (sizes.first(), sizes.last()) else { return Ok(None) };
    let speeds = on_gpu(record).into_iter().flat_map(|name| sizes.iter().filter_map(move |size| size.gflops(name)));
    let Some(most) = speeds.reduce(f64::max).filter(|_| sizes.len() >= 3) else { return Ok(None) };
    let step = tick(most / 1e3, 8.0);
    let limit = (most / 1e3 / step).ceil() * step;
    let mut told = Vec::new();
    for name in on_gpu(record) {
        let of = |size: &SizeRecord| size.gflops(name).map(|speed| format!("{} at {}", tflops(speed), size.words()));
        let ends: Vec<String> = [first, last].into_iter().filter_map(|size| of(size)).collect();
        if !ends.is_empty() {
            told.push(format!("{name}: {}", ends.join(", ")));
        }
    }
    let description = told.join("; ") + ".";
    let sheet = Sheet { name, title, height: 512.0, description: &description };
    let (left, right, top, bottom) = (64.0, WIDTH - 190.0, 64.0, 424.0);
    let svg = sheet::draw(&sheet, record, |canvas| {
        let failed = |error: &dyn std::fmt::Display| anyhow!("the chart cannot be drawn: {error}");
        let marked = |edge: u64| scale == Scale::Logarithmic || edge.is_multiple_of(20);
        let edges = sizes.iter().map(|size| size.m).filter(|&edge| marked(edge)).map(|edge| edge as f64).collect();
        let speeds = (0..=(limit / step).round() as u32).map(|at| f64::from(at) * step).collect();
        let mut chart = ChartBuilder::on(&canvas.area())
            .margin_left(units(left - 60.0))
            .margin_top(units(top))
            .margin_right(units(WIDTH - right))
            .margin_bottom(units(sheet.height - bottom - 26.0))
            .set_label_area_size(LabelAreaPosition::Left, units(60.0))
            .set_label_area_size(LabelAreaPosition::Bottom, units(26.0))
            .build_cartesian_2d(
                Axis::new(scale, first.m as f64..last.m as f64, edges),
                Axis::new(Scale::Even, 0.0..limit, speeds),
            )
            .map_err(|error| failed(&error))?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .bold_line_style(GRID.line(1.0))
            .axis_style(MUTED.line(1.0))
            .label_style(NOTE.style())
            .set_all_tick_mark_size(units(5.0))
            .x_label_formatter(&|edge| format!("{edge}"))
            .y_label_formatter(&|speed| format!("{}", (speed * 1e3).round() / 1e3))
            .draw()
            .map_err(|error| failed(&error))?;
        let mut labels = Vec::new();
        for name in on_gpu(record) {
            let points: Vec<(f64, f64)> =
                sizes.iter().filter_map(|size| Some((size.m as f64, size.gflops(name)? / 1e3))).collect();
            let look = look(record, name);
            let style = look.colour.line(2.0);
            if look.library {
                let dashes = DashedLineSeries::new(points.iter().copied(), units(7.0), units(4.0), style);
                chart.draw_series(dashes).map_err(|error| failed(&error))?;
            } else {
                chart.draw_series(LineSeries::new(points.iter().copied(), style)).map_err(|error| failed(&error))?;
            }
            let pixels = |point: &(f64, f64)| {
                let (x, y) = chart.backend_coord(point);
                (f64::from(x) / f64::from(units(1.0)), f64::from(y) / f64::from(units(1.0)))
            };
            let Some(end) = points.last().map(pixels) else { continue };
            for point in &points {
                canvas.marker(look.place, pixels(point), look.colour);
            }
            labels.push((name, look, end.1 + 4.0));
        }
        canvas.text(left - 8.0, top - 14.0, Anchor::End, NOTE, "TFLOP/s");
        canvas.text(f64::midpoint(left, right), bottom + 40.0, Anchor::Middle, NOTE, "M = N = K");
        let heights: Vec<f64> = labels.iter().map(|label| label.2).collect();
        for ((name, look, _), height) in labels.iter().zip(apart(&heights, 16.0, bottom)) {
            canvas.marker(look.place, (right + 14.0, height - 4.5), look.colour);
            canvas.text(right + 25.0, height, Anchor::Start, NAME, name);
        }
        Ok(())
    })?;
    Ok(Some(svg))
}
