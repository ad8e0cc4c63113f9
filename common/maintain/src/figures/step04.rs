//! Step 4: a block's way along K, and the banks of shared memory.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use simt::Space;

use super::accesses::{self, Event, Matrix, What, touched};
use crate::picture::{self, BLUE, Frame, GREEN, HPos, INK, Kind, LABEL, NUMBER, ORANGE, RED, TITLE};

/// The tiles of A and B that a block of step 4 loads, one pair after the other.
pub fn walk() -> Result<String> {
    let size = [96, 96, 128];
    let [m, n, k] = size;
    let run = accesses::of("step04_tiled", None, size)?;
    let block = [1, 1];
    let scale = 1.2;
    let frame = Frame {
        kind: Kind::Figure,
        name: "step04-walk",
        width: 360,
        height: 350,
        title: "The tiles of A and B that one block of step 4 loads, along K",
        description: &format!(
            "Recorded from block (1,1) of a run at {m}×{n}×{k}. At each of four steps the block loads a tile of \
            32×32 elements of A, one further to the right, \
             and one of B, one further down. It writes one tile of C."
        ),
    };
    picture::draw(&frame, |drawing| {
        let k_size = k as f64 * scale;
        let (left, top) = (12.0, 30.0);
        let places = [
            (Matrix::A, left, top + k_size + 26.0, [m, k], BLUE),
            (Matrix::B, left + k_size + 40.0, top, [k, n], ORANGE),
            (Matrix::C, left + k_size + 40.0, top + k_size + 26.0, [m, n], GREEN),
        ];
        for (matrix, x, y, size, colour) in places {
            drawing.matrix(x, y, scale, &format!("{matrix:?}"), size);
            // The n-th load of a warp belongs to the n-th step along K.
            for step in 0..4 {
                let mut set = BTreeSet::new();
                for warp in 0..32 {
                    let mine = run.iter().filter(|event| {
                        event.block[..2] == block && event.warp == warp && event.matrix == Some(matrix)
                    });
                    // C is written once, at the end.
                    let most = usize::from(matrix != Matrix::C || step == 0);
                    let chosen = mine.skip(step).take(most);
                    set.extend(touched(chosen, matrix, size[1], None));
                }
                drawing.cells(x, y, scale, &set, colour, 0.95 - step as f64 * 0.2);
                if matrix != Matrix::C
                    && let (Some(first), Some(last)) = (set.first(), set.last())
                {
                    let (row, column) = ((first.0 + last.0) as f64 / 2.0, (first.1 + last.1) as f64 / 2.0);
                    drawing.text(
                        x + column * scale,
                        y + row * scale + 5.0,
                        HPos::Center,
                        NUMBER,
                        &(step + 1).to_string(),
                    );
                }
            }
        }
        Ok(())
    })
}

/// The words of each bank that a warp's access wants.
fn words_per_bank(event: &Event) -> Vec<usize> {
    let mut words: Vec<BTreeSet<u64>> = vec![BTreeSet::new(); 32];
    for (_, address) in &event.addresses {
        words[(address / 4 % 32) as usize].insert(address / 4);
    }
    words.iter().map(BTreeSet::len).collect()
}

/// 32 banks and the words that a warp wants of each.
pub fn banks() -> Result<String> {
    let size = [32, 32, 32];
    let frame = Frame {
        kind: Kind::Figure,
        name: "step04-banks",
        width: 360,
        height: 380,
        title: "Words that one access of a warp wants from each of the 32 banks",
        description: "Recorded from runs at 32×32×32: the load of B's tile in the inner loop. In the kernel of step \
        4 each bank delivers one word: one wavefront. In the variant with bank conflicts one bank has to deliver \
         32 words, one after the other. With a column of padding each bank delivers one again.",
    };
    picture::draw(&frame, |drawing| {
        let cases = [
            (None, "step 4: Bs[k][x]"),
            (Some("bank_conflicts"), "bank_conflicts: Bs[x][k]"),
            (Some("bank_conflicts_padded"), "bank_conflicts_padded"),
        ];
        for (number, (variant, title)) in cases.into_iter().enumerate() {
            let run = accesses::of("step04_tiled", variant, size)?;
            let loads = run.iter().filter(|event| {
                event.space == Some(Space::Shared) && matches!(event.what, What::Load) && event.warp == 0
            });
            // The load whose lanes differ in address is that of B; A's is the same word for all.
            let event = loads
                .into_iter()
                .find(|event| event.addresses.iter().map(|(_, address)| address).collect::<BTreeSet<_>>().len() > 8);
            let event = event.context("the kernel loads nothing from shared memory")?;
            let counts = words_per_bank(event);
            let most = counts.iter().copied().max().unwrap_or(0);
            let y = 8.0 + number as f64 * 122.0;
            let s = if most == 1 { "" } else { "s" };
            drawing.text(8.0, y + 14.0, HPos::Left, TITLE, &format!("{title}: {most} wavefront{s}"));
            let base = y + 92.0;
            drawing.text(8.0, base + 18.0, HPos::Left, LABEL, "bank");
            for (bank, count) in counts.into_iter().enumerate() {
                let x = 44.0 + bank as f64 * 9.7;
                drawing.rect(x, base, 8.7, 4.0, INK, 0.4);
                if bank % 8 == 0 || bank == 31 {
                    drawing.text(x + 4.3, base + 18.0, HPos::Center, LABEL, &bank.to_string());
                }
                let colour = if most > 1 { RED } else { GREEN };
                for word in 0..count {
                    let height = if most > 1 { 2.0 } else { 8.0 };
                    drawing.rect(x, base - 2.0 - (word + 1) as f64 * height, 8.7, height - 0.5, colour, 0.9);
                }
            }
        }
        Ok(())
    })
}
