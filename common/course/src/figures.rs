//! Figures drawn from runs: a kernel runs on the simulator, its accesses are recorded, and the drawing shows them.

mod draw;
mod recording;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use common::workspace;
use simt::Space;

use draw::{BLUE, Drawing, GREEN, GREY, ORANGE, RED};
use recording::{Event, Matrix, Recording, What};

/// A figure: the stem of its file, and what draws it.
type Figure = (&'static str, fn() -> Result<String>);

const FIGURES: &[Figure] = &[
    ("step02-elements", elements),
    ("step02-sectors", sectors),
    ("step04-walk", walk),
    ("step04-banks", banks),
    ("step05-thread-tile", thread_tile),
    ("step06-timeline", timeline),
];

/// All figures whose file is wanted: path and SVG.
pub fn all(wanted: &dyn Fn(&Path) -> bool) -> Result<Vec<(PathBuf, String)>> {
    let folder = workspace::root().join("docs/src/figures");
    let mut figures = Vec::new();
    for (name, draw) in FIGURES {
        let path = folder.join(format!("{name}.svg"));
        if wanted(&path) {
            figures.push((path, draw().with_context(|| format!("the figure {name}"))?));
        }
    }
    Ok(figures)
}

/// Elements of a matrix that accesses touch, as (row, column).
fn touched<'a>(
    events: impl Iterator<Item = &'a Event>,
    matrix: Matrix,
    columns: u64,
    lane: Option<u32>,
) -> BTreeSet<(u64, u64)> {
    let mut elements = BTreeSet::new();
    for event in events.filter(|event| event.matrix == Some(matrix)) {
        for (_, index) in event.indices().filter(|(number, _)| lane.is_none_or(|lane| lane == *number)) {
            for i in 0..u64::from(event.bytes / 4) {
                elements.insert(((index + i) / columns, (index + i) % columns));
            }
        }
    }
    elements
}

/// Which elements of A, B and C a thread, a warp and a block of step 2 touch.
fn elements() -> Result<String> {
    let size = [64, 64, 24];
    let [m, n, k] = size;
    let run = Recording::of("step02_gpu_naive", None, size)?;
    let (block, warp, lane) = ([1, 0], 5, 7);
    let of_block = || run.events.iter().filter(|event| event.block[..2] == block);
    let tile = touched(of_block(), Matrix::C, n, None);
    let rows = tile.iter().map(|(row, _)| row).collect::<BTreeSet<_>>().len();
    let columns = tile.iter().map(|(_, column)| column).collect::<BTreeSet<_>>().len();
    let mut drawing = Drawing::new(
        "step02-elements",
        720,
        290,
        "Elements of A, B and C that one thread, one warp and one block of step 2 touch",
        &format!(
            "Recorded from a run at {m}×{n}×{k}. A thread reads one row of A and one column of B and writes one element of C. \
             A warp reads one row of A and 32 columns of B and writes 32 neighbouring elements of C. A block reads {rows} rows of A and {columns} columns of B and writes \
             {rows}×{columns} elements of C."
        ),
    );
    let scale = 1.9;
    for (panel, title) in ["one thread", "one warp: 32 lanes", "one block: 32×16 threads"].into_iter().enumerate() {
        let x = 8.0 + panel as f64 * 240.0;
        drawing.text(x, 20.0, title, "title");
        let (k_size, m_size, n_size) = (k as f64 * scale, m as f64 * scale, n as f64 * scale);
        let (left, top) = (x + 4.0, 60.0);
        let places = [
            (Matrix::A, "A", left, top + k_size + 26.0, k, m, BLUE),
            (Matrix::B, "B", left + k_size + 26.0, top, n, k, ORANGE),
            (Matrix::C, "C", left + k_size + 26.0, top + k_size + 26.0, n, m, GREEN),
        ];
        for (matrix, name, x, y, columns, rows, colour) in places {
            let (width, height) = if matrix == Matrix::A {
                (k_size, m_size)
            } else if matrix == Matrix::B {
                (n_size, k_size)
            } else {
                (n_size, m_size)
            };
            drawing.frame(x, y, width, height);
            drawing.text(x, y - 5.0, &format!("{name} {rows}×{columns}"), "label");
            let events =
                run.events.iter().filter(|event| event.block[..2] == block && (panel == 2 || event.warp == warp));
            let set = touched(events, matrix, columns, (panel == 0).then_some(lane));
            drawing.cells(x, y, scale, &set, colour);
        }
    }
    drawing.text(8.0, 280.0, "rows downwards, columns to the right; coloured: touched in the run", "label");
    Ok(drawing.finish())
}

