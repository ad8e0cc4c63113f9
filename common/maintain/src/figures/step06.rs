//! Step 6: when a warp fetches and when it multiplies.

use anyhow::Result;
use simt::Space;

use super::accesses::{self, Event, What};
use crate::picture::{self, BLUE, Frame, GREEN, HPos, INK, Kind, LABEL, NUMBER, TITLE};

const SIZE: [u64; 3] = [1024, 1024, 64];

/// What a warp does with its pairs of tiles, in accesses since its start: a pair is multiplied between two
/// barriers, and is on its way from its first load or copy to the next barrier.
#[derive(Default)]
struct Order {
    flights: Vec<[usize; 2]>,
    multiplied: Vec<[usize; 2]>,
    barriers: Vec<usize>,
    end: usize,
}

fn order(run: &[Event]) -> Order {
    let mut order = Order::default();
    let (mut fetch, mut multiply) = (None, None);
    let close = |order: &mut Order, fetch: &mut Option<usize>, multiply: &mut Option<usize>| {
        let end = order.end;
        order.flights.extend(fetch.take().map(|start| [start, end]));
        order.multiplied.extend(multiply.take().map(|start| [start, end]));
    };
    for event in run {
        match (event.what, event.space) {
            (What::Barrier, _) => {
                close(&mut order, &mut fetch, &mut multiply);
                order.barriers.push(order.end);
            }
            (What::Copy, _) | (What::Load, Some(Space::Global)) => {
                fetch.get_or_insert(order.end);
                order.end += 1;
            }
            (What::Load, Some(Space::Shared)) => {
                multiply.get_or_insert(order.end);
                order.end += 1;
            }
            _ => {}
        }
    }
    close(&mut order, &mut fetch, &mut multiply);
    order
}

/// When a warp fetches and when it multiplies, in step 5 and in step 6.
pub fn timeline() -> Result<String> {
    let [m, n, k] = SIZE;
    let frame = Frame {
        kind: Kind::Figure,
        name: "step06-timeline",
        width: 360,
        height: 268,
        title: "When a warp of step 5 and of step 6 fetches a pair of tiles, and when it multiplies it",
        description: &format!(
            "Recorded from warp 0 of runs at {m}×{n}×{k}, one unit for each access: an order, not a time. In step 5 \
            a pair of tiles is on its way, then a barrier, then it is multiplied, then a barrier. \
             In step 6 the next pair is on its way while the current one is multiplied, and there is one barrier \
             for each pair."
        ),
    };
    picture::draw(&frame, |drawing| {
        for (number, (step, title)) in [
            ("step05_thread_tile", "step 5: first fetch, then multiply"),
            ("step06_prefetch", "step 6: fetch while multiplying"),
        ]
        .into_iter()
        .enumerate()
        {
            let order = order(&accesses::of_first_warp(step, SIZE)?);
            let scale = 272.0 / order.end.max(1) as f64;
            let left = 80.0;
            let y = 8.0 + number as f64 * 136.0;
            drawing.text(8.0, y + 14.0, HPos::Left, TITLE, title);
            let rows = [("on its way", &order.flights, BLUE, 30.0), ("multiplied", &order.multiplied, GREEN, 68.0)];
            for (name, bars, colour, down) in rows {
                drawing.text(8.0, y + down + 20.0, HPos::Left, LABEL, name);
                for (pair, [from, to]) in bars.iter().enumerate() {
                    let (x, width) = (left + *from as f64 * scale, (to - from) as f64 * scale);
                    drawing.rect(x + 1.0, y + down, (width - 2.0).max(1.0), 30.0, colour, 0.85);
                    if width > 9.0 {
                        drawing.text(x + width / 2.0, y + down + 20.0, HPos::Center, NUMBER, &pair.to_string());
                    }
                }
            }
            for barrier in &order.barriers {
                let x = left + *barrier as f64 * scale;
                drawing.line((x, y + 24.0), (x, y + 104.0), INK, 2.0, 1.0);
            }
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many pairs are on their way while another one is multiplied.
    fn overlapping(step: &str) -> usize {
        let order = order(&accesses::of_first_warp(step, SIZE).unwrap());
        let meet = |[from, to]: &&[usize; 2]| order.multiplied.iter().any(|[start, end]| start < to && from < end);
        order.flights.iter().filter(meet).count()
    }

    #[test]
    fn step_6_fetches_while_it_multiplies_and_step_5_does_not() {
        assert_eq!(overlapping("step05_thread_tile"), 0);
        assert!(overlapping("step06_prefetch") >= 7);
    }
}
