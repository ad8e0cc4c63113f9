//! Speed over the edge of a cube: a line for each contender.

use course::record::{Record, SizeRecord};

use super::plot::{Axis, BOTTOM, HEIGHT, Plot, Scale, apart, tick};
use super::sheet::{self, Sheet, WIDTH, look, on_gpu, short, tflops};
use crate::picture::{Anchor, NAME, NOTE};

/// The chart of the edges that are powers of two, or `None` if there are too few for a line.
pub fn draw(record: &Record, name: &str, title: &str) -> Option<String> {
    let wanted = |size: &&SizeRecord| size.is_cube() && size.m.is_power_of_two();
    let mut sizes: Vec<&SizeRecord> = record.sizes.iter().filter(wanted).collect();
    sizes.sort_by_key(|size| size.m);
    let (first, last) = (sizes.first()?, sizes.last()?);
    let speeds = on_gpu(record).into_iter().flat_map(|name| sizes.iter().filter_map(move |size| size.gflops(name)));
    let most = speeds.reduce(f64::max).filter(|_| sizes.len() >= 3)?;
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
    let sheet = Sheet { name, title, height: HEIGHT, description: &description };
    let (left, right, top) = (64.0, 190.0, 64.0);
    let svg = sheet::draw(&sheet, record, |canvas| {
        let edges = sizes.iter().map(|size| size.m as f64).collect();
        let speeds = (0..=(limit / step).round() as u32).map(|at| f64::from(at) * step).collect();
        let x = Axis { scale: Scale::Logarithmic, range: first.m as f64..last.m as f64, marks: edges };
        let y = Axis { scale: Scale::Even, range: 0.0..limit, marks: speeds };
        let speed = |speed: f64| format!("{}", (speed * 1e3).round() / 1e3);
        let plot = Plot::new(canvas, [left, WIDTH - right, top], [x, y], [&|edge| format!("{edge}"), &speed], false);
        let mut labels = Vec::new();
        for name in on_gpu(record) {
            let points: Vec<(f64, f64)> =
                sizes.iter().filter_map(|size| Some((size.m as f64, size.gflops(name)? / 1e3))).collect();
            let look = look(record, name);
            plot.curve(canvas, look.place, &points, look.colour, look.library);
            labels.extend(points.last().map(|&end| (name, look, plot.pixels(end).1 + 4.0)));
        }
        let right = WIDTH - right;
        canvas.text(left - 8.0, top - 14.0, Anchor::Right, NOTE, "TFLOP/s");
        canvas.text(f64::midpoint(left, right), BOTTOM + 40.0, Anchor::Center, NOTE, "M = N = K");
        let heights: Vec<f64> = labels.iter().map(|label| label.2).collect();
        for ((name, look, _), height) in labels.iter().zip(apart(&heights, 16.0, BOTTOM)) {
            canvas.marker(look.place, (right + 14.0, height - 4.5), look.colour);
            canvas.text(right + 25.0, height, Anchor::Left, NAME, &short(name));
        }
    });
    Some(svg)
}
