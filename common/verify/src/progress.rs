//! A progress bar on standard error for work that takes longer than a second. Quicker work shows no bar, and nothing is shown if
//! standard error is not a terminal.

use std::io::{IsTerminal as _, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long work runs before its bar is drawn.
const DELAY: Duration = Duration::from_secs(1);
/// How often a bar is redrawn, so that its seconds go on even while no progress is reported.
const TICK: Duration = Duration::from_millis(150);
/// The most columns of a bar's line: fewer than any terminal has, because a line that wraps cannot be overwritten.
const COLUMNS: usize = 79;

/// Whether this process shows a bar already. Work within other work shows none, so that bars never overwrite each other.
static IN_USE: AtomicBool = AtomicBool::new(false);

/// The progress of some work. Shows a bar until it is dropped; print nothing in between.
#[derive(Debug)]
pub struct Progress {
    bar: Arc<Bar>,
    /// The thread that draws the bar, if it is shown. The thread ends when the sender is dropped.
    drawing: Option<(Sender<()>, JoinHandle<()>)>,
}

/// The contents of a bar.
#[derive(Debug)]
struct Bar {
    what: String,
    done: AtomicU64,
    total: AtomicU64,
}

impl Progress {
    /// Work of `total` parts. `what` says what is done, such as `verifying`.
    pub fn new(what: impl Into<String>, total: u64) -> Self {
        let bar = Arc::new(Bar { what: what.into(), done: AtomicU64::new(0), total: AtomicU64::new(total) });
        let silent = !std::io::stderr().is_terminal() || IN_USE.swap(true, Ordering::AcqRel);
        let drawing = (!silent).then(|| {
            let (stop, stopped) = channel();
            let shown = Arc::clone(&bar);
            // If the bar cannot be drawn, the work must still go on.
            let draw = move || drop(shown.draw(std::io::stderr(), DELAY, &stopped));
            (stop, std::thread::spawn(draw))
        });
        Self { bar, drawing }
    }

    /// Counts parts that are done. It costs almost nothing and may be called from any thread.
    pub fn add(&self, parts: u64) {
        self.bar.done.fetch_add(parts, Ordering::Relaxed);
    }

    /// Adds parts that were not known at the start.
    pub fn expect(&self, parts: u64) {
        self.bar.total.fetch_add(parts, Ordering::Relaxed);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        let Some((stop, thread)) = self.drawing.take() else { return };
        drop(stop);
        // If the thread panicked, only the bar would be missing.
        let _ = thread.join();
        IN_USE.store(false, Ordering::Release);
    }
}

impl Bar {
    /// Draws the bar from `delay` on until `stopped`, then erases it.
    fn draw(&self, mut terminal: impl Write, delay: Duration, stopped: &Receiver<()>) -> std::io::Result<()> {
        let start = Instant::now();
        let mut pause = delay;
        let mut drawn = 0;
        while stopped.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
            let line = self.line(start.elapsed().as_secs());
            write!(terminal, "\r{line:drawn$}")?;
            terminal.flush()?;
            drawn = line.chars().count();
            pause = TICK;
        }
        if drawn > 0 {
            write!(terminal, "\r{:drawn$}\r", "")?;
            terminal.flush()?;
        }
        Ok(())
    }

    /// `simulating, blocks [=====>      ] 120/480, 3 s`.
    fn line(&self, seconds: u64) -> String {
        const WIDTH: u64 = 30;
        let [done, total] = [&self.done, &self.total].map(|parts| parts.load(Ordering::Relaxed));
        let full = (WIDTH as f64 * (done as f64 / total.max(1) as f64).min(1.0)) as usize;
        let head = if full < WIDTH as usize { ">" } else { "" };
        let bar = format!("{}{head}", "=".repeat(full));
        let line = format!("{} [{bar:width$}] {done}/{total}, {seconds} s", self.what, width = WIDTH as usize);
        line.chars().take(COLUMNS).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bar(what: &str, done: u64, total: u64) -> Bar {
        Bar { what: what.into(), done: AtomicU64::new(done), total: AtomicU64::new(total) }
    }

    /// Everything that a bar with this delay prints during work that lasts four ticks.
    fn drawn(bar: &Bar, delay: Duration) -> String {
        let (stop, stopped) = channel();
        let work = std::thread::spawn(move || {
            std::thread::sleep(4 * TICK);
            drop(stop);
        });
        let mut sent = Vec::new();
        bar.draw(&mut sent, delay, &stopped).unwrap();
        work.join().unwrap();
        String::from_utf8(sent).unwrap()
    }

    #[test]
    fn a_bar_comes_late_says_how_far_the_work_is_and_goes() {
        assert_eq!(drawn(&bar("quick", 3, 10), Duration::from_secs(600)), "", "it was done before the delay was over");
        let slow = Progress { bar: Arc::new(bar("slow", 0, 10)), drawing: None };
        slow.add(4);
        slow.expect(5);
        let sent = drawn(&slow.bar, Duration::ZERO);
        assert!(sent.contains("\rslow [========>                     ] 4/15, 0 s"), "{sent}");
        assert!(sent.ends_with(" \r"), "the line is not wiped: {sent:?}");
    }

    #[test]
    fn a_bar_is_full_at_the_end_and_no_longer_than_a_line() {
        assert_eq!(bar("all", 6, 6).line(75), format!("all [{}] 6/6, 75 s", "=".repeat(30)));
        let words = "a description that goes on and on and on and on until nobody reads it any more, not even here";
        assert_eq!(bar(words, 0, 6).line(0), words[..COLUMNS]);
    }

    #[test]
    fn without_a_terminal_there_is_no_bar() {
        // If a program runs the tests, their standard error is a pipe or a file.
        if !std::io::stderr().is_terminal() {
            assert!(Progress::new("silent", 1).drawing.is_none());
        }
    }
}
