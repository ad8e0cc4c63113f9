//! Charts of a record, as SVG: the ladder, speed over size, the saw-tooth of the tiles, and the roofline.
//!
//! Each follows the reader's light or dark theme, has its own background, and says in `<title>` and `<desc>` what it
//! shows. Series differ in colour, in marker and by the label beside them.

use std::fmt::Write as _;

use course::record::{CUBLAS, Record, SizeRecord, size_words};

/// A chart that can be drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chart {
    /// All steps at one size.
    Ladder,
    /// All steps over the edge of a cube.
    Speed,
    /// All steps from 1000³ to 1100³.
    SawTooth,
    /// Speed over arithmetic intensity, under the GPU's roofs.
    Roofline,
}

impl Chart {
    /// All charts.
    pub const ALL: [Self; 4] = [Self::Ladder, Self::Speed, Self::SawTooth, Self::Roofline];

    /// The end of the file's name, and the name in `<!-- generated:chart NAME -->`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ladder => "ladder",
            Self::Speed => "speed",
            Self::SawTooth => "saw-tooth",
            Self::Roofline => "roofline",
        }
    }

    /// What it shows, in a line.
    pub fn title(self, record: &Record) -> String {
        let gpu = &record.device.name;
        let size = record.ladder_size().map_or_else(String::new, SizeRecord::words);
        match self {
            Self::Ladder => format!("The steps at {size} on {gpu}"),
            Self::Speed => format!("Speed over size on {gpu}"),
            Self::SawTooth => format!("Speed from 1000³ to 1100³ on {gpu}"),
            Self::Roofline => format!("Roofline of {gpu} with the steps at {size}"),
        }
    }

    /// The SVG, or `None` where the record has nothing to draw.
    pub fn draw(self, record: &Record) -> Option<String> {
        match self {
            Self::Ladder => ladder(record),
            Self::Speed => lines(record, self, &powers_of_two(record)),
            Self::SawTooth => lines(record, self, &saw_tooth(record)),
            Self::Roofline => roofline(record),
        }
    }
}

