//! Whether all of a launch waits: blocks on different threads of the host may wait for each other, and how fast each thread
//! is must not decide whether the launch comes to its limit.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What the host's threads know of each other: how many of them have found nothing but waiting blocks since one of them
/// last found something else.
pub(super) struct Waits {
    state: Mutex<State>,
    /// Whether there is anything to forget; read without the lock, for threads that work do so often.
    some: AtomicBool,
}

struct State {
    threads: usize,
    waiting: usize,
    /// Warps of the blocks that were found waiting, one block for each of these threads.
    warps: u64,
    /// Counts how often all was forgotten.
    round: u64,
}

/// The round in which a thread was counted last.
#[derive(Default)]
pub(super) struct Counted(u64);

impl Waits {
    /// A number of threads, all of which have work.
    pub fn new(threads: usize) -> Self {
        let state = State { threads, waiting: 0, warps: 0, round: 1 };
        Self { state: Mutex::new(state), some: AtomicBool::new(false) }
    }

    /// A block did something; others may have waited for that.
    pub fn works(&self) {
        if self.some.load(Ordering::Relaxed) {
            self.forget(&mut self.lock());
        }
    }

    /// All blocks of a thread wait, the last of which has this number of warps. Once that is so for every thread, it says how many
    /// warps have waited in vain, and starts again.
    pub fn all_wait(&self, counted: &mut Counted, warps: u64) -> Option<u64> {
        let mut state = self.lock();
        if counted.0 != state.round {
            counted.0 = state.round;
            state.waiting += 1;
            state.warps += warps;
            self.some.store(true, Ordering::Relaxed);
        }
        let warps = (state.waiting == state.threads).then_some(state.warps)?;
        self.forget(&mut state);
        Some(warps)
    }

    /// A thread has no blocks any more.
    pub fn ends(&self) {
        let mut state = self.lock();
        state.threads -= 1;
        self.forget(&mut state);
    }

    fn forget(&self, state: &mut State) {
        (state.waiting, state.warps, state.round) = (0, 0, state.round + 1);
        self.some.store(false, Ordering::Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
