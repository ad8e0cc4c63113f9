//! Charts of a record: the path of the rungs, speed over size, and the roofline.
//!
//! Each follows the reader's theme and says in `<title>` and `<desc>` what it shows. Series differ in their colour, their marker
//! and the label beside them.

use std::ops::Range;

use anyhow::Result;
use course::record::{CUBLAS, Record, SizeRecord};
use course::steps::split;
use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

pub struct Chart {
    /// The end of the file's name, which is also the name in `<!-- generated:chart NAME -->`.
    pub name: &'static str,
    rungs: bool,
    /// What it shows, in one line. `{gpu}` and `{size}` are replaced by the GPU's name and the size of the ladder.
    title: &'static str,
    /// `None` if the record has nothing to draw.
    draw: for<'a> fn(&'a Record) -> Option<Drawing<'a>>,
}

/// A chart without its title: its height, what it shows for readers who cannot see it, and what draws it.
type Drawing<'a> = (u32, String, Box<dyn Fn(&Area) -> Result<()> + 'a>);
type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Plot<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

const WIDTH: u32 = 860;
/// Height of the charts with two axes.
const HEIGHT: u32 = 512;

pub const CHARTS: [Chart; 3] = [
    Chart { name: "path", rungs: true, title: "The rungs of all steps at {size} on {gpu}", draw: ladder },
    Chart { name: "speed", rungs: false, title: "Speed over size on {gpu}", draw: lines },
    Chart { name: "roofline", rungs: false, title: "Roofline of {gpu} with the steps at {size}", draw: roofline },
];

const fn rgb(hex: u32) -> RGBColor {
    RGBColor((hex >> 16) as u8, (hex >> 8) as u8, hex as u8)
}

const INK: RGBColor = rgb(0x1f_23_28);
const MUTED: RGBColor = rgb(0x59_63_6e);
const GRID: RGBColor = rgb(0xd1_d9_e0);
const PAPER: RGBColor = rgb(0xff_ff_ff);
/// Colours of the steps.
const SERIES: [u32; 8] =
    [0x5f_68_75, 0x8f_5d_00, 0x7b_3f_b3, 0x00_79_6b, 0xb3_26_1e, 0x05_50_ae, 0x9c_27_79, 0x4d_6b_00];
/// The colours above, in the same order, on dark pages.
const DARK: [&str; 12] = [
    "#e6edf3", "#9198a1", "#30363d", "#0d1117", "#9aa2ad", "#d9a441", "#bc8cff", "#4dc4b4", "#ff7b72", "#6cb6ff",
    "#f778ba", "#a5c23c",
];

impl Chart {
    /// The SVG, or `None` if the record has nothing to draw.
    pub fn draw(&self, record: &Record) -> Result<Option<String>> {
        let title = self.title(record);
        let record = if self.rungs { record.clone() } else { record.steps_only() };
        let Some((height, description, paint)) = (self.draw)(&record) else { return Ok(None) };
        let mut svg = String::new();
        {
            let area = SVGBackend::with_string(&mut svg, (WIDTH, height)).into_drawing_area();
            area.fill(&PAPER)?;
            let notes = [format!("median of samples; {}", record.l2.words()), record.provenance()];
            let heading = font(16, INK, HPos::Left);
            let heading = TextStyle { font: heading.font.style(FontStyle::Bold), ..heading };
            area.draw(&Text::new(title.as_str(), (16, 20), heading))?;
            for (line, note) in (1..).zip(notes) {
                area.draw(&Text::new(note, (16, height as i32 - 16 * line), font(12, MUTED, HPos::Left)))?;
            }
            paint(&area)?;
            area.present()?;
        }
        let light = [INK, MUTED, GRID, PAPER].into_iter().chain(SERIES.map(rgb));
        let rule = |(RGBColor(red, green, blue), dark): (RGBColor, &str)| {
            let light = format!("#{red:02X}{green:02X}{blue:02X}");
            format!("[fill='{light}']{{fill:{dark}}}[stroke='{light}']{{stroke:{dark}}}")
        };
        let theme: String = light.zip(DARK).map(rule).collect();
        let words = [title, description].map(|text| text.replace('&', "&amp;").replace('<', "&lt;"));
        let style = format!("<style>@media(prefers-color-scheme:dark){{{theme}}}</style>");
        let head = format!(">\n<title>{}</title>\n<desc>{}</desc>\n{style}\n", words[0], words[1]);
        Ok(Some(svg.replacen("<svg ", "<svg role=\"img\" ", 1).replacen(">\n", &head, 1)))
    }

