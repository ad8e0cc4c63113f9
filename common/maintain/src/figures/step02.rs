//! Step 2: the elements that threads touch, and the sectors that a warp asks for.

use std::collections::BTreeSet;

use anyhow::{Context, Result};

use super::accesses::{self, Event, Matrix, What, touched};
use crate::picture::{self, BLUE, Frame, GREEN, HPos, INK, Kind, LABEL, ORANGE, TITLE};

/// Which elements of A, B and C a thread, a warp and a block of step 2 touch.
pub fn elements() -> Result<String> {
    let size = [64, 64, 24];
    let [m, n, k] = size;
    let run = accesses::of("step02_gpu_naive", None, size)?;
    let (block, warp, lane) = ([1, 0], 5, 7);
    let of_block = || run.iter().filter(|event| event.block[..2] == block);
    let tile = touched(of_block(), Matrix::C, n, None);
    let rows = tile.iter().map(|(row, _)| row).collect::<BTreeSet<_>>().len();
    let columns = tile.iter().map(|(_, column)| column).collect::<BTreeSet<_>>().len();
    let frame = Frame {
        kind: Kind::Figure,
        name: "step02-elements",
        width: 360,
        height: 552,
        title: "Elements of A, B and C that one thread, one warp and one block of step 2 touch",
        description: &format!(
            "Recorded from a run at {m}×{n}×{k}. A thread reads one row of A and one column of B and writes one element of C. \
             A warp reads one row of A and 32 columns of B and writes 32 neighbouring elements of C. A block reads {rows} rows of A and {columns} columns of B and writes \
             {rows}×{columns} elements of C."
        ),
    };
    picture::draw(&frame, |drawing| {
        // Three panels below each other: a phone is narrow.
        let panels = [
            ("one thread", ["reads a row of A and", "a column of B, and", "writes an element of C"]),
            ("one warp: 32 lanes", ["reads a row of A and", "32 columns of B, and", "writes 32 neighbours"]),
            ("one block: 16 warps", ["reads 16 rows of A and", "32 columns of B, and", "writes a part of C"]),
        ];
        let scale = 1.5;
        for (panel, (title, words)) in panels.into_iter().enumerate() {
            let y = panel as f64 * 184.0;
            drawing.text(196.0, y + 40.0, HPos::Left, TITLE, title);
            for (line, words) in words.into_iter().enumerate() {
                drawing.text(196.0, y + 60.0 + line as f64 * 17.0, HPos::Left, LABEL, words);
            }
            let (left, top) = (8.0, y + 20.0);
            let (right, bottom) = (left + k as f64 * scale + 34.0, top + k as f64 * scale + 24.0);
            let places = [
                (Matrix::A, left, bottom, [m, k], BLUE),
                (Matrix::B, right, top, [k, n], ORANGE),
                (Matrix::C, right, bottom, [m, n], GREEN),
            ];
            for (matrix, x, y, size, colour) in places {
                drawing.matrix(x, y, scale, &format!("{matrix:?}"), size);
                let events = run.iter().filter(|event| event.block[..2] == block && (panel == 2 || event.warp == warp));
                let set = touched(events, matrix, size[1], (panel == 0).then_some(lane));
                drawing.cells(x, y, scale, &set, colour, 0.85);
            }
        }
        Ok(())
    })
}

/// The first load of a matrix by warp 0 of block (0,0), as (lane, byte address).
fn request(run: &[Event], matrix: Matrix) -> Result<&[(u32, u64)]> {
    let wanted = |event: &&Event| {
        event.matrix == Some(matrix)
            && event.block == [0, 0, 0]
            && event.warp == 0
            && matches!(event.what, What::Load | What::Copy)
    };
    Ok(&run.iter().find(wanted).context("the kernel loads nothing")?.addresses)
}

/// 32 lanes on the sectors of global memory, coalesced and not.
pub fn sectors() -> Result<String> {
    let size = [64, 64, 64];
    let good = accesses::of("step02_gpu_naive", None, size)?;
    let bad = accesses::of("step02_gpu_naive", Some("uncoalesced"), size)?;
    let frame = Frame {
        kind: Kind::Figure,
        name: "step02-sectors",
        width: 360,
        height: 430,
        title: "The 32 lanes of a warp on sectors of 32 bytes",
        description: "Recorded from runs at 64×64×64: one load of A and one of B by warp 0. In the kernel of step 2, the load of A touches one sector and that of B four. \
         In the uncoalesced variant, the load of A touches 32 sectors, each in another row, and that of B one.",
    };
    picture::draw(&frame, |drawing| {
        let cases = [
            (&good, Matrix::A, "step 2, A: all lanes read one"),
            (&good, Matrix::B, "step 2, B: neighbours in a row"),
            (&bad, Matrix::A, "uncoalesced, A: a column"),
            (&bad, Matrix::B, "uncoalesced, B: all lanes read one"),
        ];
        for (number, (run, matrix, title)) in cases.into_iter().enumerate() {
            let y = 8.0 + number as f64 * 106.0;
            let lanes = request(run, matrix)?;
            let sectors: BTreeSet<u64> = lanes.iter().map(|(_, address)| address / 32).collect();
            let count = sectors.len();
            let s = if count == 1 { "" } else { "s" };
            drawing.text(8.0, y + 14.0, HPos::Left, TITLE, &format!("{title}: {count} sector{s}"));
            let lane_x = |lane: u32| 6.0 + f64::from(lane) * 11.0;
            for lane in 0..32 {
                drawing.rect(lane_x(lane), y + 34.0, 8.0, 8.0, INK, 0.35);
            }
            for lane in [0, 5, 10, 15, 20, 25, 31] {
                drawing.text(lane_x(lane) + 4.0, y + 31.0, HPos::Center, LABEL, &lane.to_string());
            }
            // Sectors stand side by side in the drawing, wherever they are in memory.
            let width = (350.0 / count as f64).min(60.0);
            let first = 6.0 + (349.0 - width * count as f64) / 2.0;
            let colour = if matrix == Matrix::A { BLUE } else { ORANGE };
            let place = |address: u64| {
                let number = sectors.range(..address / 32).count() as f64;
                first + number * width + (address % 32) as f64 / 32.0 * (width - 2.0) + (width - 2.0) / 16.0
            };
            for (lane, address) in lanes {
                drawing.line((lane_x(*lane) + 4.0, y + 42.0), (place(*address), y + 74.0), colour, 1.0, 0.7);
            }
            for number in 0..count {
                drawing.rect(first + number as f64 * width, y + 74.0, width - 2.0, 14.0, colour, 0.75);
            }
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_of_step_2_touches_a_row_a_column_and_an_element() {
        let size = [64, 64, 24];
        let run = accesses::of("step02_gpu_naive", None, size).unwrap();
        let mine = || run.iter().filter(|event| event.block == [1, 0, 0] && event.warp == 5);
        let a = touched(mine(), Matrix::A, 24, Some(7));
        let b = touched(mine(), Matrix::B, 64, Some(7));
        let c = touched(mine(), Matrix::C, 64, Some(7));
        assert_eq!(a, (0..24).map(|k| (5, k)).collect());
        assert_eq!(b, (0..24).map(|k| (k, 39)).collect());
        assert_eq!(c, [(5, 39)].into());
    }
}
