//! An axis of a chart: even or logarithmic, with marks at chosen values.

use std::ops::Range;

use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};

/// How values lie on an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    Even,
    Logarithmic,
}

/// An axis. Those of `plotters` choose their marks themselves, or cannot be formatted once marks are chosen.
pub struct Axis {
    scale: Scale,
    range: Range<f64>,
    marks: Vec<f64>,
}

impl Axis {
    /// From the first value to the last, with marks.
    pub fn new(scale: Scale, range: Range<f64>, marks: Vec<f64>) -> Self {
        Self { scale, range, marks }
    }
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

#[cfg(test)]
mod tests {
    use plotters::coord::ranged1d::BoldPoints;

    use super::*;

    #[test]
    fn values_lie_evenly_or_by_their_factors() {
        let even = Axis::new(Scale::Even, 0.0..100.0, vec![0.0, 50.0]);
        assert_eq!([0.0, 25.0, 100.0].map(|value| even.map(&value, (1000, 0))), [1000, 750, 0]);
        let log = Axis::new(Scale::Logarithmic, 256.0..4096.0, vec![256.0]);
        assert_eq!([256.0, 512.0, 1024.0, 4096.0].map(|value| log.map(&value, (10, 410))), [10, 110, 210, 410]);
        assert_eq!(log.key_points(BoldPoints(5)), [256.0]);
        assert_eq!(log.key_points(5), [0.0; 0]);
    }
}
