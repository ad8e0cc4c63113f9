//! Several GPUs: what each one does when, and how the product goes on to more of them.

use anyhow::Result;
use beyond::several::grid::Grid;
use beyond::several::run::Outcome;

use crate::charts::plot::{Axis, BOTTOM, HEIGHT, Plot, Scale};
use crate::picture::{self, Anchor, BLUE, Canvas, Colour, Frame, GREEN, Kind, LABEL, NAME, NOTE, SERIES, TITLE};
use beyond::several::records::{self, Records};

/// What is drawn as long as nothing has been measured.
fn nothing(name: &str) -> String {
    let title = "Not measured yet";
    let frame = Frame { kind: Kind::Figure, name, width: 360.0, height: 40.0, title, description: title };
    picture::draw(&frame, |drawing| {
        drawing.text(
            8.0,
            24.0,
            Anchor::Left,
            LABEL,
            "not measured yet: step06_prefetch/beyond/several/record.sh measures it",
        );
    })
}

/// Edge of the product whose timeline is drawn.
const EDGE: u64 = records::FIRST;

/// A product on the most GPUs, and of these in the most panels, that was measured with overlap and without.
fn product(all: &[Records], overlap: bool) -> Option<&Outcome> {
    let outcomes = || all.iter().flat_map(|records| &records.outcomes).filter(|o| records::edge(o) == Some(EDGE));
    let both = |o: &&Outcome| outcomes().any(|p| (p.gpus, p.panel) == (o.gpus, o.panel) && p.overlap != o.overlap);
    let wanted = outcomes().filter(both).filter(|o| o.overlap == overlap && o.gpus > 1);
    wanted.max_by_key(|outcome| (outcome.gpus, outcome.panels))
}

/// What each GPU does when, with overlap and without.
pub fn timeline() -> Result<String> {
    const WIDTH: f64 = 760.0;
    const LEFT: f64 = 60.0;
    const ROW: f64 = 15.0;
    let all = records::all()?;
    let (Some(on), Some(off)) = (product(&all, true), product(&all, false)) else {
        return Ok(nothing("several-timeline"));
    };
    let products = [on, off];
    let gpus = products[0].gpus as f64;
    let story = 62.0 + gpus * (2.0 * ROW + 6.0);
    let end = |outcome: &Outcome| outcome.timeline.iter().flatten().map(|span| span.to_ms).fold(0.0, f64::max);
    let longest = products.iter().map(|outcome| end(outcome)).fold(0.0, f64::max);
    let told: Vec<String> = products
        .iter()
        .map(|o| format!("{:.1} ms with overlap {}", end(o), if o.overlap { "on" } else { "off" }))
        .collect();
    let frame = Frame {
        kind: Kind::Figure,
        name: "several-timeline",
        width: WIDTH,
        height: 2.0 * story + 20.0,
        title: "When panels travel to each GPU, and when they are multiplied",
        description: &format!("Recorded by the GPUs' own events at {EDGE}³: {}.", told.join(", ")),
    };
    Ok(picture::draw(&frame, |drawing| {
        for (number, outcome) in products.iter().enumerate() {
            let top = number as f64 * story;
            let title = if outcome.overlap {
                "overlap on: the next panels travel while these are multiplied"
            } else {
                "overlap off: panels travel when nothing is multiplied"
            };
            drawing.text(8.0, top + 16.0, Anchor::Left, TITLE, title);
            gpu_rows(drawing, outcome, [LEFT, top + 26.0, (WIDTH - LEFT - 20.0) / longest, ROW]);
            let below = top + 26.0 + gpus * (2.0 * ROW + 6.0) + 12.0;
            let x = LEFT + end(outcome) * (WIDTH - LEFT - 20.0) / longest;
            drawing.text(x, below, Anchor::Right, NOTE, &format!("{:.1} ms", end(outcome)));
        }
        let bottom = 2.0 * story + 8.0;
        drawing.legend(LEFT, bottom, BLUE, 0.85, "a panel of A and one of B travel");
        drawing.legend(LEFT + 260.0, bottom, GREEN, 0.85, "multiplied");
    }))
}

fn gpu_rows(drawing: &mut Canvas, outcome: &Outcome, [left, top, scale, row]: [f64; 4]) {
    for (rank, spans) in outcome.timeline.iter().enumerate() {
        let y = top + rank as f64 * (2.0 * row + 6.0);
        drawing.text(8.0, y + row + 4.0, Anchor::Left, LABEL, &format!("GPU {rank}"));
        for span in spans {
            let (colour, down) = if span.multiplied { (GREEN, row) } else { (BLUE, 0.0) };
            let (x, width) = (left + span.from_ms * scale, (span.to_ms - span.from_ms) * scale);
            drawing.rect(x + 0.5, y + down, (width - 1.0).max(0.5), row - 1.0, colour, 0.85);
            if width > 24.0 {
                drawing.text(x + width / 2.0, y + down + row - 4.0, Anchor::Center, LABEL, &span.panel.to_string());
            }
        }
    }
}

