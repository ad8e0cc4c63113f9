//! The saw-tooth: speed over the size of squares, of step 6, of the kernel for every shape and of the library.

use anyhow::Result;

use crate::charts::plot::{Axis, BOTTOM, HEIGHT, Plot, Scale};
use crate::picture::{self, Anchor, Frame, INK, Kind, NOTE, SERIES};
use beyond::shapes::squares::{CONTENDERS, RECORD, Squares};

/// The figure's name.
pub const SAW_TOOTH: &str = "every-shape-saw-tooth";
pub fn saw_tooth() -> Result<String> {
    Ok(draw(&Squares::read(RECORD)?))
}

fn draw(record: &Squares) -> String {
    let lines = CONTENDERS.map(|(name, us)| (name, record.speeds(us)));
    let all: Vec<(f64, f64)> = lines.iter().flat_map(|(_, points)| points.clone()).collect();
    let most = |of: fn(&(f64, f64)) -> f64| all.iter().map(of).fold(0.0, f64::max);
    let (first, last) = (all.first().map_or(0.0, |point| point.0), most(|point| point.0));
    let top_speed = (most(|point| point.1) / 10.0).ceil() * 10.0;
    let told: Vec<String> = lines
        .iter()
        .filter_map(|(name, points)| {
            let (size, speed) = points.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
            Some(format!("{name}: least {speed:.1} TFLOP/s at {size}³"))
        })
        .collect();
    let (width, left, right, top) = (760.0, 60.0, 170.0, 40.0);
    let frame = Frame {
        kind: Kind::Figure,
        name: SAW_TOOTH,
        width,
        height: HEIGHT - 40.0,
        title: "Speed over the size of square products",
        description: &format!("{}. {}", told.join("; "), record.provenance),
    };
    picture::draw(&frame, |canvas| {
        let marks = |step: f64, from: f64, to: f64| -> Vec<f64> {
            ((from / step).ceil() as u32..=(to / step) as u32).map(|at| f64::from(at) * step).collect()
        };
        let x = Axis { scale: Scale::Even, range: first..last.max(first + 1.0), marks: marks(512.0, first, last) };
        let y = Axis { scale: Scale::Even, range: 0.0..top_speed.max(1.0), marks: marks(10.0, 0.0, top_speed) };
        let words: [&dyn Fn(f64) -> String; 2] = [&|size| format!("{size}"), &|speed| format!("{speed}")];
        let plot = Plot::new(canvas, [left, width - right, top], [x, y], words, true);
        for (number, (name, points)) in lines.iter().enumerate() {
            let library = *name == "cuBLAS";
            let colour = if library { INK } else { SERIES[5 - 2 * number] };
            plot.curve(canvas, number, points, colour, library);
            canvas.key(number, (width - right + 14.0, top + 10.0 + number as f64 * 20.0), colour, name);
        }
        canvas.text(8.0, top - 16.0, Anchor::Left, NOTE, "TFLOP/s");
        canvas.text(f64::midpoint(left, width - right), BOTTOM + 40.0, Anchor::Center, NOTE, "M = N = K");
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use beyond::shapes::squares::Square;

    #[test]
    fn a_record_is_drawn() {
        let square = |at: u64| {
            let us = (1024 + at * 128).pow(3) as f64 / 2e7;
            Square { size: 1024 + at * 128, cublas_us: us, before_us: us * 1.3, after_us: us * 0.9, right: true }
        };
        let record = Squares { provenance: "a GPU".into(), squares: (0..10).map(square).collect() };
        let svg = draw(&record);
        assert!(svg.contains("every_shape: least 44.4 TFLOP/s at ") && svg.contains("a GPU"), "{svg}");
    }
}
