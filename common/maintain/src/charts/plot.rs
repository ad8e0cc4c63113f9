//! A plot of values over values, within a chart: axes that are even or logarithmic, with marks at chosen values, and lines.

use std::fmt::Display;
use std::ops::Range;

use anyhow::{Result, anyhow};
use plotters::chart::{ChartBuilder, ChartContext, LabelAreaPosition};
use plotters::coord::cartesian::Cartesian2d;
use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};
use plotters::prelude::SVGBackend;
use plotters::series::{DashedLineSeries, LineSeries};
use plotters::style::ShapeStyle;

use crate::picture::{Canvas, Colour, GRID, MUTED, NOTE, units};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    Even,
    Logarithmic,
}

/// An axis. Those of `plotters` choose their marks themselves, or cannot be formatted once marks are chosen.
pub struct Axis {
    pub scale: Scale,
    pub range: Range<f64>,
    pub marks: Vec<f64>,
}

impl Ranged for Axis {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        let place = |value: f64| if self.scale == Scale::Logarithmic { value.log2() } else { value };
        let (first, last) = (place(self.range.start), place(self.range.end));
        let share = (place(*value) - first) / (last - first);
        limit.0 + (f64::from(limit.1 - limit.0) * share).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        // There are no marks of less weight.
        if hint.weight().allow_light_points() { Vec::new() } else { self.marks.clone() }
    }

    fn range(&self) -> Range<f64> {
        self.range.clone()
    }
}

/// Height of the sheet of a plot, and where the plot ends, in pixels.
pub const HEIGHT: f64 = 512.0;
pub const BOTTOM: f64 = 424.0;

/// Words of a mark on an axis.
type Words<'a> = &'a dyn Fn(&f64) -> String;

/// The axes as they are drawn, and what is drawn in between.
pub struct Plot<'a>(ChartContext<'a, SVGBackend<'a>, Cartesian2d<Axis, Axis>>);

impl<'a> Plot<'a> {
    /// Draws the axes with these pixels left free on the left, on the right and above.
    pub fn new(canvas: &Canvas<'a>, free: [f64; 3], axes: [Axis; 2], words: [Words; 2], grid: bool) -> Result<Self> {
        let ([left, right, top], [x, y]) = (free, axes);
        let mut chart = ChartBuilder::on(&canvas.area())
            .margin_left(units(4.0))
            .margin_top(units(top))
            .margin_right(units(right))
            .margin_bottom(units(HEIGHT - BOTTOM - 26.0))
            .set_label_area_size(LabelAreaPosition::Left, units(left - 4.0))
            .set_label_area_size(LabelAreaPosition::Bottom, units(26.0))
            .build_cartesian_2d(x, y)
            .map_err(failed)?;
        let mut mesh = chart.configure_mesh();
        if !grid {
            mesh.disable_x_mesh();
        }
        mesh.bold_line_style(GRID.line(1.0))
            .axis_style(MUTED.line(1.0))
            .label_style(NOTE.style())
            .set_all_tick_mark_size(units(5.0))
            .x_label_formatter(&words[0])
            .y_label_formatter(&words[1])
            .draw()
            .map_err(failed)?;
        Ok(Self(chart))
    }

    pub fn line(&mut self, points: &[(f64, f64)], style: ShapeStyle, dashed: bool) -> Result<()> {
        let points = points.iter().copied();
        if dashed {
            self.0.draw_series(DashedLineSeries::new(points, units(7.0), units(4.0), style)).map_err(failed)?;
        } else {
            self.0.draw_series(LineSeries::new(points, style)).map_err(failed)?;
        }
        Ok(())
    }

    /// A line with a marker at each point: that of the contender in this place.
    pub fn curve(
        &mut self,
        canvas: &mut Canvas,
        place: usize,
        points: &[(f64, f64)],
        colour: Colour,
        dashed: bool,
    ) -> Result<()> {
        self.line(points, colour.line(2.0), dashed)?;
        for &point in points {
            canvas.marker(place, self.pixels(point), colour);
        }
        Ok(())
    }

    /// The place of a point on the sheet.
    pub fn pixels(&self, point: (f64, f64)) -> (f64, f64) {
        let (x, y) = self.0.backend_coord(&point);
        (f64::from(x) / f64::from(units(1.0)), f64::from(y) / f64::from(units(1.0)))
    }
}

fn failed(error: impl Display) -> anyhow::Error {
    anyhow!("the chart cannot be drawn: {error}")
}

#[cfg(test)]
mod tests {
    use plotters::coord::ranged1d::BoldPoints;

    use super::*;

    #[test]
    fn values_lie_evenly_or_by_their_factors() {
        let even = Axis { scale: Scale::Even, range: 0.0..100.0, marks: vec![0.0, 50.0] };
        assert_eq!([0.0, 25.0, 100.0].map(|value| even.map(&value, (1000, 0))), [1000, 750, 0]);
        let log = Axis { scale: Scale::Logarithmic, range: 256.0..4096.0, marks: vec![256.0] };
        assert_eq!([256.0, 512.0, 1024.0, 4096.0].map(|value| log.map(&value, (10, 410))), [10, 110, 210, 410]);
        assert_eq!(log.key_points(BoldPoints(5)), [256.0]);
        assert_eq!(log.key_points(5), [0.0; 0]);
    }
}