    /// What it shows, in one line.
    pub fn title(&self, record: &Record) -> String {
        let size = record.ladder_size().map_or_else(String::new, SizeRecord::words);
        self.title.replace("{gpu}", &record.device.name).replace("{size}", &size)
    }
}

/// A font of `pixels` pixels. The place of a text is at the middle of its height.
fn font(pixels: u32, colour: RGBColor, anchor: HPos) -> TextStyle<'static> {
    // plotters divides the size by 1.24 to get pixels.
    let family = ("system-ui,-apple-system,Segoe UI,Roboto,sans-serif", f64::from(pixels) * 1.24);
    family.into_font().color(&colour).pos(Pos::new(anchor, VPos::Center))
}

/// How a contender looks: the number of its marker, and its colour. Both depend on its place among all contenders or, if rungs are
/// shown, on the place of its step.
fn look(record: &Record, name: &str) -> (usize, RGBColor) {
    let step = if record.has_rungs() { split(name).0 } else { name };
    let mut steps = record.steps.iter().filter(|step| !step.rung);
    let place = steps.position(|known| known.name == step);
    place.map_or((record.steps.len(), INK), |place| (place, rgb(SERIES[place % SERIES.len()])))
}

fn marker(area: &Area, (number, colour): (usize, RGBColor), (x, y): (i32, i32)) -> Result<()> {
    let around = |offsets: &[(i32, i32)]| offsets.iter().map(|(right, down)| (x + right, y + down)).collect::<Vec<_>>();
    match number % 4 {
        0 => area.draw(&Circle::new((x, y), 5, colour.filled()))?,
        1 => area.draw(&Rectangle::new([(x - 4, y - 4), (x + 4, y + 4)], colour.filled()))?,
        2 => area.draw(&Polygon::new(around(&[(0, -6), (6, 4), (-6, 4)]), colour))?,
        _ => area.draw(&Polygon::new(around(&[(0, -6), (6, 0), (0, 6), (-6, 0)]), colour))?,
    }
    Ok(())
}

/// Writes names beside places, moved apart so that none covers another.
fn labels(area: &Area, record: &Record, mut places: Vec<(&str, (i32, i32))>) -> Result<()> {
    places.sort_by_key(|(_, (_, y))| *y);
    for (name, (x, y)) in places.iter().map(|(name, _)| *name).zip(apart(&places)) {
        area.draw(&Text::new(short(name), (x + 12, y), font(13, look(record, name).1, HPos::Left)))?;
    }
    Ok(())
}

/// Moves places down, from the highest on, so that each is at least a line below the one above it.
fn apart(places: &[(&str, (i32, i32))]) -> Vec<(i32, i32)> {
    let mut floor = 0;
    let below = |&(_, (x, y)): &(&str, (i32, i32))| {
        floor = y.max(floor) + 16;
        (x, floor - 16)
    };
    places.iter().map(below).collect()
}

/// An axis: its range, the most marks that it may have, its name, and the words of a mark.
type Axis<'a> = (Range<f64>, usize, &'a str, &'a dyn Fn(&f64) -> String);

fn plot<'a, 'b>(area: &'a Area<'b>, [x, y]: [Axis; 2]) -> Result<Plot<'a, 'b>> {
    let mut chart = ChartBuilder::on(area)
        .margin_top(48)
        .margin_left(16)
        .margin_right(140)
        .margin_bottom(44)
        .x_label_area_size(48)
        .y_label_area_size(64)
        .build_cartesian_2d(x.0, y.0)?;
    let note = font(12, MUTED, HPos::Center);
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GRID)
        .axis_style(MUTED)
        .label_style(note.clone())
        .axis_desc_style(note)
        .x_labels(x.1)
        .y_labels(y.1)
        .x_desc(x.2)
        .y_desc(y.2)
        .x_label_formatter(&x.3)
        .y_label_formatter(&y.3)
        .draw()?;
    Ok(chart)
}

