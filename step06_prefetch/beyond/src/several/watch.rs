//! Ends the process when a rank has failed, whatever the others wait for: a GPU that waits in NCCL for a rank that is gone
//! waits for ever.

#![allow(unsafe_code, reason = "ends the process without waiting for threads that wait for ever")]

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::post::Post;

/// How often the watch looks.
const LOOK: Duration = Duration::from_millis(100);
/// How long a process that knows of a failure may take to end by itself.
const GRACE: Duration = Duration::from_secs(3);

/// Whether the sentence has been said: a process says one.
static SAID: AtomicBool = AtomicBool::new(false);

/// Says the error of this process, if none has been said.
pub fn say(sentence: &str) {
    if !SAID.swap(true, Ordering::SeqCst) {
        // If standard error is closed too, the exit status is all there is left to say.
        let _ = writeln!(std::io::stderr(), "error: {sentence}");
    }
}

/// Watches over a post office: some time after a failure, says it and ends the process with status 2.
pub fn over(post: &Arc<Post>) {
    let post = post.clone();
    thread::spawn(move || {
        while !post.is_closed() {
            if let Some(failure) = post.failure() {
                thread::sleep(GRACE);
                say(&failure);
                end(2);
            }
            thread::sleep(LOOK);
        }
    });
}

/// As long as it lives, a part of the work has a limit of time; when it is over, the rank has failed.
pub struct Limit(Arc<AtomicBool>);

impl Limit {
    /// `what` is said when the time is over.
    pub fn new(post: &Arc<Post>, rank: usize, limit: Duration, what: &'static str) -> Self {
        let done = Arc::new(AtomicBool::new(false));
        let (post, flag, begin) = (post.clone(), done.clone(), Instant::now());
        thread::spawn(move || {
            while !flag.load(Ordering::SeqCst) {
                if begin.elapsed() > limit {
                    post.fail(rank, &format!("rank {rank}: {what}"));
                    return;
                }
                thread::sleep(LOOK);
            }
        });
        Self(done)
    }
}

impl Drop for Limit {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Ends the process at once, without the clean-up of libraries that may wait for other ranks.
pub fn end(status: u8) -> ! {
    unsafe extern "C" {
        fn _exit(status: std::ffi::c_int) -> !;
    }
    let _ = std::io::stdout().flush();
    // SAFETY: the C library's function takes any status and does not return.
    unsafe { _exit(status.into()) }
}