/// A line of the chart: its name and colour, what the model says for a grid, and what was measured.
struct Line {
    name: &'static str,
    colour: Colour,
    dashed: bool,
    model: Vec<(f64, f64)>,
    measured: Vec<(f64, f64)>,
}

/// Each GPU's speed over that of one alone, over the number of GPUs.
pub fn scaling() -> Result<String> {
    let all = records::all()?;
    let Some(machine) = records::machine(&all) else { return Ok(nothing("several-scaling")) };
    let numbers: Vec<usize> = (0..=10).map(|power| 1 << power).collect();
    let model = |of: &dyn Fn(Grid) -> f64| numbers.iter().map(|&gpus| (gpus as f64, of(Grid::of(gpus)))).collect();
    let measured = |edge: u64, overlap: bool| {
        let wanted = |o: &&Outcome| records::edge(o) == Some(edge) && o.gpus > 1 && o.overlap == overlap;
        let of = |records: &Records| -> Vec<(f64, f64)> {
            let outcomes = records.usual().into_iter().filter(wanted);
            outcomes.filter_map(|outcome| Some((outcome.gpus as f64, records.share(outcome)?))).collect()
        };
        all.iter().flat_map(of).collect::<Vec<_>>()
    };
    let grown = |records: &Records| -> Vec<(f64, f64)> {
        let each = |o: &Outcome| Some(o.gflops()? / o.gpus as f64 / records.alone([records::FIRST; 3])?);
        let outcomes = records.usual().into_iter().filter(|o| records::is_grown(o) && o.gpus > 1 && o.overlap);
        outcomes.filter_map(|outcome| Some((outcome.gpus as f64, each(outcome)?))).collect()
    };
    let lines = [
        Line {
            name: "problem grows",
            colour: SERIES[3],
            dashed: false,
            model: model(&|grid| machine.weak(grid, EDGE)),
            measured: all.iter().flat_map(grown).collect(),
        },
        Line {
            name: "32768³",
            colour: SERIES[5],
            dashed: false,
            model: model(&|grid| machine.strong(grid, 32_768, true)),
            measured: measured(32_768, true),
        },
        Line {
            name: "16384³",
            colour: SERIES[4],
            dashed: false,
            model: model(&|grid| machine.strong(grid, EDGE, true)),
            measured: measured(EDGE, true),
        },
        Line {
            name: "16384³, overlap off",
            colour: SERIES[4],
            dashed: true,
            model: model(&|grid| machine.strong(grid, EDGE, false)),
            measured: measured(EDGE, false),
        },
    ];
    let told: Vec<String> = lines
        .iter()
        .map(|line| {
            let points = numbers.iter().zip(&line.model);
            let at = |gpus: usize| points.clone().find(|(of, _)| **of == gpus).map_or(0.0, |(_, point)| point.1);
            format!("{}: {:.2} on 8, {:.2} on 64, {:.2} on 1024 GPUs", line.name, at(8), at(64), at(1024))
        })
        .collect();
    let (left, right, top) = (52.0, 190.0, 40.0);
    let width = 760.0;
    let frame = Frame {
        kind: Kind::Figure,
        name: "several-scaling",
        width,
        height: HEIGHT - 40.0,
        title: "Each GPU's speed over that of one alone: the model's lines and the measured points",
        description: &format!("The model says: {}.", told.join("; ")),
    };
    Ok(picture::draw(&frame, |canvas| {
        let x =
            Axis { scale: Scale::Logarithmic, range: 1.0..1024.0, marks: numbers.iter().map(|&n| n as f64).collect() };
        let y = Axis { scale: Scale::Even, range: 0.0..1.0, marks: (0..=5).map(|at| f64::from(at) / 5.0).collect() };
        let share = |share: f64| format!("{share:.1}");
        let plot = Plot::new(canvas, [left, width - right, top], [x, y], [&|gpus| format!("{gpus}"), &share], false);
        for (number, line) in lines.iter().enumerate() {
            plot.line(canvas, &line.model, line.colour, 2.0, line.dashed);
            for &point in &line.measured {
                canvas.marker(number, plot.pixels(point), line.colour);
            }
            let height = top + 14.0 + number as f64 * 20.0;
            let [from, middle, to] = [12.0, 21.0, 30.0].map(|x| (width - right + x, height - 4.0));
            canvas.line(&[from, to], line.colour, 2.0, line.dashed);
            canvas.marker(number, middle, line.colour);
            canvas.text(width - right + 38.0, height, Anchor::Left, NAME, line.name);
        }
        canvas.text(8.0, top - 16.0, Anchor::Left, NOTE, "speed of a GPU over one alone");
        canvas.text(f64::midpoint(left, width - right), BOTTOM + 40.0, Anchor::Center, NOTE, "GPUs");
    }))
}
