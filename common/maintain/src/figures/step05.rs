//! Step 5: what a block, a warp and a thread own of C.

use anyhow::Result;

use super::accesses::{self, Event, Matrix, extent, touched};
use crate::picture::{self, BLUE, Frame, GREEN, HPos, INK, Kind, LABEL, ORANGE, RED, TITLE};

/// The tile of a block, of a warp and of a thread in step 5.
pub fn thread_tile() -> Result<String> {
    let size = [128, 256, 16];
    let run = accesses::of("step05_thread_tile", None, size)?;
    let frame = Frame {
        kind: Kind::Figure,
        name: "step05-thread-tile",
        width: 720,
        height: 400,
        title: "The elements of C that a block, a warp and a thread of step 5 compute",
        description: "Recorded from the stores of a run at 128×256×16. The block's tile is divided among its warps; the lanes of a warp form a grid of 4×8, and each thread owns several squares of 4×4 elements, \
         spread over the warp's tile.",
    };
    picture::draw(&frame, |drawing| {
        let stores = |event: &&Event| event.matrix == Some(Matrix::C) && event.block == [0, 0, 0];
        let of = |warp: Option<u32>, lane| {
            let mine = run.iter().filter(stores).filter(|event| warp.is_none_or(|warp| warp == event.warp));
            touched(mine, Matrix::C, size[1], lane)
        };
        let (block, warp) = (of(None, None), of(Some(0), None));
        let lane = |lane| of(Some(0), Some(lane));
        let (rows, columns) = extent(&block);
        let scale = (680.0 / columns as f64).min(300.0 / rows as f64);
        let (x, y) = (20.0, 36.0);
        drawing.outline(x, y, scale, [rows, columns]);
        drawing.text(x, y - 12.0, HPos::Left, TITLE, &format!("a block's tile of C: {rows}×{columns}"));
        drawing.cells(x, y, scale, &block, INK, 0.12);
        drawing.cells(x, y, scale, &warp, GREEN, 0.3);
        let threads = [(0, BLUE), (1, ORANGE), (2, RED)];
        for (number, colour) in threads {
            drawing.cells(x, y, scale, &lane(number), colour, 0.95);
        }
        let (warp_rows, warp_columns) = extent(&warp);
        let mut legend = y + rows as f64 * scale + 24.0;
        drawing.legend(x, legend, GREEN, 0.3, &format!("warp 0: {warp_rows}×{warp_columns}"));
        let per_thread = lane(0).len();
        for (place, (number, colour)) in threads.into_iter().enumerate() {
            drawing.legend(
                x + 180.0 + place as f64 * 170.0,
                legend,
                colour,
                0.95,
                &format!("lane {number}: {per_thread} elements"),
            );
        }
        legend += 22.0;
        drawing.text(x, legend, HPos::Left, LABEL, "lanes 0 and 1 own the same columns, lanes 0 and 2 the same rows");
        Ok(())
    })
}