/// The request of a warp as (lane, byte address), for the n-th load of a matrix by warp 0 of block (0,0).
fn request(run: &Recording, matrix: Matrix) -> Result<Vec<(u32, u64)>> {
    let event = run
        .events
        .iter()
        .find(|event| {
            event.matrix == Some(matrix)
                && event.block == [0, 0, 0]
                && event.warp == 0
                && matches!(event.what, What::Load | What::Copy)
        })
        .context("the kernel loads nothing")?;
    Ok(event.indices().map(|(lane, index)| (lane, index * 4)).collect())
}

/// 32 lanes on the sectors of global memory, coalesced and not.
fn sectors() -> Result<String> {
    let size = [64, 64, 64];
    let good = Recording::of("step02_gpu_naive", None, size)?;
    let bad = Recording::of("step02_gpu_naive", Some("uncoalesced"), size)?;
    let mut drawing = Drawing::new(
        "step02-sectors",
        720,
        430,
        "The 32 lanes of a warp on sectors of 32 bytes",
        "Recorded from runs at 64×64×64: one load of A and one of B by warp 0. In the kernel of step 2, the load of A touches one sector and that of B four. \
         In the uncoalesced variant, the load of A touches 32 sectors, each in another row, and that of B one.",
    );
    let cases = [
        (&good, Matrix::A, "step 2, A: all lanes read one element"),
        (&good, Matrix::B, "step 2, B: neighbouring elements of a row"),
        (&bad, Matrix::A, "uncoalesced, A: a column, each lane in another row"),
        (&bad, Matrix::B, "uncoalesced, B: all lanes read one element"),
    ];
    for (number, (run, matrix, title)) in cases.into_iter().enumerate() {
        let y = 8.0 + number as f64 * 106.0;
        let lanes = request(run, matrix)?;
        let sectors: BTreeSet<u64> = lanes.iter().map(|(_, address)| address / 32).collect();
        let count = sectors.len();
        let s = if count == 1 { "" } else { "s" };
        drawing.text(8.0, y + 14.0, &format!("{title}: {count} sector{s}"), "title");
        let lane_x = |lane: u32| 42.0 + f64::from(lane) * 21.0;
        drawing.text(8.0, y + 35.0, "lane", "label");
        for lane in 0..32 {
            drawing.rect(lane_x(lane), y + 24.0, 17.0, 15.0, GREY, 0.25);
            drawing.text_middle(lane_x(lane) + 8.5, y + 35.5, &lane.to_string(), "small");
        }
        // Sectors stand side by side in the drawing, wherever they are in memory.
        let width = (640.0 / count as f64).min(60.0);
        let first = 42.0 + (672.0 - width * count as f64) / 2.0;
        let colour = if matrix == Matrix::A { BLUE } else { ORANGE };
        let place = |address: u64| {
            let number = sectors.range(..address / 32).count() as f64;
            first + number * width + (address % 32) as f64 / 32.0 * (width - 2.0) + (width - 2.0) / 16.0
        };
        for (lane, address) in &lanes {
            drawing.line(lane_x(*lane) + 8.5, y + 39.0, place(*address), y + 74.0, colour);
        }
        for number in 0..count {
            drawing.rect(first + number as f64 * width, y + 74.0, width - 2.0, 14.0, colour, 0.75);
        }
    }
    Ok(drawing.finish())
}

