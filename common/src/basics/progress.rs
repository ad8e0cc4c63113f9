//! A bar on standard error for work that takes longer than a second. Work that is quicker shows nothing, and neither does
//! any work whose standard error is no terminal.

use std::borrow::Cow;
use std::io::{IsTerminal as _, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long work goes on before its bar is drawn.
const DELAY: Duration = Duration::from_secs(1);
/// How often a bar is drawn again, so that it is seen to live when nothing is reported.
const TICK: Duration = Duration::from_millis(150);
/// Columns of a bar's line at most: fewer than any terminal has, because a line that wraps cannot be drawn over.
const COLUMNS: usize = 79;

/// Whether a bar of this process is in use: work within other work is silent, so that bars never overwrite each other.
static IN_USE: AtomicBool = AtomicBool::new(false);

/// How far some work has come. The bar goes when this is dropped; print nothing in between.
#[derive(Debug)]
pub struct Progress(Option<Shown>);

/// A bar that will be, or is, on the terminal.
#[derive(Debug)]
struct Shown {
    bar: Arc<Bar>,
    /// Draws the bar when the delay is over; ends when the sender is dropped.
    drawing: Option<(Sender<()>, JoinHandle<()>)>,
}

/// What a bar shows.
#[derive(Debug)]
struct Bar {
    what: Cow<'static, str>,
    done: AtomicU64,
    total: AtomicU64,
}

impl Progress {
    /// Work of `total` parts. `what` says what is done, such as `verifying`.
    pub fn new(what: impl Into<Cow<'static, str>>, total: u64) -> Self {
        if !std::io::stderr().is_terminal() || IN_USE.swap(true, Ordering::AcqRel) {
            return Self(None);
        }
        Self::on(std::io::stderr(), DELAY, what.into(), total)
    }

    fn on(terminal: impl Write + Send + 'static, delay: Duration, what: Cow<'static, str>, total: u64) -> Self {
        let bar = Arc::new(Bar { what, done: AtomicU64::new(0), total: AtomicU64::new(total) });
        let (stop, stopped) = channel();
        let shown = Arc::clone(&bar);
        let thread = std::thread::spawn(move || {
            // Who cannot be shown how far the work is must still get its result.
            let _ = shown.draw(terminal, delay, &stopped);
        });
        Self(Some(Shown { bar, drawing: Some((stop, thread)) }))
    }

    /// Counts parts that are done. Costs next to nothing, and may be called from any thread.
    pub fn add(&self, parts: u64) {
        if let Some(Shown { bar, .. }) = &self.0 {
            bar.done.fetch_add(parts, Ordering::Relaxed);
        }
    }

    /// Adds parts that were not known of at first.
    pub fn expect(&self, parts: u64) {
        if let Some(Shown { bar, .. }) = &self.0 {
            bar.total.fetch_add(parts, Ordering::Relaxed);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        let Some(shown) = &mut self.0 else { return };
        if let Some((stop, thread)) = shown.drawing.take() {
            drop(stop);
            // It cannot panic, and if it did, there would only be no bar.
            let _ = thread.join();
        }
        IN_USE.store(false, Ordering::Release);
    }
}

impl Bar {
    /// Draws the bar from `delay` on until `stopped`, and then wipes it away.
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
        let line =
            format!("{what} [{bar:width$}] {done}/{total}, {seconds} s", what = self.what, width = WIDTH as usize);
        line.chars().take(COLUMNS).collect()
    }
}

/// Counts the blocks of a simulated launch that have ended. It watches nothing within a block, so that the blocks run the
/// same code as without it.
impl simt::Analysis for &Progress {
    type Block = ();

    fn watches(&self) -> bool {
        false
    }

    fn block(&self, _: &simt::BlockInfo) {}

    fn end(&self, (): ()) {
        self.add(1);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// A terminal that keeps what it was sent.
    #[derive(Clone, Default)]
    struct Terminal(Arc<Mutex<Vec<u8>>>);

    impl Terminal {
        fn sent(&self) -> String {
            String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
        }
    }

    impl Write for Terminal {
        fn write(&mut self, text: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(text)
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_bar_comes_late_says_how_far_the_work_is_and_goes() {
        let terminal = Terminal::default();
        let quick = Progress::on(terminal.clone(), Duration::from_secs(600), "quick".into(), 10);
        quick.add(3);
        // Long enough for a bar that does not wait to be drawn.
        std::thread::sleep(3 * TICK);
        drop(quick);
        assert_eq!(terminal.sent(), "", "work that is done before the delay is over shows nothing");
        let slow = Progress::on(terminal.clone(), Duration::from_millis(1), "slow".into(), 10);
        slow.add(4);
        slow.expect(5);
        for _ in 0..200 {
            if terminal.sent().contains("slow ") {
                break;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        assert!(terminal.sent().contains("\rslow [========>                     ] 4/15, 0 s"), "{}", terminal.sent());
        drop(slow);
        assert!(terminal.sent().ends_with(" \r"), "the line is not wiped: {:?}", terminal.sent());
    }

    #[test]
    fn a_bar_is_full_at_the_end_and_no_longer_than_a_line() {
        let bar = |what: &'static str, done| Bar { what: what.into(), done, total: AtomicU64::new(6) };
        assert_eq!(bar("all", AtomicU64::new(6)).line(75), format!("all [{}] 6/6, 75 s", "=".repeat(30)));
        let words = "a description that goes on and on and on and on until nobody reads it any more, not even here";
        assert_eq!(bar(words, AtomicU64::new(0)).line(0), words[..COLUMNS]);
    }

    #[test]
    fn blocks_are_counted_as_they_end() {
        let progress = Progress::on(std::io::sink(), DELAY, "a launch".into(), 6);
        let ptx = ".version 8.1\n.target sm_75\n.address_size 64\n.visible .entry nothing() { ret; }";
        let kernel = simt::Module::parse(ptx).unwrap().kernel("nothing").unwrap();
        let config = simt::LaunchConfig::new((3, 2), 32);
        simt::launch(&kernel, &mut simt::GlobalMemory::new(), &config, &[], &mut &progress).unwrap();
        assert_eq!(progress.0.as_ref().map(|shown| shown.bar.done.load(Ordering::Relaxed)), Some(6));
    }

    #[test]
    fn without_a_terminal_there_is_no_bar() {
        // Tests have their standard error on a pipe or in a file, if they are run by a program.
        if !std::io::stderr().is_terminal() {
            assert!(Progress::new("silent", 1).0.is_none());
        }
    }
}
