//! Step 5: the outer product, what a block, a warp and a thread own of C, and the order of a thread's multiply-adds.

use anyhow::Result;

use super::accesses::{self, Event, Matrix, extent, touched};
use crate::picture::{self, BLUE, Canvas, Frame, GREEN, HPos, INK, Kind, LABEL, NUMBER, ORANGE, RED, TITLE};

/// Rows and columns of the thread tile.
const EDGE: usize = 8;

/// A column of A and a row of B in registers, and the sums that they make.
pub fn outer() -> Result<String> {
    let frame = Frame {
        kind: Kind::Figure,
        name: "step05-outer",
        width: 360,
        height: 404,
        title: "The outer product of a thread in registers, for one k",
        description: "Eight elements of A in a column, eight elements of B in a row, and between them a square of \
        8×8 sums. One sum is marked, with the element of A in its row and the element of B in its column: \
         sum[2][5] += a[2] · b[5].",
    };
    picture::draw(&frame, |drawing| {
        let (left, top, cell) = (60.0, 76.0, 36.0);
        let place = |number: usize| number as f64 * cell;
        let (m, n) = (2, 5);
        drawing.text(left, 20.0, HPos::Left, TITLE, "b: from a row of Bs");
        for number in 0..EDGE {
            let chosen = |marked| if number == marked { 0.95 } else { 0.4 };
            drawing.rect(left + place(number), top - cell - 10.0, cell - 2.0, cell - 2.0, ORANGE, chosen(n));
            drawing.text(
                left + place(number) + cell / 2.0 - 1.0,
                top - cell + 12.0,
                HPos::Center,
                NUMBER,
                &number.to_string(),
            );
            drawing.rect(left - cell - 10.0, top + place(number), cell - 2.0, cell - 2.0, BLUE, chosen(m));
            drawing.text(
                left - cell / 2.0 - 11.0,
                top + place(number) + 22.0,
                HPos::Center,
                NUMBER,
                &number.to_string(),
            );
            for column in 0..EDGE {
                let opacity = if (number, column) == (m, n) { 0.95 } else { 0.3 };
                drawing.rect(left + place(column), top + place(number), cell - 2.0, cell - 2.0, GREEN, opacity);
            }
        }
        let (x, y) = (left + place(n) + cell / 2.0, top + place(m) + cell / 2.0);
        drawing.line((left, y), (x, y), BLUE, 2.5, 1.0);
        drawing.line((x, top), (x, y), ORANGE, 2.5, 1.0);
        let below = top + place(EDGE) + 16.0;
        drawing.text(14.0, below, HPos::Left, TITLE, "a: from a column of As");
        drawing.text(14.0, below + 20.0, HPos::Left, LABEL, "marked: sum[2][5] += a[2] · b[5]");
        Ok(())
    })
}

/// The tile of a block of C in one rung, and in it the elements of a warp and of three of its lanes.
fn tile(drawing: &mut Canvas, variant: Option<&str>, title: &str, y: f64) -> Result<()> {
    let size = [128, 256, 16];
    let run = accesses::of("step05_thread_tile", variant, size)?;
    let stores = |event: &&Event| event.matrix == Some(Matrix::C) && event.block == [0, 0, 0];
    let of = |warp: Option<u32>, lane| {
        let mine = run.iter().filter(stores).filter(|event| warp.is_none_or(|warp| warp == event.warp));
        touched(mine, Matrix::C, size[1], lane)
    };
    let (block, warp) = (of(None, None), of(Some(0), None));
    let (rows, columns) = extent(&block);
    let (x, scale) = (8.0, 340.0 / columns as f64);
    drawing.text(x, y + 14.0, HPos::Left, TITLE, &format!("{title}, in {rows}×{columns}"));
    let top = y + 24.0;
    drawing.outline(x, top, scale, [rows, columns]);
    drawing.cells(x, top, scale, &block, INK, 0.12);
    drawing.cells(x, top, scale, &warp, GREEN, 0.35);
    let lanes = [(0, BLUE), (1, ORANGE), (2, RED)];
    for (lane, colour) in lanes {
        drawing.cells(x, top, scale, &of(Some(0), Some(lane)), colour, 0.95);
    }
    let legend = top + rows as f64 * scale + 20.0;
    drawing.legend(x, legend, GREEN, 0.35, "warp 0");
    for (place, (lane, colour)) in lanes.into_iter().enumerate() {
        drawing.legend(x + 85.0 + place as f64 * 85.0, legend, colour, 0.95, &format!("lane {lane}"));
    }
    Ok(())
}