/// The tiles of A and B that a block of step 4 loads, one pair after the other.
fn walk() -> Result<String> {
    let size = [96, 96, 128];
    let [m, n, k] = size;
    let run = Recording::of("step04_tiled", None, size)?;
    let block = [1, 1];
    let scale = 1.7;
    let mut drawing = Drawing::new(
        "step04-walk",
        720,
        450,
        "The tiles of A and B that one block of step 4 loads, along K",
        &format!(
            "Recorded from block (1,1) of a run at {m}×{n}×{k}. At each of four steps the block loads a tile of 32×32 elements of A, one further to the right, \
             and one of B, one further down. It writes one tile of C."
        ),
    );
    let (k_size, n_size) = (k as f64 * scale, n as f64 * scale);
    let (left, top) = (20.0, 30.0);
    let places = [
        (Matrix::A, "A", left, top + k_size - 20.0, k, m),
        (Matrix::B, "B", left + k_size + 40.0, top, n, k),
        (Matrix::C, "C", left + k_size + 40.0, top + k_size + 30.0, n, m),
    ];
    // A's picture stands beside C's.
    let y_c = top + k_size + 26.0;
    for (matrix, name, x, y, columns, rows) in places {
        let y = if matrix == Matrix::B { y } else { y_c };
        let (width, height) = (columns as f64 * scale, rows as f64 * scale);
        drawing.frame(x, y, width, height);
        drawing.text(x, y - 5.0, &format!("{name} {rows}×{columns}"), "label");
        // The n-th load of a warp belongs to the n-th step along K.
        for step in 0..4_u64 {
            let mut set = BTreeSet::new();
            for warp in 0..32 {
                let mine = run
                    .events
                    .iter()
                    .filter(|event| event.block[..2] == block && event.warp == warp && event.matrix == Some(matrix));
                let chosen: Vec<&Event> = if matrix == Matrix::C {
                    mine.take(usize::from(step == 0)).collect()
                } else {
                    mine.skip(step as usize).take(1).collect()
                };
                set.extend(touched(chosen.into_iter(), matrix, columns, None));
            }
            let colour = match matrix {
                Matrix::A => BLUE,
                Matrix::B => ORANGE,
                Matrix::C => GREEN,
            };
            drawing.cells_with(x, y, scale, &set, colour, 0.95 - step as f64 * 0.2);
            if matrix != Matrix::C
                && let (Some(first), Some(last)) = (set.first(), set.last())
            {
                let (row, column) = ((first.0 + last.0) as f64 / 2.0, (first.1 + last.1) as f64 / 2.0);
                drawing.text_middle(x + column * scale, y + row * scale + 5.0, &(step + 1).to_string(), "number");
            }
        }
    }
    drawing.text(left + k_size + n_size + 60.0, top + 14.0, "the block's four", "label");
    drawing.text(left + k_size + n_size + 60.0, top + 30.0, "steps along K", "label");
    Ok(drawing.finish())
}

/// The words of each bank that a warp's access wants.
fn words_per_bank(event: &Event) -> [usize; 32] {
    let mut words: Vec<BTreeSet<u64>> = vec![BTreeSet::new(); 32];
    for (_, address) in event.addresses() {
        words[(address / 4 % 32) as usize].insert(address / 4);
    }
    let mut counts = [0; 32];
    for (count, words) in counts.iter_mut().zip(words) {
        *count = words.len();
    }
    counts
}

