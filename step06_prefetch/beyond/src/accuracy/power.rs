//! Power and clock of a GPU while something runs on it, as `nvidia-smi` reports them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use common::basics::nvidia_smi;
use common::measure::Spread;

/// How long the work runs, and how much of the start is ignored because clocks and power still change then.
const RUNS: Duration = Duration::from_secs(2);
const SETTLES: Duration = Duration::from_millis(500);

/// Medians of the power in watts and of the SMs' clock in MHz while `run` is called again and again; `None` if `nvidia-smi` reports
/// neither.
pub fn during(gpu: usize, mut run: impl FnMut() -> Result<()>) -> Result<Option<[f64; 2]>> {
    // Without `.instant`, the power is a mean over the last second.
    let query = ["--query-gpu=power.draw.instant,clocks.sm", "--format=csv,noheader,nounits", "-i", &gpu.to_string()];
    let ended = AtomicBool::new(false);
    let begin = Instant::now();
    let lines = thread::scope(|scope| {
        // One process per sample, because a process that samples in a loop may keep its lines until it ends.
        let watcher = scope.spawn(|| {
            let mut lines = vec![];
            while !ended.load(Ordering::Relaxed) {
                let Some(line) = nvidia_smi::first_line(&query) else { break };
                // A sample that was requested before the end may arrive after it.
                if begin.elapsed() > SETTLES && !ended.load(Ordering::Relaxed) {
                    lines.push(line);
                }
            }
            lines
        });
        let mut result = Ok(());
        while result.is_ok() && begin.elapsed() < RUNS {
            result = run();
        }
        ended.store(true, Ordering::Relaxed);
        let lines = watcher.join().unwrap_or_default();
        result.map(|()| lines)
    })?;
    Ok(medians(lines.iter().map(String::as_str)))
}

/// The medians of both columns; `None` if no line has numbers.
fn medians<'a>(lines: impl Iterator<Item = &'a str>) -> Option<[f64; 2]> {
    let number = |text: &str| text.trim().parse::<f64>().ok();
    let numbers = |line: &str| {
        let (watts, mhz) = line.split_once(',')?;
        Some((number(watts)?, number(mhz)?))
    };
    let (watts, mhz): (Vec<f64>, Vec<f64>) = lines.filter_map(numbers).unzip();
    Some([Spread::of(&watts)?.median, Spread::of(&mhz)?.median])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_without_numbers_do_not_count() {
        assert_eq!(
            medians(["600.5, 1700\n", "[N/A], 1", "", "601.5, 1500", "90, 1980"].into_iter()),
            Some([600.5, 1700.0])
        );
        assert_eq!(medians(["[N/A], [N/A]"].into_iter()), None);
    }
}