/// The tile of a block, of a warp and of a thread, before and after wide loads.
pub fn thread_tile() -> Result<String> {
    let frame = Frame {
        kind: Kind::Figure,
        name: "step05-thread-tile",
        width: 360,
        height: 466,
        title: "The elements of C that a block, a warp and a thread of step 5 compute, in rungs 3 and 4",
        description: "Recorded from the stores of runs at 128×256×16. In rung 3, 64 elements of a thread are spread \
        over the tile of the block, 8 rows and 16 columns apart. In rung 4 the lanes of a warp form a grid of 4×8, \
        and each thread owns four squares \
         of 4×4 elements; lanes 0 and 1 own the same columns, lanes 0 and 2 the same rows.",
    };
    picture::draw(&frame, |drawing| {
        tile(drawing, Some("3_pointers"), "rung 3: elements spread", 8.0)?;
        tile(drawing, Some("4_wide_loads"), "rung 4: squares of 4×4", 242.0)
    })
}

/// The order of a thread's multiply-adds: row by row, and to and fro.
pub fn to_and_fro() -> Result<String> {
    let frame = Frame {
        kind: Kind::Figure,
        name: "step05-to-and-fro",
        width: 360,
        height: 236,
        title: "The order of a thread's 64 multiply-adds for one k",
        description: "Two squares of 8×8 sums with a line through their centres. On the left each row is walked \
        from left to right, and a red line jumps back to the start of the next row. On the right every second \
        row is walked from right to left, \
         so the line never jumps.",
    };
    picture::draw(&frame, |drawing| {
        for (panel, title) in ["rung 4: row by row", "rung 5: to and fro"].into_iter().enumerate() {
            let (left, top, cell) = (8.0 + panel as f64 * 180.0, 36.0, 21.0);
            drawing.text(left, 22.0, HPos::Left, TITLE, title);
            let mut before = None;
            for m in 0..EDGE {
                for i in 0..EDGE {
                    let n = if panel == 1 && m % 2 == 1 { EDGE - 1 - i } else { i };
                    let (x, y) = (left + n as f64 * cell, top + m as f64 * cell);
                    drawing.rect(x, y, cell - 2.0, cell - 2.0, GREEN, 0.3);
                    let here = (x + cell / 2.0 - 1.0, y + cell / 2.0 - 1.0);
                    if let Some(before) = before {
                        let jump = panel == 0 && i == 0;
                        let (colour, width) = if jump { (RED, 1.0) } else { (INK, 2.0) };
                        drawing.line(before, here, colour, width, 1.0);
                    }
                    before = Some(here);
                }
            }
            let words = if panel == 0 { "red: a and b change" } else { "a or b stays, every time" };
            drawing.text(left, top + EDGE as f64 * cell + 16.0, HPos::Left, LABEL, words);
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use simt::Space;

    use super::*;
    use crate::figures::accesses::What;

    #[test]
    fn a_thread_loads_16_elements_for_64_multiply_adds() {
        let run = accesses::of("step05_thread_tile", Some("2_tile"), [64, 128, 16]).unwrap();
        let loads = run
            .iter()
            .filter(|event| event.warp == 0 && event.what == What::Load && event.space == Some(Space::Shared));
        assert_eq!(loads.count(), 16 * 2 * EDGE);
    }

    #[test]
    fn squares_of_4_by_4_begin_in_the_rung_with_wide_loads() {
        let lane = |variant| {
            let run = accesses::of("step05_thread_tile", Some(variant), [64, 128, 16]).unwrap();
            let mine: Vec<Event> = run.into_iter().filter(|event| event.warp == 0).collect();
            touched(mine.iter(), Matrix::C, 128, Some(0))
        };
        let square = |set: &BTreeSet<(u64, u64)>| (0..4).all(|row| (0..4).all(|column| set.contains(&(row, column))));
        let (spread, squares) = (lane("3_pointers"), lane("4_wide_loads"));
        assert_eq!((spread.len(), squares.len()), (EDGE * EDGE, EDGE * EDGE));
        assert!(!square(&spread) && square(&squares));
    }
}
