//! A bar on standard error for work that takes longer than a second. Work that is quicker shows nothing, and neither does
//! any work whose standard error is no terminal.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How long work goes on before its bar is drawn.
const DELAY: Duration = Duration::from_secs(1);
/// How often a bar is drawn again, so that it is seen to live when nothing is reported.
const TICK: Duration = Duration::from_millis(150);

/// Whether a bar of this process is in use: work within other work is silent, so that bars never overwrite each other.
static IN_USE: AtomicBool = AtomicBool::new(false);

/// How far some work has come. The bar goes when this is dropped; print nothing in between.
#[derive(Debug)]
pub struct Progress(Option<Shown>);

/// A bar that will be, or is, on the terminal.
#[derive(Debug)]
struct Shown {
    bar: ProgressBar,
    /// Draws the bar when the delay is over; ends when the sender is dropped.
    waiting: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Progress {
    /// Work of `total` parts. `what` says what is done, such as `verifying`.
    pub fn new(what: impl Into<Cow<'static, str>>, total: u64) -> Self {
        // Asking for the target is how the library is asked whether there is a terminal.
        if ProgressDrawTarget::stderr().is_hidden() || IN_USE.swap(true, Ordering::AcqRel) {
            return Self(None);
        }
        Self::on(ProgressDrawTarget::stderr, DELAY, what.into(), total)
    }

    fn on(target: fn() -> ProgressDrawTarget, delay: Duration, what: Cow<'static, str>, total: u64) -> Self {
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} [{bar:30}] {pos}/{len}, {elapsed}") {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.set_message(what);
        let (stop, stopped) = channel();
        let shown = bar.clone();
        let thread = std::thread::spawn(move || {
            if stopped.recv_timeout(delay) == Err(RecvTimeoutError::Timeout) {
                shown.set_draw_target(target());
                shown.enable_steady_tick(TICK);
            }
        });
        Self(Some(Shown { bar, waiting: Some((stop, thread)) }))
    }

    /// So many more parts are done. Costs next to nothing, and may be called from any thread.
    pub fn add(&self, parts: u64) {
        if let Some(shown) = &self.0 {
            shown.bar.inc(parts);
        }
    }

    /// There are so many more parts than was said at first.
    pub fn expect(&self, parts: u64) {
        if let Some(shown) = &self.0 {
            shown.bar.inc_length(parts);
        }
    }

    /// Says what is done now.
    pub fn say(&self, what: impl Into<Cow<'static, str>>) {
        if let Some(shown) = &self.0 {
            shown.bar.set_message(what);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        let Some(shown) = &mut self.0 else { return };
        if let Some((stop, thread)) = shown.waiting.take() {
            drop(stop);
            // It cannot panic, and if it did, there would only be no bar.
            let _ = thread.join();
        }
        shown.bar.finish_and_clear();
        IN_USE.store(false, Ordering::Release);
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
    use super::*;
    use indicatif::TermLike;
    use std::sync::{Mutex, PoisonError};

    /// What a terminal was sent.
    static SENT: Mutex<String> = Mutex::new(String::new());

    fn sent() -> String {
        SENT.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    #[derive(Debug)]
    struct Terminal;

    impl TermLike for Terminal {
        fn width(&self) -> u16 {
            100
        }
        fn move_cursor_up(&self, _: usize) -> std::io::Result<()> {
            Ok(())
        }
        fn move_cursor_down(&self, _: usize) -> std::io::Result<()> {
            Ok(())
        }
        fn move_cursor_right(&self, _: usize) -> std::io::Result<()> {
            Ok(())
        }
        fn move_cursor_left(&self, _: usize) -> std::io::Result<()> {
            Ok(())
        }
        fn write_line(&self, text: &str) -> std::io::Result<()> {
            self.write_str(text)
        }
        fn write_str(&self, text: &str) -> std::io::Result<()> {
            SENT.lock().unwrap_or_else(PoisonError::into_inner).push_str(text);
            Ok(())
        }
        fn clear_line(&self) -> std::io::Result<()> {
            self.write_str("(cleared)")
        }
        fn flush(&self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_bar_comes_late_says_how_far_the_work_is_and_goes() {
        let target = || ProgressDrawTarget::term_like(Box::new(Terminal));
        let quick = Progress::on(target, Duration::from_secs(600), "quick".into(), 10);
        quick.add(3);
        // Long enough for a bar that does not wait to be drawn.
        std::thread::sleep(3 * TICK);
        drop(quick);
        assert_eq!(sent(), "", "work that is done before the delay is over shows nothing");
        let slow = Progress::on(target, Duration::from_millis(1), "slow".into(), 10);
        slow.add(4);
        slow.expect(5);
        slow.say("slower");
        for _ in 0..200 {
            if sent().contains("slower") {
                break;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        assert!(sent().contains("slower [===") && sent().contains("4/15"), "{}", sent());
        drop(slow);
        assert!(sent().ends_with("(cleared)"), "{}", sent());
    }

    #[test]
    fn blocks_are_counted_as_they_end() {
        let progress = Progress::on(ProgressDrawTarget::hidden, DELAY, "a launch".into(), 6);
        let ptx = ".version 8.1\n.target sm_75\n.address_size 64\n.visible .entry nothing() { ret; }";
        let kernel = simt::Module::parse(ptx).unwrap().kernel("nothing").unwrap();
        let config = simt::LaunchConfig::new((3, 2), 32);
        simt::launch(&kernel, &mut simt::GlobalMemory::new(), &config, &[], &mut &progress).unwrap();
        assert_eq!(progress.0.as_ref().map(|shown| shown.bar.position()), Some(6));
    }

    #[test]
    fn without_a_terminal_there_is_no_bar() {
        // Tests have their standard error on a pipe or in a file, if they are run by a program.
        if ProgressDrawTarget::stderr().is_hidden() {
            assert!(Progress::new("silent", 1).0.is_none());
        }
    }
}
