//! How long the check of a product takes on this host: nobody should wait for it.

use std::time::Instant;

use anyhow::{Result, ensure};
use common::cli::parse_size;
use common::matrix::Operands;
use common::output::print;
use common::verify::{self, HostRows, Shape};
use common::{Dtype, Fill, Problem};

/// Options of the hidden `cargo x check-time`, a part of `cargo x record`.
#[derive(clap::Args)]
pub struct Options {
    /// Size of the product: N or MxNxK
    #[arg(long, value_name = "SIZE", default_value = "4096", value_parser = parse_size, allow_hyphen_values = true)]
    size: [u64; 3],
    /// Check small integers, exactly, in place of uniform numbers
    #[arg(long)]
    integers: bool,
}

/// Runs the command; `false` if the check refuses the right product or accepts a wrong one.
pub fn run(options: &Options) -> Result<bool> {
    let [m, n, k] = options.size;
    let fill = if options.integers { Fill::Integers } else { Fill::Uniform };
    let problem = Problem { m, n, k, dtype: Dtype::F32, fill, seed: 1 };
    common::memory::ensure_fits_host(&problem)?;
    let mut total = 0.0;
    let mut line = |what: &str, begin: Instant| {
        let seconds = begin.elapsed().as_secs_f64();
        total += seconds;
        print(&format!("{what:<44}{seconds:>8.2} s\n"))
    };
    let shape = Shape { tile: [32, 32], tile_k: 32 };
    let mut ok = true;
    // The check is of the integer twin first if its method wants one, as in every run.
    for problem in verify::twin(&problem).iter().chain([&problem]) {
        let begin = Instant::now();
        let operands = Operands::new(problem)?;
        line("drawing A and B", begin)?;
        let mut words = verify::right_product(problem, &operands)?;
        let begin = Instant::now();
        let found = verify::verify(problem, &operands, shape, &mut HostRows { words: &words, n: problem.n })?;
        line(&format!("the check ({})", found.method.words()), begin)?;
        ok &= found.ok;
        let last = words.len() - 1;
        words[last] ^= 1 << 30;
        let wrong = verify::verify(problem, &operands, shape, &mut HostRows { words: &words, n: problem.n })?;
        ok &= !wrong.ok;
    }
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    print(&format!("{:<44}{total:>8.2} s on {cores} cores\n", format!("{m}×{n}×{k} in all")))?;
    ensure!(ok, "the check itself is wrong; report this as a defect of the course");
    Ok(ok)
}
