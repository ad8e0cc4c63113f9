//! A plot of values over values, within a picture: axes that are even or logarithmic, with marks at chosen values, and lines;
//! and where marks and labels go.

use std::ops::Range;

use crate::picture::{Anchor, Canvas, Colour, GRID, MUTED, NOTE};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    Even,
    Logarithmic,
}

pub struct Axis {
    pub scale: Scale,
    pub range: Range<f64>,
    pub marks: Vec<f64>,
}

impl Axis {
    /// How far along the axis a value is, from 0 to 1.
    fn share(&self, value: f64) -> f64 {
        let place = |value: f64| if self.scale == Scale::Logarithmic { value.log2() } else { value };
        (place(value) - place(self.range.start)) / (place(self.range.end) - place(self.range.start))
    }
}

/// Height of the sheet of a plot, and where the plot ends, in pixels.
pub const HEIGHT: f64 = 512.0;
pub const BOTTOM: f64 = 424.0;

/// Words of a mark on an axis.
type Words<'a> = &'a dyn Fn(f64) -> String;

/// The axes as they are drawn, and what is drawn in between.
pub struct Plot {
    axes: [Axis; 2],
    /// The sides of the plot, in pixels.
    left: f64,
    right: f64,
    top: f64,
}

impl Plot {
    /// Draws the axes between these sides, in pixels: left, right and top.
    pub fn new(canvas: &mut Canvas, sides: [f64; 3], axes: [Axis; 2], words: [Words; 2], grid: bool) -> Self {
        let [left, right, top] = sides;
        let plot = Self { axes, left, right, top };
        let [x_axis, y_axis] = &plot.axes;
        for &mark in &y_axis.marks {
            let (_, y) = plot.pixels((x_axis.range.start, mark));
            canvas.line(&[(left - 5.0, y), (right, y)], GRID, 1.0, false);
            canvas.text(left - 9.0, y + 4.0, Anchor::Right, NOTE, &words[1](mark));
        }
        for &mark in &x_axis.marks {
            let (x, _) = plot.pixels((mark, y_axis.range.start));
            let end = if grid { top } else { BOTTOM };
            canvas.line(&[(x, BOTTOM + 5.0), (x, end)], GRID, 1.0, false);
            canvas.text(x, BOTTOM + 20.0, Anchor::Center, NOTE, &words[0](mark));
        }
        canvas.line(&[(left, top), (left, BOTTOM), (right, BOTTOM)], MUTED, 1.0, false);
        plot
    }

    pub fn line(&self, canvas: &mut Canvas, points: &[(f64, f64)], colour: Colour, width: f64, dashed: bool) {
        let points: Vec<(f64, f64)> = points.iter().map(|&point| self.pixels(point)).collect();
        canvas.line(&points, colour, width, dashed);
    }

    /// A line with a marker at each point: that of the contender in this place.
    pub fn curve(&self, canvas: &mut Canvas, place: usize, points: &[(f64, f64)], colour: Colour, dashed: bool) {
        self.line(canvas, points, colour, 2.0, dashed);
        for &point in points {
            canvas.marker(place, self.pixels(point), colour);
        }
    }

    /// The place of a point on the sheet.
    pub fn pixels(&self, (x, y): (f64, f64)) -> (f64, f64) {
        let [x_axis, y_axis] = &self.axes;
        let along = |from: f64, to: f64, share: f64| from + (to - from) * share;
        (along(self.left, self.right, x_axis.share(x)), along(BOTTOM, self.top, y_axis.share(y)))
    }
}

/// A round number of which `most` or fewer reach the limit.
pub fn tick(limit: f64, most: f64) -> f64 {
    let rough = (limit / most).max(f64::MIN_POSITIVE);
    let power = 10_f64.powf(rough.log10().floor());
    let digit = [1.0, 2.0, 5.0, 10.0].into_iter().find(|digit| digit * power >= rough * (1.0 - 1e-9)).unwrap_or(10.0);
    digit * power
}

/// Moves labels apart so that none covers another, in the order of their heights.
pub fn apart(heights: &[f64], space: f64, bottom: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..heights.len()).collect();
    order.sort_by(|&a, &b| heights[a].total_cmp(&heights[b]));
    let mut placed = heights.to_vec();
    let mut floor = f64::NEG_INFINITY;
    for &at in &order {
        placed[at] = placed[at].max(floor);
        floor = placed[at] + space;
    }
    let mut ceiling = bottom;
    for &at in order.iter().rev() {
        placed[at] = placed[at].min(ceiling);
        ceiling = placed[at] - space;
    }
    placed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_lie_evenly_or_by_their_factors() {
        let axis = |scale, range| Axis { scale, range, marks: vec![] };
        let plot = Plot {
            axes: [axis(Scale::Even, 0.0..100.0), axis(Scale::Logarithmic, 256.0..4096.0)],
            left: 10.0,
            right: 50.0,
            top: BOTTOM - 4.0,
        };
        for (point, place) in [((0.0, 256.0), (10.0, BOTTOM)), ((25.0, 512.0), (20.0, BOTTOM - 1.0))] {
            assert_eq!(format!("{:?}", plot.pixels(point)), format!("{place:?}"));
        }
    }

    #[test]
    fn labels_do_not_cover_each_other_and_stay_inside() {
        let placed = apart(&[100.0, 101.0, 99.0, 300.0, 299.0], 16.0, 305.0);
        let mut sorted = placed.clone();
        sorted.sort_by(f64::total_cmp);
        assert!(sorted.windows(2).all(|pair| pair[1] - pair[0] >= 15.999), "{placed:?}");
        assert!(placed.iter().all(|&y| y <= 305.0) && placed[2] < placed[0] && placed[0] < placed[1]);
    }

    #[test]
    fn ticks_are_round() {
        for (limit, step) in [(51.2, 10.0), (7.0, 1.0), (0.9, 0.2), (800.0, 100.0)] {
            assert!((tick(limit, 8.0) - step).abs() < 1e-9, "{limit}: {}", tick(limit, 8.0));
        }
    }
}
