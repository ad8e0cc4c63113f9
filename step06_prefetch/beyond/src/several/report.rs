//! What a run says to people.

use common::basics::units::{grouped, ms};

use super::run::{Outcome, gb};

pub fn text(outcome: &Outcome) -> String {
    let [m, n, k] = outcome.size;
    let [rows, cols] = outcome.grid;
    let overlap = match (outcome.gpus, outcome.overlap) {
        (1, _) => String::new(),
        (_, true) => ", which travel while others are multiplied".into(),
        (_, false) => ", which travel while nothing is multiplied".into(),
    };
    let mut text = format!(
        "C (M×N = {m}×{n}, K = {k}, f32) on {} × {}, a grid of {rows}×{cols}\n  panels    {} of {} steps of K{overlap}; {}\n  memory    {} on each GPU at most\n",
        outcome.gpus,
        outcome.device,
        outcome.panels,
        grouped(outcome.panel),
        outcome.link,
        gb(outcome.bytes_per_gpu),
    );
    let wrong = [&outcome.twin, &outcome.verdict].into_iter().find_map(|verdict| verdict.wrong.as_deref());
    text += &match wrong {
        Some(wrong) => format!("  WRONG     {wrong}\n"),
        None => format!(
            "  verified  an integer twin by Freivalds' check, all {} rows; {} sampled rows, at most {:.2} of the error bound\n",
            grouped(outcome.twin.rows),
            outcome.verdict.sampled_rows,
            outcome.verdict.worst_bound_share
        ),
    };
    if let (Some(median), Some(gflops)) = (outcome.median_ms(), outcome.gflops()) {
        text += &format!(
            "  time      {} (median of {}), {:.1} TFLOP/s, {:.1} on each GPU\n",
            ms(median),
            outcome.ms.len(),
            gflops / 1e3,
            gflops / 1e3 / outcome.gpus as f64
        );
    }
    text
}