/// 32 banks and the words that a warp wants of each.
fn banks() -> Result<String> {
    let size = [32, 32, 32];
    let mut drawing = Drawing::new(
        "step04-banks",
        720,
        380,
        "Words that one access of a warp wants from each of the 32 banks",
        "Recorded from runs at 32×32×32: the load of B's tile in the inner loop. In the kernel of step 4 each bank delivers one word: one wavefront. In the variant with bank conflicts one bank has to deliver \
         32 words, one after the other. With a column of padding each bank delivers one again.",
    );
    let cases = [
        (None, "step 4: Bs[k][x]"),
        (Some("bank_conflicts"), "bank_conflicts: Bs[x][k]"),
        (Some("bank_conflicts_padded"), "bank_conflicts_padded: Bs[x][k], 33 words a row"),
    ];
    for (number, (variant, title)) in cases.into_iter().enumerate() {
        let run = Recording::of("step04_tiled", variant, size)?;
        let loads = run
            .events
            .iter()
            .filter(|event| event.space == Some(Space::Shared) && matches!(event.what, What::Load) && event.warp == 0);
        // The load whose lanes differ in address is that of B; A's is the same word for all.
        let event = loads
            .into_iter()
            .find(|event| event.addresses().map(|(_, address)| address).collect::<BTreeSet<_>>().len() > 8);
        let event = event.context("the kernel loads nothing from shared memory")?;
        let counts = words_per_bank(event);
        let most = counts.iter().copied().max().unwrap_or(0);
        let y = 8.0 + number as f64 * 122.0;
        let s = if most == 1 { "" } else { "s" };
        drawing.text(8.0, y + 14.0, &format!("{title}: {most} wavefront{s}"), "title");
        let base = y + 92.0;
        drawing.text(8.0, base + 12.0, "bank", "label");
        for (bank, count) in counts.into_iter().enumerate() {
            let x = 42.0 + bank as f64 * 21.0;
            drawing.rect(x, base, 17.0, 15.0, GREY, 0.25);
            drawing.text_middle(x + 8.5, base + 11.5, &bank.to_string(), "small");
            let colour = if most > 1 { RED } else { GREEN };
            for word in 0..count {
                let height = if most > 1 { 2.0 } else { 8.0 };
                drawing.rect(x + 1.0, base - 2.0 - (word + 1) as f64 * height, 15.0, height - 0.5, colour, 0.9);
            }
        }
    }
    Ok(drawing.finish())
}

/// The tile of a block, of a warp and of a thread in step 5.
fn thread_tile() -> Result<String> {
    let size = [128, 256, 16];
    let run = Recording::of("step05_thread_tile", None, size)?;
    let mut drawing = Drawing::new(
        "step05-thread-tile",
        720,
        400,
        "The elements of C that a block, a warp and a thread of step 5 compute",
        "Recorded from the stores of a run at 128×256×16. The block's tile is divided among its warps; the lanes of a warp form a grid of 4×8, and each thread owns several squares of 4×4 elements, \
         spread over the warp's tile.",
    );
    let stores = |event: &&Event| event.matrix == Some(Matrix::C) && event.block == [0, 0, 0];
    let block = touched(run.events.iter().filter(stores), Matrix::C, size[1], None);
    let warp = touched(run.events.iter().filter(stores).filter(|event| event.warp == 0), Matrix::C, size[1], None);
    let lane = |lane| {
        touched(run.events.iter().filter(stores).filter(|event| event.warp == 0), Matrix::C, size[1], Some(lane))
    };
    let (rows, columns) = extent(&block);
    let scale = (680.0 / columns as f64).min(300.0 / rows as f64);
    let (x, y) = (20.0, 36.0);
    drawing.frame(x, y, columns as f64 * scale, rows as f64 * scale);
    drawing.text(x, y - 12.0, &format!("a block's tile of C: {rows}×{columns}"), "title");
    drawing.cells_with(x, y, scale, &block, GREY, 0.12);
    drawing.cells_with(x, y, scale, &warp, GREEN, 0.3);
    let threads = [(0, BLUE), (1, ORANGE), (2, RED)];
    for (number, colour) in threads {
        drawing.cells_with(x, y, scale, &lane(number), colour, 0.95);
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
    drawing.text(x, legend, "lanes 0 and 1 own the same columns, lanes 0 and 2 the same rows", "label");
    Ok(drawing.finish())
}

/// Rows and columns from the origin to the last element.
fn extent(set: &BTreeSet<(u64, u64)>) -> (u64, u64) {
    let rows = set.iter().map(|(row, _)| row + 1).max().unwrap_or(1);
    let columns = set.iter().map(|(_, column)| column + 1).max().unwrap_or(1);
    (rows, columns)
}

/// A stretch of a warp's events of one kind.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Fetch,
    Multiply,
    Barrier,
}

