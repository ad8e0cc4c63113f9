//! The ladder: a bar for each step at one size.

use course::record::{CUBLAS, Record};

use super::sheet::{self, Sheet, WIDTH, look, tflops};
use crate::picture::{Anchor, NAME};

/// The chart, or `None` if the record has no times.
pub fn draw(record: &Record, name: &str, title: &str) -> Option<String> {
    let size = record.ladder_size()?;
    let bars: Vec<(&str, f64)> =
        record.names().into_iter().filter_map(|name| Some((name, size.gflops(name)?))).collect();
    let most = bars.iter().map(|bar| bar.1).reduce(f64::max)?;
    let value = |name: &str, gflops: f64| {
        let share = size.share_of_cublas(name).filter(|_| name != CUBLAS);
        tflops(gflops) + &share.map_or_else(String::new, |share| format!(", {:.1} % of cuBLAS", share * 100.0))
    };
    let told: Vec<String> = bars.iter().map(|(name, gflops)| format!("{name}: {}", value(name, *gflops))).collect();
    let (left, right, top, step) = (240.0, WIDTH - 240.0, 48.0, 34.0);
    let description = told.join("; ") + ".";
    let sheet = Sheet { name, title, height: top + step * bars.len() as f64 + 52.0, description: &description };
    let svg = sheet::draw(&sheet, record, |canvas| {
        for (at, (name, gflops)) in bars.iter().enumerate() {
            let y = top + step * at as f64;
            let width = ((right - left) * gflops / most).max(1.0);
            canvas.text(left - 10.0, y + 17.0, Anchor::Right, NAME, name);
            canvas.rect(left, y, width, 24.0, look(record, name).colour, 1.0);
            canvas.text(left + width + 8.0, y + 17.0, Anchor::Left, NAME, &value(name, *gflops));
        }
    });
    Some(svg)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charts::example;

    #[test]
    fn the_ladder_tells_each_steps_speed() {
        let svg = draw(&example(), "ladder", "the title").unwrap();
        assert!(svg.contains("step04_two: 25.6 TFLOP/s, 50.0 % of cuBLAS"), "{svg}");
        assert!(svg.contains(">51.2 TFLOP/s</text>"), "{svg}");
    }
}
