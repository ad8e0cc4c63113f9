//! Step 6: the order in which a warp fetches and multiplies.

use anyhow::Result;
use simt::Space;

use super::accesses::{self, What};
use crate::picture::{self, BLUE, Frame, GREEN, HPos, INK, Kind, LABEL, NUMBER, TITLE};

/// A stretch of a warp's events of one kind.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Fetch,
    Multiply,
    Barrier,
}

/// In which order a warp fetches and multiplies, in step 5 and in step 6.
pub fn timeline() -> Result<String> {
    let frame = Frame {
        kind: Kind::Figure,
        name: "step06-timeline",
        width: 720,
        height: 300,
        title: "The order in which a warp fetches tiles and multiplies them, in step 5 and in step 6",
        description: "Recorded from warp 0 of runs at 2048×2048×64, one unit for each access; this is an order, not a time. In step 5 each pair of tiles is fetched, then a barrier, then multiplied, then a barrier. In step 6 the fetch of a later pair of tiles stands \
         before the multiplication of the current one, and there is one barrier for each pair.",
    };
    picture::draw(&frame, |drawing| {
        for (number, (step, title)) in [
            ("step05_thread_tile", "step 5: fetch a pair of tiles, then multiply it"),
            ("step06_prefetch", "step 6: start to fetch a later pair, then multiply the current one"),
        ]
        .into_iter()
        .enumerate()
        {
            let run = accesses::of_first_warp(step, [2048, 2048, 64])?;
            let mut stretches: Vec<(Phase, usize)> = Vec::new();
            for event in run {
                let phase = match (event.what, event.space) {
                    (What::Barrier, _) => Phase::Barrier,
                    (What::Copy, _) | (What::Load, Some(Space::Global)) => Phase::Fetch,
                    (What::Load, Some(Space::Shared)) => Phase::Multiply,
                    _ => continue,
                };
                match stretches.last_mut() {
                    Some((last, count)) if *last == phase && phase != Phase::Barrier => *count += 1,
                    _ => stretches.push((phase, 1)),
                }
            }
            let total: usize =
                stretches.iter().map(|(phase, count)| if *phase == Phase::Barrier { 0 } else { *count }).sum();
            let scale = 610.0 / total.max(1) as f64;
            let y = 14.0 + number as f64 * 140.0;
            drawing.text(8.0, y + 10.0, HPos::Left, TITLE, title);
            drawing.text(8.0, y + 46.0, HPos::Left, LABEL, "fetch");
            drawing.text(8.0, y + 80.0, HPos::Left, LABEL, "multiply");
            let mut x = 76.0;
            // Which pair of tiles: a new one for each stretch, unless the compiler has merely cut one in two.
            let mut tiles = [0, 0];
            let mut since_barrier = [false, false];
            for (phase, count) in stretches {
                let width = count as f64 * scale;
                let (row, colour, tile) = match phase {
                    Phase::Barrier => {
                        since_barrier = [false, false];
                        drawing.line((x, y + 24.0), (x, y + 96.0), INK, 2.0, 1.0);
                        continue;
                    }
                    Phase::Fetch => (y + 30.0, BLUE, 0),
                    Phase::Multiply => (y + 64.0, GREEN, 1),
                };
                if std::mem::replace(&mut since_barrier[tile], true) {
                    tiles[tile] -= 1;
                }
                drawing.rect(x, row, (width - 1.0).max(1.0), 24.0, colour, 0.85);
                let number = tiles[tile].to_string();
                if width > 14.0 {
                    drawing.text(x + width / 2.0, row + 16.0, HPos::Center, NUMBER, &number);
                } else if tile == 0 {
                    drawing.text(x + width / 2.0, row - 4.0, HPos::Center, LABEL, &number);
                }
                tiles[tile] += 1;
                x += width;
            }
        }
        drawing.text(
            8.0,
            290.0,
            HPos::Left,
            LABEL,
            "numbers: which pair of tiles; upright lines: barriers; an order of accesses, not a time",
        );
        Ok(())
    })
}
