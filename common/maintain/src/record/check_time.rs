//! How long the check of a product takes on this host: nobody should wait for it.

use std::time::Instant;

use anyhow::{Result, ensure};
use common::Problem;
use common::basics::matrix::Operands;
use common::verify::{self, HostRows, Shape};

/// Times the check of a product of so many rows and columns; an error if it refuses the right one or accepts a wrong one.
pub fn text(edge: u64) -> Result<String> {
    let problem = Problem::uniform([edge; 3]);
    common::measure::capacity::ensure_fits_host(&problem)?;
    let mut text = String::new();
    let mut total = 0.0;
    let mut line = |what: &str, begin: Instant| {
        let seconds = begin.elapsed().as_secs_f64();
        total += seconds;
        text += &format!("{what:<44}{seconds:>8.2} s\n");
    };
    let shape = Shape { tile: [32, 32], tile_k: 32 };
    // The check is of the integer twin first if its method wants one, as in every run.
    for problem in verify::twin(&problem).iter().chain([&problem]) {
        let begin = Instant::now();
        let operands = Operands::new(problem)?;
        line("drawing A and B", begin);
        let mut words = verify::right_product(problem, &operands)?;
        let check = |words: &[u32]| verify::verify(problem, &operands, shape, &mut HostRows { words, n: problem.n });
        let begin = Instant::now();
        let right = check(&words)?;
        line(&format!("the check ({})", right.method.words()), begin);
        let last = words.len() - 1;
        words[last] ^= 1 << 30;
        ensure!(right.ok && !check(&words)?.ok, "the check itself is wrong; report this as a defect of the course");
    }
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    text += &format!("{:<44}{total:>8.2} s on {cores} cores\n", format!("{edge}×{edge}×{edge} in all"));
    Ok(text)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_check_takes_its_time() {
        let text = super::text(96).unwrap();
        assert!(text.contains("the check (") && text.contains("96×96×96 in all"), "{text}");
    }
}