/// In which order a warp fetches and multiplies, in step 5 and in step 6.
fn timeline() -> Result<String> {
    let mut drawing = Drawing::new(
        "step06-timeline",
        720,
        300,
        "The order in which a warp fetches tiles and multiplies them, in step 5 and in step 6",
        "Recorded from warp 0 of runs at 2048×2048×64, one unit for each access; this is an order, not a time. In step 5 each pair of tiles is fetched, then a barrier, then multiplied, then a barrier. In step 6 the fetch of a later pair of tiles stands \
         before the multiplication of the current one, and there is one barrier for each pair.",
    );
    for (number, (step, title)) in [
        ("step05_thread_tile", "step 5: fetch a pair of tiles, then multiply it"),
        ("step06_prefetch", "step 6: start to fetch a later pair, then multiply the current one"),
    ]
    .into_iter()
    .enumerate()
    {
        let run = Recording::of_first_warp(step, [2048, 2048, 64])?;
        let mut stretches: Vec<(Phase, usize)> = Vec::new();
        for event in run.events.iter().filter(|event| event.warp == 0 && event.block == [0, 0, 0]) {
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
        drawing.text(8.0, y + 10.0, title, "title");
        drawing.text(8.0, y + 46.0, "fetch", "label");
        drawing.text(8.0, y + 80.0, "multiply", "label");
        let mut x = 76.0;
        // Which pair of tiles: a new one for each stretch, unless the compiler has merely cut one in two.
        let mut tiles = [0, 0];
        let mut since_barrier = [false, false];
        for (phase, count) in stretches {
            let width = count as f64 * scale;
            let (row, colour, tile) = match phase {
                Phase::Barrier => {
                    since_barrier = [false, false];
                    drawing.line_wide(x, y + 24.0, x, y + 96.0, GREY);
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
                drawing.text_middle(x + width / 2.0, row + 16.0, &number, "number");
            } else if tile == 0 {
                drawing.text_middle(x + width / 2.0, row - 4.0, &number, "label");
            }
            tiles[tile] += 1;
            x += width;
        }
    }
    drawing.text(
        8.0,
        290.0,
        "numbers: which pair of tiles; upright lines: barriers; an order of accesses, not a time",
        "label",
    );
    Ok(drawing.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The steps' programs that cargo has built with these tests lie one folder above them.
    fn take_built_programs() {
        let test = std::env::current_exe().unwrap();
        crate::steps::take_programs_from(test.ancestors().nth(2).unwrap().to_owned());
    }

    #[test]
    fn a_thread_of_step_2_touches_a_row_a_column_and_an_element() {
        take_built_programs();
        let size = [64, 64, 24];
        let run = Recording::of("step02_gpu_naive", None, size).unwrap();
        let mine = || run.events.iter().filter(|event| event.block == [1, 0, 0] && event.warp == 5);
        let a = touched(mine(), Matrix::A, 24, Some(7));
        let b = touched(mine(), Matrix::B, 64, Some(7));
        let c = touched(mine(), Matrix::C, 64, Some(7));
        assert_eq!(a, (0..24).map(|k| (5, k)).collect());
        assert_eq!(b, (0..24).map(|k| (k, 39)).collect());
        assert_eq!(c, [(5, 39)].into());
    }

    #[test]
    fn every_figure_is_drawn_twice_alike_and_has_a_text_alternative() {
        take_built_programs();
        for (name, draw) in FIGURES {
            let svg = draw().unwrap();
            assert_eq!(svg, draw().unwrap(), "{name}");
            assert!(svg.contains("<title") && svg.contains("<desc") && !svg.contains("\n\n"), "{name}");
        }
    }
}
