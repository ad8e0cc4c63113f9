//! The house: every file of the six crates, on its floor.

use anyhow::Result;
use common::basics::workspace;

use crate::house::{self, CRATES};
use crate::picture::{self, BLUE, Colour, Frame, GREEN, HPos, Kind, LABEL, MUTED, NOTE, ORANGE, RED, SERIES, TITLE};

const WIDTH: f64 = 760.0;
/// Left edge of the rooms; floors are numbered before it.
const LEFT: f64 = 34.0;
const ROW: f64 = 22.0;
/// Pixels of a letter of a label, on average.
const LETTER: f64 = 6.7;

/// A colour for each crate.
const COLOURS: [Colour; CRATES.len()] = [RED, ORANGE, SERIES[2], MUTED, BLUE, GREEN];

/// A room's name and where its box begins, and how wide it is.
type Label = (String, f64, f64);

/// The rows of boxes of one crate, the top floor first, each with its floor where the floor begins.
fn rows(name: &str) -> Result<Vec<(Option<usize>, Vec<Label>)>> {
    let rooms = house::rooms(&workspace::root().join(name))?;
    let mut rows: Vec<(usize, Vec<Label>)> = Vec::new();
    for (room, floor) in house::floors(&rooms).into_iter().rev() {
        let label = room.name.trim_start_matches("src/").trim_end_matches(".rs").to_owned();
        let width = label.chars().count() as f64 * LETTER + 12.0;
        let right = rows.last().and_then(|(_, row)| row.last()).map_or(LEFT, |(_, left, width)| left + width + 6.0);
        match rows.last_mut() {
            Some((last, row)) if *last == floor && right + width <= WIDTH - 10.0 => row.push((label, right, width)),
            _ => rows.push((floor, vec![(label, LEFT, width)])),
        }
    }
    let mut before = None;
    let named = rows.into_iter().map(|(floor, row)| ((before.replace(floor) != Some(floor)).then_some(floor), row));
    Ok(named.collect())
}

/// All crates, one above the other; what is above uses what is below.
pub fn house() -> Result<String> {
    let crates = CRATES.map(|name| (name, rows(name)));
    let mut stories = Vec::new();
    for (name, rows) in crates {
        stories.push((name, rows?));
    }
    let height: f64 = stories.iter().map(|(_, rows)| 40.0 + rows.len() as f64 * ROW).sum();
    let frame = Frame {
        kind: Kind::Figure,
        name: "house",
        width: WIDTH as u32,
        height: (height + 8.0) as u32,
        title: "The files of the workspace, each on its floor",
        description: "Six crates, one above the other: the maintainer's program, the learner's program, the product on several GPUs, the explorer, what every step uses, and the simulator. \
         Within a crate, a file stands one floor above the highest file that it uses.",
    };
    picture::draw(&frame, |drawing| {
        let mut y = 0.0;
        for ((name, rows), colour) in stories.iter().zip(COLOURS) {
            drawing.text(LEFT, y + 24.0, HPos::Left, TITLE, name);
            y += 34.0;
            for (floor, row) in rows {
                if let Some(floor) = floor {
                    drawing.text(LEFT - 10.0, y + 14.0, HPos::Right, NOTE, &floor.to_string());
                }
                for (label, left, width) in row {
                    drawing.rect(*left, y, *width, ROW - 4.0, colour, 0.22);
                    drawing.text(left + width / 2.0, y + 13.0, HPos::Center, LABEL, label);
                }
                y += ROW;
            }
            y += 6.0;
        }
        Ok(())
    })
}
