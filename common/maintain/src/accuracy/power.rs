//! Power and clock of a GPU while something runs on it, as `nvidia-smi` tells.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use common::timing::Spread;

/// For how long something runs, and the part at the start that does not count: clocks and power still change then.
const RUNS: Duration = Duration::from_millis(1500);
const SETTLES: Duration = Duration::from_millis(500);
/// Milliseconds between two samples.
const EVERY: &str = "50";

/// Medians of the power in watts and of the SMs' clock in MHz while `run` is called again and again; none if `nvidia-smi` tells
/// nothing.
pub fn during(gpu: usize, mut run: impl FnMut() -> Result<()>) -> Result<Option<[f64; 2]>> {
    // Without `.instant` it is a mean over the last second.
    let asked = Command::new("nvidia-smi")
        .args(["--query-gpu=power.draw.instant,clocks.sm", "--format=csv,noheader,nounits", "-lms", EVERY])
        .args(["-i", &gpu.to_string()])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut child) = asked else { return Ok(None) };
    let output = child.stdout.take();
    let lines = thread::spawn(move || {
        let lines = output.into_iter().flat_map(|output| BufReader::new(output).lines().map_while(Result::ok));
        lines.map(|line| (Instant::now(), line)).collect::<Vec<_>>()
    });
    let begin = Instant::now();
    let mut result = Ok(());
    while result.is_ok() && begin.elapsed() < RUNS {
        result = run();
    }
    let end = Instant::now();
    // It samples until it is stopped.
    let _ = child.kill();
    let _ = child.wait();
    result?;
    let lines = lines.join().unwrap_or_default();
    let steady = lines.iter().filter(|(time, _)| *time > begin + SETTLES && *time < end);
    Ok(medians(steady.map(|(_, line)| line.as_str())))
}

/// The medians of both columns; none without a line that has numbers.
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
            medians(["600.5, 1700", "[N/A], 1", "", "601.5, 1500", "90, 1980"].into_iter()),
            Some([600.5, 1700.0])
        );
        assert_eq!(medians(["[N/A], [N/A]"].into_iter()), None);
    }
}
