//! The part that shows where a kernel puts the chunks of a tile in shared memory, taken from its copies.

use anyhow::{Context, Result, ensure};

use crate::figures::accesses::{self, Matrix, What};

/// A K that the kernel takes tensor cores for.
const SIZE: [u64; 3] = [64, 128, 1024];
/// Bytes of a chunk, chunks in a row of the tile, and rows until the order is the first one again.
const CHUNK: u64 = 16;
const CHUNKS: u64 = 8;
const ROWS: u64 = 8;

/// For each of the first rows of A's first tile, which chunk lies at which place.
pub fn table() -> Result<String> {
    let [_, _, k] = SIZE;
    let events = accesses::of("step06_prefetch", Some("tensor_cores"), SIZE)?;
    let copies = events.iter().filter(|event| event.what == What::Copy && event.matrix == Some(Matrix::A));
    // Row and chunk that are read, and where they go.
    let mut moves: Vec<[u64; 3]> = vec![];
    let all = copies
        .flat_map(|event| event.addresses.iter().zip(&event.to))
        .map(|(&(_, from), &to)| [from / 4 / k, from / 4 % k * 4 / CHUNK, to])
        .filter(|&[row, chunk, _]| row < ROWS && chunk < CHUNKS);
    for [row, chunk, to] in all {
        // Copies past the end of a row only fill with zeros, but their addresses are in the next one.
        if !moves.iter().any(|known| known[..2] == [row, chunk]) {
            moves.push([row, chunk, to]);
        }
    }
    ensure!(moves.len() as u64 == ROWS * CHUNKS, "the first rows of A are not copied in chunks of 16 bytes");
    let start = moves.iter().map(|&[.., to]| to).min().context("nothing is copied")?;
    let line = |name: &str, cells: Vec<u64>| {
        let cells: Vec<String> = cells.iter().map(u64::to_string).collect();
        format!("{name:<7}  {}\n", cells.join("  "))
    };
    let mut text = line("place", (0..CHUNKS).collect());
    for row in 0..ROWS {
        let chunk_at = |place: u64| {
            let to = start + (row * CHUNKS + place) * CHUNK;
            moves.iter().find(|&&[of, _, at]| (of, at) == (row, to)).map(|&[_, chunk, _]| chunk)
        };
        let chunks: Option<Vec<u64>> = (0..CHUNKS).map(chunk_at).collect();
        text += &line(&format!("row {row}"), chunks.context("a row of the tile is not 128 bytes long")?);
    }
    Ok(format!("```text\n{text}```"))
}
