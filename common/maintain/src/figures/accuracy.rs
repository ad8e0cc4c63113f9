//! Errors of products over the length of their sums.

use anyhow::Result;

use crate::charts::plot::{Axis, BOTTOM, HEIGHT, Plot, Scale};
use crate::picture::{self, Anchor, Frame, INK, Kind, NOTE, SERIES};
use beyond::accuracy::measured::Measured;
use beyond::accuracy::values::Values;

/// Who is drawn, as the record names it and as the figure does.
const CONTENDERS: [(&str, &str); 4] = [
    ("cuBLAS TF32", "cuBLAS in TF32"),
    ("step06_prefetch/long_sums", "long_sums"),
    ("step06_prefetch", "step06_prefetch, FP32"),
    ("step06_prefetch/tensor_cores", "tensor_cores"),
];

/// The worst error over K, with positive values, whose sums grow.
pub fn errors() -> Result<String> {
    let record = Measured::read("h200")?;
    let wanted = record.errors.iter().filter(|at| at.values == Values::Positive);
    let of = |name: &str| -> Vec<(f64, f64)> {
        let points = wanted.clone().filter_map(|at| Some((at.k as f64, at.contenders.get(name)?.worst)));
        points.filter(|(_, worst)| *worst > 0.0).collect()
    };
    let told: Vec<String> = CONTENDERS
        .iter()
        .filter_map(|(name, words)| of(name).last().map(|(k, worst)| format!("{words}: {worst:.1e} at K = {k}")))
        .collect();
    let (width, left, right, top) = (760.0, 60.0, 190.0, 40.0);
    let frame = Frame {
        kind: Kind::Figure,
        name: "tensor-errors",
        width,
        height: HEIGHT - 40.0,
        title: "The worst error of a product of positive numbers, over the length of its sums",
        description: &format!("{}. {}", told.join("; "), record.provenance),
    };
    Ok(picture::draw(&frame, |canvas| {
        let powers = |from: i32, to: i32, step: usize| (from..=to).step_by(step).map(|at| 2_f64.powi(at)).collect();
        let x = Axis { scale: Scale::Logarithmic, range: 1.0..65_536.0, marks: powers(0, 16, 2) };
        let tens = (-8..=-3).map(|at| 10_f64.powi(at)).collect();
        let y = Axis { scale: Scale::Logarithmic, range: 1e-8..2e-3, marks: tens };
        let words: [&dyn Fn(f64) -> String; 2] = [&|k| format!("{k}"), &|error| format!("{error:.0e}")];
        let plot = Plot::new(canvas, [left, width - right, top], [x, y], words, true);
        for (number, (name, words)) in CONTENDERS.iter().enumerate() {
            let library = name.starts_with("cuBLAS");
            let colour = if library { INK } else { SERIES[number] };
            plot.curve(canvas, number, &of(name), colour, library);
            canvas.key(number, (width - right + 14.0, top + 10.0 + number as f64 * 20.0), colour, words);
        }
        canvas.text(8.0, top - 16.0, Anchor::Left, NOTE, "worst error, relative to |A|·|B|");
        canvas.text(f64::midpoint(left, width - right), BOTTOM + 40.0, Anchor::Center, NOTE, "K");
    }))
}