/// A bar for each contender at one size.
fn ladder(record: &Record) -> Option<Drawing<'_>> {
    let size = record.ladder_size()?;
    let bar = |name| {
        let gflops = size.gflops(name)?;
        let share = size.share_of_cublas(name).filter(|_| name != CUBLAS);
        let share = share.map_or_else(String::new, |share| format!(", {:.1} % of cuBLAS", share * 100.0));
        Some((name, gflops, tflops(gflops) + &share))
    };
    let bars: Vec<(&str, f64, String)> = record.names().into_iter().filter_map(bar).collect();
    let most = bars.iter().map(|bar| bar.1).reduce(f64::max)?;
    let told: Vec<String> = bars.iter().map(|(name, _, words)| format!("{name}: {words}")).collect();
    let (left, top, step) = (240, 48, 34);
    let height = (top + step * bars.len() as i32 + 52) as u32;
    let paint = move |area: &Area| {
        for (at, (name, gflops, words)) in (0..).zip(&bars) {
            let (from, to) = (top + step * at, top + step * at + 24);
            let right = left + ((f64::from(WIDTH) - 480.0) * gflops / most).max(1.0) as i32;
            let middle = i32::midpoint(from, to);
            area.draw(&Text::new(*name, (left - 10, middle), font(13, INK, HPos::Right)))?;
            area.draw(&Rectangle::new([(left, from), (right, to)], look(record, name).1.filled()))?;
            area.draw(&Text::new(words.as_str(), (right + 8, middle), font(13, INK, HPos::Left)))?;
        }
        Ok(())
    };
    Some((height, told.join("; ") + ".", Box::new(paint)))
}

/// Speed over the edges of cubes that are powers of two, with a line for each contender except the host's, whose line would be on
/// the axis. `None` if there are too few sizes for a line.
fn lines(record: &Record) -> Option<Drawing<'_>> {
    let wanted = |size: &&SizeRecord| size.is_cube() && size.m.is_power_of_two();
    let mut sizes: Vec<&SizeRecord> = record.sizes.iter().filter(wanted).collect();
    sizes.sort_by_key(|size| size.m);
    let host = |name: &str| record.steps.iter().any(|step| step.host && step.name == name);
    let speeds = |name| sizes.iter().filter_map(move |size| Some((*size, size.gflops(name)?))).collect::<Vec<_>>();
    let all: Vec<(&str, Vec<(&SizeRecord, f64)>)> =
        record.names().into_iter().filter(|name| !host(name)).map(|name| (name, speeds(name))).collect();
    let most = all.iter().flat_map(|(_, speeds)| speeds).map(|speed| speed.1).reduce(f64::max)?;
    let edge = |size: &SizeRecord| (size.m as f64).log2();
    let range = edge(sizes.first()?)..edge(sizes.last().filter(|_| sizes.len() >= 3)?);
    let told = |(name, speeds): &(&str, Vec<(&SizeRecord, f64)>)| {
        let ends = [speeds.first()?, speeds.last()?];
        let ends = ends.map(|(size, gflops)| format!("{} at {}", tflops(*gflops), size.words()));
        Some(format!("{name}: {}", ends.join(", ")))
    };
    let description = all.iter().filter_map(told).collect::<Vec<_>>().join("; ") + ".";
    let paint = move |area: &Area| {
        let marks = (range.end - range.start) as usize + 1;
        let x: Axis = (range.clone(), marks, "M = N = K", &|power| power.exp2().to_string());
        let y: Axis = (0.0..most * 1.05 / 1e3, 8, "TFLOP/s", &|speed| speed.to_string());
        let mut chart = plot(area, [x, y])?;
        let mut ends = vec![];
        for (name, speeds) in &all {
            let look = look(record, name);
            let points: Vec<(f64, f64)> = speeds.iter().map(|(size, gflops)| (edge(size), gflops / 1e3)).collect();
            chart.draw_series(LineSeries::new(points.clone(), look.1.stroke_width(2)))?;
            for point in &points {
                marker(area, look, chart.backend_coord(point))?;
            }
            ends.extend(points.last().map(|end| (*name, chart.backend_coord(end))));
        }
        labels(area, record, ends)
    };
    Some((HEIGHT, description, Box::new(paint)))
}