const WIDTH: f64 = 860.0;
const STYLE: &str = "\
text{font:13px system-ui,-apple-system,'Segoe UI',Roboto,sans-serif;fill:#1f2328}
.h{font-size:16px;font-weight:600}.s{font-size:12px;fill:#59636e}
.bg{fill:#fff}.g{stroke:#d1d9e0}.a{stroke:#59636e;fill:none;stroke-width:1.5}
.l{fill:none;stroke-width:2}.d{stroke-dasharray:7 4}
.c0{--c:#59636e}.c1{--c:#8f5d00}.c2{--c:#7b3fb3}.c3{--c:#00796b}.c4{--c:#b3261e}.c5{--c:#0550ae}.c6{--c:#9c2779}.c7{--c:#4d6b00}.cb{--c:#1f2328}
.l{stroke:var(--c)}.m,.b{fill:var(--c)}
@media (prefers-color-scheme:dark){text{fill:#e6edf3}.s{fill:#9198a1}.bg{fill:#0d1117}.g{stroke:#30363d}.a{stroke:#9198a1}
.c0{--c:#9198a1}.c1{--c:#d9a441}.c2{--c:#bc8cff}.c3{--c:#4dc4b4}.c4{--c:#ff7b72}.c5{--c:#6cb6ff}.c6{--c:#f778ba}.c7{--c:#a5c23c}.cb{--c:#e6edf3}}
";

/// An SVG under construction.
struct Svg {
    body: String,
    height: f64,
}

impl Svg {
    fn new(height: f64) -> Self {
        Self { body: String::new(), height }
    }

    fn text(&mut self, x: f64, y: f64, anchor: &str, class: &str, text: &str) {
        let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
        let _ = writeln!(
            self.body,
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\"{class}>{}</text>",
            escape(text)
        );
    }

    fn line(&mut self, class: &str, [x1, y1, x2, y2]: [f64; 4]) {
        let _ = writeln!(
            self.body,
            "<line class=\"{class}\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>"
        );
    }

    fn path(&mut self, class: &str, points: &[(f64, f64)]) {
        let points: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let _ = writeln!(self.body, "<polyline class=\"{class}\" points=\"{}\"/>", points.join(" "));
    }

    /// A marker whose shape differs from series to series.
    fn marker(&mut self, series: usize, class: &str, (x, y): (f64, f64)) {
        let r = 4.5;
        let shape = match series % 4 {
            0 => format!("<circle class=\"m {class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{r}\"/>"),
            1 => format!(
                "<rect class=\"m {class}\" x=\"{:.1}\" y=\"{:.1}\" width=\"8\" height=\"8\"/>",
                x - 4.0,
                y - 4.0
            ),
            2 => format!("<path class=\"m {class}\" d=\"M{x:.1} {:.1}l5.5 9.5h-11z\"/>", y - 5.5),
            _ => format!("<path class=\"m {class}\" d=\"M{x:.1} {:.1}l5.5 5.5l-5.5 5.5l-5.5 -5.5z\"/>", y - 5.5),
        };
        self.body += &(shape + "\n");
    }

    fn finish(self, title: &str, description: &str, source: &str) -> String {
        let height = self.height;
        let mut head = Self::new(height);
        head.text(16.0, 26.0, "start", "h", title);
        for (line, text) in source.lines().rev().enumerate() {
            head.text(16.0, height - 12.0 - 16.0 * line as f64, "start", "s", text);
        }
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" role=\"img\" aria-labelledby=\"t d\">\n\
             <title id=\"t\">{}</title>\n<desc id=\"d\">{}</desc>\n<style>\n{STYLE}</style>\n\
             <rect class=\"bg\" width=\"{WIDTH}\" height=\"{height}\"/>\n{}{}</svg>\n",
            escape(title),
            escape(description),
            head.body,
            self.body
        )
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// The colour of a contender: its place among all.
fn class(record: &Record, name: &str) -> (usize, String) {
    let at = record.steps.iter().position(|step| step.name == name);
    at.map_or_else(|| (record.steps.len(), "cb".to_owned()), |at| (at, format!("c{}", at % 8)))
}

fn tflops(gflops: f64) -> String {
    if gflops >= 1e3 { format!("{:.1} TFLOP/s", gflops / 1e3) } else { format!("{gflops:.1} GFLOP/s") }
}

fn source(record: &Record) -> String {
    format!("{}\nmedian of samples; {}", record.provenance(), record.l2.words())
}

/// A round number of which `most` or fewer reach the limit.
fn tick(limit: f64, most: f64) -> f64 {
    let rough = (limit / most).max(f64::MIN_POSITIVE);
    let power = 10_f64.powf(rough.log10().floor());
    let digit = [1.0, 2.0, 5.0, 10.0].into_iter().find(|digit| digit * power >= rough * (1.0 - 1e-9)).unwrap_or(10.0);
    digit * power
}

/// Moves labels apart so that none covers another, in the order of their heights.
fn apart(heights: &[f64], space: f64, bottom: f64) -> Vec<f64> {
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

fn ladder(record: &Record) -> Option<String> {
    let size = record.ladder_size()?;
    let bars: Vec<(&str, f64)> =
        record.names().into_iter().filter_map(|name| Some((name, size.gflops(name)?))).collect();
    let most = bars.iter().map(|bar| bar.1).reduce(f64::max)?;
    let (left, right, top, step) = (190.0, WIDTH - 240.0, 48.0, 34.0);
    let mut svg = Svg::new(top + step * bars.len() as f64 + 52.0);
    let mut told = Vec::new();
    for (at, (name, gflops)) in bars.iter().enumerate() {
        let y = top + step * at as f64;
        let width = ((right - left) * gflops / most).max(1.0);
        let (_, class) = class(record, name);
        svg.text(left - 10.0, y + 17.0, "end", "", name);
        let _ = writeln!(
            svg.body,
            "<rect class=\"b {class}\" x=\"{left:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"24\" rx=\"2\"/>"
        );
        let share = size.share_of_cublas(name).filter(|_| *name != CUBLAS);
        let share = share.map_or_else(String::new, |share| format!(", {:.1} % of cuBLAS", share * 100.0));
        svg.text(left + width + 8.0, y + 17.0, "start", "", &format!("{}{share}", tflops(*gflops)));
        told.push(format!("{name}: {}{share}", tflops(*gflops)));
    }
    Some(svg.finish(&Chart::Ladder.title(record), &(told.join("; ") + "."), &source(record)))
}

fn powers_of_two(record: &Record) -> Vec<&SizeRecord> {
    let mut sizes: Vec<&SizeRecord> =
        record.sizes.iter().filter(|size| size.is_cube() && size.m.is_power_of_two()).collect();
    sizes.sort_by_key(|size| size.m);
    sizes
}

fn saw_tooth(record: &Record) -> Vec<&SizeRecord> {
    let in_range = |size: &&SizeRecord| size.is_cube() && (1000..=1100).contains(&size.m);
    let mut sizes: Vec<&SizeRecord> = record.sizes.iter().filter(in_range).collect();
    sizes.sort_by_key(|size| size.m);
    sizes
}

/// All contenders but those of the host, whose line would lie on the axis.
fn on_gpu(record: &Record) -> Vec<&str> {
    let host = |name: &&str| record.steps.iter().any(|step| step.host && step.name == **name);
    record.names().into_iter().filter(|name| !host(name)).collect()
}

/// Speed over the edge of a cube.
fn lines(record: &Record, chart: Chart, sizes: &[&SizeRecord]) -> Option<String> {
    let (first, last) = (sizes.first()?.m as f64, sizes.last()?.m as f64);
    if sizes.len() < 3 {
        return None;
    }
    let (left, right, top, bottom) = (64.0, WIDTH - 190.0, 64.0, 424.0);
    let most =
        on_gpu(record).iter().flat_map(|name| sizes.iter().filter_map(|size| size.gflops(name))).reduce(f64::max)?;
    let step = tick(most / 1e3, 8.0);
    let limit = (most / 1e3 / step).ceil() * step;
    let logarithmic = chart == Chart::Speed;
    let scale = |edge: f64| if logarithmic { edge.log2() } else { edge };
    let x = |edge: f64| left + (right - left) * (scale(edge) - scale(first)) / (scale(last) - scale(first));
    let y = |gflops: f64| bottom - (bottom - top) * gflops / 1e3 / limit;
    let mut svg = Svg::new(512.0);
    for at in 0..=(limit / step).round() as u32 {
        let value = f64::from(at) * step;
        svg.line("g", [left, y(value * 1e3), right, y(value * 1e3)]);
        svg.text(left - 8.0, y(value * 1e3) + 4.0, "end", "s", &format!("{}", (value * 1e3).round() / 1e3));
    }
    for size in sizes {
        let edge = size.m;
        if logarithmic || edge.is_multiple_of(20) {
            svg.line("g", [x(edge as f64), bottom, x(edge as f64), bottom + 5.0]);
            svg.text(x(edge as f64), bottom + 20.0, "middle", "s", &edge.to_string());
        }
    }
    svg.text(left - 8.0, top - 10.0, "end", "s", "TFLOP/s");
    svg.text(f64::midpoint(left, right), bottom + 40.0, "middle", "s", "M = N = K");
    svg.line("a", [left, bottom, right, bottom]);
    let mut labels = Vec::new();
    let mut told = Vec::new();
    for name in on_gpu(record) {
        let points: Vec<(f64, f64)> =
            sizes.iter().filter_map(|size| Some((x(size.m as f64), y(size.gflops(name)?)))).collect();
        let Some(&end) = points.last() else { continue };
        let (series, class) = class(record, name);
        let dashed = if name == CUBLAS { " d" } else { "" };
        svg.path(&format!("l {class}{dashed}"), &points);
        for &point in &points {
            svg.marker(series, &class, point);
        }
        labels.push((name, (series, class), end));
        let of =
            |size: &&&SizeRecord| size.gflops(name).map(|gflops| format!("{} at {}", tflops(gflops), size.words()));
        let ends: Vec<String> = sizes.first().iter().chain(sizes.last().iter()).filter_map(of).collect();
        told.push(format!("{name}: {}", ends.join(", ")));
    }
    let heights: Vec<f64> = labels.iter().map(|label| label.2.1 + 4.0).collect();
    for ((name, (series, class), _), height) in labels.iter().zip(apart(&heights, 16.0, bottom)) {
        svg.marker(*series, class, (right + 14.0, height - 4.5));
        svg.text(right + 25.0, height, "start", "", name);
    }
    Some(svg.finish(&chart.title(record), &(told.join("; ") + "."), &source(record)))
}

fn roofline(record: &Record) -> Option<String> {
    let figures = record.figures.filter(|figures| figures.memory_gb_per_s > 0.0)?;
    let size = record.ladder_size()?;
    let points: Vec<(&str, f64, f64)> = size
        .entries
        .iter()
        .filter_map(|entry| Some((entry.name.as_str(), entry.traffic?.intensity(), size.gflops(&entry.name)?)))
        .filter(|(_, intensity, _)| intensity.is_finite())
        .collect();
    if points.is_empty() {
        return None;
    }
    let (left, right, top, bottom) = (92.0, WIDTH - 150.0, 48.0, 424.0);
    let knee = figures.fp32_peak_gflops / figures.memory_gb_per_s;
    let down = |value: f64| 10_f64.powf(value.log10().floor());
    let up = |value: f64| 10_f64.powf(value.log10().ceil());
    let least = |values: &mut dyn Iterator<Item = f64>| values.fold(f64::INFINITY, f64::min);
    let greatest = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, f64::max);
    let x_range = [
        down(least(&mut points.iter().map(|point| point.1)).min(0.25)),
        up(greatest(&mut points.iter().map(|point| point.1)).max(knee * 2.0)),
    ];
    let y_range = [down(least(&mut points.iter().map(|point| point.2)).min(1e3)), up(figures.fp32_peak_gflops)];
    let place =
        |value: f64, range: [f64; 2]| (value.log10() - range[0].log10()) / (range[1].log10() - range[0].log10());
    let x = |intensity: f64| left + (right - left) * place(intensity, x_range);
    let y = |gflops: f64| bottom - (bottom - top) * place(gflops, y_range);
    let mut svg = Svg::new(512.0);
    let decades = |range: [f64; 2]| {
        (range[0].log10().round() as i32..=range[1].log10().round() as i32).map(|power| 10_f64.powi(power))
    };
    for value in decades(x_range) {
        svg.line("g", [x(value), top, x(value), bottom]);
        svg.text(x(value), bottom + 20.0, "middle", "s", &format!("{value}"));
    }
    for value in decades(y_range) {
        svg.line("g", [left, y(value), right, y(value)]);
        svg.text(left - 8.0, y(value) + 4.0, "end", "s", &tflops(value).replace(".0 ", " "));
    }
    svg.text(
        f64::midpoint(left, right),
        bottom + 40.0,
        "middle",
        "s",
        "flop per byte that requests ask of global memory (32-byte sectors, counted by the simulator)",
    );
    // The roof: memory's rate, then the peak.
    let start = (y_range[0] / figures.memory_gb_per_s).max(x_range[0]);
    let roof = [
        (start, start * figures.memory_gb_per_s),
        (knee, figures.fp32_peak_gflops),
        (x_range[1], figures.fp32_peak_gflops),
    ];
    svg.path("a", &roof.map(|(intensity, gflops)| (x(intensity), y(gflops))));
    svg.text(
        x(x_range[1]),
        y(figures.fp32_peak_gflops) - 8.0,
        "end",
        "s",
        &format!("FP32 peak, {}", tflops(figures.fp32_peak_gflops)),
    );
    svg.text(
        x(start) + 36.0,
        y(start * figures.memory_gb_per_s) - 8.0,
        "start",
        "s",
        &format!("device memory, {:.0} GB/s", figures.memory_gb_per_s),
    );
    let heights: Vec<f64> = points.iter().map(|point| y(point.2) + 4.0).collect();
    let mut told = Vec::new();
    for ((name, intensity, gflops), height) in points.iter().zip(apart(&heights, 16.0, bottom - 4.0)) {
        let (series, class) = class(record, name);
        svg.marker(series, &class, (x(*intensity), y(*gflops)));
        svg.text(x(*intensity) + 10.0, height, "start", "", name);
        told.push(format!("{name}: {intensity:.2} flop per byte, {}", tflops(*gflops)));
    }
    let description = format!(
        "{}. The roof is {:.0} GB/s of device memory and {} of FP32; a step above the slanted part is served by caches.",
        told.join("; "),
        figures.memory_gb_per_s,
        tflops(figures.fp32_peak_gflops)
    );
    Some(svg.finish(&Chart::Roofline.title(record), &description, &source(record)))
}

/// Text that stands in for a chart where it cannot be seen.
pub fn alternative(chart: Chart, record: &Record) -> String {
    let size = record.ladder_size().map_or_else(String::new, |size| size_words([size.m, size.n, size.k]));
    format!("{} ({size})", chart.title(record)).replace([']', '['], "")
}

#[cfg(test)]
mod tests {
    use super::*;
    use course::example::example;

    #[test]
    fn every_chart_has_a_title_a_description_and_a_dark_theme_and_no_bare_ampersand() {
        let mut record = example();
        for edge in [1000, 1024, 1100, 2048] {
            let mut size = record.sizes[0].clone();
            (size.m, size.n, size.k) = (edge, edge, edge);
            if edge != 1024 {
                record.sizes.push(size);
            }
        }
        for chart in Chart::ALL {
            let svg = chart.draw(&record).unwrap_or_else(|| panic!("{} draws nothing", chart.name()));
            assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"));
            assert!(svg.contains("<title id=\"t\">") && svg.contains("<desc id=\"d\">"));
            assert!(svg.contains("prefers-color-scheme:dark"));
            assert!(svg.contains("&lt;of 80 GB&gt; &amp; more") && !svg.contains("<of 80"), "{svg}");
            assert!(!svg.contains("NaN") && !svg.contains("inf\""), "{svg}");
        }
    }

    #[test]
    fn the_ladder_tells_each_steps_speed() {
        let svg = ladder(&example()).unwrap();
        assert!(svg.contains("step04_two: 25.6 TFLOP/s, 50.0 % of cuBLAS"), "{svg}");
        let mut none = example();
        none.sizes.clear();
        assert!(Chart::ALL.iter().all(|chart| chart.draw(&none).is_none()));
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