/// Speed over arithmetic intensity, under the GPU's roofs.
fn roofline(record: &Record) -> Option<Drawing<'_>> {
    let figures = record.figures.filter(|figures| figures.memory_gb_per_s > 0.0)?;
    let size = record.ladder_size()?;
    let placed = size.entries.iter().filter_map(|entry| {
        let intensity = entry.traffic.map(|traffic| traffic.flop / traffic.global_bytes)?;
        Some((entry.name.as_str(), intensity, size.gflops(&entry.name)?)).filter(|_| intensity.is_normal())
    });
    let points: Vec<(&str, f64, f64)> = placed.collect();
    let (peak, rate) = (figures.fp32_peak_gflops, figures.memory_gb_per_s);
    let (slowest, lowest) = (points.iter().map(|point| point.2).reduce(f64::min)?, points.iter().map(|point| point.1));
    // The axes begin and end at whole powers of ten.
    let x =
        lowest.clone().fold(0.25, f64::min).log10().floor()..lowest.fold(peak / rate * 2.0, f64::max).log10().ceil();
    let y = slowest.min(1e3).log10().floor()..peak.log10().ceil();
    let told = |(name, intensity, gflops): &(&str, f64, f64)| {
        format!("{name}: {intensity:.2} flop per byte, {}", tflops(*gflops))
    };
    let steps = points.iter().map(told).collect::<Vec<_>>().join("; ");
    let roof = format!("{rate:.0} GB/s of device memory and {} of FP32", tflops(peak));
    let description = format!("{steps}. The roof is {roof}; a step above the slanted part is served by caches.");
    let paint = move |area: &Area| {
        let marks = |range: &Range<f64>| (range.end - range.start) as usize + 1;
        let intensity = "flop per byte that requests ask of global memory (32-byte sectors, counted by the simulator)";
        let axes: [Axis; 2] = [
            (x.clone(), marks(&x), intensity, &|power| 10_f64.powf(*power).to_string()),
            (y.clone(), marks(&y), "TFLOP/s", &|power| 10_f64.powf(power - 3.0).to_string()),
        ];
        let mut chart = plot(area, axes)?;
        // The roof: first the rate of the memory, then the peak.
        let start = x.start.max(y.start - rate.log10());
        let roof = [(start, start + rate.log10()), ((peak / rate).log10(), peak.log10()), (x.end, peak.log10())];
        chart.draw_series(LineSeries::new(roof, MUTED.stroke_width(2)))?;
        let [(from, below), _, (to, above)] = roof.map(|point| chart.backend_coord(&point));
        let memory = format!("device memory, {rate:.0} GB/s");
        area.draw(&Text::new(memory, (from + 36, below - 12), font(12, MUTED, HPos::Left)))?;
        let flat = format!("FP32 peak, {}", tflops(peak));
        area.draw(&Text::new(flat, (to, above - 12), font(12, MUTED, HPos::Right)))?;
        let mut named = vec![];
        for &(name, intensity, gflops) in &points {
            let place = chart.backend_coord(&(intensity.log10(), gflops.log10()));
            marker(area, look(record, name), place)?;
            named.push((name, place));
        }
        labels(area, record, named)
    };
    Some((HEIGHT, description, Box::new(paint)))
}

/// A contender's short name: `step 6` for `step06_prefetch`, and for a rung its name without the step's.
pub fn short(name: &str) -> String {
    let (step, variant) = split(name);
    let number = step.strip_prefix("step").and_then(|rest| rest.get(..2)?.parse::<u32>().ok());
    variant.map_or_else(|| number.map_or_else(|| name.to_owned(), |number| format!("step {number}")), str::to_owned)
}

fn tflops(gflops: f64) -> String {
    if gflops >= 1e3 { format!("{:.1} TFLOP/s", gflops / 1e3) } else { format!("{gflops:.1} GFLOP/s") }
}

#[cfg(test)]
pub fn example() -> Record {
    Record::read(&common::basics::workspace::root().join("common/course/tests/record.json")).unwrap()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_chart_has_a_title_a_description_and_a_dark_theme_and_no_bare_ampersand() {
        let mut record = example();
        record.sizes.push(SizeRecord { m: 2048, n: 2048, k: 2048, ..record.sizes[0].clone() });
        for chart in CHARTS {
            let svg = chart.draw(&record).unwrap().unwrap_or_else(|| panic!("{} draws nothing", chart.name));
            assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n") && !svg.contains("\n\n"));
            assert!(svg.contains("<title>") && svg.contains("<desc>step0"), "{svg}");
            assert!(svg.contains("prefers-color-scheme:dark"));
            assert!(svg.contains("&lt;of 80 GB&gt; &amp; more") && !svg.contains("<of 80"), "{svg}");
            assert!(!svg.contains("NaN") && !svg.contains("inf\""), "{svg}");
        }
        let ladder = CHARTS[0].draw(&record).unwrap().unwrap();
        assert!(ladder.contains("step04_two: 25.6 TFLOP/s, 50.0 % of cuBLAS"), "{ladder}");
        record.sizes.clear();
        assert!(CHARTS.iter().all(|chart| chart.draw(&record).unwrap().is_none()));
    }

    #[test]
    fn labels_do_not_cover_each_other() {
        let places = [("a", (0, 99)), ("b", (0, 100)), ("c", (0, 101)), ("d", (0, 299))];
        assert_eq!(apart(&places), [(0, 99), (0, 115), (0, 131), (0, 299)]);
    }
}
